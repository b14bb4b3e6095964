//! Whether a host's caches stay warm for a function, depending on what it executed last, and how long ago.

use std::io;

use coho_profile::{Affinity, HostLast};

use super::super::record::figure;
use super::deed::Deed;
use super::stand::{Stand, median};

/// What a host did before a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Before {
    pub(super) last: HostLast,
    /// How long ago, in ns.
    pub(super) idle_ns: f64,
}

/// What is compared; the first entry is the reference for the others.
pub(super) const BEFORE: [Before; 5] = [
    Before { last: HostLast::Same, idle_ns: 0.0 },
    Before { last: HostLast::Other, idle_ns: 0.0 },
    Before { last: HostLast::Same, idle_ns: 1e4 },
    Before { last: HostLast::Same, idle_ns: 1e5 },
    Before { last: HostLast::Same, idle_ns: 1e6 },
];
/// How many calls there are; their median is a pass's figure.
const CALLS: usize = 8;

/// Times of one call by what the host executed before it, one figure per pass.
pub(super) type Times = [Vec<f64>; BEFORE.len()];

/// A pass over one of the deeds, in random order.
///
/// # Errors
/// If a call fails.
pub(super) fn pass(
    stand: &mut Stand,
    deeds: &mut [Deed],
    which: usize,
    times: &mut Times,
    random: &mut fastrand::Rng,
) -> io::Result<()> {
    let mut order: Vec<usize> = (0..BEFORE.len()).collect();
    random.shuffle(&mut order);
    let mut medians = [f64::NAN; BEFORE.len()];
    for index in order {
        medians[index] = block(stand, deeds, which, BEFORE[index])?;
    }
    times.iter_mut().zip(medians).for_each(|(times, ns)| times.push(ns));
    Ok(())
}

/// The median time of a call, there and back.
fn block(stand: &mut Stand, deeds: &mut [Deed], which: usize, before: Before) -> io::Result<f64> {
    let clock = stand.clock;
    let Some(remote) = &mut stand.remote else { return Ok(f64::NAN) };
    let mut times = Vec::with_capacity(CALLS);
    while times.len() <= CALLS {
        let batch = (CALLS + 1 - times.len()).min(deeds[which].away.most);
        remote.ready(&mut deeds[which].away, batch)?;
        let mut least = 0;
        for index in 0..batch {
            if before.last == HostLast::Other {
                for other in 0..deeds.len() {
                    if deeds[other].call == deeds[which].call {
                        continue;
                    }
                    let act = &mut deeds[other].away;
                    remote.ready(act, 1)?;
                    least = least.min(remote.one(act, 0));
                    remote.clean(act)?;
                }
            }
            let since = clock.now();
            while clock.ns(clock.now() - since) < before.idle_ns {
                std::hint::spin_loop();
            }
            let start = clock.now();
            least = least.min(remote.one(&mut deeds[which].away, index));
            times.push(clock.ns(clock.now() - start));
        }
        remote.clean(&mut deeds[which].away)?;
        if least < 0 {
            return Err(io::Error::from_raw_os_error(-least as i32));
        }
    }
    // The first call finds the state from before the block.
    Ok(median(times.split_off(1)))
}

/// The section's part on one call.
pub(super) fn rows(deed: &Deed, times: &Times) -> Vec<Affinity> {
    let row = |(before, own): (&Before, &Vec<f64>)| {
        let ratios: Vec<f64> = own.iter().zip(&times[0]).map(|(ns, warm)| ns / warm).collect();
        Some(Affinity {
            call: deed.call.to_owned(),
            payload_bytes: deed.payload_bytes as u64,
            filesystem: deed.filesystem.clone(),
            host_last: before.last,
            host_idle_ns: before.idle_ns,
            ns: figure(own)?,
            over_warm: figure(&ratios),
        })
    };
    BEFORE.iter().zip(times).filter_map(row).collect()
}
