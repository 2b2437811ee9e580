//! The walk over the pages of a list.

use std::future::Future;
use std::vec::IntoIter;

use futures_core::Stream;
use futures_util::stream::try_unfold;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Error;
use super::style::scalar;

/// How a list is walked.
#[derive(Debug, Clone)]
pub struct Paging {
    /// The property of an item that is the cursor.
    pub key: String,
    /// The page's size, if the caller gave one.
    pub page_size: Option<u64>,
    /// The page's size when none is given, if the contract says.
    pub default_page_size: Option<u64>,
}

/// A page.
#[derive(Debug)]
pub struct Page<I> {
    /// Its items.
    pub items: Vec<I>,
    /// The size of the whole list, if the answer says.
    pub count: Option<u64>,
}

/// Every item of a list, page by page: `fetch` calls with the key of the last item seen, none at first.
pub fn pages<I, E, F, Fut>(
    paging: Paging,
    fetch: F,
) -> impl Stream<Item = Result<I, Error<E>>> + Send
where
    I: Serialize + Send,
    E: Send,
    F: Fn(Option<Value>) -> Fut + Send,
    Fut: Future<Output = Result<Page<I>, Error<E>>> + Send,
{
    let walk = Walk {
        paging,
        fetch,
        ready: Vec::new().into_iter(),
        cursor: None,
        previous: None,
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
            walk.turn().await?;
        }
    })
}

struct Walk<I, F> {
    paging: Paging,
    fetch: F,
    ready: IntoIter<I>,
    cursor: Option<Value>,
    /// How many items the page before had.
    previous: Option<u64>,
    ended: bool,
}

impl<I: Serialize, F> Walk<I, F> {
    async fn turn<E, Fut>(&mut self) -> Result<(), Error<E>>
    where
        F: Fn(Option<Value>) -> Fut,
        Fut: Future<Output = Result<Page<I>, Error<E>>>,
    {
        let page = (self.fetch)(self.cursor.clone()).await?;
        let Some(last) = page.items.last() else {
            self.ended = true;
            return Ok(());
        };
        self.ended = self.is_last(&page);
        if !self.ended {
            let key = self.key_of(last)?;
            if self.cursor.as_ref() == Some(&key) {
                return Err(Error::Paging("the server repeats a page".to_owned()));
            }
            self.cursor = Some(key);
        }
        self.previous = Some(page.items.len() as u64);
        self.ready = page.items.into_iter();
        Ok(())
    }

    /// Whether a page that has items is the last one: it holds the whole list, or it is short.
    ///
    /// A server may cut a large page size down, so a page is only short against the default, a size below it, or
    /// the page before.
    fn is_last(&self, page: &Page<I>) -> bool {
        let length = page.items.len() as u64;
        if self.cursor.is_none() && page.count.is_some_and(|count| length >= count) {
            return true;
        }
        let full = match (self.paging.page_size, self.paging.default_page_size) {
            (Some(given), Some(default)) if given <= default => Some(given),
            (None, Some(default)) => Some(default),
            _ => self.previous,
        };
        full.is_some_and(|full| length < full)
    }

    fn key_of<E>(&self, item: &I) -> Result<Value, Error<E>> {
        let value = serde_json::to_value(item).unwrap_or_default();
        match value.get(&self.paging.key) {
            Some(key @ (Value::String(_) | Value::Number(_))) => Ok(key.clone()),
            _ => Err(Error::Paging(format!(
                "an item has no `{}` to go on from",
                self.paging.key
            ))),
        }
    }
}

/// A key as the cursor's own type.
pub fn cursor<T: DeserializeOwned>(key: Value) -> Result<T, String> {
    crate::lenient(|| serde_json::from_value(key))
        .map_err(|_| "an item's key cannot be a cursor".to_owned())
}

/// A parameter as a number, if it is one.
pub fn number(value: &impl Serialize) -> Option<u64> {
    serde_json::to_value(value).ok()?.as_u64()
}

/// A parameter as a text.
pub fn text(value: &impl Serialize) -> String {
    serde_json::to_value(value)
        .map(|value| scalar(&value))
        .unwrap_or_default()
}
