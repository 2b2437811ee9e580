//! The time of a quiet tenant's requests, alone and beside a hostile tenant.

use std::process::Command;
use std::time::{Duration, Instant};

use reqwest::Method;

use super::attacks::{ATTACKS, Attack, Hostile};
use super::{percentile, print_head, rounds};
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::cluster::Cluster;
use crate::support::inventory::{RIVAL, SHOP, two_projects};

const ROUNDS: u64 = 5;
/// How long each measurement of a round lasts.
const LENGTH: Duration = Duration::from_secs(3);
/// How long an attack goes on before the measurement.
const BEFORE: Duration = Duration::from_millis(500);
/// How long the service rests after an attack.
const AFTER: Duration = Duration::from_secs(1);
/// The quiet tenant's pause between requests.
const PAUSE: Duration = Duration::from_millis(4);
/// A token of the right form that does not exist.
const INVENTED: &str = "pat-pt000000000000000000000000-00000000000000000000000000000000";
const PLACE: &str = "/location/eu-central-h1";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a benchmark, which `cargo xtask bench neighbours` runs"]
async fn a_quiet_tenant_beside_a_hostile_one_on_sqlite() {
    measure("SQLite", Home::sqlite(), None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a benchmark, which `cargo xtask bench neighbours` runs"]
async fn a_quiet_tenant_beside_a_hostile_one_on_postgres() {
    if let Some((home, cluster)) = Home::on_server(&[], &[]) {
        measure("PostgreSQL", home, Some(cluster)).await;
    }
}

/// Measures each attack. Alone and beside the attack take turns, so that both see the same machine.
async fn measure(database: &str, home: Home, _cluster: Option<Cluster>) {
    home.apply(&two_projects());
    let (token, theirs) = (home.token("shop", &[]), home.token("rival", &[]));
    let powerless = home.token("rival", &["--read-only"]);
    let settings = [
        "--log",
        "error",
        "--simulate-delay",
        "0s",
        "--quota-inference-api-keys",
        "1000000",
    ];
    let service = home.serve(&settings);
    let quiet = || Caller::new(&service.base, SHOP, &token);
    let subnet = format!("{PLACE}/private-subnet/backend");
    quiet().get(&subnet).await.ok();
    let threads = of_another_machine();
    let hostile = Hostile {
        caller: Caller::new(&service.base, RIVAL, &theirs),
        powerless: Caller::new(&service.base, RIVAL, &powerless),
        unknown: Caller::new(&service.base, RIVAL, INVENTED),
        address: service.base.replace("http://", ""),
        token: theirs,
        threads: threads.handle().clone(),
    };
    hostile.prepare().await;
    let title = format!("a quiet tenant's requests beside a hostile tenant on {database}");
    let columns = [
        "attack",
        "99 % alone",
        "99 % beside it",
        "ratio",
        "median alone",
        "median beside it",
        "refused",
    ];
    print_head(&title, &columns);
    for attack in attacks() {
        let (mut alone, mut beside, mut refused) = (Vec::new(), Vec::new(), 0);
        for _ in 0..rounds(ROUNDS) {
            refused += apart(quiet, &subnet, &mut alone);
            let attacking = hostile.attack(attack);
            tokio::time::sleep(BEFORE).await;
            refused += apart(quiet, &subnet, &mut beside);
            drop(attacking);
            tokio::time::sleep(AFTER).await;
        }
        let [high, high_beside] = [&mut alone, &mut beside].map(|times| percentile(times, 99));
        let [middle, middle_beside] = [&mut alone, &mut beside].map(|times| percentile(times, 50));
        println!(
            "| {attack} | {high:.1} ms | {high_beside:.1} ms | {:.2} | {middle:.1} ms | {middle_beside:.1} ms | {refused} |",
            high_beside / high
        );
    }
    threads.shutdown_background();
}

/// Returns the attacks to measure.
fn attacks() -> Vec<Attack> {
    let part = std::env::var("STRATUS_BENCH_ATTACK").unwrap_or_default();
    let wanted = ATTACKS.into_iter();
    let wanted: Vec<Attack> = wanted
        .filter(|attack| attack.to_string().contains(&part))
        .collect();
    let names = ATTACKS.map(|attack| attack.to_string());
    assert!(
        !wanted.is_empty(),
        "no attack has `{part}` in its name; there are {names:#?}"
    );
    wanted
}

/// Starts the threads of the hostile callers. They compute only where the service and the quiet tenant
/// leave a processor to them: callers elsewhere have processors of their own, and what these compute
/// says nothing of the service.
fn of_another_machine() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("hostile")
        // Not by a nice value, with which a thread may run on for milliseconds beside one that waits.
        .on_thread_start(|| schedule("--idle", "0"))
        .enable_all()
        .build()
        .expect("a runtime starts")
}

/// Calls as the quiet tenant does, on a thread of its own, which gets a processor whenever it wants one:
/// what the service and the hostile callers compute would not delay a caller elsewhere.
fn apart(quiet: impl Fn() -> Caller + Sync, subnet: &str, times: &mut Vec<f64>) -> usize {
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| {
            // The lowest real-time priority, which comes before all ordinary threads.
            schedule("--fifo", "1");
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime starts");
            runtime.block_on(async {
                // The connections of a client end with the runtime that made them.
                let quiet = quiet();
                quiet.get(subnet).await.ok();
                call(&quiet, subnet, times).await
            })
        });
        calling.join().expect("the quiet tenant calls")
    })
}

/// Has the system schedule this thread by a policy and with a priority. Only root may choose `--fifo`.
fn schedule(policy: &str, priority: &str) {
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let run = Command::new("chrt")
        .args([policy, "--pid", priority, &thread])
        .status();
    assert!(
        run.is_ok_and(|status| status.success()),
        "the benchmark needs root and chrt of util-linux"
    );
}

/// Calls as the quiet tenant does: a view, a page and a create in turn. Adds the times in
/// milliseconds, and returns the number of requests that were refused.
async fn call(quiet: &Caller, subnet: &str, times: &mut Vec<f64>) -> usize {
    let (begun, mut refused) = (Instant::now(), 0);
    for turn in 0.. {
        if begun.elapsed() > LENGTH {
            break;
        }
        let (method, path) = match turn % 3 {
            0 => (Method::GET, subnet),
            1 => (Method::GET, "/location/eu-central-h1/vm"),
            _ => (Method::POST, "/inference-api-key"),
        };
        let sent = Instant::now();
        let response = quiet.try_call(method, path, None).await;
        times.push(sent.elapsed().as_secs_f64() * 1e3);
        refused += usize::from(!response.is_ok_and(|response| response.status == 200));
        tokio::time::sleep(PAUSE).await;
    }
    refused
}
