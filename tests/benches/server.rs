//! The generated server against axum written by hand with the same checks.
//!
//! Both serve the same responses, each on a thread of its own, both threads on one processor. A
//! figure is the time that the thread was on it, per request. Rounds of the two alternate, and the
//! ratio is that of the medians.

#[path = "server/by_hand.rs"]
mod by_hand;
#[path = "server/generated.rs"]
mod generated;
#[path = "server/load.rs"]
mod load;
#[path = "support/mod.rs"]
mod support;

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;

use load::{Connection, Exchange};
use support::{Table, cpu_nanoseconds, median, own_thread};

const ROUNDS: usize = 61;

/// A server on a thread of its own.
struct Served {
    connection: Connection,
    thread: String,
}

impl Served {
    fn start(name: &str, router: axum::Router) -> Self {
        let (sender, receiver) = mpsc::channel::<(SocketAddr, String)>();
        let work = move || {
            support::stay_on(1);
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a run time");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
                    .await
                    .expect("a port is free");
                let address = listener.local_addr().expect("a listener has an address");
                sender
                    .send((address, own_thread()))
                    .expect("the benchmark waits for the address");
                axum::serve(listener, router).await
            })
        };
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(work)
            .expect("a thread can be started");
        let (address, thread) = receiver.recv().expect("the server starts");
        Self {
            connection: Connection::open(address),
            thread,
        }
    }

    /// CPU time per request, in microseconds.
    fn measure(&mut self, exchange: &Exchange) -> f64 {
        let before = cpu_nanoseconds(&self.thread);
        for _ in 0..exchange.repeat {
            self.connection.send(&exchange.request);
        }
        // The thread sleeps now, so that its time is accounted for.
        thread::sleep(std::time::Duration::from_millis(2));
        (cpu_nanoseconds(&self.thread) - before) / 1000.0 / f64::from(exchange.repeat)
    }
}

fn main() {
    support::stay_on(0);
    let mut generated = Served::start("generated", generated::router());
    let mut by_hand = Served::start("by_hand", by_hand::router());
    let mut table = Table::new(&["request", "generated", "by hand", "ratio"]);
    for exchange in load::exchanges()
        .into_iter()
        .filter(|exchange| support::is_wanted(exchange.name))
    {
        let (one, other) = (
            generated.connection.send(&exchange.request),
            by_hand.connection.send(&exchange.request),
        );
        assert_eq!(
            one, other,
            "{}: both must respond with the same",
            exchange.name
        );
        assert_eq!(one.status, 200, "{}", exchange.name);
        for wrong in &exchange.wrong {
            let statuses = [
                generated.connection.send(wrong).status,
                by_hand.connection.send(wrong).status,
            ];
            assert_eq!(
                statuses,
                [400, 400],
                "{}: both must reject the request",
                exchange.name
            );
        }
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let (first, second) = if round % 2 == 0 {
                let first = generated.measure(&exchange);
                (first, by_hand.measure(&exchange))
            } else {
                let second = by_hand.measure(&exchange);
                (generated.measure(&exchange), second)
            };
            // The first round warms up.
            if round > 0 {
                ours.push(first);
                theirs.push(second);
            }
        }
        let (ours, theirs) = (median(ours.into_iter()), median(theirs.into_iter()));
        table.row([
            exchange.name.to_owned(),
            format!("{ours:.1} µs"),
            format!("{theirs:.1} µs"),
            format!("{:.2}", ours / theirs),
        ]);
    }
    table.print("CPU per request, generated server and axum by hand");
}
