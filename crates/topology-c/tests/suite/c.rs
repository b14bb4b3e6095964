//! A program compiled by the C compiler and linked to the static and the shared library.

use std::ffi::CString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, ptr};

use coho_profile::{Coherence, Estimate, Home, Pair, PairMethod, Profile};
use coho_testing::{Capability, data, needs};
use coho_topology_c::{
    coho_topology_free, coho_topology_load, coho_topology_status::COHO_TOPOLOGY_OK, coho_topology_time_ns,
};

fn temporary() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// A library that was built along with this test.
fn built(name: &str) -> PathBuf {
    env::current_exe().unwrap().with_file_name(name)
}

fn check(name: &str, library: &Path) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = temporary().join(name);
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2"])
        .arg(folder.join("tests/c/check.c"))
        .arg("-I")
        .arg(folder.join("include"))
        .arg("-o")
        .arg(&program)
        .arg(library)
        .args(["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let mut run = Command::new(&program);
    run.arg(data("cpuid/AMD-FX-8150.cpuid")).env("LD_LIBRARY_PATH", temporary());
    let done = run.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn c_asks_the_static_library() {
    needs!(Capability::CCompiler);
    check("topology-static", &built("libcoho_topology_c.a"));
}

#[test]
fn c_asks_the_shared_library() {
    needs!(Capability::CCompiler);
    // An installed library has the name that programs ask for.
    let library = built("libcoho_topology_c.so");
    let link = temporary().join("libcoho_topology.so.0");
    let _ = fs::remove_file(&link);
    symlink(&library, &link).unwrap();
    check("topology-shared", &library);
}

#[test]
fn times_come_from_a_profile_and_are_of_one_method() {
    let pair = |a, b, method, ns| Pair::new(a, b, method, Home::A, Estimate::exact(ns));
    let pairs = vec![
        pair(0, 1, PairMethod::Flags, 70.0),
        pair(1, 0, PairMethod::Turn, 25.0),
        pair(2, 3, PairMethod::Flags, 90.0),
    ];
    let coherence = Some(Coherence { cpus: (0..4).collect(), pairs, ..Coherence::default() });
    let machine = coho_topology::load(&data("cpuid/AMD-FX-8150.cpuid")).unwrap();
    let profile = Profile { coherence, topology: Some(machine.topology.into()), ..Profile::default() };
    let path = temporary().join("profile.json");
    profile.write(&path).unwrap();
    let path = CString::new(path.to_str().unwrap()).unwrap();
    let (mut topology, mut ns) = (ptr::null_mut(), 0.0);
    // SAFETY: a string, and places that can be written.
    unsafe {
        assert_eq!(coho_topology_load(path.as_ptr(), &mut topology), COHO_TOPOLOGY_OK);
        assert_eq!(coho_topology_time_ns(topology, 0, 1, &mut ns), COHO_TOPOLOGY_OK);
        assert_eq!(ns, 25.0);
        assert_ne!(coho_topology_time_ns(topology, 2, 3, &mut ns), COHO_TOPOLOGY_OK, "of another method");
        coho_topology_free(topology);
    }
}
