//! Kimoto: what a scheduler that knows the topology does to programs, and what sharing a module costs.
//!
//! The article compares two kernels. One of them knows about modules and spreads programs over them. Here programs
//! are placed by hand: compact, filling one module or cache before the next, or spread, one in each.

use std::collections::BTreeSet;

use coho_profile::{WorkloadResult, Workloads};

use super::Figure;
use super::evidence::{Context, Evidence, Lack, Range, divided};
use crate::listings::Listing;

/// What this paper's claims rest on, by name.
pub(super) const FIGURES: &[Figure] = &[
    ("score", |context, _| score(context)),
    ("switching", |context, _| switching(context)),
    ("placed", |context, of| placed(context, &of[0])),
    ("sharing", |context, of| {
        let (range, class, workloads) = sharing(context, &of[0])?;
        Ok(Evidence::one(range, format!("two CPUs of a {class}; {}", context.how(&workloads.method))))
    }),
    ("floating-point-over-integer", |context, _| {
        let (doubles, class, workloads) = sharing(context, "floating-point")?;
        let ratio = divided(doubles, sharing(context, "integer")?.0)?;
        Ok(Evidence::one(ratio, format!("two CPUs of a {class}; {}", context.how(&workloads.method))))
    }),
    ("without-c6", |context, of| without_c6(context, &of[0])),
    ("listed-l3", |context, _| listed_l3(context)),
];

/// How many times as fast one copy is while C6 is forbidden, where the kernel's counters show that this had an effect.
fn without_c6(context: &Context<'_>, test: &str) -> Result<Evidence, Lack> {
    let workloads = context.profile.workloads.as_ref().ok_or("the profile has no section workloads")?;
    let without = workloads.without_idle.as_ref().ok_or("no test ran with C6 forbidden")?;
    if !without.states.iter().any(|state| state.contains("C6")) {
        return Err(Lack::Unmeasured(format!("{} was forbidden, not C6", without.states.join(", "))));
    }
    if !without.status.starts_with("set and verified") {
        return Err(Lack::Unmeasurable(format!("C6 was forbidden, but {}", without.status)));
    }
    let gain =
        without.gains.iter().find(|gain| (&*gain.test, &*gain.placement, gain.copies) == (test, "none", 1));
    let speed = context.range(&format!("{test} without C6"), gain.and_then(|gain| gain.speed.as_ref()))?;
    let how =
        format!("{}; {}; {}", without.states.join(", "), without.status, context.how(&workloads.method));
    Ok(Evidence::one(speed, how))
}

/// How many groups of an L3 the kernel that the article started from lists, on a machine that has an L3.
fn listed_l3(context: &Context<'_>) -> Result<Evidence, Lack> {
    let topology = context.profile.topology.as_ref().ok_or("the profile has no section topology")?;
    if topology.counts.l3 == 0 {
        return Err(Lack::Unmeasurable("this machine has no L3 that a listing could show".into()));
    }
    let listings = Listing::all(context.profile);
    let of = |kernel: &str| listings.iter().find(|one| one.kernel == kernel).map(Listing::l3);
    let stock = of("stock").ok_or(
        "a kernel's rules work from CPUID's answers, which the profile does not hold, or not in a usable form",
    )?;
    let later = of("modern").map(|l3| format!("; by those of 2016 and later {l3}")).unwrap_or_default();
    let how =
        format!("by the rules of r281991 from this CPUID; the topology claims {}{later}", topology.counts.l3);
    let stock = stock as f64;
    Ok(Evidence::one(Range { value: stock, low: stock, high: stock }, how))
}

fn section<'a>(context: &Context<'a>) -> Result<&'a Workloads, Lack> {
    context.profile.workloads.as_ref().ok_or_else(|| match classes(context) {
        Some(all) if all.len() < 2 => {
            Lack::Unmeasurable("the CPUs are all alike, and this compares two kinds of pairs".into())
        }
        _ => "the profile has no section workloads".into(),
    })
}

/// What two CPUs that compete for more than a last-level cache share, as the section names it.
const SHARED: [&str; 2] = ["module", "L2"];

/// The classes of the pairs of CPUs that the run could use, by the topology's claims; `None` where it is not known.
fn classes<'c>(context: &'c Context<'_>) -> Option<BTreeSet<&'c str>> {
    Some(context.kinds_of_pairs()?.iter().map(|(claimed, ..)| claimed.as_str()).collect())
}

fn result<'a>(
    workloads: &'a Workloads,
    test: &str,
    placement: &str,
    copies: u32,
) -> Option<&'a WorkloadResult> {
    let mine = |row: &&WorkloadResult| {
        row.test == test && row.placement == placement && row.copies == copies && row.value.is_some()
    };
    workloads.results.iter().find(mine)
}

/// Spread over compact, with the most copies that were placed both ways.
fn over(context: &Context<'_>, test: &str) -> Result<(Range, u32), Lack> {
    let workloads = section(context)?;
    let both = |copies: &u32| {
        ["compact", "spread"].iter().all(|placement| result(workloads, test, placement, *copies).is_some())
    };
    let mut numbers: Vec<u32> = workloads.results.iter().map(|row| row.copies).collect();
    numbers.sort_unstable();
    let Some(copies) = numbers.into_iter().rev().find(both) else {
        let why =
            format!("{test} was not measured on CPUs that compact and spread placement take differently");
        return Err(unplaced(workloads, why));
    };
    let value_of = |placement| {
        let row = result(workloads, test, placement, copies);
        context.range(&format!("{test}, {placement},"), row.and_then(|row| row.value.as_ref()))
    };
    Ok((divided(value_of("spread")?, value_of("compact")?)?, copies))
}

/// The lack of anything placed both ways; where spread takes the same CPUs as compact, nothing can be.
fn unplaced(workloads: &Workloads, why: String) -> Lack {
    let mut reasons = workloads.method.not_available.iter();
    match reasons.find(|(what, why)| what.starts_with("placement spread") && why.contains("the same CPUs as"))
    {
        Some((what, same)) => Lack::Unmeasurable(format!("{why} ({what}: {same})")),
        None => Lack::Unmeasured(why),
    }
}

fn placed(context: &Context<'_>, test: &str) -> Result<Evidence, Lack> {
    let (ratio, copies) = over(context, test)?;
    let how = format!("spread over compact, copies: {copies}; {}", context.how(&section(context)?.method));
    Ok(Evidence::one(ratio, how))
}

/// The geometric mean over the tests that were placed both ways; the score is a geometric mean, too.
fn score(context: &Context<'_>) -> Result<Evidence, Lack> {
    const TESTS: usize = 6;
    let tests = coho_profile::unixbench::TESTS.iter().filter_map(|test| over(context, test.name).ok());
    let ratios: Vec<Range> = tests.map(|(ratio, _)| ratio).collect();
    let workloads = section(context)?;
    if ratios.len() < TESTS {
        let why = format!(
            "{} of UnixBench's tests were measured on CPUs that compact and spread placement take differently, and a \
             score takes {TESTS}",
            ratios.len()
        );
        return Err(unplaced(workloads, why));
    }
    let how =
        format!("spread over compact, {} tests; {}", ratios.len(), context.how(&section(context)?.method));
    let mean = Range::geometric(&ratios).ok_or("the interval of a figure reaches 0")?;
    Ok(Evidence::one(mean, how))
}

/// The farthest pair of CPUs over the nearest pair of two different ones.
fn switching(context: &Context<'_>) -> Result<Evidence, Lack> {
    const INWARD: [&str; 8] = ["core", "module", "L2", "L3", "die", "NUMA node", "package", "system"];
    let workloads = section(context)?;
    let rank = |row: &WorkloadResult| INWARD.iter().position(|name| Some(*name) == row.pair_class.as_deref());
    let mine = |row: &&WorkloadResult| {
        row.test == "pipe_context_switching" && row.copies == 1 && row.value.is_some() && rank(row).is_some()
    };
    let rows: Vec<&WorkloadResult> = workloads.results.iter().filter(mine).collect();
    let (near, far) = (rows.iter().min_by_key(|row| rank(row)), rows.iter().max_by_key(|row| rank(row)));
    let (Some(near), Some(far)) = (near, far) else {
        return Err("two processes were not timed on two different CPUs".into());
    };
    let names = [near, far].map(|row| row.pair_class.clone().unwrap_or_default());
    if names[0] == names[1] {
        let why = format!("all pairs of CPUs that were timed are of one class ({})", names[0]);
        let is_all = classes(context).is_some_and(|classes| classes.len() < 2);
        return Err(if is_all { Lack::Unmeasurable(why) } else { why.into() });
    }
    let value_of = |row: &WorkloadResult| context.range("context switching", row.value.as_ref());
    let how = format!("pairs of class {} over {}; {}", names[1], names[0], context.how(&workloads.method));
    Ok(Evidence::one(divided(value_of(far)?, value_of(near)?)?, how))
}

/// What a kernel keeps of its speed while the other CPU of a module, or of an L2, runs the same kernel.
fn sharing<'a>(context: &Context<'a>, kernel: &str) -> Result<(Range, &'static str, &'a Workloads), Lack> {
    let workloads = section(context)?;
    let find = |class: &str| {
        workloads
            .sharing
            .iter()
            .find(|row| row.kernel == kernel && row.pair_class == class && row.ratio.is_some())
    };
    let Some((class, row)) = Context::first(&SHARED, find) else {
        let why =
            format!("no two CPUs that share a module, or an L2 but no core, were measured in {kernel} work");
        let is_possible =
            classes(context).is_none_or(|classes| SHARED.iter().any(|name| classes.contains(name)));
        return Err(if is_possible { why.into() } else { Lack::Unmeasurable(why) });
    };
    Ok((context.range(&format!("{kernel} work"), row.ratio.as_ref())?, class, workloads))
}
