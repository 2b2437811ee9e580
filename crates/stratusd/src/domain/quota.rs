//! Quotas: how many resources of each kind a project may have.

/// A kind of resource that has a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Virtual machines.
    Vm,
    /// Load balancers.
    LoadBalancer,
    /// Postgres databases.
    Postgres,
    /// Private subnets.
    PrivateSubnet,
    /// Firewalls.
    Firewall,
    /// Inference API keys.
    InferenceApiKey,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Vm,
        Self::LoadBalancer,
        Self::Postgres,
        Self::PrivateSubnet,
        Self::Firewall,
        Self::InferenceApiKey,
    ];

    /// Returns the plural noun for resources of the kind, for messages: `virtual machines`.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            Self::Vm => "virtual machines",
            Self::LoadBalancer => "load balancers",
            Self::Postgres => "Postgres databases",
            Self::PrivateSubnet => "private subnets",
            Self::Firewall => "firewalls",
            Self::InferenceApiKey => "inference API keys",
        }
    }
}

/// The default quotas: how many resources of each kind a project may have, unless the inventory
/// sets another quota for the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// The maximum number of virtual machines of a project.
    pub vms: i64,
    /// The maximum number of load balancers of a project.
    pub load_balancers: i64,
    /// The maximum number of Postgres databases of a project.
    pub postgres_databases: i64,
    /// The maximum number of private subnets of a project.
    pub private_subnets: i64,
    /// The maximum number of firewalls of a project.
    pub firewalls: i64,
    /// The maximum number of inference API keys of a project.
    pub inference_api_keys: i64,
}

impl Quotas {
    /// Returns quotas that are `most` for each kind.
    #[must_use]
    pub const fn all(most: i64) -> Self {
        Self {
            vms: most,
            load_balancers: most,
            postgres_databases: most,
            private_subnets: most,
            firewalls: most,
            inference_api_keys: most,
        }
    }

    /// Returns the quota of a kind.
    #[must_use]
    pub fn of(&self, kind: Kind) -> i64 {
        match kind {
            Kind::Vm => self.vms,
            Kind::LoadBalancer => self.load_balancers,
            Kind::Postgres => self.postgres_databases,
            Kind::PrivateSubnet => self.private_subnets,
            Kind::Firewall => self.firewalls,
            Kind::InferenceApiKey => self.inference_api_keys,
        }
    }
}

/// The quota of a project for a kind of resource, and how much of it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// The kind of resource.
    pub kind: Kind,
    /// The quota: how many resources of the kind the project may have.
    pub most: i64,
    /// The number of resources of the kind that the project has.
    pub items: i64,
}
