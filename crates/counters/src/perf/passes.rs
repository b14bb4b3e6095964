//! Which events are counted together if there are more events than counters.

use super::Group;
use crate::{Error, Event, Mode};

/// More counters than any CPU has for a thread.
const MOST: usize = 32;

/// Splits events into passes of at most `counters` events; each pass lists positions in `events`.
///
/// A count of instructions gets a pass of its own: hypervisors emulate it at every exit, which makes the other events'
/// exits more expensive and their figures wrong.
///
/// ```
/// use coho_counters::{Event, passes};
/// let events = [Event::page_faults(), Event::instructions(), Event::cycles(), Event::dummy()];
/// assert_eq!(passes(&events, 2), [vec![0, 2], vec![3], vec![1]]);
/// ```
///
/// # Panics
/// If there are no counters.
pub fn passes(events: &[Event], counters: usize) -> Vec<Vec<usize>> {
    let (alone, together): (Vec<usize>, Vec<usize>) =
        (0..events.len()).partition(|&event| events[event].counts_instructions());
    let mut passes: Vec<Vec<usize>> = together.chunks(counters).map(<[_]>::to_vec).collect();
    passes.extend(alone.into_iter().map(|event| vec![event]));
    passes
}

/// How many hardware counters a group can have at once now, found by trying with cycles.
///
/// # Errors
/// As [`Group::open`] of one event.
pub fn free_counters(mode: Mode) -> Result<usize, Error> {
    Group::open(&[Event::cycles()], mode)?;
    Ok(largest(|events| Group::open(&vec![Event::cycles(); events], mode).is_ok()))
}

/// The largest group that fits, given that one event does.
fn largest(fits: impl Fn(usize) -> bool) -> usize {
    (2..=MOST).take_while(|&events| fits(events)).last().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use coho_testing::{Capability, needs};

    use super::*;

    #[test]
    fn every_event_has_one_pass_and_instructions_their_own() {
        let raw = |code| Event { name: String::new(), kind: 4, config: code, config1: 0 };
        let events = [raw(0xC0), raw(0x76), raw(0x180_00C0), raw(0x40), raw(0x1C2), raw(0x60)];
        let instructions: Vec<bool> = events.iter().map(Event::counts_instructions).collect();
        for counters in 1..=7 {
            let passes = passes(&events, counters);
            let mut all = passes.concat();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3, 4, 5]);
            assert!(passes.iter().all(|pass| pass.len() <= counters));
            for pass in passes {
                assert!(pass.len() == 1 || pass.iter().all(|&event| !instructions[event]), "{pass:?}");
            }
        }
        assert_eq!(
            instructions.iter().filter(|&&it| it).count(),
            if cfg!(target_arch = "x86_64") { 2 } else { 0 }
        );
    }

    #[test]
    fn the_largest_group_is_the_last_that_fits() {
        for counters in 1..=MOST {
            assert_eq!(largest(|events| events <= counters), counters);
        }
        assert_eq!(largest(|_| true), MOST);
    }

    #[test]
    fn a_machine_with_counters_has_some_free() {
        needs!(Capability::HardwareCounters);
        let counters = free_counters(Mode::User).unwrap();
        assert!((1..=MOST).contains(&counters), "{counters}");
        assert!(Group::open(&vec![Event::cycles(); counters], Mode::User).is_ok());
    }
}
