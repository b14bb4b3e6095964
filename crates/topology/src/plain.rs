//! Making outside text safe for a terminal.
//!
//! Anybody may have written a file, and a hypervisor fills in CPUID's strings as it likes: an escape sequence in them
//! would control the reader's terminal.

use crate::Topology;

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
    let claims = topology.disagreements.iter_mut().flat_map(|disagreement| &mut disagreement.claims);
    claims.for_each(|claim| plain(&mut claim.says));
    topology.notes.iter_mut().for_each(plain);
}
