//! Shimosawa, Hori & Ishikawa: what calls bring into the caches, and what they cost cold and
//! the second time, which the paper calls warm.

use coho_profile::{CacheState, Call, CallMethod, Calls, CounterTool, Counts, Estimate, Side};

use super::Claim;
use super::evidence::{Bound, Context, Evidence, Part, Range, Unit, how};

const SYSTEM_CALLS: [&str; 6] = ["getpid", "gettimeofday", "stat", "open", "write", "close"];
const MEASURE: &str = "coho calls -o PROFILE";
/// Bytes of a line of all CPUs that calls are measured on.
const LINE: f64 = 64.0;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        claim: "Entering and leaving the kernel takes less than 1 KiB of cache",
        source: "Section 5.1, Table 5 (getpid)",
        bound: Bound::AtMost(1.0),
        unit: Unit::Kib,
        measure: MEASURE,
        evidence: |context| footprints(context, &["getpid"]),
    },
    Claim {
        claim: "open and write bring in about 20 KiB: 10 to 40",
        source: "Section 5.1, Table 5",
        bound: Bound::Within(10.0, 40.0),
        unit: Unit::Kib,
        measure: MEASURE,
        evidence: |context| footprints(context, &["open", "write"]),
    },
    Claim {
        claim: "The second time, getpid and gettimeofday miss no line of the level-2 cache",
        source: "Section 5.1, Table 5",
        bound: Bound::AtMost(0.5),
        unit: Unit::Lines,
        measure: MEASURE,
        evidence: second_misses,
    },
    Claim {
        claim: "In each cold system call, instructions miss the level-1 cache more often than data",
        source: "Section 5.4, Table 5",
        bound: Bound::AtLeast(1.0),
        unit: Unit::Times,
        measure: MEASURE,
        evidence: instruction_misses,
    },
    Claim {
        claim: "The second time, each system call takes less than a tenth of its cold time",
        source: "Section 5.1, Table 5",
        bound: Bound::AtMost(0.1),
        unit: Unit::Share,
        measure: MEASURE,
        evidence: |context| second_over_cold(context, &SYSTEM_CALLS),
    },
    Claim {
        claim: "sprintf brings in about 23 kB: 11 to 44 KiB",
        source: "Section 5.2, Table 6",
        bound: Bound::Within(11.0, 44.0),
        unit: Unit::Kib,
        measure: MEASURE,
        evidence: |context| footprints(context, &["sprintf"]),
    },
    Claim {
        claim: "fprintf brings in about 47 kB: 23 to 92 KiB",
        source: "Section 5.2, Table 6",
        bound: Bound::Within(23.0, 92.0),
        unit: Unit::Kib,
        measure: MEASURE,
        evidence: |context| footprints(context, &["fprintf"]),
    },
    Claim {
        claim: "The second time, fprintf and sprintf take about 16 % of their cold time: up to a fifth",
        source: "Section 5.2, Table 6",
        bound: Bound::AtMost(0.2),
        unit: Unit::Share,
        measure: MEASURE,
        evidence: |context| second_over_cold(context, &["fprintf", "sprintf"]),
    },
    Claim {
        claim: "The second time, MPI's functions take 11 to 42 % of their cold time",
        source: "Section 5.3, Table 7",
        bound: Bound::Within(0.11, 0.42),
        unit: Unit::Share,
        measure: MEASURE,
        evidence: |context| second_over_cold(context, &["MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv"]),
    },
    Claim {
        claim: "Counters read in user mode cost less than a tenth of perf_event and of PAPI",
        source: "Section 4.2, Table 4",
        bound: Bound::AtMost(0.1),
        unit: Unit::Share,
        measure: "coho counters -o PROFILE",
        evidence: counter_tools,
    },
];

fn section<'a>(context: &Context<'a>) -> Result<&'a Calls, String> {
    context.profile.calls.as_ref().ok_or_else(|| "the profile has no section calls".to_owned())
}

/// The rows of a call in one state, bare if there are such: the paper makes them without the C library.
fn rows<'a>(calls: &'a Calls, name: &str, state: CacheState) -> Vec<&'a Call> {
    let all = |wrapped| {
        let mine = move |call: &&Call| call.name == name && call.state == state && call.wrapped == wrapped;
        calls.calls.iter().filter(mine).collect::<Vec<_>>()
    };
    let bare = all(false);
    if bare.is_empty() { all(true) } else { bare }
}

/// A figure of a call on both sides: of the row that does not part them, or their sum; of system calls the kernel's alone
/// is enough, as in the paper.
fn both(
    context: &Context<'_>,
    what: &str,
    rows: &[&Call],
    figure: impl Fn(&Call) -> Option<&Estimate>,
) -> Result<Range, String> {
    let of = |side| rows.iter().find(|call| call.side == side && figure(call).is_some());
    if let Some(row) = of(Side::Both) {
        return context.range(what, figure(row));
    }
    let range = |row: &&&Call| context.range(what, figure(row));
    match (of(Side::User), of(Side::Kernel)) {
        (Some(user), Some(kernel)) if rows[0].set != "syscalls" => Ok(range(&user)?.plus(range(&kernel)?)),
        (_, Some(kernel)) => range(&kernel),
        (Some(user), None) if rows[0].set != "syscalls" => range(&user),
        _ => Err(format!("{what} was not measured")),
    }
}

fn method(calls: &Calls) -> String {
    let by = match calls.method {
        CallMethod::Pmu => "by counter",
        CallMethod::Timing => "by timing",
    };
    format!("{by}; {}", how(&calls.conditions))
}

/// What cold calls bring into the level-2 cache. Timing sees data in the level-1 cache alone: at least that much.
fn footprints(context: &Context<'_>, names: &[&str]) -> Result<Evidence, String> {
    let calls = section(context)?;
    let mut parts = Vec::new();
    for name in names {
        let cold = rows(calls, name, CacheState::Cold);
        let range = match calls.method {
            CallMethod::Pmu => {
                let what = format!("lines that a cold {name} misses in the level-2 cache");
                both(context, &what, &cold, |call| call.counts.L2M.as_ref())?.times(LINE / 1024.0)
            }
            CallMethod::Timing => {
                let row = cold.iter().find_map(|call| call.footprint_lines.as_ref());
                let lines = context.range(&format!("the data of {name}, by timing,"), row)?;
                Range { high: f64::INFINITY, ..lines.times(LINE / 1024.0) }
            }
        };
        parts.push(Part::new(if names.len() > 1 { *name } else { "" }, range));
    }
    let caveat = match calls.method {
        CallMethod::Pmu => "",
        CallMethod::Timing => {
            "timing sees the data of a call and not its code, for which this takes counters; "
        }
    };
    Ok(Evidence::of(parts, format!("{caveat}{}", method(calls))))
}

fn counted(calls: &Calls) -> Result<(), String> {
    match calls.method {
        CallMethod::Pmu => Ok(()),
        CallMethod::Timing => {
            Err("calls were measured without counters, which alone tell where a call misses".into())
        }
    }
}

fn second_misses(context: &Context<'_>) -> Result<Evidence, String> {
    let calls = section(context)?;
    counted(calls)?;
    let part = |name: &&str| {
        let second = rows(calls, name, CacheState::Second);
        let what = format!("lines that a second {name} misses in the level-2 cache");
        Ok(Part::new(*name, both(context, &what, &second, |call| call.counts.L2M.as_ref())?))
    };
    let parts: Result<Vec<Part>, String> = SYSTEM_CALLS[..2].iter().map(part).collect();
    Ok(Evidence::of(parts?, method(calls)))
}

fn instruction_misses(context: &Context<'_>) -> Result<Evidence, String> {
    let calls = section(context)?;
    counted(calls)?;
    let mut parts = Vec::new();
    for name in SYSTEM_CALLS {
        let cold = rows(calls, name, CacheState::Cold);
        if cold.is_empty() {
            continue;
        }
        let misses = |what: &str, of: fn(&Counts) -> Option<&Estimate>| {
            both(context, &format!("{what} of a cold {name}"), &cold, move |call| of(&call.counts))
        };
        let code = misses("L1IM", |counts| counts.L1IM.as_ref())?;
        let data = misses("L1DM", |counts| counts.L1DM.as_ref())?;
        let ratio = code.over(data).ok_or_else(|| format!("L1DM of a cold {name} may be 0"))?;
        parts.push(Part::new(name, ratio));
    }
    Ok(Evidence::of(parts, method(calls)))
}

/// By cycles where they were counted, else by time.
fn second_over_cold(context: &Context<'_>, names: &[&str]) -> Result<Evidence, String> {
    let calls = section(context)?;
    let mut parts = Vec::new();
    for name in names {
        let [second, cold] = [CacheState::Second, CacheState::Cold].map(|state| rows(calls, name, state));
        if second.is_empty() || cold.is_empty() {
            continue;
        }
        let ratio = |figure: fn(&Call) -> Option<&Estimate>| {
            let second = both(context, &format!("a second {name}"), &second, figure)?;
            let cold = both(context, &format!("a cold {name}"), &cold, figure)?;
            second.over(cold).ok_or_else(|| format!("the time of a cold {name} may be 0"))
        };
        let cycles = ratio(|call| call.counts.CYCLE.as_ref());
        parts.push(Part::new(*name, cycles.or_else(|_| ratio(|call| call.ns.as_ref()))?));
    }
    if parts.is_empty() {
        return Err(format!("none of {} was measured both cold and a second time", names.join(", ")));
    }
    Ok(Evidence::of(parts, method(calls)))
}

fn counter_tools(context: &Context<'_>) -> Result<Evidence, String> {
    let counters = context.profile.counters.as_ref().ok_or("the profile has no section counters")?;
    let tool = |names: [&'static str; 2]| {
        let found = Context::first(&names, |name| counters.tools.iter().find(|tool| tool.name == name));
        found.map(|(_, tool)| tool).ok_or_else(|| format!("'{}' was not tried", names[0]))
    };
    let cost = |tool: &CounterTool| {
        let what = format!("'{}'", tool.name);
        if let Some(why) = &tool.not_available {
            return Err(format!("{what} is not available: {why}"));
        }
        if tool.ns.is_some() {
            return context.range(&what, tool.ns.as_ref());
        }
        let user = context.range(&what, tool.user.CYCLE.as_ref())?;
        Ok(user.plus(context.range(&what, tool.kernel.CYCLE.as_ref())?))
    };
    let own = cost(tool(["user-level start and stop", "user-level tool"])?)?;
    let mut parts = Vec::new();
    for (name, names) in [
        ("perf_event", ["perf_event start and stop", "kernel-level tool (perf_event_open only)"]),
        ("PAPI", ["PAPI start and stop", "PAPI"]),
    ] {
        let ratio = own.over(cost(tool(names)?)?).ok_or_else(|| format!("the cost of {name} may be 0"))?;
        parts.push(Part::new(format!("over {name}"), ratio));
    }
    Ok(Evidence::of(parts, how(&counters.method)))
}
