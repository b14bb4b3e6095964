//! What is run where: tests by placements and numbers of copies.

use coho_platform::load::Busy;
use coho_platform::room::Room;
use coho_topology::{CpuSet, Topology};
use coho_workloads::unixbench::{Seat, Test};

use super::pairs::{self, Class, SAME_CPU};
use crate::Error;
use crate::placement::{Placement, choose};

/// One row of the results: a test under a placement with a number of copies.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    pub(super) test: Test,
    /// The placement's name; for pairs that do not belong to a placement, the class of the pair.
    pub(super) placement: String,
    pub(super) pair_class: Option<String>,
    pub(super) copies: u32,
    /// The CPUs of each copy in one run; each pass takes one of the choices. Empty if the scheduler chooses.
    pub(super) choices: Vec<Vec<Seat>>,
}

/// The cells, and the placements that are left out because they equal another on these CPUs.
pub(super) fn cells(
    tests: &[Test],
    placements: &[Placement],
    copies: &[u32],
    topology: &Topology,
    allowed: &CpuSet,
) -> (Vec<Cell>, Vec<(String, String)>) {
    let classes = pairs::classes(topology, allowed);
    let mut cells: Vec<Cell> = Vec::new();
    let mut left_out = Vec::new();
    for &test in tests {
        for &copies in copies {
            for placement in placements {
                let seats = match placement {
                    Placement::None => Vec::new(),
                    _ => match order(placement, processes(placement, test, copies), topology, allowed) {
                        Ok(order) => seats(placement, test, copies, &order),
                        Err(error) => {
                            left_out.push((format!("placement {placement}"), error.to_string()));
                            continue;
                        }
                    },
                };
                let choices = if seats.is_empty() { Vec::new() } else { vec![seats] };
                let same = |cell: &&Cell| {
                    (cell.test, cell.copies) == (test, copies)
                        && !choices.is_empty()
                        && cell.choices == choices
                };
                match cells.iter().find(same) {
                    Some(other) => left_out.push((
                        format!("placement {placement}, {}", count(copies)),
                        format!("the same CPUs as {}", other.placement),
                    )),
                    None => cells.push(Cell {
                        test,
                        placement: placement.to_string(),
                        pair_class: choices.first().and_then(|seats| class_of(topology, seats)),
                        copies,
                        choices,
                    }),
                }
            }
        }
        let pinned = placements.iter().any(|placement| *placement != Placement::None);
        if pinned && SEVERAL.contains(&test) {
            cells.extend(two_cpus(test, topology, allowed));
        }
        if test.is_pair() {
            let other = classes.iter().filter(|class| pinned && !has(&cells, test, class));
            let other: Vec<Cell> = other.map(|class| of_class(test, class)).collect();
            cells.extend(other);
        }
    }
    left_out.sort();
    left_out.dedup();
    (cells, left_out)
}

/// The CPUs of a placement for this many processes, in the order in which they take them. Within a level, CPUs that
/// share nothing nearer come first, so that a level shows its own cost alone.
fn order(
    placement: &Placement,
    processes: usize,
    topology: &Topology,
    allowed: &CpuSet,
) -> Result<Vec<u32>, Error> {
    // Other load matters when a program is placed, not when placements are compared.
    let busy = Busy::default();
    let room = |cpus: CpuSet| Room { cpus, quota: None };
    let chosen = |placement, threads, room| choose(placement, threads, topology, &room, &busy);
    match placement {
        Placement::Within(_) => {
            let object = chosen(placement, None, room(allowed.clone()))?.cpus;
            if object.len() < 2 {
                return Err(Error::argument("no two of the CPUs share this level"));
            }
            Ok(chosen(&Placement::Spread, Some(processes), room(object))?.order)
        }
        _ => Ok(chosen(placement, Some(processes), room(allowed.clone()))?.order),
    }
}

/// Processes that want a CPU of their own: a compact copy's two share one, as a command's processes do under
/// `coho run --place compact`.
fn processes(placement: &Placement, test: Test, copies: u32) -> usize {
    copies as usize * if test.is_pair() && *placement != Placement::Compact { 2 } else { 1 }
}

/// Tests of one copy that are also confined to two CPUs as one mask: the scheduler decides what they make of a second
/// CPU.
const SEVERAL: [Test; 4] = [Test::Execl, Test::PipeThroughput, Test::ProcessCreation, Test::Shell8];

/// A copy confined to the two CPUs that a spread pair takes.
fn two_cpus(test: Test, topology: &Topology, allowed: &CpuSet) -> Option<Cell> {
    let two = order(&Placement::Spread, 2, topology, allowed).ok().filter(|order| order.len() == 2)?;
    let seat = Seat { first: two.into_iter().collect(), second: None };
    Some(Cell { test, placement: "two CPUs".into(), pair_class: None, copies: 1, choices: vec![vec![seat]] })
}

/// A row of its own for a class of pairs; a pass takes one of the pairs.
fn of_class(test: Test, class: &Class) -> Cell {
    Cell {
        test,
        placement: if class.name == SAME_CPU { "one CPU".into() } else { class.name.clone() },
        pair_class: Some(class.name.clone()),
        copies: 1,
        choices: class.pairs.iter().map(|&pair| vec![Seat::pair(pair)]).collect(),
    }
}

fn has(cells: &[Cell], test: Test, class: &Class) -> bool {
    cells.iter().any(|cell| {
        cell.test == test && cell.copies == 1 && cell.pair_class.as_deref() == Some(class.name.as_str())
    })
}

/// A seat for each copy, from CPUs in order, reused in turn if there are more copies. A build is one program, which
/// takes as many CPUs as it runs commands at once.
fn seats(placement: &Placement, test: Test, copies: u32, order: &[u32]) -> Vec<Seat> {
    let cpu = |at: usize| order[at % order.len()];
    match test {
        Test::Build => {
            let cpus = order.iter().copied().take(copies as usize).collect();
            vec![Seat { first: cpus, second: None }]
        }
        _ if test.is_pair() && *placement == Placement::Compact => {
            (0..copies as usize).map(|copy| Seat::pair([cpu(copy); 2])).collect()
        }
        _ if test.is_pair() => {
            (0..copies as usize).map(|copy| Seat::pair([cpu(2 * copy), cpu(2 * copy + 1)])).collect()
        }
        _ => (0..copies as usize).map(|copy| Seat::one(cpu(copy))).collect(),
    }
}

/// The class of all pairs, if they have the same one.
fn class_of(topology: &Topology, seats: &[Seat]) -> Option<String> {
    let mut classes = seats.iter().map(|seat| {
        let second = seat.second.as_ref()?.first()?;
        Some(pairs::class_of(topology, seat.first.first()?, second))
    });
    let first = classes.next()??;
    classes.all(|class| class.as_ref() == Some(&first)).then_some(first)
}

fn count(copies: u32) -> String {
    if copies == 1 { "1 copy".into() } else { format!("{copies} copies") }
}

#[cfg(test)]
mod tests {
    use coho_topology::{Level, Unit};

    use super::*;

    /// Two sockets of two cores of two threads.
    fn topology() -> Topology {
        let units = |lists: &[&str]| -> Vec<Unit> {
            lists.iter().map(|list| Unit { id: None, cpus: list.parse().unwrap() }).collect()
        };
        Topology {
            packages: units(&["0-3", "4-7"]),
            cores: units(&["0-1", "2-3", "4-5", "6-7"]),
            pus: (0..8).map(|os| coho_topology::Pu { os, ..Default::default() }).collect(),
            ..Topology::default()
        }
    }

    #[test]
    fn every_class_of_pairs_has_a_row_on_its_cpus() {
        let placements = [Placement::None, Placement::Compact, Placement::Spread];
        let (cells, _) =
            cells(&[Test::PipeContextSwitching], &placements, &[1, 4], &topology(), &CpuSet::up_to(8));
        let rows: Vec<_> = cells
            .iter()
            .map(|cell| (cell.placement.as_str(), cell.copies, cell.pair_class.as_deref()))
            .collect();
        assert_eq!(
            rows,
            [
                ("none", 1, None),
                ("compact", 1, Some("same CPU")),
                ("spread", 1, Some("system")),
                ("none", 4, None),
                ("compact", 4, Some("same CPU")),
                ("spread", 4, Some("system")),
                ("core", 1, Some("core")),
                ("package", 1, Some("package")),
            ]
        );
        // As `coho run --place compact` has a command's processes: on one CPU.
        assert_eq!(cells[1].choices, [vec![Seat::pair([0, 0])]]);
        let of_four = [0, 1, 2, 3].map(|cpu| Seat::pair([cpu, cpu]));
        assert_eq!(cells[4].choices, [of_four.to_vec()]);
        assert_eq!(cells[2].choices, [vec![Seat::pair([0, 4])]]);
        assert_eq!(cells[7].choices.len(), 8);
    }

    #[test]
    fn programs_of_several_processes_are_held_to_two_cpus_too() {
        let tests = [Test::ProcessCreation, Test::Dhrystone2];
        let (found, _) = cells(&tests, &[Placement::Compact], &[1], &topology(), &CpuSet::up_to(8));
        let rows: Vec<_> = found.iter().map(|cell| (cell.test, cell.placement.as_str())).collect();
        let spawn = Test::ProcessCreation;
        assert_eq!(rows, [(spawn, "compact"), (spawn, "two CPUs"), (Test::Dhrystone2, "compact")]);
        assert_eq!(found[1].choices[0], [Seat { first: "0,4".parse().unwrap(), second: None }]);
        let alone = cells(&tests, &[Placement::Compact], &[1], &topology(), &CpuSet::up_to(1)).0;
        assert!(alone.iter().all(|cell| cell.placement == "compact"));
        let free = cells(&tests, &[Placement::None], &[1], &topology(), &CpuSet::up_to(8)).0;
        assert!(free.iter().all(|cell| cell.placement == "none"));
    }

    #[test]
    fn placements_on_the_same_cpus_are_measured_once() {
        let tests = [Test::Dhrystone2, Test::Build];
        let placements = [Placement::Compact, Placement::Spread, Placement::Within(Level::Module)];
        let (found, left_out) = cells(&tests, &placements, &[1, 2], &topology(), &CpuSet::up_to(8));
        let rows: Vec<_> =
            found.iter().map(|cell| (cell.test, cell.placement.as_str(), cell.copies)).collect();
        let of = |test| [(test, "compact", 1), (test, "compact", 2), (test, "spread", 2)];
        assert_eq!(rows, [of(Test::Dhrystone2), of(Test::Build)].concat());
        assert!(left_out.iter().any(|(what, _)| what == "placement spread, 1 copy"));
        assert!(left_out.iter().any(|(what, why)| what == "placement module" && why.contains("module")));
        // A build with two commands at once takes two CPUs, as one program.
        assert_eq!(found[4].choices[0], [Seat { first: "0-1".parse().unwrap(), second: None }]);
    }
}
