//! A document of others: what is repaired in it works over HTTP.

use features_client::prelude::*;
use features_server::foreign::{
    ForeignApi, ForeignBetaError, ForeignBetaRequest, ForeignBetaResponse, ForeignFileError,
    ForeignFileRequest, ForeignFileResponse, ForeignLatestError, ForeignLatestRequest,
    ForeignLatestResponse, ForeignLinkError, ForeignLinkRequest, ForeignLinkResponse,
    ForeignListError, ForeignListRequest, ForeignListResponse,
    ForeignNoteDeleteForeignNotesNameError, ForeignNoteDeleteForeignNotesNameRequest,
    ForeignNoteDeleteForeignNotesNameResponse, ForeignNoteError, ForeignNoteRequest,
    ForeignNoteResponse, ForeignOtherNoteError, ForeignOtherNoteRequest, ForeignOtherNoteResponse,
};
use features_types::ForeignNote;

impl ForeignApi for crate::Features {
    async fn foreign_file(
        &self,
        request: ForeignFileRequest,
    ) -> Result<ForeignFileResponse, ForeignFileError> {
        Ok(format!("file {}", request.id).into())
    }

    async fn foreign_link(
        &self,
        request: ForeignLinkRequest,
    ) -> Result<ForeignLinkResponse, ForeignLinkError> {
        Ok(format!("link {}", request.id).into())
    }

    async fn foreign_beta(
        &self,
        request: ForeignBetaRequest,
    ) -> Result<ForeignBetaResponse, ForeignBetaError> {
        Ok(format!("beta {} {:?} {:?}", request.id, request.page, request.beta).into())
    }

    async fn foreign_latest(
        &self,
        _: ForeignLatestRequest,
    ) -> Result<ForeignLatestResponse, ForeignLatestError> {
        Ok("latest".to_owned().into())
    }

    async fn foreign_note(
        &self,
        request: ForeignNoteRequest,
    ) -> Result<ForeignNoteResponse, ForeignNoteError> {
        Ok(ForeignNote::new(request.note, None, None).into())
    }

    async fn foreign_other_note(
        &self,
        request: ForeignOtherNoteRequest,
    ) -> Result<ForeignOtherNoteResponse, ForeignOtherNoteError> {
        Ok(request.name.into())
    }

    async fn foreign_note_delete_foreign_notes_name(
        &self,
        _: ForeignNoteDeleteForeignNotesNameRequest,
    ) -> Result<ForeignNoteDeleteForeignNotesNameResponse, ForeignNoteDeleteForeignNotesNameError>
    {
        Ok(ForeignNoteDeleteForeignNotesNameResponse::NoContent)
    }

    async fn foreign_list(
        &self,
        request: ForeignListRequest,
    ) -> Result<ForeignListResponse, ForeignListError> {
        let lists = [request.expand, request.sort];
        let words = lists.map(|list| list.unwrap_or_default().join("|"));
        Ok(words.to_vec().into())
    }
}

pub async fn check(client: &Client, url: &str) {
    // Labels of one URL: a query chooses, and of the others the first serves.
    let file = client.foreign_file().id("1").send().await;
    assert_eq!(file.expect("a success").into_inner(), "file 1");
    let link = client.foreign_link().id("1").send().await;
    assert_eq!(link.expect("a success").into_inner(), "file 1");
    let beta = client.foreign_beta().id("1").page(2).send().await;
    let beta = beta.expect("a success").into_inner();
    assert_eq!(beta, "beta 1 Some(2) Some(true)");
    // An argument of the label's name is sent in its place.
    let other = client.foreign_beta().id("1").beta(false).send().await;
    assert_eq!(other.expect("a success").into_inner(), "file 1");
    let same = client.foreign_beta().id("1").beta(true).send().await;
    let same = same.expect("a success").into_inner();
    assert_eq!(same, "beta 1 None Some(true)");
    // A literal path wins, and then the query decides.
    let latest = client.foreign_latest().send().await;
    assert_eq!(latest.expect("a success").into_inner(), "latest");
    let get = async |path: &str| {
        let response = reqwest::get(format!("{url}/foreign/{path}")).await;
        let text = response.expect("a response").text().await;
        text.expect("the response is text")
    };
    assert_eq!(get("files/1?beta=false").await, r#""file 1""#);
    let beta = r#""beta 1 Some(2) Some(true)""#;
    assert_eq!(get("files/1?page=2&beta=true").await, beta);
    assert_eq!(get("files/latest").await, r#""file latest""#);

    // Paths that differ in a parameter's name only: the methods are merged.
    let note = client.foreign_note().note("a").send().await;
    let note = note.expect("a success").into_inner();
    assert_eq!((note.text.as_str(), &note.mood), ("a", &None));
    assert!(note.author.is_none());
    let gone = client.foreign_note_delete_foreign_notes_name().name("a");
    gone.send().await.expect("a success");

    let list = client.foreign_list();
    let list = list.expand(vec!["a".to_owned(), "b".to_owned()]);
    let list = list.sort(vec!["c".to_owned(), "d".to_owned()]).send().await;
    assert_eq!(list.expect("a success").into_inner(), ["a|b", "c|d"]);
    assert_eq!(
        get("lists?expand[]=a&expand[]=b&sort=c,d").await,
        r#"["a|b","c|d"]"#
    );
}
