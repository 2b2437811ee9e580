//! The rules of the protocol, in the order in which they are checked.

use super::{Check, Checked};

/// A rule of the protocol.
#[derive(Debug)]
pub struct Rule {
    /// The name of the rule.
    pub name: &'static str,
    /// What a provisioner does that keeps the rule.
    pub expected: &'static str,
    check: Kind,
}

macro_rules! rules {
    ($($kind:ident $name:literal $expected:literal $method:ident)*) => {
        /// A rule, as what checks it.
        #[derive(Debug, Clone, Copy)]
        enum Kind {
            $($kind,)*
        }

        /// Every rule.
        pub(super) const RULES: &[Rule] = &[
            $(Rule { name: $name, expected: $expected, check: Kind::$kind },)*
        ];

        impl Check {
            /// Checks a rule.
            pub(super) async fn check(&mut self, rule: &Rule) -> Checked {
                match rule.check {
                    $(Kind::$kind => self.$method().await,)*
                }
            }
        }
    };
}

rules! {
    View "view" "says what it is, with its versions of PostgreSQL, its flavors and its sizes" view
    Events "events" "a stream of events begins at once, with the media type text/event-stream, and not without a token" events
    NoToken "no-token" "a call without a token gets 401" no_token
    WrongToken "wrong-token" "a call with another token gets 401 and changes nothing" wrong_token
    UnknownPath "unknown-path" "an unknown path gets 404, and another code than DatabaseNotFound" unknown_path
    NoJson "no-json" "a body that is no JSON gets 400" no_json
    MissingProperty "missing-property" "a body without a required property gets 400" missing_property
    WrongType "wrong-type" "a storage size that is a text gets 400" wrong_type
    UnknownProperty "unknown-property" "a property that the contract does not list is ignored" unknown_property
    LargeBody "large-body" "a body of 2 MiB is refused, and the next call is answered" large_body
    UnknownDatabase "unknown-database" "steps of a database that does not exist get 404 with the code DatabaseNotFound" unknown_database
    UnknownDelete "unknown-delete" "the deletion of a database that never existed is done" unknown_delete
    Lost "lost" "a database that the service knows and the provisioner does not is not made up" lost
    Create "create" "a creation ends, and the database is available with the wanted shape" create
    Flavor "flavor" "a creation with a flavor that it does not name fails with 500, and makes nothing" flavor
    OfferedSizes "offered-sizes" "a creation with a size or a storage that it does not name fails with 500, and makes nothing" offered_sizes
    CreateAgain "create-again" "a creation that is repeated is done and changes nothing" create_again
    Observe "observe" "times and backups are in their order" observe
    Connection "connection" "the host stays the same, and the certificate is for it, by the authority" connection
    Restrict "restrict" "networks can be changed, to none too, and repeated" restrict
    SetPassword "set-password" "a password can be set, and set again" set_password
    OpenByPassword "password-opens" "the new password opens the database, and the earlier one does not" password_opens
    RestrictCloses "restrict-closes" "only the networks in `open_to` can connect" restrict_closes
    Restart "restart" "a restart ends, and one that is repeated is done at once" restart
    RestartOnce "restart-once" "a restart with the same or a smaller number restarts nothing" restart_once
    Storage "storage" "the storage grows, and what was written stays" storage
    Shrink "shrink" "the storage becomes smaller, or a change to less of it fails with 500 and changes nothing, as it says" shrink
    Window "window" "a change of the size waits for the maintenance window" window
    Size "size" "a change of the size ends, without a maintenance window" size
    Older "older" "a change to an older version fails with 500, and nothing changes" older
    Upgrades "upgrades" "the upgrades that it names are to later versions that it has and end, and another one fails with 500 and changes nothing" upgrades
    PromoteAlone "promote-alone" "a promotion without standbys is done" promote_alone
    Promote "promote" "a promotion ends, one that is repeated is done, and what was written stays" promote
    Together "together" "two databases are created at the same time, with hosts of their own" together
    DeleteUnfinished "delete-unfinished" "a database whose creation has just begun can be deleted" delete_unfinished
    Delete "delete" "a deletion ends, and nothing is left of the database" delete
    DeleteAgain "delete-again" "a deletion that is repeated is done" delete_again
}
