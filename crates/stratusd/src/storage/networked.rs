//! What the processes that enforce networks read of a project: its virtual machines, their network
//! interfaces, private subnets and their connections, and what firewalls and load balancers let in.
//! Only the columns that they need, so that a newer program can change the others.

use api_types::{
    Cidr, FirewallProtocol, Ipv4Address, Ipv6Address, LoadBalancerId, Name, NicId, Port, PortRange,
    PrivateSubnetId, ProjectId, VmId,
};

use super::record::record;
use super::statement::{attached, statement};
use super::{Connection, StorageError};
use crate::domain::network::{Net4, Net6};

record! {
    /// A virtual machine that runs.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct RunningVm in "vm" {
        /// The id.
        pub id: VmId,
        /// The name.
        pub name: Name,
        /// The public IPv4 address.
        pub ip4: Option<Ipv4Address>,
        /// The public IPv6 address.
        pub ip6: Option<Ipv6Address>,
    }
    columns running_vm_columns;
}

record! {
    /// A network interface that a virtual machine uses.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct UsedNic in "nic" {
        /// The id of the subnet.
        pub subnet_id: PrivateSubnetId,
        /// The id.
        pub id: NicId,
        /// The address in the subnet's IPv4 network.
        pub private_ipv4: Ipv4Address,
        /// The address in the subnet's IPv6 network.
        pub private_ipv6: Ipv6Address,
        /// The id of the virtual machine.
        pub vm_id: VmId,
    }
    columns used_nic_columns;
}

record! {
    /// The networks of a private subnet.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Networks in "private_subnet" {
        /// The IPv4 network.
        pub net4: Net4,
        /// The IPv6 network.
        pub net6: Net6,
    }
    columns networks_columns;
}

record! {
    /// Two subnets that are connected.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Link in "private_subnet_link" {
        /// The lower id.
        pub low_id: PrivateSubnetId,
        /// The higher id.
        pub high_id: PrivateSubnetId,
    }
    columns link_columns;
}

record! {
    /// What a firewall rule allows.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct AllowedRow in "firewall_rule" {
        /// The network whose addresses may connect.
        pub cidr: Cidr,
        /// The ports that they may connect to.
        pub port_range: PortRange,
        /// The protocol.
        pub protocol: FirewallProtocol,
    }
    columns allowed_columns;
}

record! {
    /// A port of a virtual machine that a load balancer forwards to.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct BalancedPort in "load_balancer_vm" {
        /// The id of the virtual machine.
        pub vm_id: VmId,
        /// The port.
        pub dst_port: Port,
    }
}

/// Returns whether an id in the table of changes is the one that stands for a project's networks.
#[must_use]
pub fn is_of_networks(id: &LoadBalancerId) -> bool {
    // As the triggers of the migration 0015 write it.
    id.as_str()
        .strip_prefix("1b")
        .is_some_and(|rest| rest.bytes().all(|byte| byte == b'0'))
}

/// Returns the virtual machines of a project that run, at most `limit` of them, sorted by id: those
/// after the id `after`.
pub async fn vms_after(
    c: &mut Connection<'_>,
    project: &ProjectId,
    after: &str,
    limit: i64,
) -> Result<Vec<RunningVm>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        running_vm_columns!(),
        " FROM vm AS t WHERE t.project_id = $1 AND t.id > $2 AND t.state = 'running' \
         ORDER BY t.id LIMIT CAST($3 AS BIGINT)"
    ));
    c.fetch_all::<RunningVm>(sql, &[&project, &after, &limit])
        .await
}

/// Returns the network interfaces that virtual machines of a project use, at most `limit` of them,
/// sorted by the id of the virtual machine.
pub async fn nics(
    c: &mut Connection<'_>,
    project: &ProjectId,
    limit: i64,
) -> Result<Vec<UsedNic>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        used_nic_columns!(),
        " FROM nic AS t WHERE t.project_id = $1 AND t.vm_id > '' \
         ORDER BY t.vm_id LIMIT CAST($2 AS BIGINT)"
    ));
    c.fetch_all::<UsedNic>(sql, &[&project, &limit]).await
}

/// Looks up the networks of a private subnet.
pub async fn networks(
    c: &mut Connection<'_>,
    project: &ProjectId,
    subnet: &PrivateSubnetId,
) -> Result<Option<Networks>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        networks_columns!(),
        " FROM private_subnet AS t WHERE t.project_id = $1 AND t.id = $2"
    ));
    c.fetch_optional::<Networks>(sql, &[&project, &subnet])
        .await
}

/// Returns the connections of a private subnet to those with a higher id, at most `limit` of them.
pub async fn links(
    c: &mut Connection<'_>,
    project: &ProjectId,
    low: &PrivateSubnetId,
    limit: i64,
) -> Result<Vec<Link>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        link_columns!(),
        " FROM private_subnet_link AS t WHERE t.project_id = $1 AND t.low_id = $2 \
         ORDER BY t.high_id LIMIT CAST($3 AS BIGINT)"
    ));
    c.fetch_all::<Link>(sql, &[&project, &low, &limit]).await
}

/// Returns whether a private subnet has a firewall.
pub async fn is_guarded(
    c: &mut Connection<'_>,
    project: &ProjectId,
    subnet: &PrivateSubnetId,
) -> Result<bool, StorageError> {
    let sql = statement!(
        "SELECT firewall_id FROM firewall_subnet WHERE project_id = $1 AND subnet_id = $2 LIMIT 1"
    );
    c.exists(sql, &[&project, &subnet]).await
}

/// Returns what the firewalls of a private subnet allow, at most `limit` rules, sorted by the id of
/// the firewall and that of the rule.
pub async fn allowed(
    c: &mut Connection<'_>,
    project: &ProjectId,
    subnet: &PrivateSubnetId,
    limit: i64,
) -> Result<Vec<AllowedRow>, StorageError> {
    let sql = attached!(
        allowed_columns!(),
        from: "firewall_rule" by "firewall_id",
        in: "firewall_subnet" ("subnet_id", "firewall_id"),
        order: "attached.firewall_id, t.id LIMIT CAST($3 AS BIGINT)"
    );
    c.fetch_all::<AllowedRow>(sql, &[&project, &subnet, &limit])
        .await
}

/// Returns the ports to which load balancers of a project forward, at most `limit` of them, sorted by
/// the id of the virtual machine.
pub async fn balanced_ports(
    c: &mut Connection<'_>,
    project: &ProjectId,
    limit: i64,
) -> Result<Vec<BalancedPort>, StorageError> {
    let sql = statement!(
        "SELECT t.vm_id, (SELECT b.dst_port FROM load_balancer AS b WHERE b.project_id = $1 \
         AND b.id = t.load_balancer_id) AS dst_port FROM load_balancer_vm AS t \
         WHERE t.project_id = $1 ORDER BY t.vm_id LIMIT CAST($2 AS BIGINT)"
    );
    c.fetch_all::<BalancedPort>(sql, &[&project, &limit]).await
}
