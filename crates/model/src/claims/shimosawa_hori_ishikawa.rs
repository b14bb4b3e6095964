//! Shimosawa, Hori & Ishikawa: what calls bring into the caches, and what they cost cold and the second time, which
//! the paper calls warm.

use coho_profile::{CacheState, Call, CallMethod, Calls, CounterTool, Counts, Estimate, Side};

use super::Figure;
use super::evidence::{Context, Evidence, Lack, Part, Range};

const SYSTEM_CALLS: [&str; 6] = ["getpid", "gettimeofday", "stat", "open", "write", "close"];
const MPI: [&str; 4] = ["MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv"];
/// The key under which sections say why the kernel's side of calls was not counted.
const KERNEL: &str = "kernel side";
/// Bytes of a line on all CPUs that calls are measured on.
const LINE: f64 = 64.0;

/// Fewer lines than this are not judged by timing: eleven runs put a bare entry into the kernel at 3 to 37 lines,
/// which their intervals do not cover.
const FEW: f64 = 64.0;

/// What this paper's claims rest on, by name.
pub(super) const FIGURES: &[Figure] = &[
    ("footprints", footprints),
    ("second-misses", |context, _| second_misses(context)),
    ("instruction-misses", |context, _| instruction_misses(context)),
    ("second-over-cold", second_over_cold),
    ("mpi-second-over-cold", |context, _| mpi_second_over_cold(context)),
    ("counter-tools", |context, _| counter_tools(context)),
];

fn section<'a>(context: &Context<'a>) -> Result<&'a Calls, Lack> {
    context.profile.calls.as_ref().ok_or_else(|| "the profile has no section calls".into())
}

/// The rows of a call in one state and form.
fn in_form<'a>(calls: &'a Calls, name: &str, state: CacheState, wrapped: bool) -> Vec<&'a Call> {
    let mine = |call: &&Call| call.name == name && call.state == state && call.wrapped == wrapped;
    calls.calls.iter().filter(mine).collect()
}

/// The rows of a call in one state, bare if there are any: the paper makes its calls without the C library.
fn rows<'a>(calls: &'a Calls, name: &str, state: CacheState) -> Vec<&'a Call> {
    let bare = in_form(calls, name, state, false);
    if bare.is_empty() { in_form(calls, name, state, true) } else { bare }
}

/// A figure of a call on both sides: from the row that does not separate them, or their sum. For system calls the
/// kernel's side alone is enough, as in the paper.
fn both(
    context: &Context<'_>,
    what: &str,
    rows: &[&Call],
    figure: impl Fn(&Call) -> Option<&Estimate>,
) -> Result<Range, Lack> {
    let row_of = |side| rows.iter().find(|call| call.side == side && figure(call).is_some());
    if let Some(row) = row_of(Side::Both) {
        return context.range(what, figure(row));
    }
    let range = |row: &&&Call| context.range(what, figure(row));
    match (row_of(Side::User), row_of(Side::Kernel)) {
        (Some(user), Some(kernel)) if rows[0].set != "syscalls" => Ok(range(&user)?.plus(range(&kernel)?)),
        (_, Some(kernel)) => range(&kernel),
        (Some(user), None) if rows[0].set != "syscalls" => range(&user),
        _ => Err(format!("{what} was not measured").into()),
    }
}

/// Turns a lack into a final one if the section says why one of these was not measured.
fn unless_told(calls: &Calls, what: &[&str], lack: Lack) -> Lack {
    let reasons = &calls.conditions.not_available;
    match what.iter().find_map(|what| reasons.get(*what)) {
        Some(why) => Lack::Unmeasurable(format!("{}: {}", lack.why(), bare(why))),
        None => lack,
    }
}

fn bare(why: &str) -> &str {
    why.strip_prefix("not available: ").unwrap_or(why)
}

fn method(context: &Context<'_>, calls: &Calls) -> String {
    let by = match calls.method {
        CallMethod::Pmu => "by counter",
        CallMethod::Timing => "by timing",
    };
    format!("{by}; {}", context.how(&calls.conditions))
}

/// What cold calls bring into the level-2 cache. Timing sees only the data in the level-1 cache: at least that much.
fn footprints(context: &Context<'_>, names: &[String]) -> Result<Evidence, Lack> {
    let calls = section(context)?;
    let part = |name: &String| {
        let cold = rows(calls, name, CacheState::Cold);
        let range = match calls.method {
            CallMethod::Pmu => {
                let what = format!("lines that a cold {name} misses in the level-2 cache");
                let lines = both(context, &what, &cold, |call| call.counts.L2M.as_ref());
                lines.map_err(|lack| unless_told(calls, &["L2M", KERNEL], lack))?.times(LINE / 1024.0)
            }
            CallMethod::Timing => {
                let row = cold.iter().find_map(|call| call.footprint_lines.as_ref());
                let lines = context.range(&format!("the data of {name}, by timing,"), row);
                let lines = lines.map_err(|lack| unless_told(calls, &["footprint_lines"], lack))?;
                if lines.value < FEW {
                    let why = format!(
                        "timing puts {name} at {lines:.0} lines, and so few differ between runs by more than their interval: \
                         only counters decide",
                        lines = lines.value
                    );
                    return Err(match no_counters(calls) {
                        Some(lack) => Lack::Unmeasurable(format!("{why}, and there are none: {lack}")),
                        None => why.into(),
                    });
                }
                Range { high: f64::INFINITY, ..lines.times(LINE / 1024.0) }
            }
        };
        Ok(Part::new(if names.len() > 1 { name } else { "" }, range))
    };
    let caveat = match calls.method {
        CallMethod::Pmu => "",
        CallMethod::Timing => "timing sees a call's data but not its code, which takes counters; ",
    };
    Ok(Evidence::of(names.iter().map(part), format!("{caveat}{}", method(context, calls))))
}

/// Why the section has no counters, unless they were not to be used.
fn no_counters(calls: &Calls) -> Option<&str> {
    let why = calls.conditions.not_available.get("pmu").filter(|why| !why.contains("were not to be used"))?;
    Some(bare(why))
}

fn counted(calls: &Calls) -> Result<(), Lack> {
    const WHAT: &str = "calls were measured without counters, and only counters tell where a call misses";
    match (calls.method, no_counters(calls)) {
        (CallMethod::Pmu, _) => Ok(()),
        (CallMethod::Timing, Some(why)) => Err(Lack::Unmeasurable(format!("{WHAT}: {why}"))),
        (CallMethod::Timing, None) => Err(WHAT.into()),
    }
}

fn second_misses(context: &Context<'_>) -> Result<Evidence, Lack> {
    let calls = section(context)?;
    counted(calls)?;
    let part = |name: &&str| {
        let second = rows(calls, name, CacheState::Second);
        let what = format!("lines that a second {name} misses in the level-2 cache");
        let lines = both(context, &what, &second, |call| call.counts.L2M.as_ref());
        Ok(Part::new(*name, lines.map_err(|lack| unless_told(calls, &["L2M", KERNEL], lack))?))
    };
    Ok(Evidence::of(SYSTEM_CALLS[..2].iter().map(part), method(context, calls)))
}

fn instruction_misses(context: &Context<'_>) -> Result<Evidence, Lack> {
    let calls = section(context)?;
    counted(calls)?;
    let part = |name: &str| {
        let cold = rows(calls, name, CacheState::Cold);
        let misses = |what: &str, of: fn(&Counts) -> Option<&Estimate>| {
            let figure = both(context, &format!("{what} of a cold {name}"), &cold, |call| of(&call.counts));
            figure.map_err(|lack| unless_told(calls, &[what, KERNEL], lack))
        };
        let code = misses("L1IM", |counts| counts.L1IM.as_ref())?;
        let data = misses("L1DM", |counts| counts.L1DM.as_ref())?;
        let ratio = code.over(data).ok_or_else(|| format!("L1DM of a cold {name} may be 0"))?;
        Ok(Part::new(name, ratio))
    };
    Ok(Evidence::of(SYSTEM_CALLS.map(part), method(context, calls)))
}

fn second_over_cold(context: &Context<'_>, names: &[String]) -> Result<Evidence, Lack> {
    let calls = section(context)?;
    let part = |name: &String| {
        let bare = second_over_cold_in_form(context, calls, name, false);
        let ratio = bare.or_else(|why| {
            let is_wrapped = calls.calls.iter().any(|call| call.name == *name && call.wrapped);
            if is_wrapped { second_over_cold_in_form(context, calls, name, true) } else { Err(why) }
        });
        // As where a call is too short for the clock: `gettimeofday bare, cold`.
        let of_call = |what: &str| {
            let form = what.strip_prefix(&**name).unwrap_or_default();
            form.starts_with(',') || form.starts_with(" bare,")
        };
        let reasons: Vec<&str> =
            calls.conditions.not_available.keys().map(String::as_str).filter(|what| of_call(what)).collect();
        Ok(Part::new(name, ratio.map_err(|lack| unless_told(calls, &reasons, lack))?))
    };
    Ok(Evidence::of(names.iter().map(part), method(context, calls)))
}

/// By cycles where they were counted, otherwise by time; both calls in the same form.
fn second_over_cold_in_form(
    context: &Context<'_>,
    calls: &Calls,
    name: &str,
    wrapped: bool,
) -> Result<Range, Lack> {
    let [second, cold] =
        [CacheState::Second, CacheState::Cold].map(|state| in_form(calls, name, state, wrapped));
    if second.is_empty() || cold.is_empty() {
        return Err(format!("{name} was not measured both cold and a second time in one form").into());
    }
    let ratio = |figure: fn(&Call) -> Option<&Estimate>| {
        let second = both(context, &format!("a second {name}"), &second, figure)?;
        let cold = both(context, &format!("a cold {name}"), &cold, figure)?;
        second.over(cold).ok_or_else(|| Lack::from(format!("the time of a cold {name} may be 0")))
    };
    ratio(|call| call.counts.CYCLE.as_ref()).or_else(|_| ratio(|call| call.ns.as_ref()))
}

/// The paper's MPI went through sockets, so for a measured profile the rows over TCP count.
fn mpi_second_over_cold(context: &Context<'_>) -> Result<Evidence, Lack> {
    let names = MPI.map(|name| if context.published { name.to_owned() } else { format!("{name} over TCP") });
    let calls = section(context)?;
    let is_there = calls.calls.iter().any(|call| names.contains(&call.name));
    match calls.conditions.not_available.get("mpi over TCP") {
        Some(why) if !is_there => {
            Err(Lack::Unmeasurable(format!("MPI's functions were not measured over TCP: {}", bare(why))))
        }
        _ => second_over_cold(context, &names),
    }
}

fn counter_tools(context: &Context<'_>) -> Result<Evidence, Lack> {
    let counters = context.profile.counters.as_ref().ok_or("the profile has no section counters")?;
    let tool = |names: [&'static str; 2]| {
        let present = Context::first(&names, |name| counters.tools.iter().find(|tool| tool.name == name));
        present.map(|(_, tool)| tool).ok_or_else(|| Lack::from(format!("'{}' was not tried", names[0])))
    };
    let cost = |tool: &CounterTool| {
        let what = format!("'{}'", tool.name);
        if let Some(why) = &tool.not_available {
            return Err(Lack::Unmeasurable(format!("{what} is not available: {why}")));
        }
        if tool.ns.is_some() {
            return context.range(&what, tool.ns.as_ref());
        }
        let user = context.range(&what, tool.user.CYCLE.as_ref())?;
        Ok(user.plus(context.range(&what, tool.kernel.CYCLE.as_ref())?))
    };
    let own = cost(tool(["user-level start and stop", "user-level tool"])?)?;
    let part = |(name, names)| {
        let ratio = own.over(cost(tool(names)?)?);
        let ratio = ratio.ok_or_else(|| format!("the cost of {name} may be 0"))?;
        Ok(Part::new(format!("over {name}"), ratio))
    };
    let others = [
        ("perf_event", ["perf_event start and stop", "kernel-level tool (perf_event_open only)"]),
        ("PAPI", ["PAPI start and stop", "PAPI"]),
    ];
    Ok(Evidence::of(others.map(part), context.how(&counters.method)))
}
