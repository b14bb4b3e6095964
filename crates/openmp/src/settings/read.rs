//! The settings of a process, from libgomp's answers and from the variables that it does not report.

use std::time::Duration;

use coho_preload::Mask;
use coho_sync::{Algorithm, MAX_THREADS, WaitPolicy};

use super::libgomp::Answers;
use super::{Bind, Kind, LOOK, MOST_LEVELS, Schedule, Settings, Variables};
use crate::query::DEFAULT;
use crate::stack;

/// OpenMP's numbers of schedules.
pub const STATIC: i32 = 1;
pub const DYNAMIC: i32 = 2;
pub const GUIDED: i32 = 3;
pub const AUTO: i32 = 4;
/// Set beside the number.
pub const MONOTONIC: i32 = i32::MIN;

type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The settings of a process, given libgomp's answers and the environment.
pub fn settings(variable: Variable<'_>, libgomp: Answers) -> Settings {
    let processors = libgomp.processors.unwrap_or(1).max(1);
    let (kind, chunk) = libgomp.schedule.unwrap_or((DYNAMIC, 1));
    let bind = match libgomp.bind {
        None | Some(0) => vec![Bind::False],
        Some(first) => list(variable("OMP_PROC_BIND"), policy_named)
            .filter(|list| list.len() > 1)
            .unwrap_or_else(|| vec![policy_numbered(first)]),
    };
    let asked = libgomp.threads.unwrap_or(processors);
    let is = |name: &str, values: &[&str]| {
        variable(name).is_some_and(|text| values.iter().any(|value| text.eq_ignore_ascii_case(value)))
    };
    let is_limited = ["OMP_THREAD_LIMIT", "KMP_DEVICE_THREAD_LIMIT", "KMP_ALL_THREADS", "KMP_MAX_THREADS"]
        .iter()
        .any(|name| variable(name).is_some());
    let variables = Variables {
        threads: threads(asked),
        max_active_levels: libgomp.max_active_levels.unwrap_or(1).min(MOST_LEVELS),
        limit: libgomp.thread_limit.unwrap_or(u32::MAX).max(1),
        schedule: schedule(kind, chunk).unwrap_or(Schedule { kind: Kind::Dynamic, chunk: 1 }),
        schedule_kind: kind,
        schedule_chunk: chunk,
        is_dynamic: libgomp.is_dynamic.unwrap_or(false),
        bind: bind[0],
        device: libgomp.device.unwrap_or(0),
    };
    let places = Some(libgomp.places).filter(|places| bind != [Bind::False] && !places.is_empty());
    let objection = objection(variable, places.is_some());
    Settings {
        variables,
        too_many: (asked > MAX_THREADS as u32).then_some(asked),
        threads: list(variable("OMP_NUM_THREADS"), positive).unwrap_or_default(),
        places,
        bind,
        allocator: libgomp.allocator.unwrap_or(DEFAULT),
        // LLVM's runtime also tells how many threads there can be at all.
        thread_limit: libgomp.thread_limit.filter(|_| is_limited).unwrap_or(u32::MAX),
        teams_thread_limit: variable("KMP_TEAMS_THREAD_LIMIT")
            .and_then(|text| positive(&text))
            .unwrap_or(u32::MAX),
        bounds_tasks: !is("KMP_ENABLE_TASK_THROTTLING", &["0", "false", "off"]),
        stack_bytes: ["KMP_STACKSIZE", "OMP_STACKSIZE", "GOMP_STACKSIZE"]
            .into_iter()
            .find_map(|name| bytes(&variable(name)?))
            .filter(|&bytes| stack::is_enough(bytes)),
        max_task_priority: libgomp.max_task_priority.unwrap_or(0),
        cancels: libgomp.cancels.unwrap_or(false),
        policy: policy(variable, variables.threads <= processors),
        finds_threads: is("COHO_OPENMP_THREADS", &["auto"]),
        displays_affinity: false,
        prepares_members: false,
        algorithm: variable("COHO_OPENMP_BARRIER")
            .and_then(|text| text.parse().ok())
            .unwrap_or(Algorithm::Auto),
        processors,
        allowed: Mask::current().unwrap_or_default(),
        objection,
    }
}

/// A setting that is not supported here. A subset of the hardware is one if threads are not bound to its places.
fn objection(variable: Variable<'_>, are_bound: bool) -> Option<String> {
    let is = |name: &str, value: &str| variable(name).is_some_and(|text| text.eq_ignore_ascii_case(value));
    let is_true = |name: &str| is(name, "true") || is(name, "1");
    [
        ("OMP_TARGET_OFFLOAD is mandatory", is("OMP_TARGET_OFFLOAD", "mandatory")),
        ("OMP_TOOL_LIBRARIES is set", variable("OMP_TOOL_LIBRARIES").is_some()),
        ("KMP_HW_SUBSET is set, and no places", variable("KMP_HW_SUBSET").is_some() && !are_bound),
        // LLVM's runtime binds teams, which have threads of their own there.
        (
            "KMP_TEAMS_THREAD_LIMIT is set, and places",
            variable("KMP_TEAMS_THREAD_LIMIT").is_some() && are_bound,
        ),
        ("KMP_DETERMINISTIC_REDUCTION is set", is_true("KMP_DETERMINISTIC_REDUCTION")),
        ("KMP_FORCE_REDUCTION is set", variable("KMP_FORCE_REDUCTION").is_some()),
        ("KMP_LIBRARY is serial", is("KMP_LIBRARY", "serial")),
    ]
    .into_iter()
    .find_map(|(why, speaks)| speaks.then(|| why.to_owned()))
}

/// How many threads a task asks for if it has been told this number: no more than a region can have, so that programs that
/// lay out memory by it lay out enough, and not more than there is.
pub fn threads(asked: u32) -> u32 {
    asked.clamp(1, MAX_THREADS as u32)
}

/// A schedule by OpenMP's number and chunk.
pub fn schedule(number: i32, chunk: i32) -> Option<Schedule> {
    let chunk = u64::try_from(chunk).unwrap_or(0);
    let (kind, chunk) = match number & !MONOTONIC {
        STATIC => (Kind::Static, chunk),
        DYNAMIC => (Kind::Dynamic, chunk.max(1)),
        GUIDED => (Kind::Guided, chunk.max(1)),
        AUTO => (Kind::Static, 0),
        _ => return None,
    };
    Some(Schedule { kind, chunk })
}

fn policy_numbered(number: i32) -> Bind {
    match number {
        2 => Bind::Primary,
        3 => Bind::Close,
        4 => Bind::Spread,
        _ => Bind::True,
    }
}

fn policy_named(name: &str) -> Option<Bind> {
    match name.to_ascii_lowercase().as_str() {
        "true" => Some(Bind::True),
        "master" | "primary" => Some(Bind::Primary),
        "close" => Some(Bind::Close),
        "spread" => Some(Bind::Spread),
        _ => None,
    }
}

fn positive(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|&number| number > 0 && number <= i32::MAX as u32)
}

fn list<T>(text: Option<String>, part: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    text?.split(',').map(|one| part(one.trim())).collect()
}

/// A size; in KiB unless it says otherwise.
fn bytes(text: &str) -> Option<usize> {
    let text = text.trim().to_ascii_lowercase();
    let (digits, shift) = match text.as_bytes().last()? {
        b'b' => (&text[..text.len() - 1], 0),
        b'k' => (&text[..text.len() - 1], 10),
        b'm' => (&text[..text.len() - 1], 20),
        b'g' => (&text[..text.len() - 1], 30),
        _ => (&*text, 10),
    };
    digits.trim().parse::<usize>().ok()?.checked_mul(1 << shift)
}

/// Threads spin without end only if each has a CPU.
fn policy(variable: Variable<'_>, have_cpus: bool) -> WaitPolicy {
    let lower = |name: &str| variable(name).map(|text| text.to_ascii_lowercase());
    let waits = lower("OMP_WAIT_POLICY").or_else(|| {
        lower("KMP_LIBRARY").filter(|library| library == "turnaround").map(|_| "active".to_owned())
    });
    let spins = variable("GOMP_SPINCOUNT").and_then(|text| spins(&text));
    let spins_for = lower("KMP_BLOCKTIME").and_then(|text| time(&text));
    match (spins, spins_for, waits.as_deref()) {
        (Some(u64::MAX), ..) | (None, Some(Duration::MAX), _) | (None, None, Some("active")) if have_cpus => {
            WaitPolicy::Active
        }
        (Some(0), ..) | (None, Some(Duration::ZERO), _) | (None, None, Some("passive")) => {
            WaitPolicy::Passive
        }
        (Some(looks @ 1..u64::MAX), ..) => WaitPolicy::SpinFor(
            LOOK.saturating_mul(u32::try_from(looks).unwrap_or(u32::MAX)).min(LONGEST_SPIN),
        ),
        (None, Some(time), _) if time < Duration::MAX => WaitPolicy::SpinFor(time.min(LONGEST_SPIN)),
        _ => WaitPolicy::Adaptive,
    }
}

const LONGEST_SPIN: Duration = Duration::from_secs(4);

/// How long threads spin, in milliseconds unless it says otherwise; `infinite` is the longest time.
fn time(text: &str) -> Option<Duration> {
    if text.starts_with("infinit") {
        return Some(Duration::MAX);
    }
    let (digits, unit) = match text.strip_suffix("us") {
        Some(digits) => (digits, Duration::from_micros(1)),
        None => (text.strip_suffix("ms").unwrap_or(text), Duration::from_millis(1)),
    };
    Some(unit.saturating_mul(digits.trim().parse().ok()?))
}

/// A number of looks, with an optional suffix, or `infinite`.
fn spins(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    if text == "infinite" || text == "infinity" {
        return Some(u64::MAX);
    }
    let (digits, factor) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1_000),
        b'm' => (&text[..text.len() - 1], 1_000_000),
        b'g' => (&text[..text.len() - 1], 1_000_000_000),
        b't' => (&text[..text.len() - 1], 1_000_000_000_000),
        _ => (&*text, 1),
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)], libgomp: Answers) -> Settings {
        let look = |name: &str| {
            variables.iter().find(|(given, _)| *given == name).map(|(_, value)| (*value).to_owned())
        };
        settings(&look, libgomp)
    }

    fn four() -> Answers {
        Answers {
            processors: Some(4),
            threads: Some(4),
            thread_limit: Some(i32::MAX as u32),
            ..Answers::default()
        }
    }

    #[test]
    fn defaults_are_libgomps() {
        let settings = with(&[], four());
        assert_eq!(settings.variables.threads, 4);
        assert_eq!(settings.variables.max_active_levels, 1);
        assert_eq!(settings.variables.schedule, Schedule { kind: Kind::Dynamic, chunk: 1 });
        assert_eq!((settings.bind, settings.places, settings.objection), (vec![Bind::False], None, None));
        assert_eq!((settings.thread_limit, settings.policy), (u32::MAX, WaitPolicy::Adaptive));
    }

    #[test]
    fn no_more_threads_than_a_region_can_have() {
        let asked = |threads| with(&[], Answers { threads: Some(threads), ..four() });
        let [some, most, many] = [9, MAX_THREADS as u32, 1_215_752_191].map(asked);
        assert_eq!((some.variables.threads, some.too_many), (9, None));
        assert_eq!((most.variables.threads, most.too_many), (MAX_THREADS as u32, None));
        assert_eq!((many.variables.threads, many.too_many), (MAX_THREADS as u32, Some(1_215_752_191)));
    }

    #[test]
    fn lists_are_by_level() {
        let places: Vec<Mask> = [0, 1].map(|cpu| Mask::from_iter([cpu])).into();
        let libgomp = Answers { bind: Some(4), places: places.clone(), threads: Some(3), ..four() };
        let settings =
            with(&[("OMP_NUM_THREADS", "3, 2"), ("OMP_PROC_BIND", "spread,close")], libgomp.clone());
        assert_eq!(settings.variables.threads, 3);
        assert_eq!(settings.threads_within(1), Some(2));
        assert_eq!(settings.threads_within(2), None);
        assert_eq!(settings.variables.bind, Bind::Spread);
        assert_eq!((settings.bind_within(1), settings.bind_within(2)), (Some(Bind::Close), None));
        assert_eq!(settings.places, Some(places));
        assert_eq!(with(&[], Answers { bind: Some(0), ..libgomp }).places, None);
    }

    #[test]
    fn sizes_spins_and_policies_are_read() {
        assert_eq!(
            (bytes("64"), bytes("2 M"), bytes("9b"), bytes("x")),
            (Some(65536), Some(2 << 20), Some(9), None)
        );
        assert_eq!((spins("2k"), spins("infinite"), spins("")), (Some(2000), Some(u64::MAX), None));
        assert_eq!(with(&[("OMP_WAIT_POLICY", "active")], four()).policy, WaitPolicy::Active);
        let crowd = Answers { threads: Some(9), ..four() };
        assert_eq!(with(&[("OMP_WAIT_POLICY", "active")], crowd).policy, WaitPolicy::Adaptive);
        assert_eq!(with(&[("OMP_WAIT_POLICY", "PASSIVE")], four()).policy, WaitPolicy::Passive);
        for (name, value, policy) in [
            ("KMP_BLOCKTIME", "0", WaitPolicy::Passive),
            ("KMP_BLOCKTIME", "infinite", WaitPolicy::Active),
            ("KMP_BLOCKTIME", "20", WaitPolicy::SpinFor(Duration::from_millis(20))),
            ("KMP_BLOCKTIME", "7us", WaitPolicy::SpinFor(Duration::from_micros(7))),
            ("KMP_LIBRARY", "turnaround", WaitPolicy::Active),
        ] {
            assert_eq!(with(&[(name, value)], four()).policy, policy, "{name}={value}");
        }
    }

    #[test]
    fn teams_have_a_limit_if_it_is_a_number() {
        let limit = |text| with(&[("KMP_TEAMS_THREAD_LIMIT", text)], four()).teams_thread_limit;
        assert_eq!([limit("6"), limit("0"), limit("many")], [6, u32::MAX, u32::MAX]);
    }

    #[test]
    fn what_cannot_be_had_is_left_to_libgomp() {
        for (name, value) in [("OMP_TARGET_OFFLOAD", "mandatory"), ("OMP_TOOL_LIBRARIES", "x")] {
            assert!(with(&[(name, value)], four()).objection.is_some(), "{name}");
        }
    }
}
