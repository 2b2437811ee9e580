//! The 15 operations of contract 0.1.0 are what they were, with everything that they refer to.
//!
//! `0.1.0.json` is that contract as the last service of its version published it:
//! `crates/api-server/src/openapi.json` of the commit before `openapi.yaml` got the version 0.2.0.
//! Texts and examples are compared too, because a text can refuse what a schema still allows. Only
//! what describes the whole API is not: `info` and the descriptions of the tags.

use std::collections::BTreeSet;
use std::fmt;

use compatibility::{Kind, compare};
use contract::Contract;
use serde_json::{Value, json};
use tests::seed;

const FIRST: &str = include_str!("0.1.0.json");

/// A difference that is wanted.
struct Change {
    /// Where it is: below an operation, or below the components.
    at: &'static str,
    /// What only version 0.1.0 has: the lines of a text, the items of a list, or else the value.
    was: &'static str,
    /// What only the contract of today has.
    is: &'static str,
    /// Why clients of version 0.1.0 can bear it.
    why: &'static str,
}

/// All differences since version 0.1.0.
const CHANGES: [Change; 13] = [
    Change {
        at: "schemas/ErrorType/description",
        was: "",
        is: "- 409 `DependencyError`: the resource cannot be deleted while others use it",
        why: "deletes have an error of their own, which none of these operations returns",
    },
    Change {
        at: "schemas/ErrorType/enum",
        was: "[]",
        is: r#"["DependencyError"]"#,
        why: "clients accept unknown values of this enumeration, and none of these operations returns this one",
    },
    Change {
        at: "parameters/IfMatch/examples/any/summary",
        was: "Whatever the resource is",
        is: "In any state of the resource",
        why: "the same in plainer words",
    },
    Change {
        at: "parameters/PageSize/description",
        was: "A page also ends with the item that brings its size to about 2 MiB, and always holds at least one item if there is one.",
        is: "A page also ends with the item that brings its size to about 1 MiB, and always holds at least one item if there is one.",
        why: "clients go on after a page of any size, and only longer lists have more pages",
    },
    Change {
        at: "schemas/LoadBalancerUpdate/properties/vms/description",
        was: "The ids of the virtual machines to attach, at most 1000; all others are detached.\n\
             Returns 400 `InvalidRequest` with `details.vms` if one of them is unknown, is in another project or location, appears twice, or is attached to another load balancer.",
        is: "The ids of the virtual machines to attach, at most 100; all others are detached.\n\
             Returns 400 `InvalidRequest` with `details.vms` if there are more, or one of them is unknown, is in another project or location, appears twice, or is attached to another load balancer.",
        why: "a load balancer has at most 100 virtual machines, which the service can serve; the schema still allows 1000",
    },
    Change {
        at: "schemas/VmIdInputs/description",
        was: "The ids of virtual machines, in a request; at most 1000.",
        is: "The ids of virtual machines, in a request. A list of more than 1000 is not read; a load balancer may have 100.",
        why: "says the limit of 100 virtual machines too",
    },
    Change {
        at: "schemas/PostgresState/x-wait",
        was: "",
        is: r#"{"until":["running"],"failed":["deleting"]}"#,
        why: "tells generated clients how to wait, and says nothing of requests and responses",
    },
    Change {
        at: "schemas/PostgresCreate/properties/tags/description",
        was: "The tags of the database, at most 64. If you leave them out, it has none.",
        is: "The tags of the database, at most 50. If you leave them out, it has none.",
        why: "a database has at most 50 tags; the schema still allows 64",
    },
    Change {
        at: "schemas/TagInputs/description",
        was: "Tags, in a request; at most 64.",
        is: "Tags, in a request.\n\
             A database has at most 50: more are refused with 400 `InvalidRequest` and `details.tags`.",
        why: "says the limit of 50 tags too",
    },
    Change {
        at: "schemas/PostgresUpdate/properties/tags/description",
        was: "The new tags of the database, at most 64, which replace all current ones.",
        is: "The new tags of the database, at most 50, which replace all current ones.",
        why: "says the limit of 50 tags too",
    },
    Change {
        at: "private_subnet_connect/description",
        was: "Returns 400 `InvalidRequest` with `details.connected-subnet-id` if the property is missing, is not the id of a private subnet in this project and location, is the id of the subnet of the path, or if the two subnets are already connected.",
        is: "Returns 400 `InvalidRequest` with `details.connected-subnet-id` if the property is missing, is not the id of a private subnet in this project and location, is the id of the subnet of the path, if the two subnets are already connected, or if one of them is connected to 100 others.",
        why: "a subnet is connected to at most 100 others, whose rules a machine can hold",
    },
    Change {
        at: "schemas/PrivateSubnetConnect/properties/connected-subnet-id/description",
        was: "Returns 400 `InvalidRequest` with `details.connected-subnet-id` if it is missing, unknown or malformed, is the id of the subnet itself, or is already connected.",
        is: "Returns 400 `InvalidRequest` with `details.connected-subnet-id` if it is missing, unknown or malformed, is the id of the subnet itself, is already connected, or if one of the two is connected to 100 others.",
        why: "says the limit of 100 connections too",
    },
    Change {
        at: "inference_api_key_create/responses/200/links",
        was: "",
        is: r#"{"view":{"operationId":"inference_api_key_view","description":"Returns the new key again, with only its last four characters.","parameters":{"project_id":"$request.path.project_id","inference_api_key_id":"$response.body#/id"}}}"#,
        why: "a link to an operation that is new, which no client has to follow",
    },
];

/// A difference that was found.
#[derive(Debug, PartialEq, Eq)]
struct Difference {
    at: String,
    was: String,
    is: String,
}

impl Change {
    fn is_for(&self, found: &Difference) -> bool {
        self.at == found.at && self.was == found.was && self.is == found.is
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  was {}\n  is  {}", self.at, self.was, self.is)
    }
}

/// Collects the differences between two contracts.
struct Comparison<'c> {
    first: &'c Value,
    now: &'c Value,
    /// The references that were followed.
    followed: BTreeSet<(&'c str, &'c str)>,
    found: Vec<Difference>,
}

/// Returns the differences in what the first contract has: its operations, what they refer to, and
/// what counts for all of them. What is only in the other contract is no difference.
fn differences<'c>(first: &'c Value, now: &'c Value) -> Vec<Difference> {
    let mut comparison = Comparison {
        first,
        now,
        followed: BTreeSet::new(),
        found: Vec::new(),
    };
    for part in ["security", "servers", "x-paging"] {
        comparison.either(part, first.get(part), now.get(part));
    }
    let key = "securitySchemes";
    let (before, after) = (&first["components"], &now["components"]);
    comparison.either(key, before.get(key), after.get(key));
    let paths = first["paths"].as_object().expect("paths are an object");
    for (path, item) in paths {
        let other = &now["paths"][path];
        for (key, part) in item.as_object().expect("a path is an object") {
            let at = match part.get("operationId").and_then(Value::as_str) {
                Some(id) => id.to_owned(),
                None => format!("{path}/{key}"),
            };
            comparison.either(&at, Some(part), other.get(key));
        }
    }
    comparison.found
}

impl<'c> Comparison<'c> {
    fn either(&mut self, at: &str, first: Option<&'c Value>, now: Option<&'c Value>) {
        match (first, now) {
            (Some(first), Some(now)) => self.walk(at, first, now),
            (first, now) => self.note(at, first.cloned(), now.cloned()),
        }
    }

    fn walk(&mut self, at: &str, first: &'c Value, now: &'c Value) {
        match (first, now) {
            (Value::Object(first), Value::Object(now)) => {
                let keys: BTreeSet<&String> = first.keys().chain(now.keys()).collect();
                for key in keys {
                    self.either(&format!("{at}/{key}"), first.get(key), now.get(key));
                }
                if let (Some(first), Some(now)) = (first.get("$ref"), now.get("$ref")) {
                    self.follow(first, now);
                }
            }
            (Value::Array(first), Value::Array(now)) if first.len() == now.len() => {
                for (number, (first, now)) in first.iter().zip(now).enumerate() {
                    self.walk(&format!("{at}/{number}"), first, now);
                }
            }
            (Value::Array(first), Value::Array(now)) => {
                let only = |these: &[Value], those: &[Value]| {
                    let only = these.iter().filter(|it| !those.contains(it));
                    Some(Value::from(only.cloned().collect::<Vec<_>>()))
                };
                self.note(at, only(first, now), only(now, first));
                // What both have may refer to something.
                for item in first.iter().filter(|item| now.contains(item)) {
                    self.walk(at, item, item);
                }
            }
            (Value::String(first), Value::String(now)) if first != now => {
                let only = |these: &str, those: &str| {
                    let those: Vec<&str> = those.lines().collect();
                    let only: Vec<&str> = these.lines().filter(|it| !those.contains(it)).collect();
                    only.join("\n")
                };
                self.found.push(Difference {
                    at: at.to_owned(),
                    was: only(first, now),
                    is: only(now, first),
                });
            }
            (first, now) if first != now => {
                self.note(at, Some(first.clone()), Some(now.clone()));
            }
            _ => {}
        }
    }

    /// Notes a difference of whole values.
    fn note(&mut self, at: &str, first: Option<Value>, now: Option<Value>) {
        let text = |value: Option<Value>| value.map_or_else(String::new, |it| it.to_string());
        self.found.push(Difference {
            at: at.to_owned(),
            was: text(first),
            is: text(now),
        });
    }

    /// Compares what two references lead to, once.
    fn follow(&mut self, first: &'c Value, now: &'c Value) {
        let (Some(first), Some(now)) = (first.as_str(), now.as_str()) else {
            return;
        };
        if self.followed.insert((first, now)) {
            let at = first.trim_start_matches("#/components/");
            let target = |contract: &'c Value, reference: &str| contract.pointer(&reference[1..]);
            self.either(at, target(self.first, first), target(self.now, now));
        }
    }
}

fn first() -> Value {
    serde_json::from_str(FIRST).expect("0.1.0.json is JSON")
}

#[test]
fn the_operations_of_0_1_0_are_what_they_were() {
    let first = first();
    let operations = first["paths"].as_object().expect("paths are an object");
    let operations = operations
        .values()
        .flat_map(|item| item.as_object().expect("a path is an object").values());
    let count = operations.filter(|it| it.get("operationId").is_some());
    assert_eq!(count.count(), 15);
    let found = differences(&first, &seed::contract());
    let new: Vec<String> = found
        .iter()
        .filter(|it| !CHANGES.iter().any(|change| change.is_for(it)))
        .map(ToString::to_string)
        .collect();
    assert!(
        new.is_empty(),
        "the operations of 0.1.0 have changed: undo it, or list it with the reason why their clients can bear it\n{}",
        new.join("\n")
    );
    let stale: Vec<&str> = CHANGES
        .iter()
        .filter(|change| !found.iter().any(|it| change.is_for(it)))
        .map(|change| change.at)
        .collect();
    assert!(
        stale.is_empty(),
        "these are no differences any more: {stale:?}"
    );
    assert!(CHANGES.iter().all(|change| change.why.len() > 20));
}

fn load(contract: &Value) -> Contract {
    let loaded = contract::load_text("openapi.json", contract.to_string().as_bytes());
    loaded.contract.expect("the contract can be read")
}

/// Returns the changes that our `diff` does not let pass, by their messages.
fn refused(first: &Contract, now: &Contract) -> Vec<String> {
    let report = compare(first, now);
    let refused = report.findings.into_iter();
    refused
        .filter(|finding| finding.kind.is_gating() || finding.kind == Kind::Undecided)
        .map(|finding| format!("{}: {}", finding.kind.words(), finding.message))
        .collect()
}

/// The list says what was written differently; this asks what it means.
#[test]
fn nothing_since_0_1_0_breaks_a_client() {
    let (first, now) = (load(&first()), seed::contract());
    assert_eq!(refused(&first, &load(&now)), Vec::<String>::new());
    let mut seeded = now;
    seeded["components"]["schemas"]["Port"]["maximum"] = json!(60000);
    let refused = refused(&first, &load(&seeded));
    assert!(
        refused.iter().any(|it| it.starts_with("breaking: `Port`")),
        "{refused:?}"
    );
}

/// Each of these reaches a client of version 0.1.0, and none is on the list.
#[test]
fn every_kind_of_change_of_the_operations_of_0_1_0_is_found() {
    let detach = "/paths/~1project~1{project_id}~1location~1{location}~1firewall~1{firewall_reference}~1detach-subnet";
    let seeds = [
        (
            "/components/schemas/Port/maximum",
            json!(60000),
            "schemas/Port/maximum",
        ),
        (
            "/components/schemas/Vm/properties/size",
            json!({}),
            "schemas/Vm/properties/size/$ref",
        ),
        (
            "/components/schemas/PostgresHaType/enum",
            json!(["none"]),
            "schemas/PostgresHaType/enum",
        ),
        (
            "/components/parameters/PageSize/required",
            json!(true),
            "parameters/PageSize/required",
        ),
        (
            "/components/responses/NotFound/headers",
            json!({}),
            "responses/NotFound/headers/x-request-id",
        ),
        (
            "/components/securitySchemes",
            json!({}),
            "securitySchemes/bearer",
        ),
        ("/x-paging/key", json!("name"), "x-paging/key"),
    ];
    let (first, now) = (first(), seed::contract());
    let before = differences(&first, &now);
    let found = |seeded: &Value| {
        let mut found = differences(&first, seeded);
        found.retain(|it| !before.contains(it));
        found.into_iter().map(|it| it.at).collect::<Vec<_>>()
    };
    for (pointer, value, expected) in seeds {
        let mut seeded = now.clone();
        let (parent, key) = pointer.rsplit_once('/').expect("it is a pointer");
        seeded.pointer_mut(parent).expect("it leads somewhere")[key] = value;
        let found = found(&seeded);
        assert!(
            found.iter().any(|at| at == expected),
            "{pointer}: {found:?}"
        );
    }
    let mut seeded = now.clone();
    let operation = seeded
        .pointer_mut(&format!("{detach}/post"))
        .expect("it is there");
    operation["description"] = json!("Detaches nothing.");
    operation["responses"]["202"] = json!({ "description": "Later." });
    let changed = ["description", "responses/202"].map(|at| format!("firewall_detach_subnet/{at}"));
    assert_eq!(found(&seeded), changed);
    let mut seeded = now;
    seeded["paths"]
        .as_object_mut()
        .expect("paths are an object")
        .remove(&detach["/paths/".len()..].replace("~1", "/"));
    let gone = found(&seeded);
    assert!(
        gone.contains(&"firewall_detach_subnet".to_owned()),
        "{gone:?}"
    );
}
