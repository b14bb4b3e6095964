//! Nakamura et al.: Fast Barrier Synchronization against a lock, by layout, mapping and program.

use coho_profile::published::nakamura_fbs::ratio;
use coho_profile::{Estimate, ForkJoinTime, Kernel, KernelPoint, Sync};

use super::Claim;
use super::evidence::{Bound, Context, Evidence, Part, Range, Unit, how};

const BARRIERS: &str = "coho barrier -o PROFILE";
const KERNELS: &str = "coho kernels -o PROFILE";

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        claim: "Fork and join by a lock take longer than by FBS on separate lines",
        source: "Fig. 4-1 (5.8 times at 16 CPUs)",
        bound: Bound::AtLeast(1.0),
        unit: Unit::Times,
        measure: BARRIERS,
        evidence: |context| of_team(context, "lock", None),
    },
    Claim {
        claim: "Of 16 CPUs, fork and join by a lock take more than five times as long as by FBS",
        source: "Fig. 4-1 (5.8 times)",
        bound: Bound::AtLeast(5.0),
        unit: Unit::Times,
        measure: BARRIERS,
        evidence: |context| of_team(context, "lock", Some(16)),
    },
    Claim {
        claim: "FBS with all flags on one line takes longer than with a line each",
        source: "Fig. 4-1 (2.8 times at 16 CPUs)",
        bound: Bound::AtLeast(1.0),
        unit: Unit::Times,
        measure: BARRIERS,
        evidence: |context| of_team(context, "fbs-one-line", None),
    },
    Claim {
        claim: "Of 16 CPUs, FBS on one line takes more than 2.5 times as long as with a line each",
        source: "Fig. 4-1 (2.8 times)",
        bound: Bound::AtLeast(2.5),
        unit: Unit::Times,
        measure: BARRIERS,
        evidence: |context| of_team(context, "fbs-one-line", Some(16)),
    },
    Claim {
        claim: "What one line loses, it loses more in the join than in the fork",
        source: "Fig. 4-2",
        bound: Bound::AtLeast(0.0),
        unit: Unit::Ns,
        measure: BARRIERS,
        evidence: lost_in_join,
    },
    Claim {
        claim: "Of 8 CPUs, FBS forks and joins in what dedicated hardware took: at most 4 us",
        source: "Section 4.1, Fig. 4-1 (2.4 us)",
        bound: Bound::AtMost(4000.0),
        unit: Unit::Ns,
        measure: BARRIERS,
        evidence: of_eight,
    },
    Claim {
        claim: "Half the CPUs fork and join quicker nearest first than spread (1.6 times)",
        source: "Fig. 4-3",
        bound: Bound::AtLeast(1.0),
        unit: Unit::Times,
        measure: BARRIERS,
        evidence: by_mapping,
    },
    Claim {
        claim: "The fast barrier beats the one that programs get: here the compiler's OpenMP",
        source: "Section 3.2, Fig. 4-1",
        bound: Bound::AtLeast(1.0),
        unit: Unit::Times,
        measure: BARRIERS,
        evidence: over_openmp,
    },
    Claim {
        claim: "Short loops run faster with FBS than with a lock",
        source: "Fig. 4-5 (4 times at 16 CPUs)",
        bound: Bound::AtLeast(1.0),
        unit: Unit::Times,
        measure: KERNELS,
        evidence: |context| Ok(Evidence::one(short_loops(context)?, loops(context))),
    },
    Claim {
        claim: "Short loops gain more by FBS than loops at their peak (4 times against 1.3)",
        source: "Fig. 4-5",
        bound: Bound::AtLeast(1.0),
        unit: Unit::Times,
        measure: KERNELS,
        evidence: short_over_peak,
    },
    Claim {
        claim: "Where the data leave the caches the barrier makes no difference: within 5 %",
        source: "Section 3.1, Fig. 3-3",
        bound: Bound::Within(0.95, 1.05),
        unit: Unit::Times,
        measure: KERNELS,
        evidence: longest_loop,
    },
    Claim {
        claim: "An untuned program of many short loops takes less time with FBS than with a lock",
        source: "Fig. 4-6 (half, at 8 and 16 CPUs)",
        bound: Bound::AtMost(1.0),
        unit: Unit::Times,
        measure: KERNELS,
        evidence: |context| program(context, "galerkin"),
    },
    Claim {
        claim: "A tuned weather model takes less time with FBS than with a lock",
        source: "Fig. 4-7 (20 to 30 % less)",
        bound: Bound::AtMost(1.0),
        unit: Unit::Times,
        measure: KERNELS,
        evidence: |context| program(context, "weather"),
    },
    Claim {
        claim: "Tuned, less than a tenth of the time under FBS is waiting",
        source: "Section 4.2, Fig. 4-7",
        bound: Bound::AtMost(0.1),
        unit: Unit::Share,
        measure: KERNELS,
        evidence: waiting,
    },
    Claim {
        claim: "Half the CPUs compute faster spread than nearest first, as each has more cache",
        source: "Table 4-1",
        bound: Bound::AtLeast(1.0),
        unit: Unit::Times,
        measure: KERNELS,
        evidence: |context| mapped(context, computing),
    },
    Claim {
        claim: "Half the CPUs wait less nearest first than spread",
        source: "Table 4-1",
        bound: Bound::AtMost(1.0),
        unit: Unit::Times,
        measure: KERNELS,
        evidence: |context| {
            mapped(context, |context, point| context.range("waiting", point.sync_seconds.as_ref()))
        },
    },
    Claim {
        claim: "On the whole, half the CPUs run programs faster spread than nearest first",
        source: "Table 4-1",
        bound: Bound::AtLeast(1.0),
        unit: Unit::Times,
        measure: KERNELS,
        evidence: |context| {
            mapped(context, |context, point| context.range("the time", point.seconds.as_ref()))
        },
    },
];

fn section<'a>(context: &Context<'a>) -> Result<&'a Sync, String> {
    context.profile.sync.as_ref().ok_or_else(|| "the profile has no section sync".to_owned())
}

fn divided(a: Range, b: Range) -> Result<Range, String> {
    a.over(b).ok_or_else(|| "the interval of the lesser figure reaches 0".to_owned())
}

/// A row of fork and join, in the first mapping that has it.
fn fork_join<'a>(sync: &'a Sync, algorithm: &str, threads: u32) -> Result<&'a ForkJoinTime, String> {
    sync.fork_join
        .iter()
        .find(|row| row.algorithm == algorithm && row.threads == threads)
        .ok_or_else(|| format!("fork and join of {threads} threads by {algorithm} were not measured"))
}

fn largest(sync: &Sync) -> Result<u32, String> {
    let all = sync.fork_join.iter().map(|row| row.threads).max();
    all.filter(|threads| *threads > 1)
        .ok_or_else(|| "no fork and join of two threads or more was measured".to_owned())
}

fn total(context: &Context<'_>, row: &ForkJoinTime) -> Result<Range, String> {
    context.range(&format!("fork and join by {}", row.algorithm), row.total_ns.as_ref())
}

/// `2 threads; one run …`.
fn of_threads(sync: &Sync, threads: u32) -> String {
    format!("{threads} threads; {}", how(&sync.method))
}

/// Fork and join by an algorithm over those by FBS on separate lines, of the largest team or one of a certain size.
fn of_team(context: &Context<'_>, algorithm: &str, threads: Option<u32>) -> Result<Evidence, String> {
    let sync = section(context)?;
    let all = largest(sync)?;
    let threads = match threads {
        Some(wanted) if sync.fork_join.iter().all(|row| row.threads != wanted) => {
            return Err(format!("no team of {wanted} threads was measured; the largest has {all}"));
        }
        Some(wanted) => wanted,
        None => all,
    };
    let (other, fbs) = (fork_join(sync, algorithm, threads)?, fork_join(sync, "fbs", threads)?);
    Ok(Evidence::one(divided(total(context, other)?, total(context, fbs)?)?, of_threads(sync, threads)))
}

fn lost_in_join(context: &Context<'_>) -> Result<Evidence, String> {
    let sync = section(context)?;
    let threads = largest(sync)?;
    let (one_line, fbs) = (fork_join(sync, "fbs-one-line", threads)?, fork_join(sync, "fbs", threads)?);
    let part = |row: &ForkJoinTime, what: &str, of: fn(&ForkJoinTime) -> Option<&Estimate>| {
        context.range(&format!("the {what} by {}", row.algorithm), of(row))
    };
    let lost = |what: &str, of| Ok::<_, String>(part(one_line, what, of)?.less(part(fbs, what, of)?));
    let (fork, join) = (lost("fork", |row| row.fork_ns.as_ref())?, lost("join", |row| row.join_ns.as_ref())?);
    if fork.plus(join).high <= 0.0 {
        return Err(format!(
            "one line loses nothing here: fork and join differ by {:.0} ns together",
            fork.plus(join).value
        ));
    }
    let how = format!("loss of the join less that of the fork; {}", of_threads(sync, threads));
    Ok(Evidence::one(join.less(fork), how))
}

fn of_eight(context: &Context<'_>) -> Result<Evidence, String> {
    let sync = section(context)?;
    let row = fork_join(sync, "fbs", 8)?;
    Ok(Evidence::one(total(context, row)?, of_threads(sync, 8)))
}

fn by_mapping(context: &Context<'_>) -> Result<Evidence, String> {
    let sync = section(context)?;
    let half = largest(sync)? / 2;
    if let Some(told) = sync.ratios.get(ratio::MAPPING) {
        return Ok(Evidence::one(context.range("the ratio", Some(told))?, how(&sync.method)));
    }
    if half < 2 {
        return Err("half the CPUs are one, which waits for nobody".to_owned());
    }
    let of = |mapping: &str| {
        let mine =
            |row: &&ForkJoinTime| row.algorithm == "fbs" && row.threads == half && row.mapping == mapping;
        let row = sync.fork_join.iter().find(mine);
        total(context, row.ok_or_else(|| format!("{half} threads in {mapping} mapping were not measured"))?)
    };
    Ok(Evidence::one(divided(of("binary-tree")?, of("sequential")?)?, of_threads(sync, half)))
}

fn over_openmp(context: &Context<'_>) -> Result<Evidence, String> {
    let sync = section(context)?;
    let mine = sync.peers.iter().filter(|peer| peer.name.contains("omp"));
    let most = mine.clone().filter(|peer| peer.ratio.is_some()).map(|peer| peer.threads).max();
    if most.is_none() {
        let why = mine.clone().find_map(|peer| peer.not_available.as_deref());
        return Err(
            why.map_or_else(|| "no OpenMP was measured in turn".to_owned(), |why| format!("OpenMP: {why}"))
        );
    }
    let parts: Result<Vec<Part>, String> = mine
        .filter(|peer| Some(peer.threads) == most && peer.ratio.is_some())
        .map(|peer| {
            let what = format!("{} ({})", peer.operation, peer.name);
            let range = context.range(&what, peer.ratio.as_ref())?;
            Ok(Part::new(what, range))
        })
        .collect();
    Ok(Evidence::of(parts?, of_threads(sync, most.unwrap_or_default())))
}

/// A program's runs.
fn kernel<'a>(context: &Context<'a>, name: &str) -> Result<&'a Kernel, String> {
    let kernel = section(context)?.kernels.get(name);
    kernel.filter(|kernel| !kernel.points.is_empty()).ok_or_else(|| format!("the program {name} was not run"))
}

/// The points of the largest team under a barrier, in the first mapping that has them.
fn points<'a>(kernel: &'a Kernel, barrier: &'a str) -> impl Iterator<Item = &'a KernelPoint> {
    let all = kernel.points.iter().map(|point| point.threads).max().unwrap_or(0);
    let mine = move |point: &&KernelPoint| point.barrier == barrier && point.threads == all && all > 1;
    let mapping = kernel.points.iter().find(mine).map(|point| point.mapping.as_str());
    kernel.points.iter().filter(mine).filter(move |point| Some(point.mapping.as_str()) == mapping)
}

/// A ratio that the paper prints without the figures behind it.
fn printed(context: &Context<'_>, name: &str) -> Option<Range> {
    let told = section(context).ok()?.ratios.get(name)?;
    context.range(name, Some(told)).ok()
}

fn loop_of(context: &Context<'_>, barrier: &str, length: u64) -> Result<Range, String> {
    let point = points(kernel(context, "daxpy")?, barrier).find(|point| point.length == Some(length));
    let what = format!("the loop of {length} under {barrier}");
    context.range(&what, point.and_then(|point| point.seconds.as_ref()))
}

fn lengths(context: &Context<'_>) -> Result<Vec<u64>, String> {
    Ok(points(kernel(context, "daxpy")?, "fbs").filter_map(|point| point.length).collect())
}

fn loops(context: &Context<'_>) -> String {
    let Ok(daxpy) = kernel(context, "daxpy") else { return "as printed".to_owned() };
    let threads = daxpy.points.iter().map(|point| point.threads).max().unwrap_or(0);
    format!("{threads} threads; {}", how(&daxpy.method))
}

/// The shortest loop's speed-up by FBS over the lock.
fn short_loops(context: &Context<'_>) -> Result<Range, String> {
    if let Some(printed) = printed(context, ratio::SHORT_LOOPS) {
        return Ok(printed);
    }
    let shortest =
        lengths(context)?.into_iter().min().ok_or("no loop was run under FBS by two threads or more")?;
    divided(loop_of(context, "lock", shortest)?, loop_of(context, "fbs", shortest)?)
}

fn short_over_peak(context: &Context<'_>) -> Result<Evidence, String> {
    let peak = match printed(context, ratio::PEAK) {
        Some(printed) => printed,
        None => {
            let peak = |barrier| {
                let rates =
                    points(kernel(context, "daxpy")?, barrier).filter_map(|point| point.gflops.as_ref());
                context.range("the peak", rates.max_by(|a, b| a.median.total_cmp(&b.median)))
            };
            divided(peak("fbs")?, peak("lock")?)?
        }
    };
    Ok(Evidence::one(divided(short_loops(context)?, peak)?, loops(context)))
}

/// The longest loop's time by the lock over that by FBS, if its three arrays exceed the last cache.
fn longest_loop(context: &Context<'_>) -> Result<Evidence, String> {
    let longest =
        lengths(context)?.into_iter().max().ok_or("no loop was run under FBS by two threads or more")?;
    let cache = super::hamada_dimmnet::largest_cache(context).ok_or("the profile tells no caches")?;
    let bytes = 3 * 8 * longest;
    if bytes <= cache {
        return Err(format!("the longest loop has {bytes} bytes, and the largest cache {cache}"));
    }
    let ratio = divided(loop_of(context, "lock", longest)?, loop_of(context, "fbs", longest)?)?;
    Ok(Evidence::one(ratio, format!("lock over FBS, {longest} elements, {}", loops(context))))
}

/// The largest problem's time by FBS over that by the lock.
fn program(context: &Context<'_>, name: &str) -> Result<Evidence, String> {
    let printed = printed(context, if name == "weather" { ratio::TUNED } else { ratio::UNTUNED });
    if let Some(range) = printed {
        return Ok(Evidence::one(range, "as printed"));
    }
    let kernel = kernel(context, name)?;
    let time = |barrier| {
        let point = points(kernel, barrier).max_by_key(|point| point.size);
        context.range(&format!("{name} under {barrier}"), point.and_then(|point| point.seconds.as_ref()))
    };
    let threads = kernel.points.iter().map(|point| point.threads).max().unwrap_or(0);
    let how = format!("{name}, {threads} threads; {}", how(&kernel.method));
    Ok(Evidence::one(divided(time("fbs")?, time("lock")?)?, how))
}

fn waiting(context: &Context<'_>) -> Result<Evidence, String> {
    if let Some(printed) = printed(context, ratio::WAITING_ALL) {
        return Ok(Evidence::one(printed, "as printed"));
    }
    let kernel = kernel(context, "weather")?;
    let point =
        points(kernel, "fbs").max_by_key(|point| point.size).ok_or("weather was not run under FBS")?;
    let waiting = context.range("the waiting of weather", point.sync_seconds.as_ref())?;
    let all = context.range("the time of weather", point.seconds.as_ref())?;
    let how = format!("weather, {} threads; {}", point.threads, how(&kernel.method));
    Ok(Evidence::one(divided(waiting, all)?, how))
}

fn computing(context: &Context<'_>, point: &KernelPoint) -> Result<Range, String> {
    let all = context.range("the time", point.seconds.as_ref())?;
    Ok(all.less(context.range("waiting", point.sync_seconds.as_ref())?))
}

/// Sequential over binary-tree mapping of half the CPUs under FBS, of the largest problems.
fn mapped(
    context: &Context<'_>,
    of: fn(&Context<'_>, &KernelPoint) -> Result<Range, String>,
) -> Result<Evidence, String> {
    let mut parts = Vec::new();
    let mut told = String::new();
    for name in ["galerkin", "weather"] {
        let kernel = kernel(context, name)?;
        let all = kernel.points.iter().map(|point| point.threads).max().unwrap_or(0);
        let half = all / 2;
        if half < 2 {
            return Err("half the CPUs are one, which waits for nobody".to_owned());
        }
        let point = |mapping: &str| {
            let mine = |point: &&KernelPoint| {
                point.barrier == "fbs" && point.threads == half && point.mapping == mapping
            };
            let found = kernel.points.iter().filter(mine).max_by_key(|point| point.size);
            of(
                context,
                found.ok_or_else(|| format!("{name} of {half} threads was not run in {mapping} mapping"))?,
            )
        };
        parts.push(Part::new(name, divided(point("sequential")?, point("binary-tree")?)?));
        told = format!("nearest first over spread, {half} threads; {}", how(&kernel.method));
    }
    Ok(Evidence::of(parts, told))
}
