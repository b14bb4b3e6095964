//! What the facts mean: what is lacking, what it costs, what would change it.

use coho_counters::Error;
use coho_profile::CacheType;

use super::facts::{Counting, Facts};
use super::{Row, State};

/// From this share of their time on, what the hypervisor takes from CPUs is worth a line.
const STOLEN: f64 = 0.01;

/// A row for each thing that coho needs.
pub fn rows(facts: &Facts) -> Vec<Row> {
    let rows = [
        Some(cpus(facts)),
        Some(quota(facts)),
        Some(steal(facts)),
        Some(moves(facts)),
        Some(counters(facts)),
        reads(facts),
        events(facts),
        kernel(facts),
        Some(steps(facts)),
        Some(huge(facts)),
        Some(types(facts)),
        Some(idle(facts)),
        Some(clock(facts)),
        Some(mpi(facts)),
        Some(state(facts)),
        Some(preload(facts)),
    ];
    rows.into_iter().flatten().collect()
}

fn fine(what: &'static str, why: impl Into<String>) -> Row {
    Row { what, state: State::Fine, why: why.into(), costs: String::new(), fix: String::new() }
}

/// A row of something that is lacking.
fn lacking(
    what: &'static str,
    state: State,
    why: impl Into<String>,
    costs: impl Into<String>,
    fix: impl Into<String>,
) -> Row {
    Row { what, state, why: why.into(), costs: costs.into(), fix: fix.into() }
}

/// The first of several reasons: what follows says what to do, which the row says itself.
fn first(why: &str) -> String {
    why.trim_start_matches("not available: ").split("; ").next().unwrap_or_default().to_owned()
}

fn cpus(facts: &Facts) -> Row {
    let mask = match &facts.mask {
        Ok(mask) => mask.intersection(&facts.online),
        Err(why) => return lacking("CPUs", State::Unknown, why, "everything that is measured", ""),
    };
    let (all, here) = (facts.online.len(), mask.len());
    let costs = match here {
        0 | 1 => match &facts.needs_two[..] {
            [one, others @ ..] => format!("what takes two CPUs: {one} and {} more", others.len()),
            [] => String::new(),
        },
        _ => format!("pairs and placements of the other {}", all - here),
    };
    let is_few = if here < 2 { State::Missing } else { State::Limited };
    if !facts.reachable.is_subset(&mask) {
        let why = format!("{here} of {all} ({mask}): the inherited mask hides others of the cpuset");
        let fix = format!("`taskset -c {} coho …`, or `--cpus {0}`", facts.reachable);
        return lacking("CPUs", is_few, why, costs, fix);
    }
    if here < all {
        let why = format!("{here} of {all} ({mask}): the cpuset has no others");
        let fix = "a wider group (`docker run --cpuset-cpus`, systemd's `AllowedCPUs=`)";
        return lacking("CPUs", is_few, why, costs, fix);
    }
    match here {
        0 | 1 => lacking("CPUs", is_few, "one", costs, "a machine with several"),
        _ => fine("CPUs", format!("all {all}")),
    }
}

fn quota(facts: &Facts) -> Row {
    let cpus = facts.mask.as_ref().map_or(0, |mask| mask.intersection(&facts.online).len());
    match facts.quota.filter(|&quota| quota < cpus as f64) {
        None => fine("quota", "none"),
        Some(quota) => lacking(
            "quota",
            State::Limited,
            format!("CPU time for {quota} of {cpus} CPUs"),
            "steady times of more threads than that; the total of coho share",
            "a group without one (`docker run --cpus`, systemd's `CPUQuota=`)",
        ),
    }
}

fn steal(facts: &Facts) -> Row {
    match (facts.stolen, &facts.hypervisor) {
        (Some(share), _) if share >= STOLEN => lacking(
            "steal",
            State::Limited,
            format!("the host gave {:.0} % of the CPUs' time since boot to others", 100.0 * share),
            "narrow intervals in little time",
            "CPUs of its own: a dedicated host, or fewer guests on it",
        ),
        (Some(_), _) | (None, None) => fine("steal", "less than 1 % since boot"),
        (None, Some(_)) => lacking(
            "steal",
            State::Unknown,
            "the kernel does not count what the host takes",
            "telling a disturbed sample by it",
            "",
        ),
    }
}

fn moves(facts: &Facts) -> Row {
    const WHAT: &str = "moves";
    match &facts.moves {
        Err(why) => lacking(
            WHAT,
            State::Unknown,
            first(why),
            "whether figures of this survey hold in the next",
            "a state folder that can be read (below)",
        ),
        Ok(None) if facts.hypervisor.is_none() => fine(WHAT, "no hypervisor that could move CPUs"),
        Ok(None) => lacking(
            WHAT,
            State::Unknown,
            "fewer than two surveys of this host since boot are kept",
            "whether the host moves the CPUs, and so how long figures hold",
            "`coho survey --quick` now and later",
        ),
        Ok(Some(moves)) if moves.differ == 0 => {
            fine(WHAT, format!("none seen in {} surveys since boot", moves.surveys + 1))
        }
        Ok(Some(moves)) => lacking(
            WHAT,
            State::Limited,
            format!("the latest survey differs from {} of {} others since boot", moves.differ, moves.surveys),
            "figures and placements hold for a while only",
            "on the host: the guest's CPUs pinned (`virsh vcpupin`), or metal",
        ),
    }
}

fn counters(facts: &Facts) -> Row {
    const WHAT: &str = "counters";
    let Counting::No(error) = &facts.counting else { return fine(WHAT, "can be opened") };
    let fix = match error {
        Error::NoCounters => "on the host: a virtual PMU (QEMU: `-cpu host,pmu=on`), or metal",
        Error::NotPermitted { paranoid: Some(..=2), .. } => {
            "in a container: perf_event_open (`docker run --cap-add PERFMON`)"
        }
        Error::NotPermitted { .. } => "`sysctl kernel.perf_event_paranoid=2` as root",
        Error::TooManyFiles => "`ulimit -n` with more files",
        _ => "",
    };
    let costs = "events in `coho calls` and `coho counters`; cache misses of trials";
    lacking(WHAT, State::Missing, first(&error.to_string()), costs, fix)
}

fn reads(facts: &Facts) -> Option<Row> {
    const WHAT: &str = "RDPMC";
    match &facts.counting {
        Counting::No(_) => None,
        Counting::ByKernel(error) => Some(lacking(
            WHAT,
            State::Missing,
            first(&error.to_string()),
            "counts without a system call: events of single calls",
            if cfg!(target_arch = "aarch64") {
                "`sysctl kernel.perf_user_access=1` as root"
            } else {
                "`echo 1 >/sys/devices/cpu/rdpmc` as root"
            },
        )),
        Counting::Yes { trapped: true, .. } => Some(lacking(
            WHAT,
            State::Limited,
            "a hypervisor traps each read",
            "events of single calls: coho counts over many instead",
            "nothing in the guest: a metal machine",
        )),
        Counting::Yes { trapped: false, .. } => Some(fine(WHAT, "not trapped")),
    }
}

fn events(facts: &Facts) -> Option<Row> {
    const WHAT: &str = "events";
    let Counting::Yes { failed, .. } = &facts.counting else { return None };
    Some(match failed {
        Ok(failed) if failed.is_empty() => fine(WHAT, "all passed their self-test"),
        Ok(failed) => lacking(
            WHAT,
            State::Limited,
            format!("none passed its self-test for {}", failed.join(", ")),
            "these columns of `coho calls`",
            "`coho counters --full` says why each failed",
        ),
        Err(why) => lacking(WHAT, State::Unknown, first(why), "events in `coho calls`", ""),
    })
}

fn kernel(facts: &Facts) -> Option<Row> {
    const WHAT: &str = "kernel";
    if matches!(facts.counting, Counting::No(_)) {
        return None;
    }
    Some(match &facts.kernel_mode {
        Ok(()) => fine(WHAT, "its part may be counted"),
        Err(error) => lacking(
            WHAT,
            State::Missing,
            first(&error.to_string()),
            "the kernel's part in `coho calls`",
            "`sysctl kernel.perf_event_paranoid=1` as root",
        ),
    })
}

fn steps(facts: &Facts) -> Row {
    const WHAT: &str = "ptrace";
    let Err(why) = &facts.steps else { return fine(WHAT, "programs can be single-stepped") };
    let fix = if why.contains("yama") {
        "`sysctl kernel.yama.ptrace_scope=1` as root"
    } else {
        "in a container: ptrace (`docker run --cap-add SYS_PTRACE`)"
    };
    let costs = "instructions and lines in `coho calls`, entries in `coho counters`";
    lacking(WHAT, State::Missing, first(why), costs, fix)
}

fn huge(facts: &Facts) -> Row {
    const WHAT: &str = "huge pages";
    let reserved = "`coho memory --pages reserved`";
    match (&facts.huge.transparent, &facts.huge.reserved) {
        (Ok(when), _) if when == "never" => lacking(
            WHAT,
            State::Missing,
            "the kernel gives none",
            "latencies of `coho memory` without what small pages cost",
            "`echo madvise >/sys/kernel/mm/transparent_hugepage/enabled` as root",
        ),
        (Err(why), _) => lacking(
            WHAT,
            State::Unknown,
            why,
            "whether latencies of `coho memory` hold what small pages cost",
            "",
        ),
        (Ok(_), Ok(0)) => lacking(
            WHAT,
            State::Limited,
            "given where asked for, but none are reserved",
            reserved,
            "`sysctl vm.nr_hugepages=512` as root, or more for larger buffers",
        ),
        (Ok(_), Ok(pages)) => fine(WHAT, format!("given where asked for, and {pages} reserved")),
        (Ok(_), Err(why)) => lacking(WHAT, State::Unknown, why, reserved, ""),
    }
}

fn types(facts: &Facts) -> Row {
    const WHAT: &str = "types";
    let types = [CacheType::WriteCombining, CacheType::Uncached]
        .into_iter()
        .filter(|name| !facts.types.contains(name))
        .map(CacheType::name)
        .collect::<Vec<_>>();
    if types.is_empty() {
        return fine(WHAT, "write-combining and uncached memory");
    }
    lacking(
        WHAT,
        State::Missing,
        format!("no memory of type {} passes its self-test", types.join(" or ")),
        format!("`coho memory --type {}`", types.join(",").to_lowercase()),
        "as root, load the module coho_mem (kernel/README.md)",
    )
}

fn idle(facts: &Facts) -> Row {
    const WHAT: &str = "idle";
    if facts.idle.states.is_empty() {
        let fix = match facts.hypervisor {
            Some(_) => "on the host: idle states (QEMU: `-overcommit cpu-pm=on`), or metal",
            None => "a kernel with cpuidle, started without `cpuidle.off=1` and `idle=`",
        };
        let costs = "which states CPUs reach, and `--disable`, in `coho idle`";
        return lacking(WHAT, State::Missing, "the kernel has no idle states", costs, fix);
    }
    settable(WHAT, "idle states", "`--disable` and `--max-latency` of `coho idle`", facts)
}

fn clock(facts: &Facts) -> Row {
    const WHAT: &str = "clock";
    if facts.idle.frequency.governors.is_empty() {
        let fix = match facts.hypervisor {
            Some(_) => "nothing in the guest: a metal machine",
            None => "the CPU's cpufreq driver (`modprobe acpi_cpufreq` as root)",
        };
        let costs = "what sets the clock, and `--governor`, in `coho idle`";
        return lacking(WHAT, State::Missing, "the kernel has no frequency policy", costs, fix);
    }
    settable(WHAT, "governor", "`--governor` of `coho idle`", facts)
}

/// Whether this user may set what is there, by the name of its control.
fn settable(what: &'static str, control: &str, costs: &str, facts: &Facts) -> Row {
    let status = facts.idle.controls.iter().find(|one| one.name == control).map(|one| one.status.as_str());
    match status {
        Some("available") => fine(what, "can be set"),
        Some(why) => {
            lacking(what, State::Limited, first(why), costs, "`sudo coho idle …`, outside a container")
        }
        None => lacking(what, State::Unknown, "nothing says whether it can be set", costs, ""),
    }
}

fn mpi(facts: &Facts) -> Row {
    const WHAT: &str = "MPI";
    let Err(why) = &facts.mpi else { return fine(WHAT, "mpicc and mpiexec") };
    let what = why.split(" (").next().unwrap_or_default();
    let fix = "`apt install mpich libmpich-dev`, or another MPI";
    lacking(WHAT, State::Missing, what, "`coho calls --set mpi`", fix)
}

fn state(facts: &Facts) -> Row {
    const WHAT: &str = "state";
    let Err(why) = &facts.state else { return fine(WHAT, "a folder for it") };
    let costs = "whether the host moves CPUs; the outcomes of earlier trials";
    lacking(WHAT, State::Missing, why, costs, "`export XDG_STATE_HOME=…`: a folder that is yours alone")
}

fn preload(facts: &Facts) -> Row {
    const WHAT: &str = "preload";
    let Err(lack) = &facts.preload else { return fine(WHAT, "its libraries can be loaded") };
    lacking(
        WHAT,
        State::Missing,
        &lack.why,
        "`coho share`; of `coho run`: `--openmp`, `--delegate` and `--per-…`",
        lack.fix,
    )
}

#[cfg(test)]
mod tests {
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
}
