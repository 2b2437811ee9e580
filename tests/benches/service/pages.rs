//! Pages of a list of a thousand items, and of a list of a million.

use std::time::Instant;

use axum::body::to_bytes;

use crate::support::{Table, median};
use crate::world::{EMPTY, Service, fill};

const ROUNDS: usize = 41;

pub async fn run() {
    let mut table = Table::new(&["page", "database", "of 1,000", "of 1,000,000", "ratio"]);
    measure(&Service::sqlite(EMPTY).await, "SQLite", &mut table).await;
    measure(&Service::postgres(EMPTY).await, "PostgreSQL", &mut table).await;
    table.print("time of a page, count included");
}

async fn measure(service: &Service, database: &str, table: &mut Table) {
    fill(service).await;
    // A deep page starts in the middle of the list. A page as long as the small list starts after
    // its first item.
    for (name, query, repeat, [after, far_after]) in [
        ("10 by id, first", "page_size=10", 20, ["", ""]),
        (
            "10 by id, deep",
            "page_size=10&start_after=vm000000000000000000{}",
            20,
            ["000500", "500000"],
        ),
        (
            "10 by name, first",
            "page_size=10&order_column=name",
            20,
            ["", ""],
        ),
        (
            "10 by name, deep",
            "page_size=10&order_column=name&start_after=app-0{}",
            20,
            ["000500", "500000"],
        ),
        ("1000 by id, first", "page_size=1000", 3, ["", ""]),
        (
            "1000 by id, deep",
            "page_size=1000&start_after=vm000000000000000000{}",
            3,
            ["000000", "500000"],
        ),
        (
            "1000 by name, first",
            "page_size=1000&order_column=name",
            3,
            ["", ""],
        ),
        (
            "1000 by name, deep",
            "page_size=1000&order_column=name&start_after=app-0{}",
            3,
            ["000000", "500000"],
        ),
    ] {
        let (small, large) = (path(query, after), path(query, far_after));
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let one = time(service, 0, &small, repeat).await;
            let other = time(service, 1, &large, repeat).await;
            // The first round warms up.
            if round > 0 {
                ours.push(one);
                theirs.push(other);
            }
        }
        let (small, large) = (median(ours.into_iter()), median(theirs.into_iter()));
        table.row([
            name.to_owned(),
            database.to_owned(),
            format!("{small:.0} µs"),
            format!("{large:.0} µs"),
            format!("{:.2}", large / small),
        ]);
    }
}

fn path(query: &str, number: &str) -> String {
    format!("/location/eu-central-h1/vm?{}", query.replace("{}", number))
}

/// Returns the time of a call, in microseconds.
async fn time(service: &Service, project: usize, path: &str, repeat: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..repeat {
        let response = service.call(project, "GET", path).await;
        assert_eq!(response.status(), 200, "{path}");
        let body = to_bytes(response.into_body(), usize::MAX)
            .await
            .expect("the body can be collected");
        assert!(
            body.starts_with(if project == 0 {
                b"{\"count\":1000,"
            } else {
                b"{\"count\":1000000,"
            }),
            "{path}"
        );
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(repeat)
}
