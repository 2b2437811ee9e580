//! What a private subnet may be connected to, and what keeps it from being deleted.

use api_types::Name;

use super::Refusal;
use super::refusal::named;

/// The number of subnets that a private subnet may be connected to.
pub const MOST_CONNECTIONS: i64 = 100;

/// Checks that a private subnet has no network interfaces and no load balancers.
///
/// # Errors
///
/// If it has any, with a text for each kind.
pub fn ensure_unused(nics: Vec<Name>, load_balancers: Vec<Name>) -> Result<(), Refusal> {
    let mut by = Vec::new();
    if let Some((names, is_one)) = named(nics) {
        by.push(if is_one {
            format!("the network interface {names} is in it")
        } else {
            format!("the network interfaces {names} are in it")
        });
    }
    if let Some((names, is_one)) = named(load_balancers) {
        by.push(if is_one {
            format!("the load balancer {names} uses it")
        } else {
            format!("the load balancers {names} use it")
        });
    }
    if by.is_empty() {
        return Ok(());
    }
    let field = "private_subnet_reference";
    Err(Refusal::InUse { field, by })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_only_some_of_many_users() {
        let names = |count: u32| {
            let names = (0..count).map(|number| format!("n-{number:02}"));
            names.map(|name| name.parse().unwrap()).collect()
        };
        assert_eq!(ensure_unused(names(0), names(0)), Ok(()));
        let refused = |nics, balancers| match ensure_unused(names(nics), names(balancers)) {
            Err(Refusal::InUse { by, .. }) => by,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(1, 0), ["the network interface `n-00` is in it"]);
        assert_eq!(
            refused(0, 2),
            ["the load balancers `n-00` and `n-01` use it"]
        );
        let [nics, balancers] = &refused(20, 21)[..] else {
            panic!("there are two kinds")
        };
        assert!(nics.ends_with("`n-18` and `n-19` are in it"), "{nics}");
        assert!(
            balancers.ends_with("`n-19` and others use it"),
            "{balancers}"
        );
    }
}
