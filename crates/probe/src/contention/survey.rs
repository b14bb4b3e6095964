//! Every operation on every choice of CPUs, in passes of random order.

use coho_profile::{Contention, LineOperation};
use coho_sync::Mapping;
use coho_topology::{CpuSet, Topology};

use super::Options;
use super::line::Lines;
use super::settle::rows;
use super::visit::visit;
use super::window::Batch;
use crate::barrier::{same_places, team_sizes};
use crate::coherence::Distance;
use crate::frame::Frame;
use crate::{Around, Error};

/// An operation on some CPUs, and its figures so far.
pub(super) struct Cell {
    pub(super) operation: LineOperation,
    pub(super) mapping: Mapping,
    pub(super) cpus: Vec<u32>,
    pub(super) passes: Vec<Pass>,
    /// Why it is not visited any more.
    pub(super) lost: Option<Error>,
}

/// A cell's figures from one pass.
pub(super) struct Pass {
    pub(super) number: usize,
    pub(super) batches: Vec<Batch>,
    pub(super) preempted: u64,
}

pub(super) fn run(options: &Options, around: &mut Around<'_>) -> Result<Contention, Error> {
    let mut frame = Frame::on(&options.course, around.progress)?;
    let mut cells = cells(options, around.topology, &mut frame);
    let home = cells.first().map_or(frame.cpus[0], |cell| cell.cpus[0]);
    let lines = Lines::map(&frame.workers, home)?;
    let distance = Distance::before(&mut frame);
    let (passes, batches) = if options.quick { (6, 5) } else { (10, 16) };
    frame.visit_all("contention", passes, &mut cells, |frame, cell, step| {
        cell.visit(step.pass, frame, &lines, batches);
        Ok::<_, Error>(())
    })?;
    distance.after(&mut frame);
    frame.parameter("batches_a_pass", batches);
    frame.parameter("line_home_cpu", home);
    let rows = rows(&cells, &mut frame);
    Ok(Contention { rows, method: frame.finish(DESCRIPTION), ..Contention::default() })
}

const DESCRIPTION: &str = "Short batches that all CPUs begin together, on eight lines in turn; every \
    operation on every choice of CPUs in passes of random order. Of each batch, only the time in which all \
    CPUs were at work counts, by their clocks, which are taken to agree. ns: the time of one operation of \
    one CPU, the mean over the CPUs; shares: of all batches together; fairness: within a batch. A store \
    counts once the CPU has gone on, and may still be on its way to the line. After each visit the lines \
    hold what all operations together leave there: none was lost.";

impl Cell {
    /// Adds a pass.
    fn visit(&mut self, number: usize, frame: &mut Frame<'_>, lines: &Lines, count: usize) {
        if self.lost.is_some() {
            return;
        }
        match visit(&frame.workers, &self.cpus, self.operation, &lines.of_pass(number), count) {
            Ok(visited) => {
                let preempted = visited.batches.iter().filter(|batch| batch.is_none()).count() as u64;
                let batches = visited.batches.into_iter().flatten().collect();
                self.passes.push(Pass { number, batches, preempted });
                frame.method.involuntary_switches += visited.involuntary_switches;
            }
            Err(error) => self.lost = Some(error),
        }
    }
}

/// What will be measured; the frame records the rest with the reason.
fn cells(options: &Options, topology: &Topology, frame: &mut Frame<'_>) -> Vec<Cell> {
    let allowed: CpuSet = frame.cpus.iter().copied().collect();
    let mut choices: Vec<(Mapping, Vec<u32>)> = Vec::new();
    for threads in sizes(options, allowed.len()) {
        if threads > allowed.len() {
            let why = format!("only {} may be used", allowed.len());
            frame.lacks(format!("{threads} CPUs at once"), why);
            continue;
        }
        for &mapping in &options.mappings {
            let mut cpus = mapping.order(topology, &allowed);
            cpus.truncate(threads);
            cpus.sort_unstable();
            match choices.iter().find(|(_, like)| *like == cpus) {
                Some((like, _)) => frame.method.not_available.extend([same_places(mapping, threads, *like)]),
                None => choices.push((mapping, cpus)),
            }
            // One CPU alone is only the reference for the others.
            if threads == 1 {
                break;
            }
        }
    }
    let cell = |&operation: &LineOperation| {
        choices.iter().map(move |(mapping, cpus)| Cell {
            operation,
            mapping: *mapping,
            cpus: cpus.clone(),
            passes: Vec::new(),
            lost: None,
        })
    };
    options.operations.iter().flat_map(cell).collect()
}

/// The numbers of CPUs at once: one, and two even if there is only one CPU, so that the reason is reported.
fn sizes(options: &Options, cpus: usize) -> Vec<usize> {
    let mut sizes: Vec<usize> = match &options.threads[..] {
        [] => team_sizes(cpus.max(2)),
        some => some.iter().map(|&threads| threads as usize).collect(),
    };
    sizes.push(1);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use coho_topology::Unit;

    use super::*;
    use crate::Course;

    /// Two packages of 96 CPUs.
    fn machine() -> Topology {
        let unit = |cpus: &str| Unit { id: None, cpus: cpus.parse().unwrap() };
        Topology { packages: vec![unit("0-95"), unit("96-191")], ..Topology::default() }
    }

    #[test]
    fn a_large_machine_is_measured_by_powers_of_two_near_and_far() {
        let mut ignore = |_| ();
        let mut frame = Frame::bare(&Course::on(Vec::from_iter(0..192)), &mut ignore);
        let cells = cells(&Options::default(), &machine(), &mut frame);
        let of_add: Vec<_> = cells.iter().filter(|cell| cell.operation == LineOperation::Add).collect();
        let sizes: Vec<_> = of_add.iter().map(|cell| cell.cpus.len()).collect();
        assert_eq!(sizes, [1, 2, 2, 4, 4, 8, 8, 16, 16, 32, 32, 64, 64, 128, 128, 192]);
        let packages = |cell: &Cell| {
            let second = cell.cpus.iter().filter(|&&cpu| cpu >= 96).count();
            (cell.cpus.len() - second, second)
        };
        assert_eq!((packages(of_add[1]), packages(of_add[2])), ((2, 0), (1, 1)));
        assert_eq!((packages(of_add[11]), packages(of_add[12])), ((64, 0), (32, 32)));
        assert_eq!(cells.len(), LineOperation::ALL.len() * sizes.len());
        let whys: Vec<_> = frame.method.not_available.keys().collect();
        assert_eq!(whys, ["binary-tree mapping, 192 threads"]);
    }

    #[test]
    fn one_cpu_and_too_many_threads_have_their_reasons() {
        let cells = |threads: &[u32], cpus| {
            let options = Options { threads: threads.to_vec(), ..Options::default() };
            let mut ignore = |_| ();
            let mut frame = Frame::bare(&Course::on(Vec::from_iter(0..cpus)), &mut ignore);
            let cells = cells(&options, &machine(), &mut frame);
            let mut sizes: Vec<_> = cells.iter().map(|cell| cell.cpus.len()).collect();
            sizes.dedup();
            sizes.truncate(2);
            (sizes, frame.method.not_available.into_keys().collect::<Vec<_>>())
        };
        assert_eq!(cells(&[], 1), (vec![1], vec!["2 CPUs at once".to_owned()]));
        let told = vec!["3 CPUs at once".to_owned(), "binary-tree mapping, 2 threads".to_owned()];
        assert_eq!(cells(&[3, 2], 2), (vec![1, 2], told));
    }
}
