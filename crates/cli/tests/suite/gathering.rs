//! How the profiles of many machines come together: what `docs/fleet.md` and `packaging` give, run or checked by the tools that
//! they are for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use coho_profile::Profile;
use coho_testing::{Capability, needs};

/// The page's line that begins so, with another folder and without most of the survey, and what it writes.
fn gathered_by(launcher: &str, change: impl Fn(String) -> String) -> String {
    let page = include_str!("../../../../docs/fleet.md");
    let mut lines = page.lines().filter(|line| line.starts_with(launcher));
    let (Some(line), None) = (lines.next(), lines.next()) else { panic!("one line begins with {launcher}") };
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().join("shared");
    fs::create_dir(&shared).unwrap();
    assert!(line.contains("-o /shared/$(hostname).json"), "{line}");
    let shorter = "survey --quick --no-history --time-limit 1 -o";
    let line = change(line.replace("survey --quick -o", shorter))
        .replace("coho ", &format!("{} ", env!("CARGO_BIN_EXE_coho")))
        .replace("/shared/", &format!("{}/", shared.display()));
    fs::write(folder.path().join("hosts"), ":\n").unwrap();
    let _alone = coho_testing::alone();
    let mut shell = Command::new("sh");
    // Open MPI otherwise refuses root.
    let shell = shell.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let done =
        shell.args(["-c", &line]).env("HOME", folder.path()).current_dir(folder.path()).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{line}: {said}");
    let files = fs::read_dir(&shared).unwrap().map(|one| one.unwrap().path());
    let profiles: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
    let [only] = &profiles[..] else { panic!("{line}: {profiles:?}: {said}") };
    assert!(Profile::read(only).unwrap().host.is_some());
    only.file_stem().unwrap().to_string_lossy().into_owned()
}

fn hostname() -> String {
    String::from_utf8(Command::new("hostname").output().unwrap().stdout).unwrap().trim().to_owned()
}

#[test]
fn mpiexec_gathers() {
    needs!(Capability::OpenMpi);
    let open_mpi = |line: String| line.replace("mpiexec ", "$(command -v orterun || command -v prterun) ");
    assert_eq!(gathered_by("mpiexec ", open_mpi), hostname());
}

/// The only host of its list is this machine itself, without ssh.
#[test]
fn parallel_gathers() {
    needs!(Capability::Parallel);
    assert_eq!(gathered_by("parallel ", |line| line), hostname());
}

/// A worker that runs the command here stands in for ssh.
#[test]
fn clush_gathers() {
    needs!(Capability::Clush);
    let here = |line: String| line.replace("clush -a ", "clush -R exec -w here ");
    assert_eq!(gathered_by("clush ", here), hostname());
}

fn packaged(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name)
}

#[test]
fn systemd_takes_the_timer_and_its_service() {
    needs!(Capability::SystemdAnalyze);
    let folder = tempfile::tempdir().unwrap();
    let mut units = Vec::new();
    for name in ["coho-survey.timer", "coho-survey.service"] {
        let text = fs::read_to_string(packaged("systemd").join(name)).unwrap();
        let text = text.replace("/usr/bin/coho", env!("CARGO_BIN_EXE_coho"));
        units.push(folder.path().join(name));
        fs::write(units.last().unwrap(), text).unwrap();
    }
    let done = Command::new("systemd-analyze").arg("verify").args(&units).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success() && !said.contains("coho-survey"), "{said}");
}

#[test]
fn kubernetes_takes_the_daemon_set() {
    needs!(Capability::KubernetesValidate);
    let manifest = packaged("kubernetes/daemonset.yaml");
    let done = Command::new("kubernetes-validate").arg("--strict").arg(manifest).output().unwrap();
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
}

/// Slurm drains a node whose prolog fails: that of an odd node does, and no other.
#[test]
fn the_prolog_fails_on_an_odd_node_alone() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["coho", "logger"] {
        let program = folder.path().join(name);
        fs::write(&program, "#!/bin/sh\n[ \"${0##*/}\" = logger ] || exit $STATUS\n").unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    for (status, fails) in [(0, false), (1, false), (3, true), (4, false), (127, false)] {
        let mut prolog = Command::new("sh");
        let prolog =
            prolog.arg(packaged("slurm/prolog.sh")).env("PATH", &path).env("STATUS", status.to_string());
        assert_eq!(!prolog.status().unwrap().success(), fails, "{status}");
    }
}
