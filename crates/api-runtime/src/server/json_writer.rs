//! Writes the JSON of a response into memory, and lets the thread do something else meanwhile.

use std::io;

use serde::Serialize;

use super::busy;

/// The initial capacity of the buffer, in bytes.
const CAPACITY: usize = 256;
/// How many bytes are written between two calls.
const EVERY: usize = 64 << 10;

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
            self.next = self.bytes.len() + EVERY;
            busy::call();
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::busy::counting::calls;
    use super::*;

    #[test]
    fn a_function_is_called_while_a_long_response_is_written() {
        let texts = |count: usize| vec!["x".repeat((1 << 10) - 3); count];
        let written = |count| json(&texts(count)).expect("texts are JSON");
        // A thread without a function writes as well.
        written(1000);
        for (kib, expected) in [(63, 0), (64, 1), (1000, 15)] {
            let mut bytes = Vec::new();
            assert_eq!(calls(|| bytes = written(kib)), expected, "{kib}");
            let read: Vec<String> = serde_json::from_slice(&bytes).expect("it is JSON");
            assert_eq!(read, texts(kib));
        }
    }
}
