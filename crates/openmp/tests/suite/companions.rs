//! Libraries that others preload, before this one and after it: programs print what they print with these alone.

use std::process::Command;
use std::time::Duration;

use coho_testing::{Capability, Interposer, needs};

use crate::support::{compile, finish, library, preloaded};

#[track_caller]
fn same(other: Interposer) {
    let (own, other) = (library(), other.library());
    for source in ["constructs.c", "tasks.c"] {
        let program = compile(source, &[]);
        let finish = |mut command: Command, libraries: &[_]| {
            command.env("LD_PRELOAD", std::env::join_paths(libraries).unwrap());
            command.env("FAKETIME", "2000-02-29 12:34:56").env("OMP_NUM_THREADS", "3");
            finish(command.env("OMP_WAIT_POLICY", "passive"), Duration::from_secs(120))
        };
        let alone = finish(Command::new(&program), &[&other]);
        for libraries in [[&own, &other], [&other, &own]] {
            let with = finish(preloaded(&program), &libraries);
            assert!(with.errors.contains("coho openmp: taken over"), "{libraries:?}: {}", with.errors);
            assert_eq!(
                (with.status, &with.output),
                (alone.status, &alone.output),
                "{source}, {libraries:?}: {}",
                with.errors
            );
        }
    }
}

/// Nothing waits for a time that does not come: it stands still.
#[test]
fn faketime() {
    needs!(Capability::Gcc, Capability::Interposers);
    same(Interposer::Faketime);
}

#[test]
fn fakeroot() {
    needs!(Capability::Gcc, Capability::Interposers);
    same(Interposer::Fakeroot);
}

#[test]
fn jemalloc() {
    needs!(Capability::Gcc, Capability::Interposers);
    same(Interposer::Jemalloc);
}

#[test]
fn eatmydata() {
    needs!(Capability::Gcc, Capability::Interposers);
    same(Interposer::Eatmydata);
}
