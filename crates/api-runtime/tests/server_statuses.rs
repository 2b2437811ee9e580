//! Tests of the statuses that a response for `default` or for a range may have.
#![cfg(feature = "server")]

use api_runtime::server::{
    DefaultStatus, ListedResponse, RangeStatus, StatusCode, Statuses, default_status, range_status,
};

/// An operation with responses for 200, 404, 5XX and `default`.
struct Responses;

impl Statuses for Responses {
    const LISTED: &'static [&'static [ListedResponse]] = &[
        &[ListedResponse::code(200)],
        &[
            ListedResponse::code(404),
            ListedResponse::range(5),
            ListedResponse::default(),
        ],
    ];
}

fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).expect("it has three digits")
}

#[test]
fn default_takes_errors_that_no_other_response_is_listed_for() {
    for (code, is_taken) in [
        (399, true),
        (400, true),
        (403, true),
        // These have responses of their own, by number and by range.
        (404, false),
        (500, false),
        (503, false),
        // These are no errors.
        (200, false),
        (299, false),
        (600, false),
    ] {
        let taken = DefaultStatus::<Responses>::new(status(code));
        assert_eq!(taken.is_ok(), is_taken, "{code}");
        assert!(taken.is_err() || taken.is_ok_and(|taken| taken.get() == code));
    }
    let taken: DefaultStatus<Responses> = default_status!(Responses, 403);
    assert_eq!(taken.get(), 403);
}

#[test]
fn a_range_takes_its_statuses_without_a_response_of_their_own() {
    for (code, is_taken) in [
        (400, true),
        (499, true),
        (404, false),
        (399, false),
        (500, false),
    ] {
        let taken = RangeStatus::<Responses, 4>::new(status(code));
        assert_eq!(taken.is_ok(), is_taken, "{code}");
    }
    let taken: RangeStatus<Responses, 5> = range_status!(Responses, 503);
    assert_eq!(taken.get(), 503);
}
