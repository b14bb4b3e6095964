//! Events of a call by the paper's columns, for tables on pages and terminals.

use coho_profile::published::shimosawa_hori_ishikawa;
use coho_profile::{CacheState, Call, Calls, Counters, Counts, Estimate, Judgement, Side};

use super::text;
use coho_model::judge;

/// The columns of Shimosawa, Hori & Ishikawa's Tables 5 to 7, with its abbreviations; Table 4 has all but the last.
pub const COLUMNS: [&str; 9] = ["L1DR", "L1DM", "L1IM", "L2M", "L3M", "INS", "CYCLE", "STALL", "CPI"];

/// What the columns count.
pub const MEANING: &str = "L1DR: references to the level-1 data cache; L1DM, L1IM, L2M, L3M: lines missed in the \
                           level-1 data and instruction, level-2 and last-level cache; INS: instructions; STALL: \
                           share of the cycles in which nothing was executed; CPI: cycles per instruction";

/// The sets of calls with their tables in the paper and what these say.
pub const SETS: [(&str, &str); 4] = [
    ("syscalls", "System calls (Shimosawa, Hori & Ishikawa, Table 5)"),
    ("libc", "Functions of the C library (Shimosawa, Hori & Ishikawa, Table 6)"),
    ("mpi", "MPI functions (Shimosawa, Hori & Ishikawa, Table 7)"),
    ("extra", "Calls asked for"),
];

/// Figures in the order of [`COLUMNS`], less CPI.
pub fn of_counts(counts: &Counts) -> [Option<&Estimate>; 8] {
    [
        &counts.L1DR,
        &counts.L1DM,
        &counts.L1IM,
        &counts.L2M,
        &counts.L3M,
        &counts.INS,
        &counts.CYCLE,
        &counts.STALL,
    ]
    .map(Option::as_ref)
}

/// Figures in the order of [`COLUMNS`].
pub fn of_call(call: &Call) -> [Option<&Estimate>; 9] {
    let [a, b, c, d, e, f, g, h] = of_counts(&call.counts);
    [a, b, c, d, e, f, g, h, call.CPI.as_ref()]
}

/// Whether any event of a call was counted.
pub fn counted(call: &Call) -> bool {
    of_call(call).iter().any(Option::is_some)
}

/// A count: whole, but for small ones and shares.
pub fn figure(estimate: Option<&Estimate>) -> String {
    match estimate.map(|estimate| estimate.median) {
        None => "–".to_owned(),
        Some(0.0) => "0".to_owned(),
        Some(value) if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}"),
        Some(value) if value.abs() < 100.0 => text::printed(value),
        Some(value) => text::number(value),
    }
}

/// What the bytes of MPI's functions go through.
pub const TRANSPORTS: &str =
    "over TCP: through sockets on the loopback; else through shared memory; the paper's: over a network";

/// The states of the caches in the order of tables, and what they are.
pub const STATES: [CacheState; 3] = [CacheState::Cold, CacheState::Second, CacheState::Warm];
/// What their names mean.
pub const STATES_MEANING: &str = "cold: after the caches were cleared; second: the call right after a cold one, which the \
                                  paper calls warm; steady: one of many in a row";

/// `cold`, `second` or `steady`.
pub fn state(state: CacheState) -> &'static str {
    match state {
        CacheState::Cold => "cold",
        CacheState::Second => "second",
        CacheState::Warm => "steady",
    }
}

/// How the caches were cleared before a cold call: `64 KiB of nops and a walk over 64 MiB, 2.0 times the last-level
/// cache`; `None` where that was not told.
pub fn cleared(calls: &Calls) -> Option<String> {
    let bytes = |name: &str| calls.conditions.parameters.get(name)?.as_u64().filter(|bytes| *bytes > 0);
    let walk = bytes("clear_data_bytes")?;
    let code = bytes("clear_code_bytes")
        .map_or_else(String::new, |code| format!("{} of nops and ", text::bytes(code)));
    let last = bytes("last_level_cache_bytes").map_or_else(
        || ", beside a last-level cache of unknown size".to_owned(),
        |last| {
            format!(", {:.1} times the last-level cache of {}", walk as f64 / last as f64, text::bytes(last))
        },
    );
    Some(format!("{code}a walk over {}{last}", text::bytes(walk)))
}

/// Where the events happened; nothing where that is not told apart.
pub fn side(side: Side) -> &'static str {
    match side {
        Side::User => "user",
        Side::Kernel => "kernel",
        Side::Both => "",
    }
}

/// How a call was made: by the C library or bare. Functions of libraries have one form.
pub fn form(call: &Call) -> &'static str {
    match (call.set.as_str(), call.wrapped) {
        ("libc" | "mpi", _) => "",
        (_, true) => "libc",
        (_, false) => "bare",
    }
}

/// The paper's counters and calls, these judged as measured ones are.
pub fn published() -> (Counters, Calls) {
    let publication = shimosawa_hori_ishikawa::figures().publication();
    let mut profile = publication.machines.into_iter().next().map(|(_, profile)| profile).unwrap_or_default();
    judge::calls(&mut profile);
    (profile.counters.unwrap_or_default(), profile.calls.unwrap_or_default())
}

/// A set's counted rows, call by call and state by state, the paper's (`true`) behind those measured. Of two forms that
/// count alike the C library's stands for both, but of the paper's system calls the instruction: the paper counts what the
/// kernel does, which the library's function may pass by (vDSO). The paper's MPI went through sockets: its rows stand
/// beside those over TCP, where these were measured.
pub fn beside<'a>(calls: &'a Calls, paper: &'a Calls, set: &str) -> Vec<(&'a Call, bool)> {
    let mut names: Vec<&str> = Vec::new();
    for call in calls.calls.iter().filter(|call| call.set == set) {
        if !names.contains(&call.name.as_str()) {
            names.push(&call.name);
        }
    }
    let mut rows = Vec::new();
    for &name in &names {
        let socket =
            names.iter().any(|other| over_tcp(name).is_none() && *other == format!("{name}{OVER_TCP}"));
        for state in STATES {
            for (calls, published) in [(calls, false), (paper, true)] {
                let mine = |call: &&Call| {
                    let name = if published { over_tcp(name).unwrap_or(name) } else { name };
                    let there = !published || !socket;
                    there && call.set == set && call.name == name && call.state == state && counted(call)
                };
                let all = || calls.calls.iter().filter(mine);
                let doubled = |call: &Call| {
                    let is_lesser = call.wrapped == (set == "syscalls");
                    is_lesser && all().any(|other| other.wrapped != call.wrapped && other.side == call.side)
                };
                rows.extend(all().filter(|call| !doubled(call)).map(|call| (call, published)));
            }
        }
    }
    rows
}

/// Follows the names of MPI's functions whose bytes went over TCP.
pub const OVER_TCP: &str = " over TCP";

/// The function's own name, where its bytes went over TCP.
pub fn over_tcp(name: &str) -> Option<&str> {
    name.strip_suffix(OVER_TCP)
}

/// Times of a call in one form and on one side.
pub struct Times<'a> {
    /// The row that they were first met in.
    pub call: &'a Call,
    pub cold: Option<&'a Estimate>,
    pub second: Option<&'a Estimate>,
    /// Steady.
    pub warm: Option<&'a Estimate>,
}

impl Times<'_> {
    /// Second over cold time, as the paper's warm over cold.
    pub fn ratio(&self) -> Option<f64> {
        let (second, cold) = (self.second?.median, self.cold?.median);
        (cold > 0.0).then(|| second / cold)
    }
}

/// Cold and warm times, in the order of the calls.
pub fn times(calls: &Calls) -> Vec<Times<'_>> {
    let mut all: Vec<Times<'_>> = Vec::new();
    for call in calls.calls.iter().filter(|call| call.ns.is_some()) {
        let form = |call: &Call| (call.name.clone(), call.side, call.wrapped);
        let index = all.iter().position(|times| form(times.call) == form(call)).unwrap_or_else(|| {
            all.push(Times { call, cold: None, second: None, warm: None });
            all.len() - 1
        });
        match call.state {
            CacheState::Cold => all[index].cold = call.ns.as_ref(),
            CacheState::Second => all[index].second = call.ns.as_ref(),
            CacheState::Warm => all[index].warm = call.ns.as_ref(),
        }
    }
    all
}

/// What a second call takes of a cold one. Where it was not measured, an earlier version's ratio is that of the steady state:
/// another quantity.
pub fn second_over_cold(calls: &Calls, judgement: &Judgement) -> Option<f64> {
    let is_second = |call: &Call| call.name == judgement.name && call.state == CacheState::Second;
    judgement.warm_over_cold.filter(|_| calls.calls.iter().any(is_second))
}

/// A section's ratios of judgements by the name of their column: of second calls or, in older profiles that have none, of
/// the steady state.
pub fn over_cold<'a>(calls: &'a Calls) -> (&'static str, impl Fn(&Judgement) -> Option<f64> + 'a) {
    let has_second = calls.has_second();
    let name = if has_second { "second" } else { "steady" };
    (name, move |judgement| match has_second {
        true => second_over_cold(calls, judgement),
        false => judgement.steady_over_cold.or(judgement.warm_over_cold),
    })
}

/// A ratio in per cent.
pub fn percent(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{:.1} %", 100.0 * ratio))
}

/// A difference, whole: `42`; or `<8` where it is not told from none and is no more than that by its interval; `~42` where
/// its samples are too few for one.
pub fn beyond_noise(estimate: &Estimate) -> String {
    match estimate.n {
        0 | 1 if estimate.median > 0.0 => whole(estimate.median),
        2.. if !estimate.has_interval() => format!("~{}", whole(estimate.median)),
        _ if estimate.low > 0.0 => whole(estimate.median),
        _ => format!("<{}", whole(estimate.high.max(1.0).ceil())),
    }
}

/// What the signs before a difference mean.
pub const SIGNS_MEANING: &str = "<: not told from none, and by its interval no more than this; ~: of fewer than six samples, \
                                 which have no interval";

/// A whole number, of which there is no negative zero.
pub fn whole(value: f64) -> String {
    format!("{:.0}", value.round() + 0.0)
}

/// The paper's short name for its machine.
pub const MACHINE: &str = "Xeon X5550";
