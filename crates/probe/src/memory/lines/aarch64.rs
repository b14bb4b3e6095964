//! 64-bit ARM: Linux lets user mode clean and invalidate (SCTLR_EL1.UCI).

use super::LineOperation;

/// The first also removes.
pub(super) const OPERATIONS: &[LineOperation] = &[
    LineOperation { name: "DC CIVAC", present: || true, act: civac },
    LineOperation { name: "DC CVAC", present: || true, act: cvac },
];

each_line! {
    /// Writes back and removes.
    civac: "dc civac, {}"
}
each_line! {
    /// Writes back.
    cvac: "dc cvac, {}"
}
