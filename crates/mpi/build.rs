//! Compiles the functions over MPI by each MPI that the machine has: their types differ, and a program that packs both
//! runs under either launcher. Without an MPI nothing is packed, and the program says so.

use std::env;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compilers to try, unless COHO_MPICC names others.
const COMPILERS: [&str; 3] = ["mpicc", "mpicc.mpich", "mpicc.openmpi"];
const SOURCE: &str = "../probe/src/mpi/shim.c";

fn main() {
    for changed in ["build.rs", SOURCE] {
        println!("cargo::rerun-if-changed={changed}");
    }
    for variable in ["COHO_MPICC", "PATH"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo gives a folder"));
    let mut packed: Vec<(&str, PathBuf)> = Vec::new();
    for compiler in compilers() {
        println!("cargo::rerun-if-changed={}", compiler.display());
        let Some(kind) = kind(&compiler) else { continue };
        let library = out.join(format!("{kind}.so"));
        if packed.iter().all(|(known, _)| *known != kind) && compile(&compiler, &library) {
            packed.push((kind, library));
        }
    }
    if packed.is_empty() {
        // There is no such file, so that the next build looks again.
        println!("cargo::rerun-if-changed={}", out.join("no MPI").display());
    }
    let mut code = String::from("const PACKED: &[(&str, &[u8])] = &[\n");
    for (kind, library) in &packed {
        let _ = writeln!(code, "    ({kind:?}, include_bytes!({library:?})),");
    }
    fs::write(out.join("packed.rs"), code + "];\n").expect("a file");
}

fn compilers() -> Vec<PathBuf> {
    if let Some(given) = env::var("COHO_MPICC").ok().filter(|given| !given.trim().is_empty()) {
        return given.split_whitespace().map(PathBuf::from).collect();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = env::split_paths(&path).collect();
    let find = |name| folders.iter().map(|folder| folder.join(name)).find(|place| place.is_file());
    COMPILERS.into_iter().filter_map(find).collect()
}

/// Whose types the compiler's header has: Open MPI's, or those that MPICH shares with Intel MPI and others.
fn kind(compiler: &Path) -> Option<&'static str> {
    let args = ["-E", "-dM", "-include", "mpi.h", "-x", "c", "/dev/null"];
    let macros = Command::new(compiler).args(args).output().ok().filter(|done| done.status.success())?;
    let defines = |name: &str| String::from_utf8_lossy(&macros.stdout).contains(&format!("#define {name} "));
    match (defines("OPEN_MPI"), defines("MPICH_VERSION") || defines("I_MPI_VERSION")) {
        (true, _) => Some("openmpi"),
        (_, true) => Some("mpich"),
        _ => None,
    }
}

fn compile(compiler: &Path, library: &Path) -> bool {
    let mut command = Command::new(compiler);
    command.args(["-O2", "-shared", "-fPIC", "-o"].map(OsStr::new)).args([library, Path::new(SOURCE)]);
    match command.output() {
        Ok(done) if done.status.success() => true,
        Ok(done) => {
            let why = String::from_utf8_lossy(&done.stderr);
            println!(
                "cargo::warning={} fails: {}",
                compiler.display(),
                why.lines().next().unwrap_or_default()
            );
            false
        }
        Err(error) => {
            println!("cargo::warning={}: {error}", compiler.display());
            false
        }
    }
}
