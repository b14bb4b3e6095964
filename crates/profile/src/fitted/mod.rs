//! The constants of T = S + P L / n + T_F + T_B (Nakamura et al.) in [`Kernel::fitted`](crate::Kernel::fitted): their
//! names, and the curve that they describe.

mod fit;

use std::collections::BTreeMap;

pub use fit::fit;

/// Name of the serial part S, in ns.
pub const SERIAL: &str = "S_ns";
/// Name of P, the time of one element on one thread, in ns.
pub const ELEMENT: &str = "P_ns_per_element";
/// Name of the root mean square of the relative residuals.
pub const RESIDUAL: &str = "relative_residual";
/// Name of the root mean square relative error for loop lengths that the fit has not seen: each length is predicted
/// by a fit to all the others.
pub const LEFT_OUT: &str = "relative_error_of_lengths_left_out";
/// The greatest error of lengths left out with which constants are worth something.
pub const WORST_LEFT_OUT: f64 = 0.1;
/// Name of the longest loop among the fitted points.
pub const LONGEST: &str = "longest_fitted_length";

/// Prefix of the names of T_F + T_B, the sum of fork and join; the barrier, mapping and number of threads follow.
pub const FORK_JOIN: &str = "T_F_plus_T_B_ns, ";

/// Name of the sum of fork and join, T_F + T_B, under a barrier; its value is in ns.
pub fn fork_join(barrier: &str, mapping: &str, threads: u32) -> String {
    format!("{FORK_JOIN}{barrier}, {mapping}, {threads} threads")
}

/// Why constants are not to be relied on; `None` if they are.
pub fn refusal(constants: &BTreeMap<String, f64>) -> Option<String> {
    if constants.is_empty() {
        return Some("there are too few undisturbed points to fit them to".into());
    }
    match constants.get(LEFT_OUT) {
        None => Some("there are too few lengths to leave one out".into()),
        Some(error) if *error <= WORST_LEFT_OUT => None,
        Some(error) => Some(format!(
            "lengths left out of the fit are missed by {error:.2} of their time, more than {WORST_LEFT_OUT}"
        )),
    }
}

/// The time of a loop by the fitted constants, in s; `None` where none were fitted for that barrier, mapping and
/// number of threads. A single thread neither forks nor joins, whatever `barrier` and `mapping` say.
pub fn seconds(
    fitted: &BTreeMap<String, f64>,
    length: u64,
    threads: u32,
    barrier: &str,
    mapping: &str,
) -> Option<f64> {
    let wait = match threads {
        0 => return None,
        1 => 0.0,
        _ => *fitted.get(&fork_join(barrier, mapping, threads))?,
    };
    let work = fitted.get(ELEMENT)? * length as f64 / f64::from(threads);
    Some((fitted.get(SERIAL)? + work + wait) / 1e9)
}
