//! The stream of all items of a list that the API splits into pages.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::vec::IntoIter;

use futures_core::Stream;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::lenient::{Body, Lenient, keeping};
use super::style::scalar;
use super::{Argument, Error, InvalidArgument, map};
use crate::Wire;

/// How a list is split into pages.
#[derive(Debug, Clone)]
pub struct Paging {
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
        Items(Walk {
            paging: self,
            fetch: Box::new(move |key| Box::pin(fetch(key))),
            fetched: None,
            ready: Vec::new().into_iter(),
            cursor: None,
            failed: None,
            ended: false,
        })
    }
}

/// Every item of a list: a [`Stream`] that calls for page after page.
///
/// The first error ends the stream. Pages are read one after the other: an item that is added or
/// removed meanwhile may be missing or not.
#[must_use = "a stream does nothing unless it is polled"]
pub struct Items<'a, I, E>(Walk<'a, I, E, I>);

/// Every item of a list, each as it was received: see [`Items::lenient`].
#[must_use = "a stream does nothing unless it is polled"]
pub struct LenientItems<'a, I, E> {
    walk: Walk<'a, I, E, Lenient<I>>,
    /// The body of the page that is read.
    body: Option<Body>,
}

impl<'a, I, E> Items<'a, I, E> {
    /// Makes the stream return each item as [`Lenient`], so that one that does not fit costs only
    /// itself. What else is wrong with a page costs nothing, if it has its items.
    ///
    /// The next page starts after the last item's own key, which has to be there.
    pub fn lenient(self) -> LenientItems<'a, I, E> {
        let Self(walk) = self;
        LenientItems {
            walk: Walk {
                paging: walk.paging,
                fetch: walk.fetch,
                fetched: None,
                ready: Vec::new().into_iter(),
                cursor: None,
                failed: None,
                ended: false,
            },
            body: None,
        }
    }
}

// No item is pinned.
impl<I, E> Unpin for Items<'_, I, E> {}
impl<I, E> Unpin for LenientItems<'_, I, E> {}

impl<I: Serialize, E> Stream for Items<'_, I, E> {
    type Item = Result<I, Error<E>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self(walk) = self.get_mut();
        loop {
            if let Some(item) = walk.ready.next() {
                return Poll::Ready(Some(Ok(item)));
            }
            if let Some(error) = walk.failed() {
                return Poll::Ready(Some(Err(error)));
            }
            if walk.ended {
                return Poll::Ready(None);
            }
            let page = ready!(walk.fetched().poll(cx));
            let added = page.and_then(|page| {
                let json = |item| serde_json::to_value(item).unwrap_or_default();
                let last = page.items.last().map(json);
                walk.add(page, last.as_ref())
            });
            if let Err(error) = walk.next(added) {
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
            if let Some(item) = walk.ready.next() {
                return Poll::Ready(Some(Ok(item)));
            }
            if let Some(error) = walk.failed() {
                let lenient = |value| Lenient::new(Ok(value), None);
                let error = error.map_response(|response| map(response, lenient));
                return Poll::Ready(Some(Err(error)));
            }
            if walk.ended {
                return Poll::Ready(None);
            }
            let (poll, body) = keeping(|| walk.fetched().poll(cx));
            this.body = body.or(this.body.take());
            let page = ready!(poll);
            let body = this.body.take();
            let added = lenient_page(&walk.paging, page, body.as_ref())
                .and_then(|(page, last)| walk.add(page, last.as_ref()));
            if let Err(error) = walk.next(added) {
                let error = error
                    .map_response(|response| map(response, |value| Lenient::new(Ok(value), body)));
                return Poll::Ready(Some(Err(error)));
            }
        }
    }
}

/// Reads the items of a page one by one, from the body that was received. Returns the last item as
/// JSON too.
///
/// # Errors
///
/// The error of the call. That the page does not fit its type is one only if it has no items.
fn lenient_page<I: Wire, E>(
    paging: &Paging,
    page: Result<Page<I>, Error<E>>,
    body: Option<&Body>,
) -> Result<(Page<Lenient<I>>, Option<Value>), Error<E>> {
    let json = match &page {
        Ok(_) => body,
        // An error of the API is no page, whether it fits or not.
        Err(Error::InvalidResponse(invalid)) if invalid.status().is_success() => body,
        Err(_) => None,
    };
    let json = json.and_then(|body| serde_json::from_slice::<Value>(&body.bytes).ok());
    let mut json = json.unwrap_or_default();
    let items = json.get_mut(paging.items).map(Value::take);
    let items = if let Some(Value::Array(items)) = items {
        items
    } else {
        // A page without items fits where they are optional.
        page?;
        Vec::new()
    };
    let count = paging.count.and_then(|name| json.get(name)?.as_u64());
    let last = items.last().cloned();
    let operation = body.and_then(|body| body.operation);
    let items = items.into_iter().enumerate().map(|(at, item)| {
        let pointer = format!("/{}/{at}", crate::pointer::escape(paging.items));
        Lenient::of_item(item, pointer, operation)
    });
    let items = items.collect();
    Ok((Page { items, count }, last))
}

/// A walk over the pages of a list, which returns each item of a page as an `R`.
struct Walk<'a, I, E, R> {
    paging: Paging,
    fetch: Fetch<'a, I, E>,
    /// The call in progress.
    fetched: Option<Fetched<'a, I, E>>,
    ready: IntoIter<R>,
    cursor: Option<Value>,
    /// Why no page comes after the items that are ready.
    failed: Option<Error<E>>,
    ended: bool,
}

impl<'a, I, E, R> Walk<'a, I, E, R> {
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
    fn next<F>(&mut self, added: Result<(), F>) -> Result<(), F> {
        self.fetched = None;
        self.ended |= added.is_err();
        added
    }

    /// Adds the items of a page, of which `last` is the last one as JSON.
    fn add(&mut self, page: Page<R>, last: Option<&Value>) -> Result<(), Error<E>> {
        // Without an item there is no key to go on from.
        let Some(last) = last else {
            self.ended = true;
            return Ok(());
        };
        let next = (!self.is_last(&page)).then(|| self.key_of(last));
        match next {
            None => self.ended = true,
            // A server that ignores the cursor would be called without end.
            Some(Ok(key)) if self.cursor.as_ref() == Some(&key) => {
                return Err(Error::Paging("the server repeats a page".to_owned()));
            }
            Some(Ok(key)) => self.cursor = Some(key),
            Some(Err(error)) => self.failed = Some(error),
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
    fn is_last(&self, page: &Page<R>) -> bool {
        let length = page.items.len() as u64;
        self.cursor.is_none() && page.count.is_some_and(|count| length >= count)
    }

    fn key_of(&self, item: &Value) -> Result<Value, Error<E>> {
        match item.get(&self.paging.key) {
            Some(key @ (Value::String(_) | Value::Number(_))) => Ok(key.clone()),
            _ => Err(Error::Paging(format!(
                "an item has no `{}`, which the next page starts after",
                self.paging.key
            ))),
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
