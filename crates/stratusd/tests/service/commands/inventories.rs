//! `stratusd apply` and `stratusd schema`.

use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::{Value, json};

use crate::on_both;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::{Home, eventually};

/// Applies an inventory, and removes what is not in it. Returns what is printed.
fn prune(home: &Home, inventory: &str) -> String {
    std::fs::write(home.path().join("inventory.yaml"), inventory).expect("the folder is writable");
    home.succeed(&["apply", "--prune", "inventory.yaml"])
}

/// Returns the body of a request for a load balancer of a subnet, as an inventory would have it.
fn load_balancer(subnet: &Value) -> Value {
    json!({
        "private_subnet_id": subnet, "algorithm": "round_robin", "src_port": 80, "dst_port": 8080,
        "health_check_endpoint": "/up", "health_check_protocol": "http",
    })
}

on_both! {
    async fn an_inventory_is_applied_once_and_changes_nothing_twice(home: Home) {
        let plan = home.path().join("inventory.yaml");
        std::fs::write(&plan, two_projects()).expect("the folder is writable");
        let planned = home.succeed(&["apply", "--dry-run", "inventory.yaml"]);
        assert!(planned.ends_with("35 to create, 0 to update, 0 to delete: dry run, nothing was changed\n"), "{planned}");
        let applied = home.apply(&two_projects());
        assert_eq!(applied.lines().count(), planned.lines().count());
        assert!(applied.ends_with("35 to create, 0 to update, 0 to delete: applied\n"), "{applied}");
        assert_eq!(home.apply(&two_projects()), "0 to create, 0 to update, 0 to delete: applied\n");

        let grown = two_projects().replacen("size: burstable-1", "size: standard-8", 1).replacen("rules: [", "rules: [{ cidr: 10.0.0.0/8, port_range: \"5432\" }, ", 1);
        assert_snapshot!("grown", home.apply(&grown));
    }

    async fn nothing_is_deleted_unless_asked_for(home: Home) {
        home.apply(&two_projects());
        let service = home.serve(&[]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        caller.post_nothing("/location/eu-central-h1/private-subnet/of-a-caller").await.ok();
        // Keeps one virtual machine and one load balancer of the shop.
        let smaller = "locations:\n  - name: eu-central-h1\n  - name: us-east-a2\nprojects:\n  - name: shop\n    vms:\n      - { name: app-2, location: \
             eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy }\n    private_subnets:\n      \
             - { name: backend, location: eu-central-h1 }\n    load_balancers:\n      - { name: web, location: \
             eu-central-h1, subnet: backend, src_port: 443, dst_port: 8080, health_check_endpoint: /up }\n".to_string();
        let kept = home.apply(&smaller);
        assert!(kept.contains("  project shop: vm eu-central-h1/app-1: not in the inventory, kept; use --prune to remove it"), "{kept}");
        assert!(kept.ends_with(", 0 to delete: applied\n"), "{kept}");
        assert_eq!(caller.get("/location/eu-central-h1/vm").await.ok()["count"], 3);
        let pruned = home.succeed(&["apply", "--prune", "inventory.yaml"]);
        assert_snapshot!("pruned", pruned);
        assert_eq!(caller.get("/location/eu-central-h1/vm").await.ok()["count"], 1);
        assert_eq!(caller.get("/location/eu-central-h1/load-balancer").await.ok()["count"], 1);
        // What was created through the API stays.
        caller.get("/location/eu-central-h1/private-subnet/of-a-caller").await.ok();
        assert_eq!(home.succeed(&["apply", "--prune", "inventory.yaml"]), "0 to create, 0 to update, 0 to delete: applied\n");
    }

    async fn what_the_api_has_changed_stays_unchanged(home: Home) {
        home.apply(&two_projects());
        let service = home.serve(&[]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let web = "/location/eu-central-h1/load-balancer/web";
        let body = serde_json::json!({
            "algorithm": "hash_based", "src_port": 1, "dst_port": 2, "health_check_endpoint": "/else", "vms": [],
        });
        let changed = caller.patch(web, body).await.ok();
        assert_eq!(
            home.apply(&two_projects()),
            "  project shop: load balancer eu-central-h1/web (src_port, dst_port, health_check_endpoint, vms): \
             differs from the inventory, left unchanged\n0 to create, 0 to update, 0 to delete: applied\n"
        );
        let vm = serde_json::json!({ "vm_id": caller.get("/location/eu-central-h1/vm").await.ok()["items"][0]["id"] });
        assert_eq!(caller.post(&format!("{web}/detach-vm"), vm).await.ok(), changed);
    }

    async fn a_firewall_of_another_name_guards_what_the_old_one_guarded(home: Home) {
        let inventory = |name: &str, listed: &str| {
            format!(
                "locations: [{{ name: here }}]\nprojects:\n  - name: shop\n    id: {SHOP}\n    firewalls: [{{ name: {name}, \
                 location: here, rules: [{{ cidr: 10.0.0.0/8, port_range: \"80\" }}] }}]\n    private_subnets: [{{ name: \
                 ours, location: here, firewalls: [{listed}] }}]\n"
            )
        };
        home.apply(&inventory("old", "old"));
        let service = home.serve(&[]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let ours = "/location/here/private-subnet/ours";
        let body = serde_json::json!({ "firewall_id": caller.get(ours).await.ok()["firewalls"][0]["id"] });
        caller.post("/location/here/private-subnet/theirs", body).await.ok();
        std::fs::write(home.path().join("inventory.yaml"), inventory("new", "new")).expect("the folder is writable");
        assert_snapshot!("another_firewall", home.succeed(&["apply", "--prune", "inventory.yaml"]));
        let subnet = caller.get(ours).await.ok();
        assert_eq!(subnet["firewalls"][0]["name"], "new");
        let nothing = "0 to create, 0 to update, 0 to delete: applied\n";
        assert_eq!(home.succeed(&["apply", "--prune", "inventory.yaml"]), nothing);
        // What the API has detached stays detached, and is reported.
        let detached = serde_json::json!({ "private_subnet_id": subnet["id"] });
        caller.post("/location/here/firewall/new/detach-subnet", detached).await.ok();
        let reported = "  project shop: private subnet here/ours (firewalls): differs from the inventory, left unchanged\n";
        assert_eq!(home.succeed(&["apply", "inventory.yaml"]), format!("{reported}{nothing}"));
        assert!(caller.get(ours).await.ok()["firewalls"].as_array().is_some_and(Vec::is_empty));
    }

    async fn a_firewall_of_a_caller_belongs_to_the_inventory_once_it_is_listed(home: Home) {
        let inventory = |firewalls: &str| {
            format!("locations: [{{ name: here }}]\nprojects:\n  - name: shop\n    id: {SHOP}\n    firewalls: [{firewalls}]\n")
        };
        let listed = inventory("{ name: web, location: here, description: Ours, rules: [{ cidr: 10.0.0.0/8, port_range: \"80\" }] }");
        home.apply(&inventory(""));
        let service = home.serve(&[]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let web = "/location/here/firewall/web";
        caller.post(web, serde_json::json!({ "description": "Theirs" })).await.ok();
        let rule = serde_json::json!({ "cidr": "192.0.2.0/24", "port_range": "22" });
        caller.post(&format!("{web}/firewall-rule"), rule).await.ok();
        let networks = async || -> Vec<String> {
            let seen = caller.get(web).await.ok();
            assert_eq!(seen["description"], "Ours");
            let rules = seen["firewall_rules"].as_array().expect("it has rules");
            let networks = rules.iter().map(|rule| rule["cidr"].as_str().expect("it is a text").to_owned());
            networks.collect()
        };
        let applied = home.apply(&listed);
        assert!(applied.ends_with("1 to create, 1 to update, 0 to delete: applied\n"), "{applied}");
        let mut both = networks().await;
        both.sort();
        assert_eq!(both, ["10.0.0.0/8", "192.0.2.0/24"]);
        let again = home.apply(&listed);
        assert!(again.ends_with("0 to create, 0 to update, 0 to delete: applied\n"), "{again}");
        let pruned = prune(&home, &listed);
        assert!(pruned.ends_with("0 to create, 0 to update, 1 to delete: applied\n"), "{pruned}");
        assert_eq!(networks().await, ["10.0.0.0/8"]);
        let described = home.apply(&listed.replace("Ours", "Again"));
        assert_eq!(described.lines().last(), Some("0 to create, 1 to update, 0 to delete: applied"));
        assert_eq!(caller.get(web).await.ok()["description"], "Again");
        let pruned = prune(&home, &inventory(""));
        assert!(pruned.ends_with("0 to create, 0 to update, 1 to delete: applied\n"), "{pruned}");
        assert_eq!(caller.get(web).await.status, 404);
    }

    async fn a_subnet_and_a_load_balancer_of_a_caller_belong_to_the_inventory_once_they_are_listed(home: Home) {
        let inventory = |more: &str| {
            format!("locations: [{{ name: here }}]\nprojects:\n  - name: shop\n    id: {SHOP}\n{more}")
        };
        let subnet = "    private_subnets: [{ name: theirs, location: here }]\n";
        let listed = "    load_balancers: [{ name: web, location: here, subnet: theirs, src_port: 80, dst_port: 8080, \
                      health_check_endpoint: /up }]\n";
        home.apply(&inventory(""));
        let service = home.serve(&[]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let theirs = "/location/here/private-subnet/theirs";
        let id = caller.post_nothing(theirs).await.ok()["id"].clone();
        let web = "/location/here/load-balancer/web";
        let body = load_balancer(&id);
        caller.post(web, body).await.ok();
        let both = inventory(&format!("{subnet}{listed}"));
        let applied = home.apply(&both);
        assert!(applied.ends_with("0 to create, 2 to update, 0 to delete: applied\n"), "{applied}");
        assert_eq!(home.apply(&both), "0 to create, 0 to update, 0 to delete: applied\n");
        let pruned = prune(&home, &inventory(subnet));
        assert!(pruned.ends_with("0 to create, 0 to update, 1 to delete: applied\n"), "{pruned}");
        assert_eq!(caller.get(web).await.status, 404);
        caller.get(theirs).await.ok();
        let pruned = prune(&home, &inventory(""));
        assert!(pruned.ends_with("0 to create, 0 to update, 1 to delete: applied\n"), "{pruned}");
        assert_eq!(caller.get(theirs).await.status, 404);
    }

    async fn a_virtual_machine_behind_a_load_balancer_of_a_caller_is_not_taken_from_it(home: Home) {
        let vm = |name: &str| format!("{{ name: {name}, location: here, size: standard-2, storage_size_gib: 40, unix_user: deploy }}");
        let inventory = |more: &str| {
            format!(
                "locations: [{{ name: here }}]\nprojects:\n  - name: shop\n    id: {SHOP}\n    vms: [{}, {}]\n    \
                 private_subnets: [{{ name: backend, location: here }}]\n{more}",
                vm("app-1"),
                vm("app-2")
            )
        };
        home.apply(&inventory(""));
        let service = home.serve(&[]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let subnet = caller.get("/location/here/private-subnet/backend").await.ok()["id"].clone();
        let vms = caller.get("/location/here/vm").await.ok();
        let second = vms["items"].as_array().and_then(|vms| vms.iter().find(|vm| vm["name"] == "app-2"));
        let second = second.expect("the inventory has it")["id"].clone();
        let body = load_balancer(&subnet);
        caller.post("/location/here/load-balancer/theirs", body).await.ok();
        let attach = serde_json::json!({ "vm_id": second });
        caller.post("/location/here/load-balancer/theirs/attach-vm", attach).await.ok();
        let taken = inventory(
            "    load_balancers:\n      - { name: ours, location: here, subnet: backend, src_port: 80, dst_port: 8080, \
             health_check_endpoint: /up, vms: [app-1, app-2] }\n",
        );
        std::fs::write(home.path().join("inventory.yaml"), &taken).expect("the folder is writable");
        let said = home.fail(&["apply", "inventory.yaml"]);
        let line = taken.lines().position(|line| line.contains("name: ours")).expect("it is in a line");
        let column = taken.lines().nth(line).and_then(|line| line.find("app-2")).expect("it is in the line");
        let place = format!("inventory.yaml:{}:{}: ", line + 1, column + 1);
        assert!(said.contains(&place), "{said}");
        assert!(said.contains("vm app-2 is attached to another load balancer: detach it there first"), "{said}");
        assert_eq!(caller.get("/location/here/load-balancer").await.ok()["count"], 1);
    }

    async fn what_the_api_cannot_change_of_a_load_balancer_follows_the_inventory(home: Home) {
        let inventory = |more: &str| {
            format!(
                "locations: [{{ name: here }}]\nprojects:\n  - name: shop\n    id: {SHOP}\n    private_subnets: [{{ name: \
                 one, location: here }}, {{ name: other, location: here }}]\n    load_balancers: [{{ name: web, location: \
                 here, src_port: 80, dst_port: 8080, health_check_endpoint: /up, {more} }}]\n"
            )
        };
        home.apply(&inventory("subnet: one"));
        let service = home.serve(&[]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let seen = async || {
            let seen = caller.get("/location/here/load-balancer/web").await.ok();
            [seen["health_check_protocol"].clone(), seen["subnet"].clone()].map(|it| it.as_str().map(str::to_owned))
        };
        let of = |protocol: &str, subnet: &str| [protocol, subnet].map(|it| Some(it.to_owned()));
        assert_eq!(seen().await, of("http", "one"));
        let applied = home.apply(&inventory("subnet: one, health_check_protocol: tcp"));
        assert_eq!(applied.lines().last(), Some("0 to create, 1 to update, 0 to delete: applied"));
        assert_eq!(seen().await, of("tcp", "one"));
        let applied = home.apply(&inventory("subnet: other, health_check_protocol: tcp"));
        assert_eq!(applied.lines().last(), Some("0 to create, 1 to update, 0 to delete: applied"));
        assert_eq!(seen().await, of("tcp", "other"));
    }

    async fn a_firewall_that_the_api_has_attached_is_reported_when_others_are_pruned(home: Home) {
        let inventory = |listed: &str| {
            format!(
                "locations: [{{ name: here }}]\nprojects:\n  - name: shop\n    id: {SHOP}\n    firewalls: [{{ name: ours, \
                 location: here }}]\n    private_subnets: [{{ name: backend, location: here, firewalls: [{listed}] }}]\n"
            )
        };
        home.apply(&inventory("ours"));
        let service = home.serve(&[]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let subnet = caller.get("/location/here/private-subnet/backend").await.ok()["id"].clone();
        caller.post_nothing("/location/here/firewall/theirs").await.ok();
        let attach = serde_json::json!({ "private_subnet_id": subnet });
        caller.post("/location/here/firewall/theirs/attach-subnet", attach).await.ok();
        let pruned = prune(&home, &inventory("ours"));
        let reported = "  project shop: private subnet here/backend (firewalls): differs from the inventory, left unchanged\n";
        assert_eq!(pruned, format!("{reported}0 to create, 0 to update, 0 to delete: applied\n"));
        let seen = caller.get("/location/here/private-subnet/backend").await.ok();
        assert_eq!(seen["firewalls"].as_array().map(Vec::len), Some(2));
    }

    async fn networks_that_a_file_asks_for_are_given_to_no_other(home: Home) {
        // So many that random networks would collide with declared ones.
        let any = (0..1000).map(|number| format!("      - {{ name: any-{number}, location: here }}\n"));
        let asked = (0..1000).map(|number| {
            let (high, low) = (number / 4, number % 4 * 64);
            format!("      - {{ name: asked-{number}, location: here, net4: 10.0.{high}.{low}/26 }}\n")
        });
        let subnets: String = any.chain(asked).collect();
        let inventory = format!("locations: [{{ name: here }}]\nprojects:\n  - name: shop\n    private_subnets:\n{subnets}");
        assert!(home.apply(&inventory).ends_with("2002 to create, 0 to update, 0 to delete: applied\n"));
    }

    async fn interfaces_take_over_addresses(home: Home) {
        let nics = |nics: &str| {
            two_projects().replacen("[{ name: app-1-nic, vm: app-1, private_ipv4: 10.61.7.9 }, { name: spare }]", nics, 1)
        };
        let applied = |inventory: String, arguments: &[&str]| {
            std::fs::write(home.path().join("inventory.yaml"), inventory).expect("the folder is writable");
            home.succeed(&[&["apply", "inventory.yaml"], arguments].concat())
        };
        applied(nics("[{ name: a, private_ipv4: 10.61.7.9 }, { name: b, private_ipv4: 10.61.7.10 }, { name: c }]"), &[]);
        // Another interface declares the first free address, which `c` has.
        let swapped = nics("[{ name: a, private_ipv4: 10.61.7.10 }, { name: b, private_ipv4: 10.61.7.9 }, { name: c }, { name: d, private_ipv4: 10.61.7.4 }]");
        assert!(applied(swapped.clone(), &[]).contains("1 to create, 3 to update, 0 to delete: applied"));
        assert!(applied(swapped, &[]).contains("0 to create, 0 to update, 0 to delete: applied"));
        let other = nics("[{ name: e, private_ipv4: 10.61.7.10 }]");
        std::fs::write(home.path().join("inventory.yaml"), &other).expect("the folder is writable");
        let said = home.fail(&["apply", "inventory.yaml"]);
        let line = other.lines().position(|line| line.contains("10.61.7.10")).expect("the inventory has the address 10.61.7.10") + 1;
        assert!(said.contains(&format!("inventory.yaml:{line}:")), "{said}");
        assert!(said.contains("the network interface a has this address and is not in the inventory"), "{said}");
        assert!(applied(other, &["--prune"]).contains("1 to create, 0 to update, 4 to delete: applied"));
    }

    async fn locations_are_the_usual_ones_unless_given(home: Home) {
        let plan = home.apply("projects: [{ name: shop }]\n");
        for location in ["eu-central-h1", "eu-north-h1", "us-east-a2"] {
            assert!(plan.contains(&format!("+ location {location}")), "{plan}");
        }
        let caller = home.serve(&[]);
        let token = home.token("shop", &[]);
        let project = plan.split("with the id ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("the plan prints the project's id");
        let caller = Caller::new(&caller.base, project, &token);
        let body = serde_json::json!({ "size": "standard-2", "storage_size": 64 });
        let refused = caller.post("/location/eu-north-h1/postgres/orders", body).await;
        assert!(refused.detail("location").as_str().is_some_and(|text| text.contains("eu-central-h1 and us-east-a2")), "{}", refused.body);
    }

    async fn a_location_offers_what_the_inventory_says_now(home: Home) {
        let inventory = |postgres: bool| {
            format!("locations: [{{ name: here, postgres: {postgres} }}]\nprojects: [{{ name: shop, id: {SHOP} }}]\n")
        };
        home.apply(&inventory(false));
        let service = home.serve(&[]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let body = serde_json::json!({ "size": "standard-2", "storage_size": 64 });
        let create = async || caller.post("/location/here/postgres/orders", body.clone()).await;
        let refused = create().await;
        assert!(refused.detail("location").is_string(), "{}", refused.body);
        let applied = home.apply(&inventory(true));
        assert!(applied.contains("~ location here"), "{applied}");
        // A running service sees it within a second.
        let created = eventually(async || (create().await.status == 200).then_some(()));
        created.await.expect("the location offers Postgres");
        let applied = home.apply(&inventory(true));
        assert_eq!(applied.lines().last(), Some("0 to create, 0 to update, 0 to delete: applied"));
    }

    async fn networks_pass_from_a_name_to_another(home: Home) {
        let named = |name: &str| {
            format!(
                "projects:\n- name: shop\n  private_subnets: [{{ name: {name}, location: eu-central-h1, net4: 10.0.0.0/26, \
                 net6: \"fd00::/64\", nics: [{{ name: a }}] }}]\n  load_balancers: [{{ name: web, location: eu-central-h1, \
                 subnet: {name}, src_port: 1, dst_port: 1, health_check_endpoint: / }}]\n"
            )
        };
        home.apply(&named("old"));
        let inventory = home.path().join("inventory.yaml");
        std::fs::write(&inventory, named("new")).expect("the folder is writable");
        let said = home.fail(&["apply", "inventory.yaml"]);
        assert!(said.contains(":3:65: project shop: private subnet eu-central-h1/new: private subnet eu-central-h1/old has 10.0.0.0/26"), "{said}");
        home.succeed(&["apply", "--prune", "inventory.yaml"]);
        let again = home.succeed(&["apply", "--prune", "inventory.yaml"]);
        assert!(again.contains("0 to create, 0 to update, 0 to delete"), "{again}");
    }

    async fn either_network_passes_from_a_name_to_another(home: Home) {
        let apply = |name: String, networks: &str| {
            let inventory = format!("projects:\n- name: shop\n  private_subnets: [{{ name: {name}, location: us-east-a2, {networks} }}]\n");
            prune(&home, &inventory)
        };
        for (number, one) in ["net4: 10.0.0.0/26", "net6: \"fd00::/64\""].into_iter().enumerate() {
            apply(format!("old-{number}"), "net4: 10.0.0.0/26, net6: \"fd00::/64\"");
            let applied = apply(format!("new-{number}"), one);
            assert_eq!(applied.lines().last(), Some("1 to create, 0 to update, 1 to delete: applied"));
        }
    }

    async fn impossible_changes_are_refused(home: Home) {
        home.apply(&two_projects());
        let file = home.path().join("inventory.yaml");
        let said = |inventory: String, arguments: &[&str]| {
            std::fs::write(&file, inventory).expect("the folder is writable");
            home.fail(&[&["apply", "inventory.yaml"], arguments].concat())
        };
        let other_id = two_projects().replace(SHOP, "pj11111111111111111111111z");
        assert!(said(other_id, &[]).contains("exists with the id pjj99grz61ddttq24cf6gc6atm, which cannot change"));
        let other_net = two_projects().replacen("net4: 10.61.7.0/26", "net4: 10.61.7.64/26", 1).replacen(", private_ipv4: 10.61.7.9", "", 1);
        assert!(said(other_net, &[]).contains("has the network 10.61.7.0/26, which cannot change"));
        // What a caller has made there is in no inventory, so it is not pruned.
        let service = home.serve(&[]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        caller.post_nothing("/location/eu-north-h1/firewall/of-a-caller").await.ok();
        let fewer = two_projects().replacen("  - { name: eu-north-h1, postgres: false }\n", "", 1);
        assert!(said(fewer, &["--prune"]).contains("cannot remove location eu-north-h1: it still has resources"));
        assert_eq!(home.apply(&two_projects()), "0 to create, 0 to update, 0 to delete: applied\n");
    }
}

#[test]
fn everything_wrong_with_an_inventory_is_reported_at_once() {
    let home = Home::sqlite();
    let file = home.path().join("inventory.yaml");
    let said = |text: &str| {
        std::fs::write(&file, text).expect("the folder is writable");
        home.fail(&["apply", "inventory.yaml"])
    };
    let cases = [
        include_str!("wrong.yaml"),
        "locations: []\nproject: []\n",
        "locations:\n  - name: [1]\n",
        "locations:\n  - name: a\n    name: b\n",
        "locations: [\n",
        "locations:\n  - { name: a, postgres: \"yes\" }\n",
        "locations:\n  - name: 123\n",
        "",
        "# nothing\n",
        "null\n",
        "projects: []\n---\nprojects: []\n",
        "projects:\n",
        "projects: [shop]\n",
        "projects:\n  - name: null\n",
        "projects:\n  - name: shop\n    vms: [{ name: a, location: us-east-a2, size: standard-2, storage_size_gib: many, unix_user: deploy }]\n",
        "projects:\n  - { name: a, vms: [{ name: a, location: us-east-a2, size: standard-2, storage_size_gib: 1, unix_user: deploy, ip6: \"2001:db8::2\" }] }\n  \
         - { name: b, vms: [{ name: a, location: us-east-a2, size: standard-2, storage_size_gib: 1, unix_user: deploy, ip6: \"2001:DB8:0:0::2\" }] }\n",
        "projects:\n  - name: shop\n    firewalls: [{ name: a, location: us-east-a2, rules: [{ cidr: \"::/0\", port_range: \"80\" }, { cidr: \"0::/0\", port_range: \"80..80\" }] }]\n",
        // The long form of an address, whose short form another interface could get.
        "projects:\n  - name: shop\n    private_subnets:\n      - { name: a, location: us-east-a2, net6: \"fd61:7a0c:55e1:9200::/64\", nics: [{ name: n, private_ipv6: \"fd61:7a0c:55e1:9200:0:0:0:4\" }] }\n",
    ];
    let reported: Vec<String> = cases.into_iter().map(said).collect();
    let missing = home.fail(&["apply", "missing.yaml"]);
    assert_snapshot!(
        "wrong_inventories",
        format!("{}\n{missing}", reported.join("\n"))
    );
}

#[test]
fn addresses_that_no_host_can_have_are_reported() {
    let home = Home::sqlite();
    let said = |addresses: &[&str]| {
        let nics = addresses.iter().enumerate().map(|(number, address)| {
            let version = if address.contains(':') { 6 } else { 4 };
            format!("          - {{ name: n{number}, private_ipv{version}: \"{address}\" }}\n")
        });
        let inventory = format!(
            "projects:\n  - name: shop\n    private_subnets:\n      - name: backend\n        location: us-east-a2\n        \
             net4: 10.61.7.0/26\n        net6: \"fd61:7a0c:55e1:9200::/64\"\n        nics:\n{}",
            nics.collect::<String>()
        );
        std::fs::write(home.path().join("inventory.yaml"), inventory)
            .expect("the folder is writable");
        home.run(&["apply", "--dry-run", "inventory.yaml"])
    };
    for (wrong, reason) in [
        ("fd61:7a0c:55e1:9200::", "in the `net6` of the subnet"),
        ("fd61:7a0c:55e1:9200::3", "in the `net6` of the subnet"),
        ("fd61:7a0c:55e1:9201::9", "in the `net6` of the subnet"),
        (
            "fd61:7a0c:55e1:91ff:ffff:ffff:ffff:ffff",
            "in the `net6` of the subnet",
        ),
        ("10.61.7.0", "in the `net4` of the subnet"),
        ("10.61.7.3", "in the `net4` of the subnet"),
        ("10.61.7.63", "in the `net4` of the subnet"),
        ("10.61.7.64", "in the `net4` of the subnet"),
        ("10.61.6.62", "in the `net4` of the subnet"),
    ] {
        let output = said(&[wrong]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{wrong}");
        assert!(said.contains("must be a host address"), "{wrong}: {said}");
        assert!(said.contains(reason), "{wrong}: {said}");
    }
    let right = [
        "fd61:7a0c:55e1:9200::4",
        "fd61:7a0c:55e1:9200::5",
        "fd61:7a0c:55e1:9200:ffff:ffff:ffff:ffff",
        "10.61.7.4",
        "10.61.7.62",
    ];
    let output = said(&right);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn invalid_utf8_in_an_inventory_is_reported_where_it_is() {
    let home = Home::sqlite();
    std::fs::write(
        home.path().join("inventory.yaml"),
        b"locations: []\nprojects: [ \xff ]\n",
    )
    .expect("the home folder is writable");
    let said = home.fail(&["apply", "inventory.yaml"]);
    assert!(
        said.contains("inventory.yaml:2:13: must be UTF-8"),
        "{said}"
    );
}

#[test]
fn the_schema_of_inventories_is_published() {
    let home = Home::sqlite();
    let schema: serde_json::Value =
        serde_json::from_str(&home.succeed(&["schema"])).expect("`stratusd schema` prints JSON");
    assert_json_snapshot!("inventory_schema", schema);
    let published = concat!(env!("CARGO_MANIFEST_DIR"), "/inventory.schema.json");
    let published = std::fs::read_to_string(published).expect("the schema is beside the crate");
    assert_eq!(
        published,
        format!("{schema:#}\n"),
        "run `stratusd schema > crates/stratusd/inventory.schema.json`"
    );
    // Check inventories with an independent validator.
    let validator =
        jsonschema::draft202012::new(&schema).expect("the printed schema is a JSON Schema");
    assert!(
        validator
            .is_valid(&serde_json::json!({ "locations": [{ "name": "here" }], "projects": [] }))
    );
    assert!(!validator.is_valid(&serde_json::json!({ "locations": [{ "nam": "here" }] })));
}
