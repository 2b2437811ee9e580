-- The resources. The key of each table of a project's resources begins with the project, and the rows are stored in that order.

CREATE TABLE project (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE token (
    id TEXT NOT NULL PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES project (id),
    hash BLOB NOT NULL,
    read_only INTEGER NOT NULL,
    description TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX token_by_project ON token (project_id);

CREATE TABLE location (
    name TEXT NOT NULL PRIMARY KEY,
    offers_postgres INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The number of items of each list, as the sum of a few rows (slots), so that pages do not count the items.
CREATE TABLE resource_count (
    project_id TEXT NOT NULL REFERENCES project (id),
    kind TEXT NOT NULL,
    location TEXT NOT NULL,
    slot INTEGER NOT NULL,
    items INTEGER NOT NULL,
    PRIMARY KEY (project_id, kind, location, slot)
) STRICT, WITHOUT ROWID;

CREATE TABLE vm (
    project_id TEXT NOT NULL REFERENCES project (id),
    id TEXT NOT NULL,
    location TEXT NOT NULL REFERENCES location (name),
    name TEXT NOT NULL,
    ip4 TEXT,
    ip4_enabled INTEGER NOT NULL,
    ip6 TEXT,
    size TEXT NOT NULL,
    state TEXT NOT NULL,
    storage_size_gib INTEGER NOT NULL,
    unix_user TEXT NOT NULL,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, location, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX vm_by_location ON vm (project_id, location, id);

-- `is_declared`: an inventory declares the row, so `stratusd apply --prune` may delete it. The other rows belong to callers.
CREATE TABLE private_subnet (
    project_id TEXT NOT NULL REFERENCES project (id),
    id TEXT NOT NULL,
    location TEXT NOT NULL REFERENCES location (name),
    name TEXT NOT NULL,
    net4 TEXT NOT NULL,
    net6 TEXT NOT NULL,
    state TEXT NOT NULL,
    is_declared INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, location, name),
    UNIQUE (project_id, net4),
    UNIQUE (project_id, net6)
) STRICT, WITHOUT ROWID;

-- Two connected subnets, the lower id first, so that a pair has one row.
CREATE TABLE private_subnet_link (
    project_id TEXT NOT NULL,
    low_id TEXT NOT NULL,
    high_id TEXT NOT NULL,
    PRIMARY KEY (project_id, low_id, high_id),
    CHECK (low_id < high_id),
    FOREIGN KEY (project_id, low_id) REFERENCES private_subnet (project_id, id),
    FOREIGN KEY (project_id, high_id) REFERENCES private_subnet (project_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX private_subnet_link_by_high ON private_subnet_link (project_id, high_id);

CREATE TABLE nic (
    project_id TEXT NOT NULL,
    subnet_id TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    private_ipv4 TEXT NOT NULL,
    private_ipv6 TEXT NOT NULL,
    vm_id TEXT,
    PRIMARY KEY (project_id, subnet_id, id),
    UNIQUE (project_id, subnet_id, name),
    UNIQUE (project_id, subnet_id, private_ipv4),
    UNIQUE (project_id, subnet_id, private_ipv6),
    FOREIGN KEY (project_id, subnet_id) REFERENCES private_subnet (project_id, id),
    FOREIGN KEY (project_id, vm_id) REFERENCES vm (project_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX nic_by_vm ON nic (project_id, vm_id);

CREATE TABLE firewall (
    project_id TEXT NOT NULL REFERENCES project (id),
    id TEXT NOT NULL,
    location TEXT NOT NULL REFERENCES location (name),
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    is_declared INTEGER NOT NULL,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, location, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE firewall_rule (
    project_id TEXT NOT NULL,
    firewall_id TEXT NOT NULL,
    id TEXT NOT NULL,
    cidr TEXT NOT NULL,
    port_range TEXT NOT NULL,
    PRIMARY KEY (project_id, firewall_id, id),
    UNIQUE (project_id, firewall_id, cidr, port_range),
    FOREIGN KEY (project_id, firewall_id) REFERENCES firewall (project_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE firewall_subnet (
    project_id TEXT NOT NULL,
    firewall_id TEXT NOT NULL,
    subnet_id TEXT NOT NULL,
    PRIMARY KEY (project_id, firewall_id, subnet_id),
    FOREIGN KEY (project_id, firewall_id) REFERENCES firewall (project_id, id),
    FOREIGN KEY (project_id, subnet_id) REFERENCES private_subnet (project_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX firewall_subnet_by_subnet ON firewall_subnet (project_id, subnet_id);

CREATE TABLE load_balancer (
    project_id TEXT NOT NULL REFERENCES project (id),
    id TEXT NOT NULL,
    location TEXT NOT NULL REFERENCES location (name),
    name TEXT NOT NULL,
    algorithm TEXT NOT NULL,
    src_port INTEGER NOT NULL,
    dst_port INTEGER NOT NULL,
    health_check_endpoint TEXT NOT NULL,
    health_check_protocol TEXT NOT NULL,
    stack TEXT NOT NULL,
    cert_enabled INTEGER NOT NULL,
    subnet_id TEXT NOT NULL,
    revision INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, location, name),
    FOREIGN KEY (project_id, subnet_id) REFERENCES private_subnet (project_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX load_balancer_by_location ON load_balancer (project_id, location, id);
CREATE INDEX load_balancer_by_name ON load_balancer (project_id, name, id);
CREATE INDEX load_balancer_by_subnet ON load_balancer (project_id, subnet_id);

-- The key has no load balancer, so a virtual machine is attached to at most one.
CREATE TABLE load_balancer_vm (
    project_id TEXT NOT NULL,
    vm_id TEXT NOT NULL,
    load_balancer_id TEXT NOT NULL,
    PRIMARY KEY (project_id, vm_id),
    FOREIGN KEY (project_id, vm_id) REFERENCES vm (project_id, id),
    FOREIGN KEY (project_id, load_balancer_id) REFERENCES load_balancer (project_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX load_balancer_vm_by_load_balancer ON load_balancer_vm (project_id, load_balancer_id, vm_id);

CREATE TABLE inference_api_key (
    project_id TEXT NOT NULL REFERENCES project (id),
    id TEXT NOT NULL,
    hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id)
) STRICT, WITHOUT ROWID;

-- The state of a database, its targets (`target_…`), and when the reconciler is to compare them (`due_at`).
-- A worker that does so holds the lease; its result is written only while it does.
CREATE TABLE postgres_database (
    project_id TEXT NOT NULL REFERENCES project (id),
    id TEXT NOT NULL,
    location TEXT NOT NULL REFERENCES location (name),
    name TEXT NOT NULL,
    flavor TEXT NOT NULL,
    ha_type TEXT NOT NULL,
    state TEXT NOT NULL,
    storage_size_gib INTEGER NOT NULL,
    target_storage_size_gib INTEGER NOT NULL,
    version TEXT NOT NULL,
    target_version TEXT NOT NULL,
    vm_size TEXT NOT NULL,
    target_vm_size TEXT NOT NULL,
    maintenance_window_start_at INTEGER NOT NULL,
    parent TEXT,
    tags TEXT NOT NULL,
    firewall_rules TEXT NOT NULL,
    password BLOB NOT NULL,
    password_is_set INTEGER NOT NULL,
    host TEXT,
    ca_certificates TEXT,
    earliest_restore_time INTEGER,
    latest_restore_time INTEGER NOT NULL,
    used_bytes INTEGER NOT NULL,
    revision INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    lease TEXT,
    lease_until INTEGER,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, location, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX postgres_database_by_name ON postgres_database (project_id, name, id);
CREATE INDEX postgres_database_by_due ON postgres_database (due_at) WHERE due_at IS NOT NULL;

-- State of the service itself, such as its certificate authority.
CREATE TABLE service_state (
    name TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
