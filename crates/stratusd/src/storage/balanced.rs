//! Load balancers as the data plane reads them: those of all projects.

use api_types::{
    HealthCheckEndpoint, HealthCheckProtocol, LoadBalancerAlgorithm, LoadBalancerId, Name,
    NetworkStack, Port, PrivateSubnetId, ProjectId,
};

use super::record::record;
use super::statement::statement;
use super::{Connection, StorageError};

record! {
    /// What the data plane needs of a load balancer: not the whole row, so that a newer program can
    /// change the rest of it while an older data plane reads.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Balanced in "load_balancer" {
        /// The id of the project.
        pub project_id: ProjectId,
        /// The id.
        pub id: LoadBalancerId,
        /// The name, unique in its project and location.
        pub name: Name,
        /// How the load balancer chooses a virtual machine.
        pub algorithm: LoadBalancerAlgorithm,
        /// The port that the load balancer listens on.
        pub src_port: Port,
        /// The port of the virtual machines.
        pub dst_port: Port,
        /// The path or URL of health checks.
        pub health_check_endpoint: HealthCheckEndpoint,
        /// The protocol of health checks.
        pub health_check_protocol: HealthCheckProtocol,
        /// The versions of IP that the load balancer supports.
        pub stack: NetworkStack,
        /// Whether the load balancer has a certificate.
        pub cert_enabled: bool,
        /// The id of the private subnet, which is a part of the host name.
        pub subnet_id: PrivateSubnetId,
    }
    columns balanced_columns;
}

record! {
    /// The ids of a load balancer and its project.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct BalancedKey in "load_balancer" {
        /// The id of the project.
        pub project_id: ProjectId,
        /// The id.
        pub id: LoadBalancerId,
    }
    columns balanced_key_columns;
}

/// Returns the ids of at most `limit` load balancers of all projects, in the order of project id and id:
/// those after the pair of ids `after`.
pub async fn keys_after(
    c: &mut Connection<'_>,
    (project, id): (&str, &str),
    limit: i64,
) -> Result<Vec<BalancedKey>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        balanced_key_columns!(),
        " FROM load_balancer AS t WHERE (t.project_id, t.id) > ($1, $2) \
         ORDER BY t.project_id, t.id LIMIT CAST($3 AS BIGINT)"
    ));
    c.fetch_all::<BalancedKey>(sql, &[&project, &id, &limit])
        .await
}

record! {
    /// What decides who may connect to a load balancer: its port, and its private subnet.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Guarded in "load_balancer" {
        /// The id.
        pub id: LoadBalancerId,
        /// The port that the load balancer listens on.
        pub src_port: Port,
        /// The id of the private subnet.
        pub subnet_id: PrivateSubnetId,
    }
    columns guarded_columns;
}

/// Returns at most `limit` load balancers of a project, sorted by id: those after the id `after`.
pub async fn guarded_after(
    c: &mut Connection<'_>,
    project: &ProjectId,
    after: &str,
    limit: i64,
) -> Result<Vec<Guarded>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        guarded_columns!(),
        " FROM load_balancer AS t WHERE t.project_id = $1 AND t.id > $2 \
         ORDER BY t.id LIMIT CAST($3 AS BIGINT)"
    ));
    c.fetch_all::<Guarded>(sql, &[&project, &after, &limit])
        .await
}

/// Looks up a load balancer of a project.
pub async fn lookup(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &LoadBalancerId,
) -> Result<Option<Balanced>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        balanced_columns!(),
        " FROM load_balancer AS t WHERE t.project_id = $1 AND t.id = $2"
    ));
    c.fetch_optional::<Balanced>(sql, &[&project, id]).await
}

/// Returns whether a project has a load balancer.
pub async fn exists(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &LoadBalancerId,
) -> Result<bool, StorageError> {
    let sql = statement!("SELECT id FROM load_balancer WHERE project_id = $1 AND id = $2");
    c.exists(sql, &[&project, id]).await
}
