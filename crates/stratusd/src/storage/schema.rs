//! The columns of the tables whose rows are read into structs, for their types; `migrations` makes all tables.

diesel::table! {
    project (id) {
        id -> Text,
        name -> Text,
        created_at -> BigInt,
    }
}

diesel::table! {
    token (id) {
        id -> Text,
        project_id -> Text,
        hash -> Binary,
        read_only -> Bool,
        description -> Text,
        created_at -> BigInt,
        expires_at -> Nullable<BigInt>,
        revoked_at -> Nullable<BigInt>,
    }
}

diesel::table! {
    location (name) {
        name -> Text,
        offers_postgres -> Bool,
    }
}

diesel::table! {
    vm (project_id, id) {
        project_id -> Text,
        id -> Text,
        location -> Text,
        name -> Text,
        ip4 -> Nullable<Text>,
        ip4_enabled -> Bool,
        ip6 -> Nullable<Text>,
        size -> Text,
        state -> Text,
        storage_size_gib -> BigInt,
        unix_user -> Text,
    }
}

diesel::table! {
    private_subnet (project_id, id) {
        project_id -> Text,
        id -> Text,
        location -> Text,
        name -> Text,
        net4 -> Text,
        net6 -> Text,
        state -> Text,
        is_declared -> Bool,
    }
}

diesel::table! {
    nic (project_id, subnet_id, id) {
        project_id -> Text,
        subnet_id -> Text,
        id -> Text,
        name -> Text,
        private_ipv4 -> Text,
        private_ipv6 -> Text,
        vm_id -> Nullable<Text>,
    }
}

diesel::table! {
    firewall (project_id, id) {
        project_id -> Text,
        id -> Text,
        location -> Text,
        name -> Text,
        description -> Text,
        is_declared -> Bool,
    }
}

diesel::table! {
    firewall_rule (project_id, firewall_id, id) {
        project_id -> Text,
        firewall_id -> Text,
        id -> Text,
        cidr -> Text,
        port_range -> Text,
    }
}

diesel::table! {
    firewall_subnet (project_id, firewall_id, subnet_id) {
        project_id -> Text,
        firewall_id -> Text,
        subnet_id -> Text,
    }
}

diesel::table! {
    load_balancer (project_id, id) {
        project_id -> Text,
        id -> Text,
        location -> Text,
        name -> Text,
        algorithm -> Text,
        src_port -> BigInt,
        dst_port -> BigInt,
        health_check_endpoint -> Text,
        health_check_protocol -> Text,
        stack -> Text,
        cert_enabled -> Bool,
        subnet_id -> Text,
        revision -> BigInt,
    }
}

diesel::table! {
    postgres_database (project_id, id) {
        project_id -> Text,
        id -> Text,
        location -> Text,
        name -> Text,
        flavor -> Text,
        ha_type -> Text,
        state -> Text,
        storage_size_gib -> BigInt,
        target_storage_size_gib -> BigInt,
        version -> Text,
        target_version -> Text,
        vm_size -> Text,
        target_vm_size -> Text,
        maintenance_window_start_at -> BigInt,
        parent -> Nullable<Text>,
        tags -> Text,
        firewall_rules -> Text,
        password -> Binary,
        password_is_set -> Bool,
        host -> Nullable<Text>,
        ca_certificates -> Nullable<Text>,
        earliest_restore_time -> Nullable<BigInt>,
        latest_restore_time -> BigInt,
        used_bytes -> BigInt,
        revision -> BigInt,
        due_at -> Nullable<BigInt>,
        attempts -> BigInt,
        lease -> Nullable<Text>,
        lease_until -> Nullable<BigInt>,
    }
}

diesel::table! {
    service_state (name) {
        name -> Text,
        value -> Binary,
    }
}
