//! Any bytes that a peer sends to a generated server get well-formed responses or a closed
//! connection, in bounded time and without a panic, and handlers get only values that the contract
//! allows.
//!
//! `STRATUS_SEED` repeats a run, `STRATUS_CASES` makes it longer. `tests/fuzz` runs the same checks
//! with `cargo fuzz`.

use std::collections::BTreeMap;
use std::panic;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use tests::any_request::{requests, serve};
use tests::random::{Choices, Run};

/// The time that one connection may take: far more than any of them needs, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends bytes that are made from each string of choices. Returns the number of responses of each
/// status.
fn each(cases: u32, make: fn(&mut Choices<'_>) -> Vec<u8>) -> BTreeMap<u16, usize> {
    // A panic of a handler ends a task of the server alone, so the hook keeps it.
    let said = Arc::new(Mutex::new(None));
    let last = said.clone();
    panic::set_hook(Box::new(move |panic| {
        *last.lock().expect("no panic while the lock is held") = Some(panic.to_string());
    }));
    let seen = Mutex::new(BTreeMap::new());
    let strategy = proptest::collection::vec(any::<u8>(), 0..600);
    let drawn = Run::from_environment(cases)
        .runner()
        .run(&strategy, |choices| {
            let mut choices = Choices::new(&choices);
            let piece = *choices.of(&[usize::MAX, 1, 7, 100, 1000]);
            let bytes = make(&mut choices);
            let shown = String::from_utf8_lossy(&bytes).into_owned();
            let (done, end) = mpsc::channel();
            thread::spawn(move || {
                // Sending fails only if the receiver has given up, which it has reported.
                let _ = done.send(serve(&bytes, piece));
            });
            let ended = end.recv_timeout(PATIENCE);
            if let Some(panic) = said.lock().expect("no panic while the lock is held").take() {
                return Err(TestCaseError::fail(format!("{panic}\n{shown}\n")));
            }
            if ended == Err(RecvTimeoutError::Timeout) {
                return Err(TestCaseError::fail(format!("it takes too long\n{shown}\n")));
            }
            let mut seen = seen.lock().expect("no panic while the lock is held");
            for status in ended.unwrap_or_default() {
                *seen.entry(status).or_default() += 1;
            }
            Ok(())
        });
    let _ = panic::take_hook();
    drawn.unwrap_or_else(|failure| panic!("{failure}"));
    seen.into_inner().expect("no panic while the lock is held")
}

#[test]
fn any_requests_get_responses_of_the_contract() {
    let seen = each(500, requests);
    println!("responses by status: {seen:?}");
    // Otherwise the test would show nothing.
    for status in [200, 400, 401, 404, 405, 413, 415, 503] {
        assert!(seen.contains_key(&status), "no {status}: {seen:?}");
    }
    let all: usize = seen.values().sum();
    assert!(seen[&200] > all / 20, "too few are right: {seen:?}");
}

#[test]
fn any_bytes_get_responses_or_a_closed_connection() {
    let seen = each(500, |choices| {
        let starts: [&[u8]; 4] = [
            b"",
            b"GET / HTTP/1.1\r\n",
            b"POST /openapi.json HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ];
        let mut bytes = choices.of(&starts).to_vec();
        bytes
            .extend((0..choices.below(300)).map(|_| u8::try_from(choices.below(256)).unwrap_or(0)));
        bytes
    });
    println!("responses by status: {seen:?}");
}
