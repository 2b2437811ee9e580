//! The stream over the pages of a list: where it ends, and how many calls it makes.
#![cfg(feature = "client")]

use std::future::{Ready, ready};
use std::sync::Mutex;

use api_runtime::client::{Error, Page, Paging, Stream, cursor};
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Item {
    id: u64,
    name: String,
}

/// A list of `length` items in pages of at most `longest`; of these, each one that starts at a
/// multiple of `short` ends after a single item. `asked` has the cursor of each call.
struct List {
    length: u64,
    longest: u64,
    short: Option<u64>,
    counts: bool,
    asked: Mutex<Vec<Option<u64>>>,
}

impl List {
    fn new(length: u64, longest: u64) -> Self {
        Self {
            length,
            longest,
            short: None,
            counts: false,
            asked: Mutex::default(),
        }
    }

    fn page(&self, after: Option<u64>, size: u64) -> Ready<Result<Page<Item>, Error<()>>> {
        self.asked.lock().unwrap().push(after);
        let first = after.map_or(0, |after| after + 1);
        let is_short = self.short.is_some_and(|short| first.is_multiple_of(short));
        let size = if is_short { 1 } else { size };
        let last = (first + size.min(self.longest)).min(self.length);
        let items = (first..last).map(|id| Item {
            id,
            name: format!("item {id}"),
        });
        ready(Ok(Page {
            items: items.collect(),
            count: self.counts.then_some(self.length),
        }))
    }

    /// Reads the whole list. Returns the ids and the number of calls.
    async fn walk(&self, page_size: Option<u64>) -> (Vec<u64>, usize) {
        let stream = paging("id").pages(|key| {
            let after = key.map(|key| cursor::<u64>(key).unwrap());
            self.page(after, page_size.unwrap_or(10))
        });
        let ids = collect(stream)
            .await
            .into_iter()
            .map(|item| item.unwrap().id)
            .collect();
        (ids, self.asked.lock().unwrap().len())
    }
}

fn paging(key: &str) -> Paging {
    Paging {
        operation: "name_list",
        key: key.to_owned(),
        items: "items",
        count: Some("count"),
    }
}

async fn collect<S: Stream>(stream: S) -> Vec<S::Item> {
    let mut stream = std::pin::pin!(stream);
    let mut items = Vec::new();
    while let Some(item) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        items.push(item);
    }
    items
}

#[tokio::test]
async fn a_walk_sees_every_item_once_and_ends_on_an_empty_page() {
    for (length, size, calls) in [
        (0, None, 1),
        (9, None, 2),
        (10, None, 2),
        (25, None, 4),
        (25, Some(5), 6),
        (25, Some(7), 5),
        (25, Some(100), 2),
    ] {
        let list = List::new(length, 1000);
        let (ids, asked) = list.walk(size).await;
        assert_eq!(ids, (0..length).collect::<Vec<_>>());
        assert_eq!(asked, calls, "{length} items by {size:?}");
    }
}

#[tokio::test]
async fn a_page_size_that_the_server_cuts_down_loses_nothing() {
    let list = List::new(250, 100);
    assert_eq!(list.walk(Some(5000)).await, ((0..250).collect(), 4));
}

#[tokio::test]
async fn a_page_that_the_server_ends_early_is_not_the_last() {
    for (counts, size) in [
        (false, None),
        (true, None),
        (false, Some(5)),
        (true, Some(100)),
    ] {
        let list = List {
            short: Some(5),
            counts,
            ..List::new(25, 1000)
        };
        let (ids, _) = list.walk(size).await;
        assert_eq!(ids, (0..25).collect::<Vec<_>>(), "{counts} {size:?}");
    }
}

#[tokio::test]
async fn a_list_that_shrinks_during_a_walk_is_read_to_its_end() {
    // Before the second page, five items of the first are removed: the items so far are then as
    // many as the list has.
    let pages = [(0..10, 20), (10..15, 15), (15..20, 15), (20..20, 15)];
    let calls = Mutex::new(pages.into_iter());
    let stream = paging("id").pages(|_| {
        let (ids, count) = calls.lock().unwrap().next().unwrap();
        let items = ids.map(|id| Item {
            id,
            name: String::new(),
        });
        ready(Ok::<_, Error<()>>(Page {
            items: items.collect(),
            count: Some(count),
        }))
    });
    assert_eq!(collect(stream).await.len(), 20);
}

#[tokio::test]
async fn a_page_that_holds_the_whole_list_is_the_last() {
    let list = List {
        counts: true,
        ..List::new(10, 1000)
    };
    assert_eq!(list.walk(None).await, ((0..10).collect(), 1));
}

#[tokio::test]
async fn a_server_that_repeats_a_page_is_an_error() {
    let list = List::new(30, 1000);
    let items = collect(paging("id").pages(|_| list.page(None, 10))).await;
    assert_eq!(items.len(), 11);
    let error = items.into_iter().last().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the list of `name_list` cannot be read to its end: the server repeats a page"
    );
}

#[tokio::test]
async fn an_item_without_the_key_is_an_error() {
    let list = List::new(30, 1000);
    let items = collect(paging("place").pages(|_| list.page(None, 10))).await;
    // The items that came with it are not lost.
    assert_eq!(items.len(), 11);
    let error = items.into_iter().last().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the list of `name_list` cannot be read to its end: an item has no `place`, which the next page starts after"
    );
}

#[tokio::test]
async fn the_key_is_the_property_that_orders_the_list() {
    let list = List::new(15, 1000);
    let names = Mutex::new(Vec::new());
    let stream = paging("name").pages(|key| {
        let name = key.map(|key| cursor::<String>(key).unwrap());
        let after = name
            .as_deref()
            .map(|name| name.trim_start_matches("item ").parse().unwrap());
        names.lock().unwrap().push(name);
        list.page(after, 10)
    });
    assert_eq!(collect(stream).await.len(), 15);
    let asked = [None, Some("item 9".to_owned()), Some("item 14".to_owned())];
    assert_eq!(*names.lock().unwrap(), asked);
}
