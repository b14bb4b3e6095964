//! Making outside text safe for a terminal.
//!
//! Anybody may have written a file, and a hypervisor fills in CPUID's strings as it likes: an escape sequence in them
//! would control the reader's terminal.

use crate::{Disagreement, Topology};

/// Drops control characters, of which escape sequences are made.
pub(crate) fn plain(text: &mut String) {
    text.retain(|letter| !letter.is_control());
}

/// Drops control characters from every text of a topology, except the names of PUs, which are made here. A name that is
/// then empty becomes `None`.
pub(crate) fn topology(topology: &mut Topology) {
    let cpu = &mut topology.cpu;
    for name in [&mut cpu.vendor, &mut cpu.brand, &mut cpu.hypervisor] {
        name.iter_mut().for_each(plain);
        name.take_if(|name| name.trim().is_empty());
    }
    topology.kinds.iter_mut().for_each(|kind| plain(&mut kind.name));
    topology.facts.iter_mut().for_each(|fact| plain(&mut fact.by));
    for disagreement in &mut topology.disagreements {
        let Disagreement { what, sources, taken, why } = disagreement;
        [what, taken, why].into_iter().chain(sources).for_each(plain);
    }
    topology.notes.iter_mut().for_each(plain);
}
