//! `coho-mpi` under the launchers of the MPIs that this machine has.

mod nodes;
mod one_node;
mod survey;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use coho_profile::Estimate;

/// Longer than any machine takes.
const PATIENCE: Duration = Duration::from_secs(240);
const PROGRAM: &str = env!("CARGO_BIN_EXE_coho-mpi");

/// Variables with which the launchers start more ranks than CPUs, as any user.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
    ("PRTE_MCA_hwloc_default_binding_policy", "none"),
];

/// The launchers that there are, each once.
fn launchers() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let find = |name: &str| {
        let places = std::env::split_paths(&path).map(|folder| folder.join(name));
        places.filter_map(|place| place.canonicalize().ok()).next()
    };
    let known = ["mpiexec", "mpiexec.mpich", "mpiexec.openmpi"].into_iter().filter_map(find);
    known.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Runs a launcher to its end, within bounds.
fn run(launcher: &[&str], arguments: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command
        .arg("-k")
        .arg("5")
        .arg(PATIENCE.as_secs().to_string())
        .args(launcher)
        .arg(PROGRAM)
        .args(arguments);
    command.envs(ENVIRONMENT).stdin(Stdio::null()).output().unwrap()
}

/// What rank 0 prints as JSON.
#[derive(serde::Deserialize)]
struct Found {
    ours_ns: Estimate,
    mpi_barrier_ns: Estimate,
    ratio: Estimate,
    library: String,
    ranks_of_nodes: Vec<usize>,
}

/// What a short measurement finds, whose figures have the shape that all have.
fn found(launcher: &[&str]) -> Found {
    let done = run(launcher, &["barrier", "--json", "--time-limit", "500ms"]);
    let why = || format!("{launcher:?}: {}", String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{}", why());
    let found: Found =
        serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {}", why()));
    for figure in [&found.ours_ns, &found.mpi_barrier_ns, &found.ratio] {
        assert!(
            0.0 < figure.low && figure.low <= figure.median && figure.median <= figure.high,
            "{figure:?}"
        );
        assert!(figure.holds_for_next_run(), "{figure:?}");
    }
    assert_eq!((found.ours_ns.n, found.mpi_barrier_ns.n), (found.ratio.n, found.ratio.n));
    assert!(found.library.contains("MPI"), "{}", found.library);
    found
}
