//! Ids: a prefix of two characters for the type, and 120 random bits in lower-case Crockford base
//! 32.

use api_types::{
    FirewallId, FirewallRuleId, InferenceApiKeyId, LoadBalancerId, Name, NicId,
    PostgresFirewallRuleId, PostgresId, PrivateSubnetId, ProjectId, Reference, VmId,
};

use crate::world::World;

/// The digits of Crockford's base 32.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// The number of characters of an id.
const LENGTH: usize = 26;

/// The kind of thing that an id identifies.
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
    /// Every kind.
    const ALL: [Self; 11] = [
        Self::Project,
        Self::Token,
        Self::Vm,
        Self::Postgres,
        Self::PrivateSubnet,
        Self::Firewall,
        Self::FirewallRule,
        Self::PostgresFirewallRule,
        Self::LoadBalancer,
        Self::Nic,
        Self::InferenceApiKey,
    ];

    /// Returns the kind whose ids have the pattern of a string, or `None` if the string is no id.
    #[must_use]
    pub fn of_id(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.is_id(text))
    }

    /// Returns the name of the kind, as the ids of operations begin.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Token => "token",
            Self::Vm => "vm",
            Self::Postgres => "postgres",
            Self::PrivateSubnet => "private_subnet",
            Self::Firewall => "firewall",
            Self::FirewallRule => "firewall_rule",
            Self::PostgresFirewallRule => "postgres_firewall_rule",
            Self::LoadBalancer => "load_balancer",
            Self::Nic => "nic",
            Self::InferenceApiKey => "inference_api_key",
        }
    }

    /// Returns the first two characters of the ids of this kind.
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

    /// Generates an id. Prefer [`Id::generate`], which returns the contract's type.
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

    /// Returns whether a string has the pattern of an id of this kind.
    #[must_use]
    pub fn is_id(self, text: &str) -> bool {
        let digits = text.strip_prefix(self.prefix());
        digits.is_some_and(|digits| digits.len() == LENGTH - 2 && digits.bytes().all(is_digit))
    }
}

/// Returns whether a byte is one of the [`DIGITS`]. Compared by ranges, since a search takes longer, and
/// each request has ids.
fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'z') && !matches!(byte, b'i' | b'l' | b'o' | b'u')
}

/// A type of the contract for ids of one kind.
pub trait Id: TryFrom<String> {
    /// The kind of thing that the ids identify.
    const KIND: Kind;

    /// Generates an id.
    #[must_use]
    fn generate(world: &World) -> Self {
        let Ok(id) = Self::try_from(Self::KIND.new_id(world)) else {
            unreachable!("a generated id has the pattern of its kind")
        };
        id
    }
}

macro_rules! ids {
    ($($id:ty: $kind:ident,)*) => {
        $(impl Id for $id {
            const KIND: Kind = Kind::$kind;
        })*
    };
}

ids! {
    FirewallId: Firewall,
    FirewallRuleId: FirewallRule,
    InferenceApiKeyId: InferenceApiKey,
    LoadBalancerId: LoadBalancer,
    NicId: Nic,
    PostgresFirewallRuleId: PostgresFirewallRule,
    PostgresId: Postgres,
    PrivateSubnetId: PrivateSubnet,
    ProjectId: Project,
    VmId: Vm,
}

/// A reference in a path, which is an id or a name. A string with the pattern of an id is never
/// looked up as a name, so that no resource can be made whose name is the id of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Referred<'r> {
    /// The reference has the pattern of an id of the expected kind.
    Id(&'r str),
    /// The reference is a name.
    Name(&'r str),
}

impl<'r> Referred<'r> {
    /// Returns a reference to a resource of a kind as an id or a name.
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

/// Returns a reference as the name of a new resource.
///
/// # Panics
///
/// Never: the contract gives references the form of names.
#[must_use]
pub fn name_of(reference: &Reference) -> Name {
    Name::try_from(reference.as_str()).expect("a reference has the form of a name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_its_kind_and_120_bits_in_base_32() {
        let bytes = *b"\x00\x01\x7f\x80\xff Stratus 1";
        let world = World::new(|| 0, move |filled| filled.copy_from_slice(&bytes));
        let mut number = bytes
            .iter()
            .fold(0_u128, |number, byte| number * 256 + u128::from(*byte));
        let mut digits = Vec::new();
        for _ in 0..24 {
            digits.push(DIGITS[usize::try_from(number % 32).expect("it is below 32")]);
            number /= 32;
        }
        digits.reverse();
        let digits = String::from_utf8(digits).expect("digits are ASCII");
        for kind in Kind::ALL {
            let id = kind.new_id(&world);
            assert_eq!(id, format!("{}{digits}", kind.prefix()));
            assert_eq!(Kind::of_id(&id), Some(kind));
        }
    }

    #[test]
    fn a_text_with_another_digit_or_length_is_no_id() {
        assert!(Kind::Vm.is_id("vm0123456789abcdefghjkmnpq"));
        for other in [
            "vm0123456789abcdefghjkmnp",
            "vm0123456789abcdefghjkmnpqr",
            "vm0123456789abcdefghjkmnpu",
            "vm0123456789abcdefghjkmnpQ",
            "fw0123456789abcdefghjkmnpq",
        ] {
            assert!(!Kind::Vm.is_id(other), "{other}");
        }
        for byte in 0..=u8::MAX {
            assert_eq!(is_digit(byte), DIGITS.contains(&byte), "{byte}");
        }
    }
}
