use coho_probe::idle::{self, Options, Root};
use coho_testing::Tree;
use coho_topology::CpuSet;

use super::*;
use crate::doctor::{HugePages, Moves};
use crate::preload;

/// A machine and a user that lack nothing.
fn whole() -> Facts {
    let tree = Tree::default();
    Facts {
        online: CpuSet::up_to(8),
        mask: Ok(CpuSet::up_to(8)),
        reachable: CpuSet::up_to(8),
        quota: None,
        needs_two: vec!["times between CPUs", "barriers"],
        hypervisor: Some("KVM".into()),
        stolen: Some(0.0),
        moves: Ok(Some(Moves { surveys: 3, differ: 0 })),
        counting: Counting::Yes { trapped: false, failed: Ok(Vec::new()) },
        kernel_mode: Ok(()),
        steps: Ok(()),
        idle: idle::told(&Options { root: Root::at(tree.path("")), ..Options::default() }),
        huge: HugePages { transparent: Ok("madvise".into()), reserved: Ok(4) },
        types: vec![CacheType::WriteBack, CacheType::WriteCombining, CacheType::Uncached],
        mpi: Ok(()),
        state: Ok(()),
        preload: Ok(()),
    }
}

fn forbidden(paranoid: Option<i32>) -> Error {
    Error::NotPermitted { event: "instructions".into(), paranoid }
}

/// A machine and a user that lack everything at once.
fn bare() -> Facts {
    Facts {
        mask: Ok(CpuSet::up_to(1)),
        quota: Some(0.5),
        stolen: Some(0.25),
        moves: Ok(Some(Moves { surveys: 63, differ: 31 })),
        counting: Counting::No(forbidden(Some(3))),
        kernel_mode: Err(forbidden(Some(3))),
        steps: Err("not available: ptrace: Operation not permitted (os error 1)".into()),
        idle: idle::told(&Options { root: Root::at("/nowhere"), ..Options::default() }),
        huge: HugePages { transparent: Ok("never".into()), reserved: Ok(0) },
        types: vec![CacheType::WriteBack],
        mpi: Err("no mpicc (Debian: mpich libmpich-dev)".into()),
        state: Err("no state is kept: others may write /home/user".into()),
        preload: Err(preload::Error::Missing("libcoho_pin.so", "/usr/lib/coho".into()).into()),
        ..whole()
    }
}

/// The one row that is not fine once a whole machine is changed.
#[track_caller]
fn only(change: impl FnOnce(&mut Facts)) -> Row {
    let mut facts = whole();
    change(&mut facts);
    let mut lacking = rows(&facts).into_iter().filter(|row| row.state != State::Fine);
    let row = lacking.next().expect("something is lacking");
    assert_eq!(lacking.next(), None);
    row
}

#[test]
fn a_machine_that_lacks_nothing_has_fine_rows_alone() {
    let rows = rows(&whole());
    assert!(rows.len() > 14, "{rows:?}");
    for row in rows {
        assert!(row.state == State::Fine && row.costs.is_empty() && row.fix.is_empty(), "{row:?}");
    }
}

#[test]
fn where_everything_is_lacking_each_row_keeps_to_three_lines() {
    // Behind a label, at 80 columns.
    const LETTERS: usize = 80 - 11;
    let rows = rows(&bare());
    assert!(rows.iter().all(|row| row.state != State::Fine), "{rows:?}");
    assert!(3 * rows.len() <= 40, "{}", rows.len());
    for text in rows.iter().flat_map(|row| [&row.why, &row.costs, &row.fix]) {
        assert!((1..=LETTERS).contains(&text.chars().count()), "{text}");
    }
}

#[test]
fn the_mask_is_told_from_the_cpuset_and_from_a_machine_of_one_cpu() {
    let mask = only(|facts| facts.mask = Ok("0-1".parse().unwrap()));
    assert!(mask.state == State::Limited && mask.why.starts_with("2 of 8 (0-1): the inherited mask"));
    assert!(mask.fix.contains("taskset -c 0-7") && mask.costs.contains("other 6"), "{mask:?}");
    let cpuset = only(|facts| {
        facts.mask = Ok("0".parse().unwrap());
        facts.reachable = "0".parse().unwrap();
    });
    assert!(cpuset.state == State::Missing && cpuset.fix.contains("AllowedCPUs="), "{cpuset:?}");
    assert_eq!(cpuset.costs, "what takes two CPUs: times between CPUs and 1 more");
    let one = only(|facts| {
        let cpu = CpuSet::up_to(1);
        (facts.online, facts.mask, facts.reachable) = (cpu.clone(), Ok(cpu.clone()), cpu);
    });
    assert_eq!((one.state, one.why.as_str()), (State::Missing, "one"));
}

#[test]
fn what_is_not_preloaded_has_the_remedy_of_its_reason() {
    let remedy = |error: preload::Error| only(|facts| facts.preload = Err(error.into())).fix;
    assert!(remedy(preload::Error::Missing("libcoho_pin.so", "/".into())).contains("make install"));
    let unpacked = preload::Unpacked::NoExec("/home".into());
    assert!(remedy(preload::Error::Packed("libcoho_pin.so", unpacked)).contains("XDG_STATE_HOME"));
    let shared = vec![("/tmp/libcoho_pin.so".into(), "others may write /tmp".to_owned())];
    assert!(remedy(preload::Error::NotTrusted(shared)).contains("nobody but you"));
    assert!(remedy(preload::Error::Path("/a b".into())).contains("no space"));
}

#[test]
fn a_quota_counts_where_it_is_less_than_the_cpus() {
    let row = only(|facts| facts.quota = Some(1.5));
    assert_eq!((row.what, row.why.as_str()), ("quota", "CPU time for 1.5 of 8 CPUs"));
    assert_eq!(rows(&Facts { quota: Some(8.0), ..whole() }), rows(&whole()));
}

#[test]
fn each_reason_why_nothing_is_counted_has_its_remedy() {
    let remedy = |error| only(|facts| facts.counting = Counting::No(error)).fix;
    assert!(remedy(Error::NoCounters).contains("pmu=on"));
    assert!(remedy(forbidden(Some(3))).contains("perf_event_paranoid=2"));
    assert!(remedy(forbidden(Some(1))).contains("--cap-add PERFMON"), "the level allows it");
    let by_kernel =
        only(|facts| facts.counting = Counting::ByKernel(Error::Lost(coho_counters::Lost::NotPermitted)));
    assert!(by_kernel.what == "RDPMC" && by_kernel.fix.ends_with("as root"), "{by_kernel:?}");
    let trapped = only(|facts| facts.counting = Counting::Yes { trapped: true, failed: Ok(Vec::new()) });
    assert_eq!((trapped.what, trapped.state), ("RDPMC", State::Limited));
    let failed =
        only(|facts| facts.counting = Counting::Yes { trapped: false, failed: Ok(vec!["L1IM", "L3M"]) });
    assert!(failed.why.ends_with("L1IM, L3M"), "{failed:?}");
    let kernel = only(|facts| facts.kernel_mode = Err(forbidden(Some(2))));
    assert!(kernel.fix.contains("perf_event_paranoid=1"), "{kernel:?}");
}

#[test]
fn surveys_that_differ_are_told_from_ones_that_are_missing() {
    let moved = only(|facts| facts.moves = Ok(Some(Moves { surveys: 3, differ: 1 })));
    assert!(moved.state == State::Limited && moved.why.contains("1 of 3"), "{moved:?}");
    assert_eq!(only(|facts| facts.moves = Ok(None)).state, State::Unknown);
    let metal = Facts { moves: Ok(None), hypervisor: None, ..whole() };
    assert!(rows(&metal).iter().all(|row| row.state == State::Fine), "nobody is there to move them");
}

#[test]
fn idle_states_and_the_clock_that_only_root_may_set_say_so() {
    let refused = |at: usize| {
        only(|facts| {
            let why = "not available: /sys/x is not writable; run as root";
            facts.idle.controls[at].status = why.into();
        })
    };
    for (at, what) in [(0, "idle"), (2, "clock")] {
        let row = refused(at);
        assert_eq!((row.what, row.why.as_str()), (what, "/sys/x is not writable"));
        assert!(row.fix.starts_with("`sudo coho idle"), "{row:?}");
    }
    assert!(only(|facts| facts.idle.states.clear()).fix.contains("cpu-pm=on"));
}

#[test]
fn huge_pages_are_read_below_a_root() {
    let root = tempfile::tempdir().unwrap();
    let none = HugePages::below(root.path());
    assert!(none.transparent.is_err() && none.reserved.is_err(), "{none:?}");
    for (path, text) in [
        ("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n"),
        ("proc/sys/vm/nr_hugepages", "12\n"),
    ] {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let huge = HugePages::below(root.path());
    assert_eq!((huge.transparent.as_deref(), &huge.reserved), (Ok("never"), &Ok(12)));
    assert!(only(|facts| facts.huge = huge).fix.contains("echo madvise"));
}
