//! Files in parts and bytes of any kind, streamed both ways.

use features_client::Multipart;
use features_client::prelude::*;
use features_server::files::{
    FileEchoError, FileEchoRequest, FileEchoResponse, FileUploadError, FileUploadRequest,
    FileUploadResponse, FilesApi,
};

impl FilesApi for crate::Features {
    async fn file_upload(
        &self,
        request: FileUploadRequest,
    ) -> Result<FileUploadResponse, FileUploadError> {
        let (mut parts, mut size) = (request.body, 0);
        while let Some(mut part) = parts.next_field().await.expect("a part arrives") {
            while let Some(piece) = part.chunk().await.expect("a piece arrives") {
                size += i64::try_from(piece.len()).expect("a piece is small");
            }
        }
        Ok(size.into())
    }

    async fn file_echo(&self, request: FileEchoRequest) -> Result<FileEchoResponse, FileEchoError> {
        Ok(request.body.into())
    }
}

pub async fn check(client: &Client, _: &str) {
    let parts = Multipart::new().text("name", "a").file(
        "file",
        "a.bin",
        "application/octet-stream",
        vec![7; 500_000],
    );
    let size = client
        .file_upload()
        .body(parts)
        .send()
        .await
        .expect("a success");
    assert_eq!(size.into_inner(), 500_001);
    let response = client
        .file_echo()
        .body("audio/ogg", vec![9; 300_000])
        .send()
        .await
        .expect("a success");
    assert_eq!(
        response.into_inner().bytes().await.expect("the bytes arrive"),
        vec![9; 300_000]
    );
}
