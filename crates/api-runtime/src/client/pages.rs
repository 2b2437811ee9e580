//! The stream of all items of a list that the API splits into pages.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::vec::IntoIter;

use bytes::Bytes;
use futures_core::Stream;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::lenient::{Body, Lenient, failed, keeping};
use super::raw::{self, Array};
use super::style::scalar;
use super::{Argument, Error, InvalidArgument};
use crate::Wire;

/// How a list is split into pages.
#[derive(Debug, Clone)]
pub struct Paging {
    /// The id of the operation.
    pub operation: &'static str,
    /// The property of an item that the next page starts after.
    pub key: String,
    /// The property of a page that has the items.
    pub items: &'static str,
    /// The property of a page that has the size of the whole list, if pages have one.
    pub count: Option<&'static str>,
}

/// A page of a list.
#[derive(Debug)]
pub struct Page<I> {
    /// The items.
    pub items: Vec<I>,
    /// The size of the whole list, if the page has it.
    pub count: Option<u64>,
}

/// The call for a page.
type Fetched<'a, I, E> = Pin<Box<dyn Future<Output = Result<Page<I>, Error<E>>> + Send + 'a>>;
/// The function that calls for the page after a key, or for the first page.
type Fetch<'a, I, E> = Box<dyn Fn(Option<Value>) -> Fetched<'a, I, E> + Send + 'a>;

impl Paging {
    /// Returns every item of a list, page by page: `fetch` returns the page after the key of the
    /// last item, or the first page.
    pub fn pages<'a, I, E, F, Fut>(self, fetch: F) -> Items<'a, I, E>
    where
        F: Fn(Option<Value>) -> Fut + Send + 'a,
        Fut: Future<Output = Result<Page<I>, Error<E>>> + Send + 'a,
    {
        Items {
            walk: Walk {
                paging: self,
                fetch: Box::new(move |key| Box::pin(fetch(key))),
                fetched: None,
                cursor: None,
                failed: None,
                ended: false,
            },
            ready: Vec::new().into_iter(),
        }
    }
}

/// Every item of a list: a [`Stream`] that calls for page after page.
///
/// The first error ends the stream. Pages are read one after the other: an item that is added or
/// removed meanwhile may be missing or not.
#[must_use = "a stream does nothing unless it is polled"]
pub struct Items<'a, I, E> {
    walk: Walk<'a, I, E>,
    ready: IntoIter<I>,
}

/// Every item of a list, each as it was received: see [`Items::lenient`].
#[must_use = "a stream does nothing unless it is polled"]
pub struct LenientItems<'a, I, E> {
    walk: Walk<'a, I, E>,
    /// The body of the page that is read.
    body: Option<Body>,
    /// The items that are left of a page.
    page: Option<RawPage>,
}

impl<'a, I, E> Items<'a, I, E> {
    /// Makes the stream return each item as [`Lenient`], so that one that does not fit costs only
    /// itself. What else is wrong with a page costs nothing, if it has its items.
    ///
    /// The next page starts after the last item's own key, which has to be there. An item is made
    /// when it is asked for: of the others, only the bytes are in memory.
    pub fn lenient(self) -> LenientItems<'a, I, E> {
        LenientItems {
            walk: self.walk,
            body: None,
            page: None,
        }
    }
}

// No item is pinned.
impl<I, E> Unpin for Items<'_, I, E> {}
impl<I, E> Unpin for LenientItems<'_, I, E> {}

impl<I: Serialize, E> Stream for Items<'_, I, E> {
    type Item = Result<I, Error<E>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { walk, ready } = self.get_mut();
        loop {
            if let Some(item) = ready.next() {
                return Poll::Ready(Some(Ok(item)));
            }
            if let Some(error) = walk.failed() {
                return Poll::Ready(Some(Err(error)));
            }
            if walk.ended {
                return Poll::Ready(None);
            }
            let page = ready!(walk.fetched().poll(cx));
            let turned = page.and_then(|page| {
                let last = page.items.last().map(serde_json::to_value);
                let last = last.and_then(Result::ok).unwrap_or_default();
                walk.turn(&Extent {
                    length: page.items.len() as u64,
                    count: page.count,
                    key: last.get(&walk.paging.key).cloned(),
                })?;
                *ready = page.items.into_iter();
                Ok(())
            });
            if let Err(error) = walk.next(turned) {
                return Poll::Ready(Some(Err(error)));
            }
        }
    }
}

impl<I: Wire, E> Stream for LenientItems<'_, I, E> {
    type Item = Result<Lenient<I>, Error<Lenient<E>>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let walk = &mut this.walk;
        loop {
            if let Some(item) = this.page.as_mut().and_then(RawPage::next) {
                return Poll::Ready(Some(Ok(item)));
            }
            this.page = None;
            if let Some(error) = walk.failed() {
                return Poll::Ready(Some(Err(failed(error, None))));
            }
            if walk.ended {
                return Poll::Ready(None);
            }
            let (poll, body) = keeping(|| walk.fetched().poll(cx));
            this.body = body.or(this.body.take());
            let page = ready!(poll);
            let body = this.body.take();
            let turned = raw_page(&walk.paging, page, body.as_ref()).and_then(|(page, extent)| {
                walk.turn(&extent)?;
                this.page = page;
                Ok(())
            });
            if let Err(error) = walk.next(turned) {
                return Poll::Ready(Some(Err(failed(error, body))));
            }
        }
    }
}

/// The items of a page as they were received.
struct RawPage {
    items: Array,
    /// The index of the next item.
    at: usize,
    /// The property of the page that has the items.
    name: &'static str,
    operation: Option<&'static str>,
}

impl RawPage {
    fn next<I: Wire>(&mut self) -> Option<Lenient<I>> {
        let item = self.items.next()?;
        let pointer = format!("/{}/{}", crate::pointer::escape(self.name), self.at);
        self.at += 1;
        // A copy, so that an item that is kept does not keep its page.
        let item = Bytes::copy_from_slice(&item);
        Some(Lenient::of_item(item, pointer, self.operation))
    }
}

/// Finds the items of a page in the body that was received.
///
/// # Errors
///
/// The error of the call. That the page does not fit its type is one only if it has no items.
fn raw_page<I, E>(
    paging: &Paging,
    page: Result<Page<I>, Error<E>>,
    body: Option<&Body>,
) -> Result<(Option<RawPage>, Extent), Error<E>> {
    let body = match &page {
        Ok(_) => body,
        // An error of the API is no page, whether it fits or not.
        Err(Error::InvalidResponse(invalid)) if invalid.status().is_success() => body,
        Err(_) => None,
    };
    let items = body.and_then(|body| {
        let range = raw::property(&body.bytes, paging.items)?;
        Some((body, Array::of(body.bytes.slice(range))?))
    });
    let Some((body, items)) = items else {
        // A page without items fits where they are optional.
        page?;
        return Ok((None, Extent::default()));
    };
    let value = |object: &[u8], name: &str| -> Option<Value> {
        serde_json::from_slice(&object[raw::property(object, name)?]).ok()
    };
    let mut extent = Extent {
        count: paging
            .count
            .and_then(|name| value(&body.bytes, name)?.as_u64()),
        ..Extent::default()
    };
    let mut last = None;
    for item in items.clone() {
        extent.length += 1;
        last = Some(item);
    }
    extent.key = last.and_then(|last| value(&last, &paging.key));
    let page = RawPage {
        items,
        at: 0,
        name: paging.items,
        operation: body.operation,
    };
    Ok((Some(page), extent))
}

/// What a walk needs to know of a page.
#[derive(Default)]
struct Extent {
    /// The number of items.
    length: u64,
    /// The size of the whole list, if the page has it.
    count: Option<u64>,
    /// The value after which the next page starts: that of the last item's property
    /// [`Paging::key`], if the item has it.
    key: Option<Value>,
}

/// A walk over the pages of a list.
struct Walk<'a, I, E> {
    paging: Paging,
    fetch: Fetch<'a, I, E>,
    /// The call in progress.
    fetched: Option<Fetched<'a, I, E>>,
    cursor: Option<Value>,
    /// Why no page comes after the items that are ready.
    failed: Option<Error<E>>,
    ended: bool,
}

impl<'a, I, E> Walk<'a, I, E> {
    /// Returns the call in progress, which is begun if there is none.
    fn fetched(
        &mut self,
    ) -> Pin<&mut (dyn Future<Output = Result<Page<I>, Error<E>>> + Send + 'a)> {
        let fetch = || (self.fetch)(self.cursor.clone());
        self.fetched.get_or_insert_with(fetch).as_mut()
    }

    /// Ends the walk and returns why, if no page comes after the items that were ready.
    fn failed(&mut self) -> Option<Error<E>> {
        let error = self.failed.take()?;
        self.ended = true;
        Some(error)
    }

    /// Ends the call in progress, and the walk after an error.
    fn next<F>(&mut self, turned: Result<(), F>) -> Result<(), F> {
        self.fetched = None;
        self.ended |= turned.is_err();
        turned
    }

    /// Decides whether another page comes after this one, and after which key it starts.
    fn turn(&mut self, page: &Extent) -> Result<(), Error<E>> {
        // Without an item there is no key to go on from.
        if page.length == 0 {
            self.ended = true;
            return Ok(());
        }
        let next = (!self.is_last(page)).then(|| self.key_of(page));
        match next {
            None => self.ended = true,
            // A server that ignores the cursor would be called without end.
            Some(Ok(key)) if self.cursor.as_ref() == Some(&key) => {
                return Err(self.unreadable("the server repeats a page".to_owned()));
            }
            Some(Ok(key)) => self.cursor = Some(key),
            Some(Err(error)) => self.failed = Some(error),
        }
        Ok(())
    }

    /// Returns whether a page with items is the last one: it is the first page, and holds the whole
    /// list.
    ///
    /// The number of its items alone says nothing: a server may end a page early, because it reduces
    /// a large page size or limits the bytes of a page. A later page is not compared with the size
    /// of the list either, which may have shrunk since the pages before were read.
    fn is_last(&self, page: &Extent) -> bool {
        self.cursor.is_none() && page.count.is_some_and(|count| page.length >= count)
    }

    fn key_of(&self, page: &Extent) -> Result<Value, Error<E>> {
        match &page.key {
            Some(key @ (Value::String(_) | Value::Number(_))) => Ok(key.clone()),
            _ => Err(self.unreadable(format!(
                "an item has no `{}`, which the next page starts after",
                self.paging.key
            ))),
        }
    }

    fn unreadable(&self, reason: String) -> Error<E> {
        Error::Paging {
            reason,
            operation: self.paging.operation,
        }
    }
}

impl<I, E> fmt::Debug for Items<'_, I, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").finish_non_exhaustive()
    }
}

impl<I, E> fmt::Debug for LenientItems<'_, I, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LenientItems").finish_non_exhaustive()
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
