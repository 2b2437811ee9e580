-- The resources. The key of each table of a project's resources begins with the project, so that projects can be distributed over several servers.

CREATE TABLE project (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

CREATE TABLE token (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project_id TEXT COLLATE "C" NOT NULL REFERENCES project (id),
    hash BYTEA NOT NULL,
    read_only BOOLEAN NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT
);

CREATE INDEX token_by_project ON token (project_id);

CREATE TABLE location (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    offers_postgres BOOLEAN NOT NULL
);

-- The number of items of each list, as the sum of a few rows (slots), so that pages do not count the items.
CREATE TABLE resource_count (
    project_id TEXT COLLATE "C" NOT NULL REFERENCES project (id),
    kind TEXT COLLATE "C" NOT NULL,
    location TEXT COLLATE "C" NOT NULL,
    slot BIGINT NOT NULL,
    items BIGINT NOT NULL,
    PRIMARY KEY (project_id, kind, location, slot)
);

CREATE TABLE vm (
    project_id TEXT COLLATE "C" NOT NULL REFERENCES project (id),
    id TEXT COLLATE "C" NOT NULL,
    location TEXT COLLATE "C" NOT NULL REFERENCES location (name),
    name TEXT COLLATE "C" NOT NULL,
    ip4 TEXT COLLATE "C",
    ip4_enabled BOOLEAN NOT NULL,
    ip6 TEXT COLLATE "C",
    size TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    storage_size_gib BIGINT NOT NULL,
    unix_user TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, location, name)
);

CREATE INDEX vm_by_location ON vm (project_id, location, id);

-- `is_declared`: an inventory declares the row, so `stratusd apply --prune` may delete it. The other rows belong to callers.
CREATE TABLE private_subnet (
    project_id TEXT COLLATE "C" NOT NULL REFERENCES project (id),
    id TEXT COLLATE "C" NOT NULL,
    location TEXT COLLATE "C" NOT NULL REFERENCES location (name),
    name TEXT COLLATE "C" NOT NULL,
    net4 TEXT COLLATE "C" NOT NULL,
    net6 TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    is_declared BOOLEAN NOT NULL,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, location, name),
    UNIQUE (project_id, net4),
    UNIQUE (project_id, net6)
);

-- Two connected subnets, the lower id first, so that a pair has one row.
CREATE TABLE private_subnet_link (
    project_id TEXT COLLATE "C" NOT NULL,
    low_id TEXT COLLATE "C" NOT NULL,
    high_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (project_id, low_id, high_id),
    CHECK (low_id < high_id),
    FOREIGN KEY (project_id, low_id) REFERENCES private_subnet (project_id, id),
    FOREIGN KEY (project_id, high_id) REFERENCES private_subnet (project_id, id)
);

CREATE INDEX private_subnet_link_by_high ON private_subnet_link (project_id, high_id);

CREATE TABLE nic (
    project_id TEXT COLLATE "C" NOT NULL,
    subnet_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    private_ipv4 TEXT COLLATE "C" NOT NULL,
    private_ipv6 TEXT COLLATE "C" NOT NULL,
    vm_id TEXT COLLATE "C",
    PRIMARY KEY (project_id, subnet_id, id),
    UNIQUE (project_id, subnet_id, name),
    UNIQUE (project_id, subnet_id, private_ipv4),
    UNIQUE (project_id, subnet_id, private_ipv6),
    FOREIGN KEY (project_id, subnet_id) REFERENCES private_subnet (project_id, id),
    FOREIGN KEY (project_id, vm_id) REFERENCES vm (project_id, id)
);

CREATE INDEX nic_by_vm ON nic (project_id, vm_id);

CREATE TABLE firewall (
    project_id TEXT COLLATE "C" NOT NULL REFERENCES project (id),
    id TEXT COLLATE "C" NOT NULL,
    location TEXT COLLATE "C" NOT NULL REFERENCES location (name),
    name TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    is_declared BOOLEAN NOT NULL,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, location, name)
);

CREATE TABLE firewall_rule (
    project_id TEXT COLLATE "C" NOT NULL,
    firewall_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    cidr TEXT COLLATE "C" NOT NULL,
    port_range TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (project_id, firewall_id, id),
    UNIQUE (project_id, firewall_id, cidr, port_range),
    FOREIGN KEY (project_id, firewall_id) REFERENCES firewall (project_id, id)
);

CREATE TABLE firewall_subnet (
    project_id TEXT COLLATE "C" NOT NULL,
    firewall_id TEXT COLLATE "C" NOT NULL,
    subnet_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (project_id, firewall_id, subnet_id),
    FOREIGN KEY (project_id, firewall_id) REFERENCES firewall (project_id, id),
    FOREIGN KEY (project_id, subnet_id) REFERENCES private_subnet (project_id, id)
);

CREATE INDEX firewall_subnet_by_subnet ON firewall_subnet (project_id, subnet_id);

CREATE TABLE load_balancer (
    project_id TEXT COLLATE "C" NOT NULL REFERENCES project (id),
    id TEXT COLLATE "C" NOT NULL,
    location TEXT COLLATE "C" NOT NULL REFERENCES location (name),
    name TEXT COLLATE "C" NOT NULL,
    algorithm TEXT COLLATE "C" NOT NULL,
    src_port BIGINT NOT NULL,
    dst_port BIGINT NOT NULL,
    health_check_endpoint TEXT COLLATE "C" NOT NULL,
    health_check_protocol TEXT COLLATE "C" NOT NULL,
    stack TEXT COLLATE "C" NOT NULL,
    cert_enabled BOOLEAN NOT NULL,
    subnet_id TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, location, name),
    FOREIGN KEY (project_id, subnet_id) REFERENCES private_subnet (project_id, id)
);

CREATE INDEX load_balancer_by_location ON load_balancer (project_id, location, id);
CREATE INDEX load_balancer_by_name ON load_balancer (project_id, name, id);
CREATE INDEX load_balancer_by_subnet ON load_balancer (project_id, subnet_id);

-- The key has no load balancer, so a virtual machine is attached to at most one.
CREATE TABLE load_balancer_vm (
    project_id TEXT COLLATE "C" NOT NULL,
    vm_id TEXT COLLATE "C" NOT NULL,
    load_balancer_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (project_id, vm_id),
    FOREIGN KEY (project_id, vm_id) REFERENCES vm (project_id, id),
    FOREIGN KEY (project_id, load_balancer_id) REFERENCES load_balancer (project_id, id)
);

CREATE INDEX load_balancer_vm_by_load_balancer ON load_balancer_vm (project_id, load_balancer_id, vm_id);

CREATE TABLE inference_api_key (
    project_id TEXT COLLATE "C" NOT NULL REFERENCES project (id),
    id TEXT COLLATE "C" NOT NULL,
    hash BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project_id, id)
);

-- The state of a database, its targets (`target_…`), and when the reconciler is to compare them (`due_at`).
-- A worker that does so holds the lease; its result is written only while it does.
CREATE TABLE postgres_database (
    project_id TEXT COLLATE "C" NOT NULL REFERENCES project (id),
    id TEXT COLLATE "C" NOT NULL,
    location TEXT COLLATE "C" NOT NULL REFERENCES location (name),
    name TEXT COLLATE "C" NOT NULL,
    flavor TEXT COLLATE "C" NOT NULL,
    ha_type TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    storage_size_gib BIGINT NOT NULL,
    target_storage_size_gib BIGINT NOT NULL,
    version TEXT COLLATE "C" NOT NULL,
    target_version TEXT COLLATE "C" NOT NULL,
    vm_size TEXT COLLATE "C" NOT NULL,
    target_vm_size TEXT COLLATE "C" NOT NULL,
    maintenance_window_start_at BIGINT NOT NULL,
    parent TEXT COLLATE "C",
    tags TEXT COLLATE "C" NOT NULL,
    firewall_rules TEXT COLLATE "C" NOT NULL,
    password BYTEA NOT NULL,
    password_is_set BOOLEAN NOT NULL,
    host TEXT COLLATE "C",
    ca_certificates TEXT COLLATE "C",
    earliest_restore_time BIGINT,
    latest_restore_time BIGINT NOT NULL,
    used_bytes BIGINT NOT NULL,
    revision BIGINT NOT NULL DEFAULT 0,
    due_at BIGINT,
    attempts BIGINT NOT NULL DEFAULT 0,
    lease TEXT COLLATE "C",
    lease_until BIGINT,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, location, name)
);

CREATE INDEX postgres_database_by_name ON postgres_database (project_id, name, id);
CREATE INDEX postgres_database_by_due ON postgres_database (due_at) WHERE due_at IS NOT NULL;

-- State of the service itself, such as its certificate authority.
CREATE TABLE service_state (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value BYTEA NOT NULL
);
