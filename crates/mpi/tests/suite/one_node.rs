//! Ranks of one node.

use std::process::Command;

use coho_testing::{Capability, alone, needs};

use super::{PROGRAM, found, launchers, run};

#[test]
fn ranks_of_a_node_meet_at_both_barriers() {
    needs!(Capability::Mpi);
    let _alone = alone();
    for launcher in launchers() {
        let cpus = std::thread::available_parallelism().unwrap().get();
        for ranks in [2, 3, cpus + 3] {
            let found = found(&[launcher.to_str().unwrap(), "-n", &ranks.to_string()]);
            assert_eq!(found.ranks_of_nodes, [ranks]);
        }
    }
}

#[test]
fn one_rank_alone_is_refused() {
    needs!(Capability::Mpi);
    for launcher in launchers() {
        let done = run(&[launcher.to_str().unwrap(), "-n", "1"], &["barrier"]);
        assert!(!done.status.success());
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(told.contains("coho-mpi: rank 0: a barrier takes two ranks or more"), "{told}");
    }
}

#[test]
fn an_mpi_that_was_not_there_at_the_build_is_named() {
    needs!(Capability::Mpi);
    let mut command = Command::new(PROGRAM);
    let done = command.arg("barrier").env("COHO_MPI", "none").output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success() && told.contains("launched by none, and built for"), "{told}");
}
