//! What a plan may read: what it finds by a whole key, or what is the result itself.

/// A statement with what its plan reads.
#[derive(Debug, Clone)]
pub struct Statement {
    /// The text.
    pub text: String,
    /// Whether rows are sorted before they are returned.
    pub sorts: bool,
    /// What is read.
    pub accesses: Vec<Access>,
}

/// How a plan reads a table.
#[derive(Debug, Clone)]
pub struct Access {
    /// The table.
    pub table: String,
    /// Which of its rows are read.
    pub reach: Reach,
    /// The columns by which rows are dropped after they were read.
    pub filters: Vec<String>,
}

/// Which rows of a table are read.
#[derive(Debug, Clone)]
pub enum Reach {
    /// All rows.
    Scan,
    /// The rows that a search finds.
    Search {
        /// The columns of the index, in order.
        key: Vec<String>,
        /// The columns that the search compares.
        by: Vec<String>,
    },
}

/// A search by a part of a key that is allowed: the beginning of the statement (empty for any), the
/// table, the columns (empty for all rows), and the reason.
type Allowed = (&'static str, &'static str, &'static str, &'static str);

const ALLOWED: &[Allowed] = &[
    ("", "location", "", "locations are few, and the operator's"),
    (
        "SELECT t.id, t.name FROM project AS t ORDER BY t.name",
        "project",
        "",
        "run once, at the start of a service",
    ),
    (
        "SELECT id FROM postgres_database LIMIT 1",
        "postgres_database",
        "",
        "the first row is enough",
    ),
    (
        "",
        "resource_count",
        "project_id,kind",
        "16 rows for each location",
    ),
    ("", "resource_count", "project_id,kind,location", "16 rows"),
    (
        "",
        "firewall_rule",
        "project_id,firewall_id",
        "all rules of a firewall are shown",
    ),
    (
        "",
        "firewall_subnet",
        "project_id,firewall_id",
        "all subnets of a firewall are shown",
    ),
    (
        "",
        "firewall_subnet",
        "project_id,subnet_id",
        "all firewalls of a subnet are shown",
    ),
    (
        "",
        "nic",
        "project_id,subnet_id",
        "all interfaces of a subnet are shown",
    ),
    (
        "",
        "private_subnet_link",
        "project_id,low_id",
        "all connections of a subnet are deleted",
    ),
    (
        "",
        "private_subnet_link",
        "project_id,high_id",
        "all connections of a subnet are deleted",
    ),
    (
        "",
        "load_balancer_vm",
        "project_id,load_balancer_id",
        "all virtual machines of a load balancer are shown",
    ),
    (
        "",
        "load_balancer",
        "project_id,name",
        "a name is used once in each location",
    ),
    (
        "",
        "private_subnet",
        "project_id,name",
        "a name is used once in each location",
    ),
    (
        "",
        "postgres_database",
        "project_id,name",
        "a name is used once in each location",
    ),
    (
        "",
        "load_balancer_change",
        "number",
        "all changes since the data plane has last looked",
    ),
    ("WITH gone", "audit", "at", "the entries of a millisecond"),
    ("", "vm", "location", ONE_IN_LOCATION),
    ("", "private_subnet", "location", ONE_IN_LOCATION),
    ("", "firewall", "location", ONE_IN_LOCATION),
    ("", "load_balancer", "location", ONE_IN_LOCATION),
    ("", "postgres_database", "location", ONE_IN_LOCATION),
    (
        "UPDATE postgres_database SET lease = NULL",
        "postgres_database",
        "",
        "run once, at the start of a service that is alone",
    ),
];

const ONE_IN_LOCATION: &str = "the first one forbids to delete the location";

/// Columns by which a statement with a limit may drop rows: databases that are due and leased are as
/// few as the workers, and by the others an operator filters the audit trail.
const ALLOWED_FILTERS: &[(&str, &str)] = &[
    ("postgres_database", "lease_until"),
    ("audit", "principal"),
    ("audit", "operation"),
    ("audit", "resource"),
];

/// Returns what is wrong with a statement; `None` if it reads no more than its result.
pub fn complaint(of: &Statement) -> Option<String> {
    let is_limited = of.text.contains(" LIMIT ");
    let mut wrong: Vec<String> = of
        .accesses
        .iter()
        .filter_map(|access| unbounded(&of.text, access, is_limited))
        .collect();
    if is_limited && of.sorts {
        wrong.push("sorts before it limits, and so reads the rest of the list".to_owned());
    }
    if is_limited {
        for access in &of.accesses {
            let dropped = access.filters.iter().filter(|column| {
                !ALLOWED_FILTERS.contains(&(access.table.as_str(), column.as_str()))
            });
            wrong.extend(dropped.map(|column| {
                format!(
                    "limits what is left after a filter by {column} of {}",
                    access.table
                )
            }));
        }
    }
    (!wrong.is_empty()).then(|| format!("{}\n  {}", of.text, wrong.join("\n  ")))
}

/// Returns why an access reads more than its result.
fn unbounded(text: &str, access: &Access, is_limited: bool) -> Option<String> {
    let table = &access.table;
    let (by, wrong) = match &access.reach {
        Reach::Scan => (String::new(), format!("reads all of {table}")),
        Reach::Search { key, by } => {
            // A column after one that is missing only drops entries of the index that were read.
            let found: Vec<&str> = key
                .iter()
                .map_while(|column| by.contains(column).then_some(column.as_str()))
                .collect();
            // The index is in the order of the page, so the limit ends the search.
            let is_page = is_limited && by.len() > 1 && key.starts_with(by);
            if found.len() == key.len() || is_page {
                return None;
            }
            let wrong = format!("searches {table} by {} alone", found.join(" and "));
            (found.join(","), wrong)
        }
    };
    let is_allowed = ALLOWED
        .iter()
        .any(|(begin, of, columns, _)| text.starts_with(begin) && of == table && *columns == by);
    (!is_allowed).then_some(wrong)
}
