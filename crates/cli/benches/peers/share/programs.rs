//! The programs: each is built as it was and as a fix of its layout has it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;

/// A program whose threads share a line.
pub struct Case {
    pub name: &'static str,
    /// What the name of the object that lies in the line contains.
    pub object: &'static str,
    pub source: Source,
}

/// How it is built.
pub enum Source {
    /// C, with these options.
    C(&'static str, &'static [&'static str]),
    Rust(&'static str),
    Go(&'static str),
    /// Rust on a crate of the registry, in the versions before and after its fix.
    Crate(&'static str, &'static str, [&'static str; 2]),
}

/// The commands of both builds, but for the number of repeats.
pub struct Pair {
    pub plain: Vec<String>,
    pub padded: Vec<String>,
    /// Whether a library can be preloaded into them.
    pub is_preloaded: bool,
}

/// Small programs, and layouts of public fixes of false sharing.
pub const CASES: &[Case] = &[
    case("counters", "counters", Source::C("counters.c", &["-DBETWEEN=0"])),
    case("counters, 5 between", "counters", Source::C("counters.c", &["-DBETWEEN=5"])),
    case("counters, 20 between", "counters", Source::C("counters.c", &["-DBETWEEN=20"])),
    case("counters, 100 between", "counters", Source::C("counters.c", &["-DBETWEEN=100"])),
    case("flag beside a counter", "state", Source::C("flag.c", &[])),
    case("atomics of Rust threads", "allocated", Source::Rust("atomics.rs")),
    case("Phoenix linear_regression", "all", Source::C("linear_regression.c", &[])),
    case("Phoenix histogram", "all", Source::C("histogram.c", &[])),
    case("Boost spinlock_pool", "pool", Source::C("spinlock_pool.c", &[])),
    case("taskflow queue", "queues", Source::C("work_stealing_queue.c", &[])),
    case("drwmutex (Go)", "Go's heap", Source::Go("drwmutex.go")),
    case("crossbeam-epoch", "allocated", Source::Crate("epoch.rs", "crossbeam-epoch", ["0.9.14", "0.9.18"])),
];

/// Public fixes of false sharing that have no program here.
pub const NOT_REBUILT: &str =
    "valkey 4107, VictoriaMetrics 8683, rocksdb 2519, libc++ 208305, nrn 2951, go 78764";

const fn case(name: &'static str, object: &'static str, source: Source) -> Case {
    Case { name, object, source }
}

/// Builds both.
pub fn build(case: &Case) -> Result<Pair, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("share");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let program = |build: &str| {
        let name = case.name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        folder.join(format!("{name}-{build}"))
    };
    let [plain, padded] = ["plain", "padded"].map(program);
    match case.source {
        Source::C(source, options) => {
            for (program, apart) in [(&plain, None), (&padded, Some("-DAPART"))] {
                let mut cc = Command::new("cc");
                cc.args(["-g", "-O2", "-pthread", "-o"])
                    .arg(program)
                    .arg(file(source))
                    .args(options)
                    .args(apart);
                command::printed(&mut cc)?;
            }
        }
        Source::Rust(source) => {
            for (program, apart) in [(&plain, &[][..]), (&padded, &["--cfg", "apart"])] {
                let mut rustc = Command::new("rustc");
                rustc
                    .args(["--edition", "2024", "-g", "-O"])
                    .args(apart)
                    .arg(file(source))
                    .arg("-o")
                    .arg(program);
                command::printed(&mut rustc)?;
            }
        }
        Source::Go(source) => {
            let mut go = Command::new("go");
            go.args(["build", "-o"]).arg(&plain).arg(file(source)).current_dir(&folder);
            command::printed(go.env("GOCACHE", folder.join("go-cache")).env("GOFLAGS", ""))?;
            let [plain, padded] = [&[][..], &["apart"]].map(|arguments| words(&plain, arguments));
            return Ok(Pair { plain, padded, is_preloaded: false });
        }
        Source::Crate(source, name, versions) => {
            for (program, version) in [&plain, &padded].into_iter().zip(versions) {
                let package = folder.join(format!("{name}-{version}"));
                let manifest = format!(
                    "[package]\nname = \"shared\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[dependencies]\n{name} = \
                     \"={version}\"\n[profile.release]\ndebug = true\n[[bin]]\nname = \"shared\"\npath = \"main.rs\"\n\
                     [workspace]\n"
                );
                let written = fs::create_dir_all(&package)
                    .and_then(|()| fs::write(package.join("Cargo.toml"), manifest))
                    .and_then(|()| fs::copy(file(source), package.join("main.rs")));
                written.map_err(|error| error.to_string())?;
                let mut cargo = Command::new("cargo");
                cargo.args(["build", "--release", "--quiet", "--target-dir", "target"]).current_dir(&package);
                command::printed(&mut cargo)?;
                fs::copy(package.join("target/release/shared"), program)
                    .map_err(|error| error.to_string())?;
            }
        }
    }
    Ok(Pair { plain: words(&plain, &[]), padded: words(&padded, &[]), is_preloaded: true })
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/share/programs").join(name)
}

fn words(program: &Path, arguments: &[&str]) -> Vec<String> {
    let arguments = arguments.iter().map(|word| (*word).to_owned());
    [program.to_string_lossy().into_owned()].into_iter().chain(arguments).collect()
}
