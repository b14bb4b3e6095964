//! Matrices of unknown origin as a section of a profile.

use coho_profile::{Coherence, Estimate, Home, Method, Pair, PairMethod, TimeMatrix};
use coho_topology::{CpuSet, Topology};

use crate::matrix::Uneven;
use crate::{Error, Matrix};

/// As [`coherence_from_matrix`], with what a topology claims about these CPUs.
///
/// # Errors
/// If the topology does not know a CPU of the matrix.
pub fn coherence_of_machine(matrix: &Matrix, topology: &Topology) -> Result<Coherence, Error> {
    check_known(matrix.cpus(), topology)?;
    let mut coherence = coherence_from_matrix(matrix);
    coherence.claim(topology);
    Ok(coherence)
}

/// Checks that a topology has all CPUs that there are times for.
///
/// # Errors
/// With the first CPU that it does not know.
pub fn check_known(cpus: &[u32], topology: &Topology) -> Result<(), Error> {
    let claimed = topology.cpus();
    match cpus.iter().find(|&&cpu| !claimed.contains(cpu)) {
        Some(cpu) => Err(Error::new(format!(
            "there are times of CPU {cpu}, but the topology has CPUs {claimed}; a matrix without labels numbers its \
             CPUs from 0"
        ))),
        None => Ok(()),
    }
}

/// A matrix of unknown origin as a profile's section: its pairs. Nothing was repeated, so it stays open whether the
/// figures are stable.
pub fn coherence_from_matrix(matrix: &Matrix) -> Coherence {
    let cpu = |index: usize| matrix.cpus()[index];
    let pair = |(a, b, ns): (usize, usize, f64)| {
        Pair::new(
            cpu(a).min(cpu(b)),
            cpu(a).max(cpu(b)),
            PairMethod::Unknown,
            Home::Unknown,
            Estimate::exact(ns),
        )
    };
    let uneven = matrix.uneven().map(|(n, Uneven { cpus: [a, b], ns: [there, back] , ..})| {
        format!(
            "the two directions of {n} of {} pairs differ by more than 10 %, most of all those of CPUs {a} and {b}: \
             {there:.1} and {back:.1} ns; the mean of both stands for the pair",
            matrix.pairs().count()
        )
    });
    let told: CpuSet = matrix.pairs().flat_map(|(a, b, _)| [cpu(a), cpu(b)]).collect();
    let untold = matrix.cpus().iter().copied().collect::<CpuSet>().difference(&told);
    let untold = (!untold.is_empty()).then(|| format!("there are no times of CPUs {untold}"));
    let listed = matrix.len() <= TimeMatrix::MOST_LISTED;
    Coherence {
        method: Method {
            description: "read from a matrix of times between CPUs".into(),
            ..Method::default()
        },
        cpus: matrix.cpus().to_vec(),
        notes: uneven.into_iter().chain(untold).collect(),
        pairs: if listed { matrix.pairs().map(pair).collect() } else { Vec::new() },
        matrix: (!listed).then(|| TimeMatrix::new(matrix.len(), |a, b| matrix.between(a, b))),
        ..Coherence::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_unlike_directions_is_said_to_be_one() {
        let notes = |text: &str| coherence_from_matrix(&Matrix::parse(text).unwrap()).notes;
        let told = notes(",25,90\n24,,91\n60,70,\n");
        assert_eq!(told.len(), 1);
        assert!(
            told[0].contains("2 of 3 pairs") && told[0].contains("0 and 2: 90.0 and 60.0 ns"),
            "{told:?}"
        );
        assert_eq!(notes(" 0 1 2 3\n0\n1 25\n2 90 91\n"), ["there are no times of CPUs 3"], "cut off");
        assert!(notes(",25,90\n24,,91\n90,88,\n").is_empty());
        assert!(notes("\n25\n90,91\n").is_empty(), "one direction is not averaged");
        assert!(notes(",0\n50,\n").is_empty(), "nor is a 0 with another time");
    }
}
