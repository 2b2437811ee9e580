//! The health of a virtual machine: checks it again and again, and sets whether it is up.

use std::sync::Arc;

use tokio::time::timeout;

use super::balancer::Balancer;
use super::check::check;
use super::target::{Health, Target};

/// Starts to check a virtual machine, at once and then again and again, until it is detached.
pub(super) fn start(balancer: &Arc<Balancer>, target: Arc<Target>) {
    // One without an address stays down.
    let Some(address) = target.address else {
        return;
    };
    let (stop, balancer) = (target.begin_checks(), Arc::clone(balancer));
    tokio::spawn(async move {
        let checking = async {
            let mut streak = Streak::default();
            loop {
                let is_healthy = once(&balancer, address).await;
                let timing = &balancer.shared.timing;
                let health = streak.next(target.health(), is_healthy, timing.rise, timing.fall);
                if health != target.health() {
                    target.set_health(health);
                    log(&balancer, &target, health);
                    balancer.changed.notify_waiters();
                }
                tokio::time::sleep(timing.check_every).await;
            }
        };
        stop.run_until_cancelled(checking).await
    });
}

/// Checks a virtual machine as its load balancer declares now. Waits for its turn, so that a thousand
/// load balancers do not open all connections at once: first in the line of its project, and then with
/// the few of each project in the line of all. So it waits for few checks of another project, however
/// many virtual machines that has.
async fn once(balancer: &Balancer, address: std::net::SocketAddr) -> bool {
    // The semaphores are never closed.
    let Ok(_of_project) = balancer.share.checks.acquire().await else {
        return false;
    };
    let Ok(_permit) = balancer.shared.room.checks.acquire().await else {
        return false;
    };
    let declared = balancer.declared();
    let row = &declared.row;
    let endpoint = row.health_check_endpoint.as_str();
    let checked = check(address, &row.health_check_protocol, endpoint);
    let checked = timeout(balancer.shared.timing.check, checked).await;
    matches!(checked, Ok(Ok(())))
}

fn log(balancer: &Balancer, target: &Target, health: Health) {
    let (id, vm) = (&balancer.key.1, &target.vm);
    match health {
        Health::Up => tracing::info!(load_balancer = %id, %vm, "a virtual machine is up"),
        Health::Down => tracing::warn!(load_balancer = %id, %vm, "a virtual machine is down"),
        Health::Unchecked => {}
    }
}

/// The number of checks in a row that contradict the health of a virtual machine.
#[derive(Debug, Default)]
struct Streak(u32);

impl Streak {
    /// Returns the health after a check: another one after `rise` checks in a row that succeed, or
    /// `fall` that fail. The first check of all decides alone.
    fn next(&mut self, health: Health, is_healthy: bool, rise: u32, fall: u32) -> Health {
        let seen = if is_healthy { Health::Up } else { Health::Down };
        let needed = match (health, seen) {
            (Health::Unchecked, _) => 1,
            (Health::Down, Health::Up) => rise,
            (Health::Up, Health::Down) => fall,
            _ => {
                self.0 = 0;
                return health;
            }
        };
        self.0 += 1;
        if self.0 < needed {
            return health;
        }
        self.0 = 0;
        seen
    }
}
