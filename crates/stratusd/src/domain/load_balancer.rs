//! Limits of load balancers, and the checks of what callers write in them.

use super::Refusal;

/// The maximum number of virtual machines that are attached to a load balancer.
pub const MOST_VMS: usize = 100;

/// Checks that the endpoint of a health check has no control characters.
///
/// # Errors
///
/// If it has any, with a message about `health_check_endpoint`.
pub fn ensure_endpoint(endpoint: &str) -> Result<(), Refusal> {
    if endpoint.chars().any(char::is_control) {
        let wrong = "must not have control characters";
        return Err(Refusal::invalid("health_check_endpoint", wrong));
    }
    Ok(())
}

/// Checks that a list names at most [`MOST_VMS`] virtual machines.
///
/// # Errors
///
/// If it names more, with a message about `vms`.
pub fn ensure_few_vms(count: usize) -> Result<(), Refusal> {
    if count > MOST_VMS {
        let wrong =
            format!("has {count} items, and a load balancer may have {MOST_VMS} virtual machines");
        return Err(Refusal::invalid("vms", wrong));
    }
    Ok(())
}
