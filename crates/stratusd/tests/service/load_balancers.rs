//! The life of load balancers, within the limit of their virtual machines.

use std::fmt::Write as _;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::on_both;
use crate::support::Home;
use crate::support::caller::{Caller, JsonResponse};
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;

const PLACE: &str = "/location/eu-central-h1";

fn begin(home: &Home, inventory: &str, settings: &[&str]) -> (Service, Caller, Caller) {
    home.apply(inventory);
    let service = home.serve(settings);
    let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let reader = Caller::new(&service.base, SHOP, &home.token("shop", &["--read-only"]));
    (service, shop, reader)
}

/// Returns callers of the service, and on PostgreSQL of a second one.
fn everywhere(home: &Home, service: &Service, shop: &Caller) -> (Option<Service>, Vec<Caller>) {
    let more = home
        .database_url
        .starts_with("postgres")
        .then(|| home.serve(&[]));
    let services = [Some(service), more.as_ref()].into_iter().flatten();
    let callers = services.map(|service| shop.at(&service.base, SHOP));
    let callers = callers.collect();
    (more, callers)
}

fn balancer(path: &str) -> String {
    format!("{PLACE}/load-balancer/{path}")
}

async fn delete(caller: &Caller, path: &str, if_match: Option<&str>) -> JsonResponse {
    let headers: Vec<_> = if_match.map(|tag| ("if-match", tag)).into_iter().collect();
    caller
        .try_call_with(&headers, Method::DELETE, path, None)
        .await
        .expect("the service responds")
}

/// Returns the body that creates a load balancer in a subnet.
fn smallest(subnet: &Value) -> Value {
    json!({
        "algorithm": "round_robin", "src_port": 80, "dst_port": 8080, "health_check_protocol": "tcp",
        "private_subnet_id": subnet,
    })
}

async fn id_of(caller: &Caller, path: &str) -> Value {
    caller.get(&format!("{PLACE}/{path}")).await.ok()["id"].clone()
}

/// Returns an inventory of one subnet and many virtual machines.
fn many_vms(count: usize) -> String {
    let mut inventory = format!(
        "locations: [{{ name: eu-central-h1 }}]\nprojects:\n  - name: shop\n    id: {SHOP}\n    \
         private_subnets: [{{ name: backend, location: eu-central-h1 }}]\n    vms:\n"
    );
    for number in 0..count {
        writeln!(
            inventory,
            "      - {{ name: a-{number}, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: u }}"
        )
        .expect("a string grows");
    }
    inventory
}

on_both! {
    async fn a_load_balancer_is_made_viewed_and_deleted(home: Home) {
        let (_service, shop, reader) = begin(&home, &two_projects(), &["--quota-load-balancers", "3"]);
        let backend = id_of(&shop, "private-subnet/backend").await;
        let new = balancer("new");
        assert_eq!(reader.post(&new, smallest(&backend)).await.error(), (403, "Forbidden"));
        let made = shop.post(&new, smallest(&backend)).await.ok();
        let id = made["id"].as_str().expect("it has an id").to_owned();
        let tail = &backend.as_str().expect("it is an id")[21..];
        let hostname = made["hostname"].as_str().expect("it has a host name");
        assert!(hostname.starts_with(&format!("new.{tail}.")), "{hostname}");
        assert_eq!(made, json!({
            "algorithm": "round_robin", "cert_enabled": false, "dst_port": 8080, "health_check_endpoint": "/up",
            "health_check_protocol": "tcp", "hostname": hostname, "id": id, "location": "eu-central-h1",
            "name": "new", "src_port": 80, "stack": "dual", "subnet": "backend", "vms": [],
        }));
        assert_eq!(reader.get(&new).await.ok(), made);
        assert_eq!(reader.get(&balancer(&id)).await.ok(), made);
        assert_eq!(shop.get("/load-balancer").await.ok()["count"], 3);
        assert_eq!(shop.post(&balancer("more"), smallest(&backend)).await.error(), (403, "QuotaExceeded"));
        let far = shop.get("/location/us-east-a2/private-subnet/far").await.ok()["id"].clone();
        let control = { let mut body = smallest(&backend); body["health_check_endpoint"] = json!("/a\u{7}"); body };
        for (name, body, field) in [
            ("new", smallest(&backend), "name"),
            (&*id, smallest(&backend), "name"),
            ("other", smallest(&json!("backend")), "private_subnet_id"),
            ("other", smallest(&json!("ps00000000000000000000000z")), "private_subnet_id"),
            ("other", smallest(&far), "private_subnet_id"),
            ("other", control, "health_check_endpoint"),
        ] {
            let refused = shop.post(&balancer(name), body.clone()).await;
            assert_eq!(refused.error(), (400, "InvalidRequest"), "{name} {body}");
            assert!(refused.detail(field).is_string(), "{}", refused.body);
        }

        let vm = id_of(&shop, "vm/app-3").await;
        let seen = shop.send(Method::GET, &new, None).await.expect("the service responds");
        let stale = seen.headers()["etag"].to_str().expect("it is text").to_owned();
        shop.post(&balancer("new/attach-vm"), json!({ "vm_id": vm })).await.ok();
        assert_eq!(delete(&reader, &new, None).await.error(), (403, "Forbidden"));
        assert_eq!(delete(&shop, &new, Some(&stale)).await.error(), (412, "PreconditionFailed"));
        assert_eq!(delete(&shop, &new, Some("*")).await.status, 204);
        for gone in ["new", &*id] {
            assert_eq!(shop.get(&balancer(gone)).await.error(), (404, "ResourceNotFound"));
            assert_eq!(delete(&shop, &balancer(gone), Some(&stale)).await.status, 204);
            assert_eq!(delete(&reader, &balancer(gone), None).await.error(), (403, "Forbidden"));
        }
        // The virtual machine and the name are free again, the quota has room, and a subnet that
        // nothing else uses can be deleted.
        shop.post_nothing(&format!("{PLACE}/private-subnet/short")).await.ok();
        let short = id_of(&shop, "private-subnet/short").await;
        assert_ne!(shop.post(&new, smallest(&short)).await.ok()["id"], json!(id));
        shop.post(&balancer("new/attach-vm"), json!({ "vm_id": vm })).await.ok();
        let used = format!("{PLACE}/private-subnet/short");
        assert_eq!(delete(&shop, &used, None).await.error(), (409, "DependencyError"));
        assert_eq!(delete(&shop, &new, None).await.status, 204);
        assert_eq!(delete(&shop, &used, None).await.status, 204);
    }

    async fn virtual_machines_of_the_subnet_are_attached(home: Home) {
        let inventory = two_projects().replacen("{ name: frontend, location: eu-central-h1 }", "{ name: frontend, location: eu-central-h1, nics: [{ name: two, vm: app-2 }] }", 1);
        let (_service, shop, reader) = begin(&home, &inventory, &[]);
        let [one, two, three] = [id_of(&shop, "vm/app-1").await, id_of(&shop, "vm/app-2").await, id_of(&shop, "vm/app-3").await];
        let backend = id_of(&shop, "private-subnet/backend").await;
        shop.post(&balancer("new"), smallest(&backend)).await.ok();
        let attach = balancer("new/attach-vm");
        let vm = |id: &Value| json!({ "vm_id": id });
        assert_eq!(reader.post(&attach, vm(&three)).await.error(), (403, "Forbidden"));
        let far = shop.get("/location/us-east-a2/vm/far").await.ok()["id"].clone();
        for (wrong, text) in [
            (&one, "is attached to the load balancer `web`"),
            (&two, "is in the private subnet `frontend`, and the load balancer in `backend`"),
            (&far, "must be the id of a virtual machine in this project and location"),
            (&json!("app-3"), "must be the id of a virtual machine in this project and location"),
            (&json!("vm00000000000000000000000z"), "must be the id of a virtual machine in this project and location"),
        ] {
            let refused = shop.post(&attach, vm(wrong)).await;
            assert_eq!((refused.error(), refused.detail("vm_id")), ((400, "InvalidRequest"), &json!(text)));
        }
        // In no subnet, and in the subnet.
        let first = shop.post(&attach, vm(&three)).await.ok();
        assert_eq!(first["vms"][0]["id"], three);
        assert_eq!(shop.post(&attach, vm(&three)).await.ok(), first);
        shop.post(&balancer("web/detach-vm"), vm(&one)).await.ok();
        let both = shop.post(&attach, vm(&one)).await.ok();
        assert_eq!(both["vms"].as_array().map(Vec::len), Some(2));
        assert_eq!(shop.get(&balancer("new")).await.ok(), both);
        // An update has never looked at the subnet.
        let all = json!({ "algorithm": "round_robin", "dst_port": 80, "src_port": 80, "health_check_endpoint": "/", "vms": [one, two] });
        let updated = shop.patch(&balancer("new"), all).await.ok();
        assert_eq!(updated["vms"].as_array().map(Vec::len), Some(2));
        assert_eq!(shop.post(&balancer("none/attach-vm"), vm(&one)).await.error(), (404, "ResourceNotFound"));
    }

    async fn a_load_balancer_has_at_most_a_hundred_virtual_machines(home: Home) {
        let (service, shop, _) = begin(&home, &many_vms(105), &[]);
        let (_more, callers) = everywhere(&home, &service, &shop);
        let backend = id_of(&shop, "private-subnet/backend").await;
        shop.post(&balancer("web"), smallest(&backend)).await.ok();
        let vms = shop.get(&format!("{PLACE}/vm?page_size=105")).await.ok();
        let vms: Vec<Value> = vms["items"].as_array().expect("it has items").iter().map(|vm| vm["id"].clone()).collect();
        let update = |vms: &[Value]| json!({ "algorithm": "round_robin", "src_port": 1, "dst_port": 2, "health_check_endpoint": "/", "vms": vms });
        shop.patch(&balancer("web"), update(&vms[..98])).await.ok();
        let attaches = vms[98..].iter().enumerate().map(|(number, vm)| {
            let (caller, body) = (&callers[number % callers.len()], json!({ "vm_id": vm }));
            async move {
                loop {
                    let answer = caller.post(&balancer("web/attach-vm"), body.clone()).await;
                    // Changes of one load balancer at the same time may get in each other's way.
                    if answer.status != 409 {
                        return answer;
                    }
                }
            }
        });
        let answers = join_all(attaches).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 2);
        for refused in answers.iter().filter(|answer| answer.status != 200) {
            assert_eq!(refused.error(), (400, "InvalidRequest"));
            assert_eq!(refused.detail("vm_id"), "the load balancer has 100 virtual machines, and may have 100");
        }
        let full = shop.get(&balancer("web")).await.ok();
        assert_eq!(full["vms"].as_array().map(Vec::len), Some(100));
        // What is attached can be attached again, and what is left can be put in its place.
        let attached = &full["vms"][0]["id"];
        assert_eq!(shop.post(&balancer("web/attach-vm"), json!({ "vm_id": attached })).await.ok(), full);
        let refused = shop.patch(&balancer("web"), update(&vms[..101])).await;
        assert_eq!((refused.error(), refused.detail("vms").is_string()), ((400, "InvalidRequest"), true));
        shop.patch(&balancer("web"), update(&vms[5..])).await.ok();
    }

    async fn a_load_balancer_that_is_deleted_while_it_is_changed_leaves_nothing(home: Home) {
        let (service, shop, _) = begin(&home, &many_vms(8), &[]);
        let (_more, callers) = everywhere(&home, &service, &shop);
        let backend = id_of(&shop, "private-subnet/backend").await;
        let vms = shop.get(&format!("{PLACE}/vm")).await.ok();
        for round in 0..5 {
            shop.post(&balancer("web"), smallest(&backend)).await.ok();
            let calls = (0..12).map(|number| {
                let (caller, vm) = (&callers[number % callers.len()], json!({ "vm_id": vms["items"][number % 8]["id"] }));
                async move {
                    match number % 3 {
                        0 => caller.post(&balancer("web/attach-vm"), vm).await.status,
                        1 => caller.post(&balancer("web/detach-vm"), vm).await.status,
                        _ => delete(caller, &balancer("web"), None).await.status,
                    }
                }
            });
            let statuses = join_all(calls).await;
            assert!(statuses.iter().all(|status| [200, 204, 404, 409].contains(status)), "{round}: {statuses:?}");
            assert_eq!(shop.get(&balancer("web")).await.error(), (404, "ResourceNotFound"));
            // A subnet that a load balancer used and that is deleted in its place is not left in use.
            assert_eq!(shop.get("/load-balancer").await.ok()["count"], 0);
        }
        assert_eq!(delete(&shop, &format!("{PLACE}/private-subnet/backend"), None).await.status, 204);
    }

    async fn a_subnet_that_is_deleted_while_load_balancers_are_made_has_none(home: Home) {
        let (service, shop, _) = begin(&home, &many_vms(1), &[]);
        let (_more, callers) = everywhere(&home, &service, &shop);
        for round in 0..10 {
            let short = format!("{PLACE}/private-subnet/short");
            shop.post_nothing(&short).await;
            let subnet = shop.get(&short).await.ok()["id"].clone();
            let web = balancer("web");
            let create = callers[0].post(&web, smallest(&subnet));
            let gone = delete(callers.last().expect("there is one"), &short, None);
            let (created, gone) = futures_util::join!(create, gone);
            match (created.status, gone.status) {
                (200, 409) => {
                    assert_eq!(gone.error().1, "DependencyError");
                    assert_eq!(delete(&shop, &web, None).await.status, 204);
                }
                (400, 204) => {
                    assert!(created.detail("private_subnet_id").is_string(), "{}", created.body);
                    let wall = format!("{PLACE}/firewall/short-default");
                    assert_eq!(delete(&shop, &wall, None).await.status, 204);
                }
                statuses => panic!("{round}: {statuses:?}"),
            }
        }
    }

    async fn an_inventory_keeps_the_load_balancers_of_callers(home: Home) {
        let (_service, shop, _) = begin(&home, &two_projects(), &[]);
        let far = "/location/us-east-a2";
        let subnet = shop.get(&format!("{far}/private-subnet/far")).await.ok()["id"].clone();
        let own = shop.post(&format!("{far}/load-balancer/own"), smallest(&subnet)).await.ok();
        home.succeed(&["apply", "--prune", "inventory.yaml"]);
        assert_eq!(shop.get(&format!("{far}/load-balancer/own")).await.ok(), own);
        // The subnet that it uses cannot be removed.
        let without = two_projects().replacen("      - { name: far, location: us-east-a2 }\n    load_balancers:", "    load_balancers:", 1);
        std::fs::write(home.path().join("inventory.yaml"), &without).expect("the folder is writable");
        let refused = home.fail(&["apply", "--prune", "inventory.yaml"]);
        assert!(refused.contains("private subnet us-east-a2/far cannot be removed: load balancer us-east-a2/own"), "{refused}");
        // An inventory that lists it takes it over.
        let entry = "    load_balancers:\n      - { name: own, location: us-east-a2, subnet: far, src_port: 80, dst_port: 8080, health_check_endpoint: /up, health_check_protocol: tcp }\n";
        let listed = two_projects().replacen("    load_balancers:\n", entry, 1);
        assert!(home.apply(&listed).contains("0 to create, 1 to update"));
        home.apply(&two_projects());
        let pruned = home.succeed(&["apply", "--prune", "inventory.yaml"]);
        assert!(pruned.contains("load balancer us-east-a2/own"), "{pruned}");
        assert_eq!(shop.get(&format!("{far}/load-balancer/own")).await.error().0, 404);
        // What a caller has deleted is made again, with its virtual machines.
        let before = shop.get(&balancer("web")).await.ok();
        assert_eq!(delete(&shop, &balancer("web"), None).await.status, 204);
        assert!(home.apply(&two_projects()).contains("1 to create, 0 to update, 0 to delete"));
        let again = shop.get(&balancer("web")).await.ok();
        assert_ne!(again["id"], before["id"]);
        assert_eq!(again["vms"], before["vms"]);
        let crowd: Vec<String> = (0..101).map(|number| format!("a-{number}")).collect();
        let crowded = many_vms(101) + &format!("    load_balancers: [{{ name: web, location: eu-central-h1, subnet: backend, src_port: 1, dst_port: 2, health_check_endpoint: /, vms: [{}] }}]\n", crowd.join(", "));
        std::fs::write(home.path().join("inventory.yaml"), crowded).expect("the folder is writable");
        let refused = home.fail(&["apply", "inventory.yaml"]);
        assert!(refused.contains("a load balancer has at most 100 virtual machines"), "{refused}");
    }
}
