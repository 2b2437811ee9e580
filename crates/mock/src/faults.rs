//! Failures on demand.

use std::str::FromStr;

use http::StatusCode;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// How often responses fail, and with which status.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Failures {
    rate: f64,
    /// The status of failures.
    pub status: StatusCode,
}

impl Failures {
    /// Returns whether the request with this number fails. The same seed fails the same ones.
    pub(crate) fn strike(&self, seed: u64, number: u64) -> bool {
        // Without the factor, neighbouring seeds would fail the same requests in another order.
        let mixed = seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        StdRng::seed_from_u64(mixed).random_bool(self.rate)
    }
}

impl FromStr for Failures {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (rate, status) = text.split_once(':').unwrap_or((text, "500"));
        let number = match rate.strip_suffix('%') {
            Some(percent) => percent.parse::<f64>().map(|percent| percent / 100.0),
            None => rate.parse(),
        };
        let rate = number
            .ok()
            .filter(|rate| (0.0..=1.0).contains(rate))
            .ok_or_else(|| format!("`{rate}` is no rate: write 0.1 or 10%, from 0 to 1"))?;
        let status = status
            .parse()
            .ok()
            .filter(|status| (400..600).contains(status))
            .and_then(|status| StatusCode::from_u16(status).ok())
            .ok_or_else(|| format!("`{status}` is no status of an error: write 400 to 599"))?;
        Ok(Self { rate, status })
    }
}
