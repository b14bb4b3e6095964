//! Preloads the library into ranks of each MPI that this machine has. The program checks its own results.
//!
//! A program of its own: its ranks would keep those of other tests from running.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use coho_testing::{Capability, alone, needs};

/// Longer than any machine takes, in seconds.
const PATIENCE: &str = "240";
/// Each MPI's compiler, its launcher, and the words that its name goes with here.
const KNOWN: [(&str, &str); 3] =
    [("mpicc", "mpiexec"), ("mpicc.mpich", "mpiexec.mpich"), ("mpicc.openmpi", "mpiexec.openmpi")];

/// Begins a command that its launcher takes to live when it has died.
const OUTLIVED: [&str; 4] = ["sh", "-c", "\"$@\"; sleep 3", "sh"];

/// An MPI of this machine.
struct Mpi {
    launcher: PathBuf,
    program: PathBuf,
    /// Whether its ranks give their CPU away while they wait, so that more of them than CPUs get on.
    yields: bool,
}

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find_map(|folder| folder.join(name).canonicalize().ok())
}

/// The MPIs that there are, each once, with the program compiled for it in a folder.
fn all(folder: &Path) -> Vec<Mpi> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/ranks.c");
    let mut all: Vec<Mpi> = Vec::new();
    for (compiler, launcher) in KNOWN {
        let (Some(_), Some(launcher)) = (find(compiler), find(launcher)) else { continue };
        if all.iter().any(|known| known.launcher == launcher) {
            continue;
        }
        let program = folder.join(format!("ranks-{}", all.len()));
        let done = Command::new(compiler).args(["-O1", "-o"]).arg(&program).arg(&source).output().unwrap();
        assert!(done.status.success(), "{compiler}: {}", String::from_utf8_lossy(&done.stderr));
        let yields = launcher.ends_with("orterun") || launcher.ends_with("prterun");
        all.push(Mpi { launcher, program, yields });
    }
    assert!(!all.is_empty());
    all
}

fn library() -> PathBuf {
    // The dependency makes cargo build the library beside the tests.
    let _ = coho_mpi_preload::SETTING;
    std::env::current_exe().unwrap().with_file_name("libcoho_mpi_preload.so")
}

impl Mpi {
    /// Runs this many ranks, the library preloaded into those whose number is below `with`.
    fn run(&self, ranks: usize, with: usize, words: &[&str]) -> Output {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", PATIENCE]).arg(&self.launcher);
        for (count, preloads) in [(with, true), (ranks - with, false)] {
            if count == 0 {
                continue;
            }
            if !preloads && with > 0 {
                command.arg(":");
            }
            command.arg("-n").arg(count.to_string());
            if words == ["dies"] {
                command.args(OUTLIVED);
            }
            if preloads {
                command.arg("env").arg(format!("LD_PRELOAD={}", library().display()));
            }
            command.arg(&self.program).args(words);
        }
        for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
            command.env(name, "1");
        }
        let others = [
            ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
            ("OMPI_MCA_hwloc_base_binding_policy", "none"),
            ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
            ("PRTE_MCA_hwloc_default_binding_policy", "none"),
            ("COHO_MPI_PRELOAD", "verbose"),
        ];
        command.envs(others).stdin(Stdio::null()).output().unwrap()
    }

    /// What ranks say that end well.
    fn says(&self, ranks: usize, with: usize, words: &[&str]) -> String {
        let done = self.run(ranks, with, words);
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let (said, errors) = (text(&done.stdout), text(&done.stderr));
        assert!(done.status.success(), "{}: {words:?}: {said}{errors}", self.launcher.display());
        assert!(said.contains(&format!("done: {}", words[0])), "{said}{errors}");
        errors
    }

    /// The numbers of ranks that it can be asked for in a test.
    fn ranks(&self) -> Vec<usize> {
        let cpus = std::thread::available_parallelism().unwrap().get();
        if self.yields { vec![2, cpus + 3] } else { vec![2] }
    }
}

#[test]
fn results_are_right_whatever_is_served() {
    needs!(Capability::Mpi);
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for mpi in all(folder.path()) {
        for ranks in mpi.ranks() {
            let said = mpi.says(ranks, ranks, &["all"]);
            // All ranks, and communicators of all or of half of them.
            let served =
                said.matches(&format!("serves a communicator of {ranks} ranks of one node\n")).count();
            assert!(served >= 11, "{ranks} ranks: {served}\n{said}");
            assert!(said.contains("not all of its ranks are of one job's and of one group"), "{said}");
        }
    }
}

#[test]
fn ranks_that_may_have_threads_are_served_as_well() {
    needs!(Capability::Mpi);
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for mpi in all(folder.path()) {
        // MPI_THREAD_MULTIPLE is 3 everywhere.
        let said = mpi.says(2, 2, &["all", "3"]);
        assert!(said.contains("serves a communicator of 2 ranks of one node"), "{said}");
    }
}

#[test]
fn nobody_waits_for_a_rank_that_lacks_the_library() {
    needs!(Capability::Mpi);
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for mpi in all(folder.path()) {
        let said = mpi.says(2, 1, &["all"]);
        assert!(!said.contains("serves a communicator of"), "{said}");
        assert!(said.contains("not all of its ranks run on one node with coho's library"), "{said}");
    }
}

#[test]
fn ranks_that_others_have_started_are_left_to_mpi_where_they_meet() {
    needs!(Capability::Mpi);
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for mpi in all(folder.path()) {
        // Debian's MPICH refuses.
        if !mpi.run(2, 0, &["spawn"]).status.success() {
            continue;
        }
        let said = mpi.says(2, 2, &["spawn"]);
        assert!(said.contains("not all of its ranks are of one job's"), "{said}");
    }
}

#[test]
fn a_rank_that_dies_ends_the_wait_of_the_others() {
    needs!(Capability::Mpi);
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for mpi in all(folder.path()) {
        if mpi.yields {
            // Its launcher loses a connection, and ends the others at once.
            let done = mpi.run(3, 3, &["dies"]);
            assert!(!done.status.success() && done.status.code() != Some(124), "{done:?}");
            continue;
        }
        let done = mpi.run(2, 2, &["dies"]);
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        let ms = said.lines().find_map(|line| line.strip_prefix("rank 0: lost after ")?.strip_suffix(" ms"));
        let ms: f64 = ms.unwrap_or_else(|| panic!("{done:?}")).parse().unwrap();
        // 25 ms, and what other programs take.
        assert!(ms < 2000.0, "{ms}");
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(errors.contains("coho mpi: rank 1 has died, and the others wait for it"), "{errors}");
    }
}

#[test]
fn off_is_off() {
    needs!(Capability::Mpi);
    let folder = tempfile::tempdir().unwrap();
    for mpi in all(folder.path()) {
        let launcher = mpi.launcher.clone();
        let done = Command::new("timeout")
            .args(["-k", "5", PATIENCE])
            .arg(launcher)
            .args(["-n", "2", "env", "COHO_MPI_PRELOAD=off"])
            .arg(format!("LD_PRELOAD={}", library().display()))
            .arg(&mpi.program)
            .arg("none")
            .envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        assert!(!String::from_utf8_lossy(&done.stderr).contains("coho"), "{done:?}");
    }
}
