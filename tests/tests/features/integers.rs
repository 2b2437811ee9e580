//! Integers of every width, whose format is a range, and one whose default is beyond `i64::MAX`.

use features_client::prelude::*;
use features_server::integers::{AddError, AddRequest, AddResponse, IntegersApi};
use features_types::Integers;

/// The default of `most` in the contract.
const MOST: u64 = 9_223_372_036_854_776_000;

impl IntegersApi for crate::Features {
    async fn add(&self, request: AddRequest) -> Result<AddResponse, AddError> {
        let Integers {
            i8,
            i16,
            i32,
            i64,
            u8,
            u16,
            u32,
            u64,
            port,
            most,
            ..
        } = request.body;
        let signed = i64.unwrap_or(0)
            + [i8.map(i64::from), i16.map(i64::from), i32.map(i64::from)]
                .into_iter()
                .flatten()
                .sum::<i64>();
        let port = port.map(u16::from);
        let unsigned = u64.unwrap_or(0)
            // The sum has no room for the default.
            + Some(most).filter(|most| *most != MOST).unwrap_or(0)
            + [
                u8.map(u64::from),
                u16.map(u64::from),
                u32.map(u64::from),
                port.map(u64::from),
            ]
            .into_iter()
            .flatten()
            .sum::<u64>();
        Ok((signed
            + i64::try_from(unsigned).expect("the number fits an i64")
            + i64::from(request.more))
        .into())
    }
}

pub async fn check(client: &Client, url: &str) {
    let body = Integers::new()
        .with_i8(-1)
        .with_u16(2)
        .with_port(443.try_into().expect("443 is in the range of the schema"));
    assert_eq!(
        client
            .add()
            .body(body)
            .send()
            .await
            .expect("a success")
            .into_inner(),
        255 - 1 + 2 + 443
    );
    let asks = async |more: &str, body: String| {
        let request = reqwest::Client::new()
            .post(format!("{url}/integers{more}"))
            .header("content-type", "application/json");
        request
            .body(body)
            .send()
            .await
            .expect("a response")
            .status()
            .as_u16()
    };
    for (name, low, high) in [
        ("i8", i128::from(i8::MIN), i128::from(i8::MAX)),
        ("i16", i16::MIN.into(), i16::MAX.into()),
        ("i32", i32::MIN.into(), i32::MAX.into()),
        ("u8", 0, u8::MAX.into()),
        ("u16", 0, u16::MAX.into()),
        ("u32", 0, u32::MAX.into()),
        ("u64", 0, u32::MAX.into()),
        ("most", 0, u32::MAX.into()),
        ("port", 1, u16::MAX.into()),
    ] {
        for inside in [low, high] {
            assert_eq!(
                asks("", format!(r#"{{"{name}": {inside}}}"#)).await,
                200,
                "{name}: {inside}"
            );
        }
        assert_eq!(
            asks("", format!(r#"{{"{name}": {}}}"#, low - 1)).await,
            400,
            "{name}"
        );
        let beyond = if ["u64", "most"].contains(&name) {
            i128::from(u64::MAX) + 1
        } else {
            high + 1
        };
        assert_eq!(
            asks("", format!(r#"{{"{name}": {beyond}}}"#)).await,
            400,
            "{name}"
        );
    }
    for (more, status) in [("0", 200), ("255", 200), ("256", 400), ("-1", 400)] {
        assert_eq!(
            asks(&format!("?more={more}"), "{}".to_owned()).await,
            status,
            "{more}"
        );
    }
}
