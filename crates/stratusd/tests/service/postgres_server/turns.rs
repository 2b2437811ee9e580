//! Queries wait in turn: a project with hundreds of requests on slow connections to the server delays
//! another project by a few statements, and makes no replica unready. Nor do long pages of several
//! projects.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::cluster::Session;
use crate::support::inventory::{RIVAL, SHOP, two_projects};
use crate::support::proxy::{Flow, Proxy};

const SUBNET: &str = "/location/eu-central-h1/private-subnet/backend";
/// The requests of the other project that are in progress at a time, by several tokens.
const IN_PROGRESS: usize = 400;
const TOKENS: usize = 4;
const AGAIN: Duration = Duration::from_millis(100);
/// How long a view may take. With one line for all projects, it waits for five seconds in vain.
const QUICK: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundreds_of_reads_of_a_project_do_not_delay_those_of_another_one() {
    let Some((mut home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let theirs: Vec<String> = (0..TOKENS).map(|_| home.token("rival", &[])).collect();
    let proxy = Proxy::start(cluster.port()).await;
    home.database_url = format!("postgres://stratus@127.0.0.1:{}/postgres", proxy.port());
    let service = home.serve(&["--log", "error"]);
    let shop = Caller::new(&service.base, SHOP, &token);
    shop.get(SUBNET).await.ok();
    // Each row takes tens of milliseconds, so the pages of the other project keep all connections in use.
    proxy.set(Flow::Free, Flow::Slow);
    let mut attack = JoinSet::new();
    for number in 0..IN_PROGRESS {
        let rival = Caller::new(&service.base, RIVAL, &theirs[number % TOKENS]);
        attack.spawn(async move {
            loop {
                let response = rival.get(SUBNET).await;
                assert!([200, 503].contains(&response.status), "{response:?}");
                // Those that are refused come again soon, and leave the processors to the others.
                if response.status == 503 {
                    tokio::time::sleep(AGAIN).await;
                }
            }
        });
    }
    // By then, the first ones of the other project have waited for as long as a query may wait.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let mut took = Vec::new();
    for _ in 0..5 {
        let begun = Instant::now();
        shop.get(SUBNET).await.ok();
        took.push(begun.elapsed());
        let ready = reqwest::get(format!("{}/readyz", service.management)).await;
        let ready = ready.expect("the service responds");
        let status = ready.status();
        let reason = ready.text().await.unwrap_or_default();
        assert_eq!((status.as_u16(), &*reason), (200, "ready\n"));
        // The token is looked up again.
        tokio::time::sleep(Duration::from_millis(1100)).await;
    }
    println!("a view takes {took:?}");
    assert!(attack.try_join_next().is_none(), "they go on");
    assert!(took.iter().all(|took| *took < QUICK), "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_pages_of_several_projects_leave_a_connection_to_others() {
    const GUEST: &str = "pjgggggggggggggggggggggggg";
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    let guest = format!("  - name: guest\n    id: {GUEST}\n");
    home.apply(&(two_projects() + &guest));
    let [shop, rival, guest] = ["shop", "rival", "guest"].map(|project| home.token(project, &[]));
    // Half of them are for queries.
    let service = home.serve(&["--log", "error", "--database-connections", "4"]);
    let guest = Caller::new(&service.base, GUEST, &guest);
    let vms = "/location/eu-central-h1/vm";
    guest.get(vms).await.ok();
    let mut lock = Session::with_locked(&cluster.url(), "load_balancer", "ACCESS EXCLUSIVE");
    let mut pages = JoinSet::new();
    for (project, token) in [(SHOP, shop), (RIVAL, rival)] {
        let caller = Caller::new(&service.base, project, &token);
        pages.spawn(async move { caller.get("/load-balancer?page_size=1000").await });
    }
    let waits = "count(*) = 2 FROM pg_locks WHERE NOT granted";
    // Only one does, which a moment must show.
    assert!(!lock.sees(waits, Duration::from_secs(1)).await);
    assert_eq!(
        lock.ask("SELECT count(*) FROM pg_locks WHERE NOT granted"),
        "1"
    );
    let begun = Instant::now();
    guest.get(vms).await.ok();
    assert!(begun.elapsed() < QUICK, "{:?}", begun.elapsed());
    drop(lock);
    for page in pages.join_all().await {
        page.ok();
    }
}
