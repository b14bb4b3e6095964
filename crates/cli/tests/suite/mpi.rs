//! `coho run --mpi`: MPI programs as they are, on coho's barrier; and placements under MPI's launchers.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use coho_testing::{Capability, needs};
use serde_json::Value;
use tempfile::TempDir;

/// Meets often enough to be served, and sums what all ranks know.
const PROGRAM: &str = "#include <mpi.h>\n#include <stdio.h>\nint main(void) { int rank, sum;\nMPI_Init(0, 0);\n\
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\nfor (int i = 0; i < 40; i++) MPI_Barrier(MPI_COMM_WORLD);\n\
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\n\
    if (!rank) printf(\"sum %d\\n\", sum);\nMPI_Finalize(); return 0; }\n";

const TWO: [&str; 3] = ["mpiexec", "-n", "2"];

fn program(folder: &TempDir) -> PathBuf {
    let program = folder.path().join("program");
    let source = program.with_extension("c");
    std::fs::write(&source, PROGRAM).unwrap();
    let done = Command::new("mpicc").arg("-o").arg(&program).arg(&source).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    program
}

/// With what launchers of Open MPI ask for where root runs them, and where two CPUs are one core's.
fn as_anybody(command: &mut Command) -> &mut Command {
    let names =
        ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"];
    command.envs(names.map(|name| (name, "1"))).stdin(Stdio::null())
}

fn coho(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coho"));
    as_anybody(command.args(words).env_remove("COHO_MPI_PRELOAD"));
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_program_is_served_as_it_is() {
    needs!(Capability::Mpi, Capability::TwoCpus);
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder);
    let run = |words: &[&str], setting: &str| -> Output {
        let mut command = coho(words);
        command.args(TWO).arg(&program).env("COHO_MPI_PRELOAD", setting);
        let output = command.output().unwrap();
        assert!(output.status.success() && output.stdout == b"sum 1\n", "{output:?}");
        output
    };
    let served = "coho mpi: serves a communicator of 2 ranks of one node\n";
    assert_eq!(text(&run(&["run", "-q", "--mpi", "--"], "verbose").stderr), served);
    assert!(run(&["run", "-q", "--mpi", "--"], "").stderr.is_empty());
    assert!(run(&["run", "-q", "--mpi", "--"], "off").stderr.is_empty());
    assert!(run(&["run", "-q", "--"], "verbose").stderr.is_empty());
    // One that several libraries are preloaded into.
    let both = text(&run(&["run", "-q", "--mpi", "--openmp", "--"], "verbose").stderr);
    assert!(both.contains(served), "{both}");
}

#[test]
fn a_check_names_the_mpi_and_what_is_served_of_it() {
    needs!(Capability::Mpi);
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder);
    let check = |words: &[&str]| {
        let output = coho(&["run", "--mpi", "--check"]).args(words).arg(&program).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        text(&output.stdout)
    };
    let alone: Value = serde_json::from_str(&check(&["--json", "--"])).unwrap();
    let imports = ["MPI_Allreduce", "MPI_Barrier", "MPI_Comm_rank", "MPI_Finalize", "MPI_Init"];
    assert_eq!(alone["imports"], serde_json::json!(imports));
    assert_eq!((&alone["served"], &alone["serves"]), (&true.into(), &imports[..2].into()));
    assert!(["MPICH", "Open MPI"].contains(&alone["mpi"].as_str().unwrap()), "{alone}");
    let launched: Value = serde_json::from_str(&check(&[&["--json", "--"], &TWO[..]].concat())).unwrap();
    assert_eq!(launched["served"], false);
    assert_eq!(launched["arguments"][0]["serves"], alone["serves"]);
    let said = check(&TWO).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("would have coho serve MPI_Allreduce and MPI_Barrier on communicators within"),
        "{said}"
    );
}

#[test]
fn what_has_no_mpi_is_told_so() {
    let said = |words: &[&str]| {
        let output = coho(words).output().unwrap();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let (status, none) = said(&["run", "--mpi", "--check", "--", "true"]);
    assert!(
        status == Some(0) && none.contains("would run as without --mpi: it imports no MPI functions"),
        "{none}"
    );
    let (status, both) = said(&["run", "--mpi", "--openmp", "--check", "--", "true"]);
    assert!(status == Some(2) && both.contains("--check is for one of --openmp and --mpi"), "{both}");
    assert_eq!(said(&["run", "--check", "--", "true"]).0, Some(2));
    assert_eq!(said(&["run", "-q", "--mpi", "--", "true"]), (Some(0), String::new()));
}

#[test]
fn a_placement_keeps_to_the_cpus_that_a_launcher_gives_each_rank() {
    needs!(Capability::Mpi, Capability::TwoCpus);
    let allowed = |words: &[&str]| {
        let mut command = Command::new(TWO[0]);
        command.args(["-bind-to", "hwthread"]).args(&TWO[1..]).args(words);
        command.args(["sh", "-c", "sleep 0.3; grep Cpus_allowed_list /proc/self/status"]);
        let output = as_anybody(&mut command).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = text(&output.stdout);
        let mut lists: Vec<_> =
            said.lines().map(|line| line.split_once(':').unwrap().1.trim().to_owned()).collect();
        lists.sort();
        lists
    };
    let bound = allowed(&[]);
    assert_eq!(bound.len(), 2, "{bound:?}");
    for placement in ["compact", "spread"] {
        let placed =
            allowed(&[env!("CARGO_BIN_EXE_coho"), "run", "-q", "--place", placement, "--threads", "1", "--"]);
        for (placed, bound) in placed.iter().zip(&bound) {
            let within = |list: &String| list.parse::<coho_topology::CpuSet>().unwrap();
            assert!(within(placed).is_subset(&within(bound)), "{placement}: {placed} within {bound}");
        }
    }
}
