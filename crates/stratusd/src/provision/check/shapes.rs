//! The sizes and the storage of the databases of a check, and the rules about those that a provisioner
//! does not have.

use provisioner_types as wire;
use serde_json::json;

use super::caller::is_missing;
use super::{Broken, Check, CheckConfig, Checked};
use crate::domain::catalogue::{self, Catalogue};

/// The sizes of the databases, unless the settings or the provisioner name others.
const SIZES: [&str; 2] = ["standard-2", "standard-4"];
/// The storage, in GiB, of a size that the service does not have, if nobody names any.
const STORAGE: [i64; 2] = [64, 128];

/// The sizes and the storage of databases, before and after a change.
#[derive(Debug)]
pub(super) struct Shapes {
    pub(super) sizes: [String; 2],
    pub(super) storage: [i64; 2],
}

impl Shapes {
    /// Returns those that the settings name, or else that the provisioner has.
    pub(super) fn choose(config: &CheckConfig, about: Option<&wire::Provisioner>) -> Self {
        let offered = about.and_then(|about| about.sizes.as_deref());
        let offered = offered.unwrap_or_default();
        let sizes = config.sizes.clone().unwrap_or_else(|| match offered {
            [] => SIZES.map(str::to_owned),
            [one] => [one.vm_size.to_string(), one.vm_size.to_string()],
            [one, two, ..] => [one.vm_size.to_string(), two.vm_size.to_string()],
        });
        let storage = config.storage.unwrap_or_else(|| {
            // It is changed before the size is, so the larger one is for both sizes.
            let [before, after] = sizes.each_ref().map(|size| storage_of(size, offered));
            let smallest = before.iter().min().copied().unwrap_or(STORAGE[0]);
            let larger = before.iter().filter(|gib| **gib > smallest);
            let larger = larger.filter(|gib| after.contains(gib)).min();
            [smallest, larger.copied().unwrap_or(smallest)]
        });
        Self { sizes, storage }
    }
}

/// Returns the storage that databases of a size can have, in GiB.
fn storage_of(size: &str, offered: &[wire::OfferedSize]) -> Vec<i64> {
    let mut offered = offered.iter();
    let named = offered.find(|it| it.vm_size.as_str() == size);
    let named = named.and_then(|it| it.storage_sizes_gib.as_deref());
    if let Some(named) = named {
        return named.iter().map(|gib| gib.get()).collect();
    }
    let all = Catalogue::default();
    match all.allowed(size) {
        Some(allowed) => allowed.iter().map(|gib| i64::from(*gib)).collect(),
        None => STORAGE.to_vec(),
    }
}

/// Returns a size that is not among those that a provisioner names, one of the service's if there is one.
fn other_size(named: &[wire::OfferedSize]) -> String {
    let is_other = |size: &String| named.iter().all(|it| it.vm_size.as_str() != size);
    let mut known = catalogue::sizes().map(|size| size.to_string());
    let mut made_up = (1..).map(|number| format!("check-{number}"));
    known
        .find(is_other)
        .or_else(|| made_up.find(is_other))
        .expect("a provisioner names few sizes")
}

impl Check {
    pub(super) async fn offered_sizes(&mut self) -> Checked {
        let sizes = self.about.as_ref().and_then(|it| it.sizes.as_deref());
        let Some(sizes) = sizes else {
            return Err(Broken::Skipped("it names no sizes".to_owned()));
        };
        let mut others = vec![(other_size(sizes), self.shapes.storage[0])];
        let mut sizes = sizes.iter();
        let size = sizes.find(|it| it.vm_size.as_str() == self.shapes.sizes[0]);
        let storage = size.and_then(|it| it.storage_sizes_gib.as_deref());
        let largest = storage.and_then(|it| it.iter().map(|gib| gib.get()).max());
        others.extend(largest.map(|gib| (self.shapes.sizes[0].clone(), gib + 1)));
        for (size, gib) in others {
            let mut subject = self.subject();
            subject.wanted["shape"]["vm_size"] = json!(size);
            subject.wanted["shape"]["storage_size_gib"] = json!(gib);
            // In case that it makes one.
            self.made.push(subject.clone());
            let answer = self.call("create", &subject, json!({})).await?;
            if answer.status != 500 {
                return Err(format!("{size} with {gib} GiB: {}", answer.words()).into());
            }
            let answer = self.call("observe", &subject, json!({})).await?;
            is_missing("observe", &answer)?;
        }
        Ok(())
    }

    pub(super) async fn shrink(&mut self) -> Checked {
        let Some(can_shrink) = self.about.as_ref().and_then(|it| it.can_shrink_storage) else {
            let why = "it does not say whether storage can become smaller";
            return Err(Broken::Skipped(why.to_owned()));
        };
        let [smaller, larger] = self.shapes.storage;
        if smaller >= larger {
            return Err(Broken::Skipped("--storage does not grow".to_owned()));
        }
        let mut subject = self.main()?;
        subject.wanted["shape"]["storage_size_gib"] = json!(smaller);
        if can_shrink {
            self.until_done("resize", &subject, json!({})).await?;
            self.until_observed(&subject, "the smaller storage size", |it| {
                it.is_available && it.shape.storage_size_gib.get() == smaller
            })
            .await?;
            // As the other rules expect it.
            return self.storage().await;
        }
        let refused = self.call("resize", &subject, json!({})).await?;
        refused.code(500)?;
        let observed = self.observed(&subject).await?;
        let observed = observed.ok_or("the database is gone".to_owned())?;
        if observed.shape.storage_size_gib.get() != larger {
            return Err("the storage has become smaller".to_owned().into());
        }
        Ok(())
    }
}
