//! A page ends at its size in bytes, and the list goes on after it.

use std::collections::BTreeSet;

use api_client::prelude::*;
use futures_util::TryStreamExt;
use serde_json::Value;

use super::{PLACE, largest_database};
use crate::on_both;
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};

/// The size that ends a page.
const PAGE: usize = 1 << 20;
/// The number of databases of the list: three pages.
const DATABASES: usize = 25;

on_both! {
    async fn a_page_ends_at_its_size_and_the_list_goes_on(home: Home) {
        home.apply(&two_projects());
        let token = home.token("shop", &[]);
        let service = home.serve(&["--simulate-delay", "1h"]);
        let shop = Caller::new(&service.base, SHOP, &token);
        let body = largest_database();
        let item = body.to_string().len();
        for number in 0..DATABASES {
            shop.post(&format!("{PLACE}/postgres/large-{number:02}"), body.clone()).await.ok();
        }
        for order in ["id", "name"] {
            let (mut seen, mut pages, mut after) = (BTreeSet::new(), 0, String::new());
            loop {
                let page = shop.get(&format!("/postgres?page_size=1000&order_column={order}{after}")).await.ok();
                assert_eq!(page["count"].as_u64(), Some(DATABASES as u64), "of {order}");
                let items = page["items"].as_array().expect("a page has items");
                let Some(last) = items.last() else { break };
                let size = page.to_string().len();
                assert!(size < PAGE + item, "a page of {size} bytes by {order}");
                let is_rest = seen.len() + items.len() == DATABASES;
                assert!(is_rest || size > PAGE - item, "a page of {size} bytes by {order} ends too early");
                after = format!("&start_after={}", last[order].as_str().unwrap());
                seen.extend(items.iter().map(|item| item["name"].to_string()));
                pages += 1;
            }
            assert_eq!((seen.len(), pages), (DATABASES, 3), "by {order}");
        }
        // A page size below the size in bytes is what it was.
        let page = shop.get("/postgres?page_size=3&order_column=name").await.ok();
        assert_eq!(page["items"].as_array().map(Vec::len), Some(3));
        // The stream of the generated client does not take a short page as the last one.
        let client = api_client::Client::builder(&service.base).bearer(token).build().expect("a client can be made");
        for page_size in [None, Some(1000), Some(7)] {
            let mut call = client.project_postgres_list().project_id(SHOP);
            if let Some(size) = page_size {
                call = call.page_size(size);
            }
            let all: Vec<api_types::PostgresSummary> = call.stream().try_collect().await.expect("every page comes");
            let names: BTreeSet<String> = all.iter().map(|database| database.name.to_string()).collect();
            assert_eq!((all.len(), names.len()), (DATABASES, DATABASES), "with pages of {page_size:?}");
        }
    }

    async fn an_item_larger_than_a_page_would_still_be_on_one(home: Home) {
        home.apply(&two_projects());
        let token = home.token("shop", &[]);
        let service = home.serve(&["--simulate-delay", "1h"]);
        let shop = Caller::new(&service.base, SHOP, &token);
        shop.post(&format!("{PLACE}/postgres/large"), largest_database()).await.ok();
        let page: Value = shop.get("/postgres?page_size=1").await.ok();
        assert_eq!((page["count"].as_i64(), page["items"].as_array().map(Vec::len)), (Some(1), Some(1)));
    }
}
