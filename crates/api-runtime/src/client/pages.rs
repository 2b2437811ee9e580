//! The stream of all items of a list that the API splits into pages.

use std::future::Future;
use std::vec::IntoIter;

use futures_core::Stream;
use futures_util::stream::try_unfold;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::style::scalar;
use super::{Argument, Error, InvalidArgument};

/// How a list is split into pages.
#[derive(Debug, Clone)]
pub struct Paging {
    /// The property of an item that the next page starts after.
    pub key: String,
}

/// A page of a list.
#[derive(Debug)]
pub struct Page<I> {
    /// The items.
    pub items: Vec<I>,
    /// The size of the whole list, if the page has it.
    pub count: Option<u64>,
}

impl Paging {
    /// Returns every item of a list, page by page: `fetch` returns the page after the key of the
    /// last item, or the first page.
    pub fn pages<I, E, F, Fut>(self, fetch: F) -> impl Stream<Item = Result<I, Error<E>>> + Send
    where
        I: Serialize + Send,
        E: Send,
        F: Fn(Option<Value>) -> Fut + Send,
        Fut: Future<Output = Result<Page<I>, Error<E>>> + Send,
    {
        let walk = Walk {
            paging: self,
            fetch,
            ready: Vec::new().into_iter(),
            cursor: None,
            ended: false,
        };
        try_unfold(walk, async |mut walk| {
            loop {
                if let Some(item) = walk.ready.next() {
                    return Ok(Some((item, walk)));
                }
                if walk.ended {
                    return Ok(None);
                }
                walk.fetch_page().await?;
            }
        })
    }
}

struct Walk<I, F> {
    paging: Paging,
    fetch: F,
    ready: IntoIter<I>,
    cursor: Option<Value>,
    ended: bool,
}

impl<I: Serialize, F> Walk<I, F> {
    async fn fetch_page<E, Fut>(&mut self) -> Result<(), Error<E>>
    where
        F: Fn(Option<Value>) -> Fut,
        Fut: Future<Output = Result<Page<I>, Error<E>>>,
    {
        let page = (self.fetch)(self.cursor.clone()).await?;
        // Without an item there is no key to go on from.
        let Some(last) = page.items.last() else {
            self.ended = true;
            return Ok(());
        };
        self.ended = self.is_last(&page);
        if !self.ended {
            let key = self.key_of(last)?;
            // A server that ignores the cursor would be called without end.
            if self.cursor.as_ref() == Some(&key) {
                return Err(Error::Paging("the server repeats a page".to_owned()));
            }
            self.cursor = Some(key);
        }
        self.ready = page.items.into_iter();
        Ok(())
    }

    /// Returns whether a page with items is the last one: it is the first page, and holds the whole
    /// list.
    ///
    /// The number of its items alone says nothing: a server may end a page early, because it reduces
    /// a large page size or limits the bytes of a page. A later page is not compared with the size
    /// of the list either, which may have shrunk since the pages before were read.
    fn is_last(&self, page: &Page<I>) -> bool {
        let length = page.items.len() as u64;
        self.cursor.is_none() && page.count.is_some_and(|count| length >= count)
    }

    fn key_of<E>(&self, item: &I) -> Result<Value, Error<E>> {
        let value = serde_json::to_value(item).unwrap_or_default();
        match value.get(&self.paging.key) {
            Some(key @ (Value::String(_) | Value::Number(_))) => Ok(key.clone()),
            _ => Err(Error::Paging(format!(
                "an item has no `{}`, which the next page starts after",
                self.paging.key
            ))),
        }
    }
}

/// Converts the key of an item into the argument that the next page starts after.
pub fn cursor<T: DeserializeOwned>(key: Value) -> Argument<T> {
    crate::lenient(|| serde_json::from_value(key))
        .map_err(|_| InvalidArgument::new("the key of an item is not a valid cursor"))
}

/// Returns the size of a list, if it is a number.
pub fn count(value: &impl Serialize) -> Option<u64> {
    serde_json::to_value(value).ok()?.as_u64()
}

/// Returns an argument as text, or `default` if it is not set.
pub fn text(argument: &Argument<impl Serialize>, default: &str) -> String {
    let value = argument.as_ref().ok().map(serde_json::to_value);
    match value {
        None | Some(Ok(Value::Null)) => default.to_owned(),
        Some(value) => value.map(|value| scalar(&value)).unwrap_or_default(),
    }
}
