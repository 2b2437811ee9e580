//! The rule about the upgrades that a provisioner offers.

use provisioner_types as wire;
use serde_json::json;

use super::life::recorded;
use super::{Broken, Check, Checked, Subject};

/// A version of a database, and one that it is to be upgraded to.
type Upgrade = (wire::Version, wire::Version);

/// An upgrade that a provisioner offers, and a later version that it does not offer.
#[derive(Debug, Default)]
struct Upgrades {
    offered: Option<Upgrade>,
    refused: Option<Upgrade>,
}

impl Upgrades {
    /// Chooses from what a provisioner says of itself.
    ///
    /// # Errors
    ///
    /// If that names a version twice, one that it does not have, or an earlier one.
    fn choose(about: &wire::Provisioner) -> Result<Self, String> {
        let listed = about.upgrades.as_deref().unwrap_or_default();
        for (index, wire::OfferedUpgrades { from, to, .. }) in listed.iter().enumerate() {
            if listed[..index].iter().any(|earlier| earlier.from == *from) {
                return Err(format!("the upgrades from {from} are listed twice"));
            }
            if let Some(unknown) = to.iter().find(|to| !about.versions.contains(to)) {
                return Err(format!(
                    "it upgrades from {from} to {unknown}, which is not one of its versions"
                ));
            }
            if let Some(earlier) = to.iter().find(|to| !is_later(to, from)) {
                return Err(format!(
                    "it upgrades from {from} to {earlier}, which is not later"
                ));
            }
        }
        let mut chosen = Self::default();
        for from in &about.versions {
            let listed = listed.iter().find(|it| it.from == *from);
            for to in about.versions.iter().filter(|to| is_later(to, from)) {
                let is_offered = listed.is_none_or(|it| it.to.contains(to));
                let place = if is_offered {
                    &mut chosen.offered
                } else {
                    &mut chosen.refused
                };
                place.get_or_insert_with(|| (from.clone(), to.clone()));
            }
        }
        Ok(chosen)
    }
}

/// Returns whether a version is later than another one. What is no number is not.
fn is_later(one: &wire::Version, other: &wire::Version) -> bool {
    let number = |version: &wire::Version| version.to_string().parse::<u32>().ok();
    number(one)
        .zip(number(other))
        .is_some_and(|(one, other)| one > other)
}

impl Check {
    pub(super) async fn upgrades(&mut self) -> Checked {
        let Some(about) = &self.about else {
            return Err(Broken::Skipped("it does not say what it is".to_owned()));
        };
        let Upgrades { offered, refused } = Upgrades::choose(about)?;
        if offered.is_none() && refused.is_none() {
            return Err(Broken::Skipped("it has no later version".to_owned()));
        }
        if let Some((from, to)) = refused {
            let mut subject = self.of_version(&from).await?;
            subject.wanted["shape"]["version"] = json!(to.to_string());
            let answer = self.call("resize", &subject, json!({})).await?;
            let refused = answer.code(500);
            refused.map_err(|found| format!("from {from} to {to}: {found}"))?;
            let observed = self.observed(&subject).await?;
            let observed = observed.ok_or("the database is gone".to_owned())?;
            if observed.shape.version != from {
                let is = observed.shape.version;
                return Err(format!("the database of version {from} has {is}").into());
            }
        }
        if let Some((from, to)) = offered {
            let mut subject = self.of_version(&from).await?;
            subject.wanted["shape"]["version"] = json!(to.to_string());
            let upgraded = self.until_done("resize", &subject, json!({})).await;
            upgraded.map_err(|found| format!("from {from} to {to}: {found}"))?;
            self.until_observed(&subject, "the later version", |it| {
                it.is_available && it.shape.version == to
            })
            .await?;
        }
        Ok(())
    }

    /// Creates a database of a version, as the service would.
    async fn of_version(&mut self, version: &wire::Version) -> Result<Subject, String> {
        let mut subject = self.subject();
        subject.wanted["shape"]["version"] = json!(version.to_string());
        self.made.push(subject.clone());
        self.until_done("create", &subject, json!({})).await?;
        self.let_in(&subject).await?;
        let observed = self
            .until_observed(&subject, "an available database", |it| it.is_available)
            .await?;
        subject.known = Some(recorded(&observed));
        Ok(subject)
    }
}
