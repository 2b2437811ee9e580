//! Ids: a prefix of two characters for the type, and 120 random bits in lower-case Crockford base 32.

use api_types::Reference;

use crate::world::World;

/// The digits of Crockford's base 32.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Characters of an id.
const LENGTH: usize = 26;

/// What an id is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A project.
    Project,
    /// An access token.
    Token,
    /// A virtual machine.
    Vm,
    /// A Postgres database.
    Postgres,
    /// A private subnet.
    PrivateSubnet,
    /// A firewall.
    Firewall,
    /// A firewall's rule.
    FirewallRule,
    /// A rule of a Postgres database's firewall.
    PostgresFirewallRule,
    /// A load balancer.
    LoadBalancer,
    /// A network interface.
    Nic,
    /// An inference API key.
    InferenceApiKey,
}

impl Kind {
    /// The first two characters of its ids.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Project => "pj",
            Self::Token => "pt",
            Self::Vm => "vm",
            Self::Postgres => "pg",
            Self::PrivateSubnet => "ps",
            Self::Firewall => "fw",
            Self::FirewallRule => "fr",
            Self::PostgresFirewallRule => "pf",
            Self::LoadBalancer => "1b",
            Self::Nic => "nc",
            Self::InferenceApiKey => "ak",
        }
    }

    /// A new id.
    #[must_use]
    pub fn new_id(self, world: &World) -> String {
        let mut id = String::with_capacity(LENGTH);
        id.push_str(self.prefix());
        // 15 bytes are 24 digits of 5 bits.
        for five in world.random::<15>().chunks_exact(5) {
            let bits = five
                .iter()
                .fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte));
            for shift in (0..8).rev() {
                let digit = usize::try_from((bits >> (shift * 5)) & 31).unwrap_or_default();
                id.push(char::from(DIGITS[digit]));
            }
        }
        id
    }

    /// Whether a text has the pattern of such an id.
    #[must_use]
    pub fn is_id(self, text: &str) -> bool {
        let digits = text.strip_prefix(self.prefix());
        digits.is_some_and(|digits| {
            digits.len() == LENGTH - 2 && digits.bytes().all(|byte| DIGITS.contains(&byte))
        })
    }
}

/// A reference in a path, told apart: there is no way back from one to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Referred<'r> {
    /// It has the pattern of an id of the kind that is looked for.
    Id(&'r str),
    /// Anything else.
    Name(&'r str),
}

impl<'r> Referred<'r> {
    /// Tells which one it is.
    #[must_use]
    pub fn of(kind: Kind, reference: &'r Reference) -> Self {
        let text = reference.as_str();
        if kind.is_id(text) {
            Self::Id(text)
        } else {
            Self::Name(text)
        }
    }
}
