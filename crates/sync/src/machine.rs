//! The machine that the threads run on.

use std::sync::OnceLock;

use coho_topology::Topology;

/// What it says of itself, looked at once; `None` if it says nothing.
pub(crate) fn topology() -> Option<&'static Topology> {
    static TOPOLOGY: OnceLock<Option<Topology>> = OnceLock::new();
    TOPOLOGY.get_or_init(|| coho_topology::detect().ok()).as_ref()
}
