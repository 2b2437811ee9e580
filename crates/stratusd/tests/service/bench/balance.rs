//! The throughput of the data plane of load balancers, beside that of HAProxy, of a load balancer on
//! Pingora (`tests/pingora`) and of a direct connection; in [`changes`], what a change costs.

mod changes;
mod rival;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use self::rival::Rival;
use super::processes::cpu;
use super::{percentile, print_head, rounds};
use crate::support::Home;
use crate::support::balancing::{Cloud, DST, Net, SRC};

const ROUNDS: u64 = 7;
/// How long each measurement of a round lasts.
const LENGTH: Duration = Duration::from_secs(1);
const VMS: u8 = 4;
const CALLERS: usize = 32;
/// The size of a small response.
const SMALL: usize = 256;
/// The size of a large response.
const LARGE: usize = 1 << 20;

/// What callers do.
#[derive(Debug, Clone, Copy)]
struct Load {
    name: &'static str,
    is_kept: bool,
    response: usize,
}

const LOADS: [Load; 3] = [
    Load {
        name: "256 B, connections kept",
        is_kept: true,
        response: SMALL,
    },
    Load {
        name: "256 B, a connection each",
        is_kept: false,
        response: SMALL,
    },
    Load {
        name: "1 MiB, connections kept",
        is_kept: true,
        response: LARGE,
    },
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a benchmark, which `cargo xtask bench balance` runs"]
async fn throughput_beside_others() {
    let net = Net::random();
    for number in 1..=VMS {
        let listener = TcpListener::bind((net.vm(number), DST)).await;
        tokio::spawn(respond(listener.expect("the address is free")));
    }
    let names: Vec<String> = (1..=VMS).map(|number| format!("vm-{number}")).collect();
    let web = format!(
        "name: web, src_port: {SRC}, health_check_endpoint: /, health_check_protocol: tcp, stack: ipv4, vms: [{}]",
        names.join(", ")
    );
    let inventory = net.inventory(VMS, &[&web]);
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &["--log", "warn"]);
    let ours = cloud.address("web", usize::from(VMS)).await;
    let rivals = [
        Rival::haproxy(cloud.home.path(), net).await,
        Rival::pingora(net).await,
    ];
    let mut ways = vec![
        ("direct", SocketAddr::from((net.vm(1), DST)), None),
        ("ours", ours, Some(cloud.plane.id())),
    ];
    let rivals: Vec<Rival> = rivals.into_iter().flatten().collect();
    let others = rivals.iter();
    ways.extend(others.map(|it| (it.name, it.address, Some(it.child.id()))));
    let haproxy = ways.iter().position(|(name, ..)| *name == "HAProxy");
    let columns = [
        "load",
        "way",
        "requests/s",
        "of HAProxy",
        "CPU per request",
        "of HAProxy",
        "failed",
    ];
    print_head("load balancers: requests through the data plane", &columns);
    for load in LOADS {
        let mut figures = vec![(Vec::new(), Vec::new(), 0); ways.len()];
        // The ways take turns, so that all see the same machine.
        for _ in 0..rounds(ROUNDS) {
            for ((_, address, process), (rates, costs, failed)) in ways.iter().zip(&mut figures) {
                let before = process.map(cpu);
                let (done, failures) = measure(*address, load).await;
                rates.push(done / LENGTH.as_secs_f64());
                if let (Some(before), Some(process)) = (before, process) {
                    costs.push((cpu(*process) - before) / done * 1e6);
                }
                *failed += failures;
            }
        }
        let medians: Vec<(f64, Option<f64>, u64)> = figures
            .into_iter()
            .map(|(mut rates, mut costs, failed)| {
                let cost = (!costs.is_empty()).then(|| percentile(&mut costs, 50));
                (percentile(&mut rates, 50), cost, failed)
            })
            .collect();
        let of = haproxy.map(|at| medians[at]);
        for ((way, ..), (rate, cost, failed)) in ways.iter().zip(medians) {
            let ratio = of.map_or("–".to_owned(), |(of, ..)| format!("{:.2}", rate / of));
            let costs = cost.map_or("–".to_owned(), |cost| format!("{cost:.1} µs"));
            let cost_ratio = match (cost, of) {
                (Some(cost), Some((_, Some(of), _))) => format!("{:.2}", cost / of),
                _ => "–".to_owned(),
            };
            println!(
                "| {} | {way} | {rate:.0} | {ratio} | {costs} | {cost_ratio} | {failed} |",
                load.name
            );
        }
    }
}

/// Returns the numbers of requests that succeeded and that failed.
async fn measure(address: SocketAddr, load: Load) -> (f64, u64) {
    let (done, failed) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let is_over = Arc::new(AtomicBool::new(false));
    let mut callers = Vec::new();
    for _ in 0..CALLERS {
        let (done, failed, is_over) =
            (Arc::clone(&done), Arc::clone(&failed), Arc::clone(&is_over));
        callers.push(tokio::spawn(async move {
            let mut kept = None;
            let mut response = vec![0; load.response];
            while !is_over.load(Ordering::Relaxed) {
                match call(address, load, &mut kept, &mut response).await {
                    Ok(()) => done.fetch_add(1, Ordering::Relaxed),
                    Err(_) => failed.fetch_add(1, Ordering::Relaxed),
                };
            }
        }));
    }
    let begun = Instant::now();
    tokio::time::sleep(LENGTH).await;
    is_over.store(true, Ordering::Relaxed);
    let length = begun.elapsed();
    let count = done.load(Ordering::Relaxed);
    for caller in callers {
        caller.await.expect("a caller does not panic");
    }
    let count = f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let scaled = count * LENGTH.as_secs_f64() / length.as_secs_f64();
    (scaled, failed.load(Ordering::Relaxed))
}

async fn call(
    address: SocketAddr,
    load: Load,
    kept: &mut Option<TcpStream>,
    response: &mut [u8],
) -> io::Result<()> {
    let mut stream = match kept.take() {
        Some(stream) => stream,
        None => TcpStream::connect(address).await?,
    };
    stream.set_nodelay(true)?;
    // As long as the head of a usual request.
    let mut request = [b'-'; SMALL];
    request[..4].copy_from_slice(
        &u32::try_from(load.response)
            .unwrap_or_default()
            .to_be_bytes(),
    );
    stream.write_all(&request).await?;
    stream.read_exact(response).await?;
    if load.is_kept {
        *kept = Some(stream);
    }
    Ok(())
}

/// Responds to each request of 256 bytes with as many bytes as its first four say.
async fn respond(listener: TcpListener) {
    let large: Arc<[u8]> = vec![b'+'; LARGE].into();
    while let Ok((mut stream, _)) = listener.accept().await {
        let large = Arc::clone(&large);
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let mut request = [0; SMALL];
            while stream.read_exact(&mut request).await.is_ok() {
                let [a, b, c, d, ..] = request;
                let length = u32::from_be_bytes([a, b, c, d]) as usize;
                if stream.write_all(&large[..length.min(LARGE)]).await.is_err() {
                    return;
                }
            }
        });
    }
}
