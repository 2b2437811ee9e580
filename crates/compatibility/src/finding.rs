//! Findings: what has changed between two contracts, and for whom it matters.

use contract::source::Span;

/// The result of comparing two contracts.
#[derive(Debug, Clone)]
pub struct Report {
    /// The findings: those that break somebody first, then by position.
    pub findings: Vec<Finding>,
    /// The versions of both contracts, and the one that the findings ask for.
    pub version: Version,
    /// The number of operations of the revised contract, with webhooks and callbacks.
    pub operations: usize,
}

/// A change between two contracts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The kind.
    pub kind: Kind,
    /// The rule, a stable name in kebab-case such as `request-narrowed`.
    pub rule: &'static str,
    /// The message: what has changed and what follows, in one sentence without a full stop.
    pub message: String,
    /// The span in the contract before the change, if the part is there.
    pub base: Option<Span>,
    /// The span in the contract after the change, if the part is there.
    pub revision: Option<Span>,
    /// The operations that the change reaches, sorted. Empty if it concerns the whole contract.
    pub operations: Vec<String>,
    /// A message that shows the change.
    pub witness: Option<Witness>,
}

/// The kind of a finding. Those that matter most come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A client of the contract before the change no longer works with a server after it.
    Breaking,
    /// A response no longer has data that it had, or a request no longer has an effect that it had. No
    /// parser fails.
    InformationRemoved,
    /// A successful response has another status.
    SuccessStatusChanged,
    /// A property that requests could set can no longer be set.
    PropertyBecameReadOnly,
    /// What is deprecated ends earlier than was announced.
    SunsetPulledForward,
    /// An operation promises less of its next changes: its `x-stability` is lower.
    StabilityLowered,
    /// The same request means something else, as after a change of a default.
    MeaningChanged,
    /// The comparison could not decide whether the change breaks anybody.
    Undecided,
    /// The change harms no client and no server.
    Compatible,
}

impl Kind {
    /// Every kind, in order.
    pub const ALL: [Self; 9] = [
        Self::Breaking,
        Self::InformationRemoved,
        Self::SuccessStatusChanged,
        Self::PropertyBecameReadOnly,
        Self::SunsetPulledForward,
        Self::StabilityLowered,
        Self::MeaningChanged,
        Self::Undecided,
        Self::Compatible,
    ];

    /// Returns the kind in words, such as `information removed`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Breaking => "breaking",
            Self::InformationRemoved => "information removed",
            Self::SuccessStatusChanged => "success status changed",
            Self::PropertyBecameReadOnly => "property became read-only",
            Self::SunsetPulledForward => "sunset pulled forward",
            Self::StabilityLowered => "stability lowered",
            Self::MeaningChanged => "meaning changed",
            Self::Undecided => "undecided",
            Self::Compatible => "compatible",
        }
    }

    /// Returns the kind as a policy names it, such as `information-removed`.
    #[must_use]
    pub fn name(self) -> String {
        self.words().replace(' ', "-")
    }

    /// Returns whether a change of this kind is refused unless somebody allows it.
    #[must_use]
    pub fn is_gating(self) -> bool {
        !matches!(self, Self::Undecided | Self::Compatible)
    }
}

/// The rules whose findings can be breaking, sorted. Each of their breaking findings has a witness.
pub const BREAKING_RULES: [&str; 28] = [
    "body-added",
    "body-removed",
    "body-required",
    "discriminator-renamed",
    "encoding-changed",
    "header-optional",
    "header-removed",
    "header-required",
    "header-style",
    "media-type-removed",
    "media-type-widened",
    "oauth-changed",
    "operation-removed",
    "parameter-required",
    "parameter-style",
    "part-header-optional",
    "part-header-removed",
    "part-header-required",
    "part-header-style",
    "path-taken",
    "request-narrowed",
    "response-body-removed",
    "response-body-required",
    "response-widened",
    "schema-missing",
    "security-tightened",
    "server-changed",
    "status-removed",
];

/// A message that shows a finding: one side allows it, and the other does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Witness {
    /// A request, as a `curl` command.
    Request(String),
    /// A response or a request of a webhook, as JSON.
    Message(String),
    /// A value of the schema alone, as JSON, where no whole message was found.
    Value(String),
}

impl Witness {
    /// Returns the command or the JSON.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Request(text) | Self::Message(text) | Self::Value(text) => text,
        }
    }
}

/// The versions of two contracts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The version before the change.
    pub base: String,
    /// The version after the change, as it is written.
    pub revision: String,
    /// The least version that the findings ask for, or `None` if `base` is not a semantic version.
    pub needed: Option<String>,
    /// Whether `revision` is at least the needed version.
    pub is_enough: bool,
}

impl Version {
    /// Returns what the findings ask of the version: a breaking change a new major version, or a
    /// new minor one before 1.0.0; any other finding a new minor version, or a new patch before
    /// 1.0.0.
    pub(crate) fn of(base: &str, revision: &str, findings: &[Finding]) -> Self {
        let unclear = Self {
            base: base.to_owned(),
            revision: revision.to_owned(),
            needed: None,
            is_enough: true,
        };
        let breaks = findings.iter().any(|finding| finding.kind.is_gating());
        let step = match (findings.is_empty(), breaks) {
            (true, _) => Step::Nothing,
            (false, true) => Step::Breaking,
            (false, false) => Step::Addition,
        };
        let Some(needed) = step.from(base) else {
            return unclear;
        };
        let is_enough = semver::Version::parse(revision).is_ok_and(|new| new >= needed);
        Self {
            needed: Some(needed.to_string()),
            is_enough,
            ..unclear
        }
    }
}

/// How far a version has to rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The version can stay.
    Nothing,
    /// The next patch: nothing that its users can name has changed.
    Patch,
    /// The next minor version, or the next patch before 1.0.0.
    Addition,
    /// The next major version, or the next minor one before 1.0.0.
    Breaking,
}

impl Step {
    /// Returns the least version after this one, or `None` if it is no semantic version.
    #[must_use]
    pub fn from(self, base: &str) -> Option<semver::Version> {
        Some(self.after(&semver::Version::parse(base).ok()?))
    }

    /// Returns the least version after this one.
    #[must_use]
    pub fn after(self, old: &semver::Version) -> semver::Version {
        let (major, minor, patch) = (old.major, old.minor, old.patch);
        let next = |major, minor, patch| semver::Version::new(major, minor, patch);
        match (self, major) {
            (Self::Nothing, _) => old.clone(),
            (Self::Breaking, 0) => next(0, minor.saturating_add(1), 0),
            (Self::Breaking, _) => next(major.saturating_add(1), 0, 0),
            (Self::Patch, _) | (Self::Addition, 0) => next(major, minor, patch.saturating_add(1)),
            (Self::Addition, _) => next(major, minor.saturating_add(1), 0),
        }
    }
}
