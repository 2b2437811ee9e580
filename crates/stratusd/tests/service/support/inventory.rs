//! An inventory of two isolated projects with resources of each kind.

/// The id of the first project.
pub const SHOP: &str = "pjj99grz61ddttq24cf6gc6atm";
/// The id of the other project.
pub const RIVAL: &str = "pjzzzzzzzzzzzzzzzzzzzzzzzz";

/// Returns an inventory of two projects whose resources have the same names and locations. Only
/// their public addresses differ.
pub fn two_projects() -> String {
    let resources = |subnet: &str, host: u8| {
        format!(
            r#"
    vms:
      - {{ name: app-1, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy, ip4: 203.0.113.{host}, ip6: "2001:db8::{host}" }}
      - {{ name: app-2, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy }}
      - {{ name: app-3, location: eu-central-h1, size: burstable-1, storage_size_gib: 10, unix_user: deploy, state: waiting for capacity }}
      - {{ name: far, location: us-east-a2, size: standard-2, storage_size_gib: 40, unix_user: deploy }}
    firewalls:
      - name: web-only
        location: eu-central-h1
        description: Lets the web in
        rules: [{{ cidr: 0.0.0.0/0, port_range: 80..443 }}, {{ cidr: "::/0", port_range: "22" }}]
      - {{ name: far, location: us-east-a2 }}
    private_subnets:
      - name: backend
        location: eu-central-h1
        net4: 10.61.7.0/26
        net6: "{subnet}"
        firewalls: [web-only]
        nics: [{{ name: app-1-nic, vm: app-1, private_ipv4: 10.61.7.9 }}, {{ name: spare }}]
      - {{ name: frontend, location: eu-central-h1 }}
      - {{ name: far, location: us-east-a2 }}
    load_balancers:
      - {{ name: web, location: eu-central-h1, subnet: backend, src_port: 443, dst_port: 8080, health_check_endpoint: /up, vms: [app-1] }}
      - {{ name: api, location: eu-central-h1, subnet: frontend, src_port: 80, dst_port: 9000, health_check_endpoint: /up, algorithm: hash_based, health_check_protocol: tcp, stack: ipv4 }}
"#
        )
    };
    format!(
        "locations:\n  - name: eu-central-h1\n  - {{ name: eu-north-h1, postgres: false }}\n  - name: us-east-a2\n\
         projects:\n  - name: shop\n    id: {SHOP}{}  - name: rival\n    id: {RIVAL}{}",
        resources("fd61:7a0c:55e1:9200::/64", 21),
        resources("fd61:7a0c:55e1:9200::/64", 22),
    )
}
