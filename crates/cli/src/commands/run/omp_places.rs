//! A placement in OpenMP's terms.

use std::ffi::OsString;

/// Variables that give these CPUs to OpenMP's threads in this order. The order already spreads them, so `close` keeps
/// to it, however many threads there are.
pub fn environment(order: &[u32]) -> Vec<(OsString, OsString)> {
    let places: Vec<_> = order.iter().map(|cpu| format!("{{{cpu}}}")).collect();
    vec![("OMP_PLACES".into(), places.join(",").into()), ("OMP_PROC_BIND".into(), "close".into())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_for_each_cpu_in_order() {
        let variables = environment(&[4, 0]);
        assert_eq!(variables[0], ("OMP_PLACES".into(), "{4},{0}".into()));
        assert_eq!(variables[1], ("OMP_PROC_BIND".into(), "close".into()));
    }
}
