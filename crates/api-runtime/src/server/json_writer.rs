//! Writes the JSON of a response into memory, and lets the thread do something else meanwhile.

use std::cell::Cell;
use std::io;

use serde::Serialize;

/// The initial capacity of the buffer, in bytes.
const CAPACITY: usize = 256;
/// How many bytes are written between two calls.
const EVERY: usize = 64 << 10;

thread_local! {
    static WHILE_WRITING: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// Has the current thread call a function each time that it has written 64 KiB of a response as JSON,
/// which takes some 0.1 ms.
///
/// A response is written as a whole, and its thread does nothing else meanwhile. A server that makes long
/// responses on threads of their own can let these give way to its other threads, for example by
/// [`std::thread::yield_now`].
///
/// ```
/// use api_runtime::server::call_while_writing;
///
/// let long_work = tokio::runtime::Builder::new_multi_thread()
///     .on_thread_start(|| call_while_writing(std::thread::yield_now))
///     .build();
/// # long_work.unwrap();
/// ```
pub fn call_while_writing(call: fn()) {
    WHILE_WRITING.set(Some(call));
}

/// Returns a value as JSON.
pub(super) fn json(value: &(impl Serialize + ?Sized)) -> serde_json::Result<Vec<u8>> {
    let mut writer = Writer {
        bytes: Vec::with_capacity(CAPACITY),
        next: EVERY,
    };
    serde_json::to_writer(&mut writer, value)?;
    Ok(writer.bytes)
}

struct Writer {
    bytes: Vec<u8>,
    /// The length at which the function is called.
    next: usize,
}

impl io::Write for Writer {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() >= self.next {
            self.call();
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Writer {
    #[cold]
    fn call(&mut self) {
        self.next = self.bytes.len() + EVERY;
        if let Some(call) = WHILE_WRITING.get() {
            call();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static CALLS: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn a_function_is_called_while_a_long_response_is_written() {
        let texts = |count: usize| vec!["x".repeat((1 << 10) - 3); count];
        let written = |count| json(&texts(count)).expect("texts are JSON");
        written(1000);
        call_while_writing(|| CALLS.set(CALLS.get() + 1));
        for (kib, calls) in [(63, 0), (64, 1), (1000, 15)] {
            CALLS.set(0);
            let bytes = written(kib);
            assert_eq!(CALLS.get(), calls, "{kib}");
            let read: Vec<String> = serde_json::from_slice(&bytes).expect("it is JSON");
            assert_eq!(read, texts(kib));
        }
    }
}
