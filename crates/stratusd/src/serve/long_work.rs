//! Requests that keep a processor busy for milliseconds, in which no other request runs there: long
//! pages, which are read (on SQLite, on a thread of the runtime) and written as JSON, and long bodies,
//! which are parsed and checked. How many of them run at a time is limited here.

use std::sync::Arc;

use axum::extract::Request;
use http::{HeaderMap, Method};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::turns::{Turn, Turns};

/// The number of items above which a page is long.
const LONG_PAGE: u64 = 100;
/// The bytes above which the body of a request is long.
pub(super) const LONG_BODY: usize = 16 << 10;

/// The processors that long work may take, and the turns of each token.
#[derive(Debug, Clone)]
pub(super) struct LongWork {
    processors: Arc<Semaphore>,
    turns: Arc<Turns>,
}

impl LongWork {
    /// Leaves half of the processors to other requests, and half of the rest to other tokens.
    pub(super) fn new(processors: usize) -> Self {
        let most = (processors / 2).max(1);
        Self {
            processors: Arc::new(Semaphore::new(most)),
            turns: Arc::new(Turns::new(most.div_ceil(2))),
        }
    }

    /// Waits until the long work of a request with these headers may begin. The wait begins when
    /// the future is polled.
    pub(super) fn wait(&self, headers: &HeaderMap) -> impl Future<Output = Working> + Send + use<> {
        let turn = self.turns.wait(headers);
        let processors = Arc::clone(&self.processors);
        async {
            // First the turn, so that a token that asks for many waits for itself.
            let turn = turn.await;
            // It is never closed, so this does not fail.
            let permit = processors.acquire_owned().await.ok();
            Working {
                _permit: permit,
                _turn: turn,
            }
        }
    }
}

/// Long work that has begun. When this is dropped, other work may begin.
#[derive(Debug)]
pub(super) struct Working {
    _permit: Option<OwnedSemaphorePermit>,
    _turn: Option<Turn>,
}

/// Returns whether a request is for a long page. One whose query is escaped counts as one: it may
/// hide the size, and hardly any request needs an escape.
pub(super) fn is_long_page(request: &Request) -> bool {
    let Some(query) = request.uri().query() else {
        return false;
    };
    let is_long = |pair: &str| {
        let size = pair.strip_prefix("page_size=");
        size.is_some_and(|size| size.parse().is_ok_and(|size: u64| size > LONG_PAGE))
    };
    // `HEAD` makes the page too.
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    reads && (query.contains('%') || query.split('&').any(is_long))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use futures_util::FutureExt;
    use http::header;

    use super::*;

    fn of(token: &str) -> HeaderMap {
        let value = format!("Bearer {token}").parse().expect("a header");
        HeaderMap::from_iter([(header::AUTHORIZATION, value)])
    }

    #[test]
    fn a_token_has_half_of_half_the_processors() {
        let work = LongWork::new(6);
        let (shop, rival) = (of("shop"), of("rival"));
        let first = work.wait(&shop).now_or_never();
        let second = work.wait(&shop).now_or_never();
        assert!(first.is_some() && second.is_some());
        assert!(work.wait(&shop).now_or_never().is_none());
        let other = work.wait(&rival).now_or_never();
        assert!(other.is_some());
        // The other processors are for other requests.
        assert!(work.wait(&rival).now_or_never().is_none());
        drop(first);
        assert!(work.wait(&rival).now_or_never().is_some());
        assert!(LongWork::new(1).wait(&shop).now_or_never().is_some());
    }

    #[test]
    fn a_page_is_long_however_its_size_is_written() {
        let is_long = |method: Method, query: &str| {
            let uri = format!("/project/p/postgres?{query}");
            let request = Request::builder().method(method).uri(uri);
            is_long_page(&request.body(Body::empty()).expect("a request"))
        };
        for query in [
            "page_size=101",
            "page_size=99999999999",
            "order_column=name&page_size=1000",
            "page%5Fsize=1000",
            "page_size=1%30%30%30",
        ] {
            assert!(is_long(Method::GET, query), "{query}");
            assert!(is_long(Method::HEAD, query), "{query}");
            assert!(!is_long(Method::POST, query), "{query}");
        }
        for query in ["", "page_size=100", "page_size=", "start_after=page_size"] {
            assert!(!is_long(Method::GET, query), "{query}");
        }
    }
}
