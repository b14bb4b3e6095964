//! Idle states and governors on a tree of plain files: what is read, changed, and put back whatever happens.

use std::fs;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{PermissionsExt, symlink};

use coho_probe::idle::control::{Held, Plan, Wish, restore};
use coho_probe::idle::{Options, Root};
use coho_testing::Tree;

use crate::measured;

fn disable(names: &[&str]) -> Wish {
    Wish { disable: names.iter().map(|name| (*name).to_owned()).collect(), ..Wish::default() }
}

/// A wish that concerns every kind of file.
fn everything() -> Wish {
    Wish { governor: Some("performance".into()), ..disable(&["C6"]) }
}

fn root(tree: &Tree) -> Root {
    Root::at(tree.path(""))
}

fn apply(tree: &Tree, wish: &Wish) -> Result<Held, String> {
    let plan = Plan::of(&root(tree), wish).map_err(|error| error.to_string())?;
    Held::apply(&root(tree), &plan).map_err(|error| error.to_string())
}

#[test]
fn states_are_told_by_name_whatever_their_number() {
    let tree = Tree::default();
    let idle = measured(&Options { root: root(&tree), quick: true, ..Options::default() }).unwrap();
    assert_eq!((idle.driver.as_deref(), idle.governor.as_deref()), (Some("intel_idle"), Some("menu")));
    let names: Vec<_> = idle.states.iter().map(|state| state.name.as_str()).collect();
    assert_eq!(names, ["POLL", "C1", "C1E", "C6"]);
    let c6 = &idle.states[3];
    assert_eq!((c6.latency_us, c6.residency_us, c6.usage, c6.time_us), (170, 510, 28, 28_000));
    assert_eq!((c6.cpus.as_slice(), c6.disabled_on.as_slice()), (&[0, 1, 2, 3][..], &[3][..]));
    assert_eq!(idle.states[2].cpus, [0, 1]);
    assert_eq!(idle.frequency.governors["powersave"], [0, 1, 2, 3]);
    assert_eq!((idle.frequency.boost, idle.frequency.limits_khz), (Some(true), Some((800_000, 3_500_000))));
    assert!(idle.controls[0].status == "available" && idle.controls[2].status == "available");
    assert!(
        idle.wakeups.iter().all(|wakeup| wakeup.ns.as_ref().is_some_and(|ns| ns.median > 0.0)),
        "{idle:?}"
    );
}

#[test]
fn where_nothing_is_there_each_thing_has_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { root: Root::at(folder.path()), quick: true, ..Options::default() };
    let idle = measured(&options).unwrap();
    assert!(idle.states.is_empty() && idle.frequency.governors.is_empty());
    for name in ["idle states", "frequency", "cpu_dma_latency", "cpuidle driver", "boost"] {
        assert!(idle.method.not_available.contains_key(name), "{name}: {idle:?}");
    }
    assert!(idle.controls.iter().all(|control| control.status.starts_with("not available: ")), "{idle:?}");
    for wish in [disable(&["C6"]), Wish { governor: Some("performance".into()), ..Wish::default() }] {
        let error = Plan::of(&options.root, &wish).unwrap_err().to_string();
        assert!(error.contains("not available"), "{error}");
    }
}

#[test]
fn what_is_set_is_put_back_byte_by_byte() {
    let tree = Tree::default();
    let before = tree.contents();
    let held = apply(&tree, &everything()).unwrap();
    assert!(tree.disabled(0, 3) && tree.disabled(1, 3) && tree.disabled(2, 2), "by name, not by number");
    assert!(!tree.disabled(0, 2) && !tree.disabled(2, 1));
    assert_eq!(tree.read("sys/devices/system/cpu/cpufreq/policy2/scaling_governor"), "performance\n");
    assert!(tree.journal().exists());
    held.restore().unwrap();
    assert_eq!(tree.contents(), before);
    assert!(!tree.journal().exists());
    // Also where it is only dropped.
    drop(apply(&tree, &everything()).unwrap());
    assert_eq!(tree.contents(), before);
}

#[test]
fn states_are_chosen_by_latency_and_on_some_cpus_only() {
    let tree = Tree::default();
    let slow = Wish { max_latency_us: Some(5), cpus: Some("1-2".parse().unwrap()), ..Wish::default() };
    let held = apply(&tree, &slow).unwrap();
    let disabled: Vec<_> = (0..4).flat_map(|cpu| (0..3).map(move |state| (cpu, state))).collect();
    let disabled: Vec<_> = disabled.into_iter().filter(|&(cpu, state)| tree.disabled(cpu, state)).collect();
    assert_eq!(disabled, [(1, 2), (2, 2), (3, 2)], "CPU 1's C1E, CPU 2's C6; CPU 3's was disabled before");
    assert!(tree.disabled(1, 3) && !tree.disabled(0, 3));
    held.restore().unwrap();
}

#[test]
fn what_is_not_there_is_an_error_and_changes_nothing() {
    let tree = Tree::default();
    let before = tree.contents();
    assert!(apply(&tree, &disable(&["C7"])).unwrap_err().contains("C1, C1E, C6, POLL"));
    let governor = Wish { governor: Some("ondemand".into()), ..Wish::default() };
    assert!(apply(&tree, &governor).unwrap_err().contains("performance, powersave"));
    // A plain file in the device's place would keep what is written to it.
    tree.write("dev/cpu_dma_latency", "none");
    let hold = Wish { dma_latency_us: Some(0), ..Wish::default() };
    assert!(apply(&tree, &hold).unwrap_err().contains("not a device"));
    assert_eq!((tree.contents(), tree.read("dev/cpu_dma_latency")), (before, "none".into()));
}

#[test]
fn a_failure_half_way_puts_the_first_half_back() {
    let tree = Tree::default();
    let plan = Plan::of(&root(&tree), &everything()).unwrap();
    // A link in a file's place is not followed.
    let victim = tree.path("victim");
    fs::write(&victim, "0\n").unwrap();
    let file = tree.path("sys/devices/system/cpu/cpu2/cpuidle/state2/disable");
    fs::remove_file(&file).unwrap();
    symlink(&victim, &file).unwrap();
    let before = tree.contents();
    let error = Held::apply(&root(&tree), &plan).unwrap_err().to_string();
    assert!(error.contains("cpu2"), "{error}");
    fs::remove_file(&file).unwrap();
    fs::write(&file, "0\n").unwrap();
    restore(&root(&tree)).unwrap();
    assert_eq!(tree.contents(), before);
    assert_eq!(fs::read_to_string(victim).unwrap(), "0\n");
}

#[test]
fn one_run_at_a_time() {
    let tree = Tree::default();
    let held = apply(&tree, &disable(&["C6"])).unwrap();
    assert!(apply(&tree, &disable(&["C1"])).unwrap_err().contains("another coho"));
    assert!(restore(&root(&tree)).unwrap_err().to_string().contains("another coho"));
    // Another thread's child has the same file open until it calls `exec`.
    let lock = fs::canonicalize(tree.path("run/coho/idle.lock")).unwrap();
    let mut open = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    let path = open.find(|path| fs::read_link(path).is_ok_and(|file| file == lock)).unwrap();
    let number = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
    // SAFETY: `held` keeps it open.
    let child = unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned().unwrap();
    held.restore().unwrap();
    assert_eq!(restore(&root(&tree)).unwrap(), 0);
    drop(child);
}

#[test]
fn a_journal_that_another_could_have_written_is_not_believed() {
    let tree = Tree::default();
    restore(&root(&tree)).unwrap();
    let forged = |path: &str, mode: u32| {
        fs::write(tree.journal(), format!(r#"[{{"path": "{path}", "text": "evil"}}]"#)).unwrap();
        fs::set_permissions(tree.journal(), fs::Permissions::from_mode(mode)).unwrap();
        restore(&root(&tree)).unwrap_err().to_string()
    };
    tree.write("etc/passwd", "root");
    assert!(forged("etc/passwd", 0o600).contains("never changes"));
    assert!(
        forged("sys/devices/system/cpu/cpu0/cpuidle/../../../../../../etc/passwd", 0o600).contains("never")
    );
    assert!(forged("sys/devices/system/cpu/cpu0/cpuidle/state0/disable", 0o644).contains("only this user"));
    assert_eq!(tree.read("etc/passwd"), "root");
    fs::remove_file(tree.journal()).unwrap();
    symlink(tree.path("etc/passwd"), tree.journal()).unwrap();
    assert!(restore(&root(&tree)).is_err(), "a link is not followed");
    fs::write(tree.path("etc/journal"), "{").unwrap();
    fs::remove_file(tree.journal()).unwrap();
    fs::set_permissions(tree.path("run/coho"), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(restore(&root(&tree)).unwrap_err().to_string().contains("others may write"));
}
