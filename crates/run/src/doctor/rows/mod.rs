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
mod tests;
