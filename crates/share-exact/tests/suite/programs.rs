//! Programs that do what they do without the library.

use std::os::unix::fs::PermissionsExt;

use coho_recording::create;
use coho_testing::{Capability, Privileged, needs};

use crate::common::{compiled, items, printed, run, under};

#[test]
fn atomic_operations_do_what_they_are_to() {
    needs!(Capability::Gcc);
    let program = compiled("atomics", "atomics.c", &["-mcx16"]);
    // Without anything to count into, too.
    assert_eq!(printed(&under(&program, &[], None).output().unwrap()), "done\n");
    assert_eq!(run(&program, &[]).0, "done\n");
}

#[test]
fn threads_of_cpp_and_of_openmp_run() {
    needs!(Capability::Gcc);
    let objects = compiled("objects", "objects.cpp", &["-std=c++17"]);
    let plain = printed(&under(&objects, &[], None).output().unwrap());
    assert!(plain.ends_with(" 400\n"), "{plain}");
    assert_eq!(run(&objects, &[]).0, plain);
    let openmp = compiled("openmp", "openmp.c", &["-fopenmp"]);
    assert_eq!(run(&openmp, &["100000"]).0, "4999950000\n");
}

/// A set-user-id program of another user, run by root: the loader drops the library.
#[test]
fn programs_with_other_rights_are_left_alone() {
    needs!(Capability::SetUserId, Capability::Gcc);
    let privileged = Privileged::of(&compiled("other", "exact.c", &[]));
    let file = tempfile::NamedTempFile::new().unwrap();
    create(file.as_file(), 16).unwrap();
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o666)).unwrap();
    // The runtime of gcc may have its own word to say.
    under(&privileged.program(), &["once", "1000"], Some(file.path())).output().unwrap();
    assert_eq!(items(file.as_file()), []);
}
