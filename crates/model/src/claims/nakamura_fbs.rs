//! Nakamura et al.: Fast Barrier Synchronization compared with a lock, by layout, mapping and program.

use coho_profile::{Estimate, ForkJoinTime, Inexact, Kernel, KernelPoint, Method, Sync, ratio};

use super::Figure;
use super::evidence::{Context, Evidence, Lack, Part, Range, Unit, divided};

/// What this paper's claims rest on, by name.
pub(super) const FIGURES: &[Figure] = &[
    ("over-fbs", |context, of| of_team(context, &of[0], of.get(1).and_then(|threads| threads.parse().ok()))),
    ("lost-in-join", |context, _| lost_in_join(context)),
    ("fbs-of-eight", |context, _| of_eight(context)),
    ("spread-over-nearest", |context, _| by_mapping(context)),
    ("openmp-over-fbs", |context, _| over_openmp(context)),
    ("short-loops", |context, _| short_loops(context)),
    ("short-loops-over-peak", |context, _| short_over_peak(context)),
    ("longest-loop", |context, _| longest_loop(context)),
    ("program-by-barrier", |context, of| program(context, &of[0])),
    ("waiting", |context, _| waiting(context)),
    ("mapped-computing", |context, _| mapped(context, computing)),
    ("mapped-waiting", |context, _| {
        mapped(context, |context, point| context.range("waiting", point.sync_seconds.as_ref()))
    }),
    ("mapped-time", |context, _| {
        mapped(context, |context, point| context.range("the time", point.seconds.as_ref()))
    }),
];

fn section<'a>(context: &Context<'a>) -> Result<&'a Sync, Lack> {
    context.profile.sync.as_ref().ok_or_else(|| "the profile has no section sync".into())
}

/// Regions that begin and end with a barrier, as the paper's do.
fn by_barrier(sync: &Sync) -> impl Iterator<Item = &ForkJoinTime> {
    sync.fork_join.iter().filter(|row| row.by == "barrier")
}

/// A row of fork and join, in the first mapping that has it.
fn fork_join<'a>(context: &Context<'a>, algorithm: &str, threads: u32) -> Result<&'a ForkJoinTime, Lack> {
    context.takes_cpus(threads)?;
    let sync = section(context)?;
    by_barrier(sync)
        .find(|row| row.algorithm == algorithm && row.threads == threads)
        .ok_or_else(|| format!("fork and join of {threads} threads by {algorithm} were not measured").into())
}

fn largest(context: &Context<'_>) -> Result<u32, Lack> {
    let sync = section(context)?;
    let all = by_barrier(sync).map(|row| row.threads).max();
    all.filter(|threads| *threads > 1)
        .ok_or_else(|| context.no_team(2, "no fork and join of two threads or more was measured".to_owned()))
}

/// Half of the threads, which must be two at least.
fn half_of(context: &Context<'_>, all: u32) -> Result<u32, Lack> {
    match all / 2 {
        0 | 1 => {
            Err(context.no_team(4, format!("half of the largest team of {all} has fewer than two threads")))
        }
        half => Ok(half),
    }
}

fn total(context: &Context<'_>, row: &ForkJoinTime) -> Result<Range, Lack> {
    context.range(&format!("fork and join by {}", row.algorithm), row.total_ns.as_ref())
}

/// `2 threads; one run …`.
fn of_threads(context: &Context<'_>, threads: u32) -> Result<String, Lack> {
    Ok(format!("{threads} threads; {}", context.how(&section(context)?.method)))
}

/// Fork and join by an algorithm over those by FBS on separate lines, for the largest team or one of the given size.
fn of_team(context: &Context<'_>, algorithm: &str, threads: Option<u32>) -> Result<Evidence, Lack> {
    let threads = threads.map_or_else(|| largest(context), Ok)?;
    let (other, fbs) = (fork_join(context, algorithm, threads)?, fork_join(context, "fbs", threads)?);
    let how = format!("fork and join timed together, {}", of_threads(context, threads)?);
    Ok(Evidence::one(divided(total(context, other)?, total(context, fbs)?)?, how))
}

fn lost_in_join(context: &Context<'_>) -> Result<Evidence, Lack> {
    let threads = largest(context)?;
    let (one_line, fbs) = (fork_join(context, "fbs-one-line", threads)?, fork_join(context, "fbs", threads)?);
    let part = |row: &ForkJoinTime, what: &str, of: fn(&ForkJoinTime) -> Option<&Estimate>| {
        context.range(&format!("the {what} by {}", row.algorithm), of(row))
    };
    let lost = |what: &str, of| Ok::<_, Lack>(part(one_line, what, of)?.less(part(fbs, what, of)?));
    let (fork, join) = (lost("fork", |row| row.fork_ns.as_ref())?, lost("join", |row| row.join_ns.as_ref())?);
    // What is lost in all is told by fork and join timed together, as everywhere; timed apart, they tell where.
    let whole = total(context, one_line)?.less(total(context, fbs)?);
    let apart = fork.plus(join);
    let ns = |range: Range| Unit::Ns.show(range, None);
    if whole.high <= 0.0 {
        let why =
            format!("one line loses nothing here: timed together, fork and join differ by {}", ns(whole));
        return Err(Lack::Unmeasurable(why));
    }
    if whole.low <= 0.0 || apart.high <= 0.0 {
        let why = format!(
            "that one line loses anything is not beyond the intervals: fork and join differ by {} timed together, by {} \
             timed apart",
            ns(whole),
            ns(apart)
        );
        return Err(Lack::Unmeasured(why));
    }
    let how =
        format!("loss of the join less that of the fork, timed apart; {}", of_threads(context, threads)?);
    Ok(Evidence::one(join.less(fork), how))
}

fn of_eight(context: &Context<'_>) -> Result<Evidence, Lack> {
    let row = fork_join(context, "fbs", 8)?;
    Ok(Evidence::one(total(context, row)?, of_threads(context, 8)?))
}

fn by_mapping(context: &Context<'_>) -> Result<Evidence, Lack> {
    if let Some(printed) = printed(context, ratio::MAPPING) {
        return Ok(printed);
    }
    context.takes_cpus(4)?;
    let (sync, all) = (section(context)?, largest(context)?);
    let half = half_of(context, all)?;
    let total_of = |mapping: &str| {
        let mine =
            |row: &&ForkJoinTime| row.algorithm == "fbs" && row.threads == half && row.mapping == mapping;
        let row = by_barrier(sync).find(mine);
        let command = format!("coho barrier --threads {half},{all} -o PROFILE");
        total(context, row.ok_or_else(|| unmapped(&sync.method, "the barriers", half, mapping, command))?)
    };
    Ok(Evidence::one(divided(total_of("binary-tree")?, total_of("sequential")?)?, of_threads(context, half)?))
}

/// Why no team was run in this mapping: on some machines it takes the same CPUs as another mapping.
fn unmapped(method: &Method, what: &str, threads: u32, mapping: &str, command: String) -> Lack {
    match method.not_available.get(&format!("{mapping} mapping, {threads} threads")) {
        Some(why) => Lack::Unmeasurable(format!("{mapping} mapping of {threads} threads: {why}")),
        None => {
            let why = format!("{what} of {threads} threads in {mapping} mapping were not measured");
            Lack::MeasuredBy(why, command)
        }
    }
}

fn over_openmp(context: &Context<'_>) -> Result<Evidence, Lack> {
    let sync = section(context)?;
    let mine = sync.peers.iter().filter(|peer| peer.name.contains("omp"));
    let most = mine.clone().filter(|peer| peer.ratio.is_some()).map(|peer| peer.threads).max();
    if most.is_none() {
        let why = mine.clone().find_map(|peer| peer.not_available.as_deref());
        return Err(why.map_or_else(
            || "no OpenMP was measured in turn".into(),
            |why| Lack::Unmeasurable(format!("OpenMP: {why}")),
        ));
    }
    let parts = mine.filter(|peer| Some(peer.threads) == most && peer.ratio.is_some()).map(|peer| {
        let what = format!("{} ({})", peer.operation, peer.name);
        let range = context.range(&what, peer.ratio.as_ref())?;
        Ok(Part::new(what, range))
    });
    Ok(Evidence::of(parts, of_threads(context, most.unwrap_or_default())?))
}

/// A program's runs.
fn kernel<'a>(context: &Context<'a>, name: &str) -> Result<&'a Kernel, Lack> {
    let kernel = section(context)?.kernels.get(name);
    let run = kernel.filter(|kernel| !kernel.points.is_empty());
    let run = run.ok_or_else(|| context.no_team(2, format!("the program {name} was not run")))?;
    match run.points.iter().any(|point| point.disturbed) {
        true => Err(format!("other work disturbed the runs of {name}").into()),
        false => Ok(run),
    }
}

/// The points of the largest team under a barrier, in the first mapping that has them.
fn points<'a>(kernel: &'a Kernel, barrier: &'a str) -> impl Iterator<Item = &'a KernelPoint> {
    let all = kernel.points.iter().map(|point| point.threads).max().unwrap_or(0);
    let mine = move |point: &&KernelPoint| point.barrier == barrier && point.threads == all && all > 1;
    let mapping = kernel.points.iter().find(mine).map(|point| point.mapping.as_str());
    kernel.points.iter().filter(mine).filter(move |point| Some(point.mapping.as_str()) == mapping)
}

/// A ratio that the paper prints without the figures behind it, in its words. A ratio that it only bounds from above
/// covers everything below.
fn printed(context: &Context<'_>, name: &str) -> Option<Evidence> {
    let sync = section(context).ok().filter(|_| context.published)?;
    let range = context.range(name, sync.ratios.get(name)).ok()?;
    let inexact = sync.inexact.get(name).copied();
    let low = if inexact == Some(Inexact::Below) { 0.0 } else { range.low };
    let part = Part { inexact, ..Part::new("", Range { low, ..range }) };
    Some(Evidence::of([Ok(part)], "as printed"))
}

fn loop_of(context: &Context<'_>, barrier: &str, length: u64) -> Result<Range, Lack> {
    let point = points(kernel(context, "daxpy")?, barrier).find(|point| point.length == Some(length));
    let what = format!("the loop of {length} under {barrier}");
    context.range(&what, point.and_then(|point| point.seconds.as_ref()))
}

fn lengths(context: &Context<'_>) -> Result<Vec<u64>, Lack> {
    Ok(points(kernel(context, "daxpy")?, "fbs").filter_map(|point| point.length).collect())
}

fn loops(context: &Context<'_>) -> String {
    let Ok(daxpy) = kernel(context, "daxpy") else { return String::new() };
    let threads = daxpy.points.iter().map(|point| point.threads).max().unwrap_or(0);
    format!("{threads} threads; {}", context.how(&daxpy.method))
}

fn no_loop(context: &Context<'_>) -> Lack {
    context.no_team(2, "no loop was run under FBS by two threads or more".to_owned())
}

/// The shortest loop's speed-up with FBS over the lock.
fn short_loops(context: &Context<'_>) -> Result<Evidence, Lack> {
    if let Some(printed) = printed(context, ratio::SHORT_LOOPS) {
        return Ok(printed);
    }
    let shortest = lengths(context)?.into_iter().min().ok_or_else(|| no_loop(context))?;
    let ratio = divided(loop_of(context, "lock", shortest)?, loop_of(context, "fbs", shortest)?)?;
    Ok(Evidence::one(ratio, loops(context)))
}

/// The speed-up of the quickest loop.
fn peak(context: &Context<'_>) -> Result<Evidence, Lack> {
    if let Some(printed) = printed(context, ratio::PEAK) {
        return Ok(printed);
    }
    let peak_of = |barrier| {
        let rates = points(kernel(context, "daxpy")?, barrier).filter_map(|point| point.gflops.as_ref());
        context.range("the peak", rates.max_by(|a, b| a.median.total_cmp(&b.median)))
    };
    Ok(Evidence::one(divided(peak_of("fbs")?, peak_of("lock")?)?, loops(context)))
}

fn short_over_peak(context: &Context<'_>) -> Result<Evidence, Lack> {
    let (short, peak) = (short_loops(context)?, peak(context)?);
    let [over, under] = [&short.parts[0], &peak.parts[0]];
    let part =
        Part { inexact: over.inexact.or(under.inexact), ..Part::new("", divided(over.range, under.range)?) };
    Ok(Evidence::of([Ok(part)], short.how))
}

/// The longest loop's time with the lock over that with FBS, if its three arrays exceed the last-level cache.
fn longest_loop(context: &Context<'_>) -> Result<Evidence, Lack> {
    let longest = lengths(context)?.into_iter().max().ok_or_else(|| no_loop(context))?;
    let cache = super::hamada_dimmnet::largest_cache(context).ok_or("the profile lists no caches")?;
    let bytes = 3 * 8 * longest;
    if bytes <= cache {
        return Err(format!("the longest loop has {bytes} bytes, and the largest cache {cache}").into());
    }
    let ratio = divided(loop_of(context, "lock", longest)?, loop_of(context, "fbs", longest)?)?;
    Ok(Evidence::one(ratio, format!("lock over FBS, {longest} elements, {}", loops(context))))
}

/// The largest problem's time with FBS over that with the lock.
fn program(context: &Context<'_>, name: &str) -> Result<Evidence, Lack> {
    let printed = printed(context, if name == "weather" { ratio::TUNED } else { ratio::UNTUNED });
    if let Some(printed) = printed {
        return Ok(printed);
    }
    let kernel = kernel(context, name)?;
    let time = |barrier| {
        let point = points(kernel, barrier).max_by_key(|point| point.size);
        context.range(&format!("{name} under {barrier}"), point.and_then(|point| point.seconds.as_ref()))
    };
    let threads = kernel.points.iter().map(|point| point.threads).max().unwrap_or(0);
    let how = format!("{name}, {threads} threads; {}", context.how(&kernel.method));
    Ok(Evidence::one(divided(time("fbs")?, time("lock")?)?, how))
}

fn no_run(context: &Context<'_>, name: &str) -> Lack {
    context.no_team(2, format!("{name} was not run under FBS by two threads or more"))
}

fn waiting(context: &Context<'_>) -> Result<Evidence, Lack> {
    if let Some(printed) = printed(context, ratio::WAITING_ALL) {
        return Ok(printed);
    }
    let kernel = kernel(context, "weather")?;
    let point =
        points(kernel, "fbs").max_by_key(|point| point.size).ok_or_else(|| no_run(context, "weather"))?;
    let waiting = context.range("the waiting of weather", point.sync_seconds.as_ref())?;
    let all = context.range("the time of weather", point.seconds.as_ref())?;
    let how = format!("weather, {} threads; {}", point.threads, context.how(&kernel.method));
    Ok(Evidence::one(divided(waiting, all)?, how))
}

fn computing(context: &Context<'_>, point: &KernelPoint) -> Result<Range, Lack> {
    let all = context.range("the time", point.seconds.as_ref())?;
    Ok(all.less(context.range("waiting", point.sync_seconds.as_ref())?))
}

/// Sequential over binary-tree mapping of half the CPUs under FBS, for the largest problems.
fn mapped(
    context: &Context<'_>,
    figure: fn(&Context<'_>, &KernelPoint) -> Result<Range, Lack>,
) -> Result<Evidence, Lack> {
    context.takes_cpus(4)?;
    section(context)?;
    let mut how = String::new();
    let part = |name: &str| {
        let kernel = kernel(context, name)?;
        let all = kernel.points.iter().map(|point| point.threads).max().unwrap_or(0);
        let half = half_of(context, all)?;
        let point = |mapping: &str| {
            let mine = |point: &&KernelPoint| {
                point.barrier == "fbs" && point.threads == half && point.mapping == mapping
            };
            let largest = kernel.points.iter().filter(mine).max_by_key(|point| point.size);
            let command = format!("coho kernels {name} --threads {half},{all} -o PROFILE");
            figure(context, largest.ok_or_else(|| unmapped(&kernel.method, name, half, mapping, command))?)
        };
        how = format!("nearest first over spread, {half} threads; {}", context.how(&kernel.method));
        Ok(Part::new(name, divided(point("sequential")?, point("binary-tree")?)?))
    };
    let parts = ["galerkin", "weather"].map(part);
    Ok(Evidence::of(parts, how))
}
