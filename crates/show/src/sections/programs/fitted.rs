//! The model of a loop's time, T = S + P L / n + T_F + T_B, as it was fitted.

use coho_profile::{Kernel, fitted};

use crate::sections::prelude::*;

/// Why a region of a kernel may take longer than `coho barrier`'s fork and join.
const REGION_BESIDE_BARRIERS: &str = "its leader also posts the work in a line that every other member fetches, so a \
                                      region's fork and join may take more than the two barriers of `coho barrier`";

/// The constants, in words.
pub(super) fn facts(kernel: &Kernel) -> Facts {
    let is_of_teams = kernel.fitted.keys().any(|name| name.starts_with(fitted::FORK_JOIN));
    Facts::new("daxpy-constants", "Fitted: T = S + P length / threads + T_F + T_B (Nakamura et al.)")
        .facts(kernel.fitted.iter().take(400).map(|(name, value)| constant(name, *value)))
        .facts([("a region", is_of_teams.then(|| REGION_BESIDE_BARRIERS.to_owned()))])
}

/// A constant in words, and its figure: `P, an element on one thread` and `12 ns`.
fn constant(name: &str, value: f64) -> (String, String) {
    let number = words::number(value);
    let ns = |what: &str| (what.to_owned(), format!("{number} ns"));
    match name {
        fitted::SERIAL => ns("S, a loop beside its elements"),
        fitted::ELEMENT => ns("P, an element on one thread"),
        fitted::RESIDUAL => ("relative residual, root mean square".into(), number),
        fitted::LEFT_OUT => ("the same for lengths left out of the fit".into(), number),
        fitted::LONGEST => ("longest loop fitted".into(), format!("{number} elements")),
        other => match other.strip_prefix(fitted::FORK_JOIN) {
            Some(team) => ns(&format!("fork and join (T_F + T_B), {}", words::short(team, 60))),
            None => (words::short(other, 80), number),
        },
    }
}
