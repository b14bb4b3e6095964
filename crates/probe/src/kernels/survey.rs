//! Runs all crews in turn, in several passes of random order.

use std::time::{Duration, Instant};

use coho_platform::stolen::Steal;
use coho_profile::{Estimate, Kernel, KernelPoint};
use coho_sync::{Algorithm, Mapping};
use coho_topology::Topology;
use coho_workloads::kernels::{Alone, Program, lead, vectors};
use serde_json::json;

use super::Options;
use super::visit::{BATCH, Effort, Samples, visit};
use crate::barrier::same_places;
use crate::clock::Clock;
use crate::coherence::Distance;
use crate::frame::Frame;
use crate::{Around, Error, statistics};

/// One way to run a program, and its results so far.
struct Configuration {
    /// `None` for one thread.
    barrier: Option<Algorithm>,
    mapping: Option<Mapping>,
    /// The CPU of each rank.
    cpus: Vec<u32>,
    /// By pass, then size.
    passes: Vec<Vec<Samples>>,
    /// Why it is no longer run.
    lost: Option<String>,
}

impl Configuration {
    fn name(&self) -> String {
        match (self.barrier, self.mapping) {
            (Some(barrier), Some(mapping)) => {
                let barrier = barrier.name();
                format!("{barrier}, {mapping}, {} threads", self.cpus.len())
            }
            _ => "one thread".into(),
        }
    }

    /// Batches of a size that nothing disturbed, and those that other work did.
    fn batches(&self, size: usize) -> [usize; 2] {
        let passes = || self.passes.iter().map(|pass| &pass[size]);
        let noisy = passes().map(|samples| samples.disturbed.seconds.len() + samples.disturbed.waiting.len());
        [passes().map(|samples| samples.seconds.len()).sum(), noisy.sum()]
    }

    /// Whether other work has left too few batches of a size for a figure.
    fn is_disturbed(&self, size: usize) -> bool {
        let [quiet, noisy] = self.batches(size);
        noisy > 0 && quiet < Estimate::FEWEST as usize
    }

    /// Why sizes have no figure, if other work left too few batches of some.
    fn withheld(&self, sizes: usize) -> Option<String> {
        let disturbed: Vec<usize> = (0..sizes).filter(|&size| self.is_disturbed(size)).collect();
        let noisy: usize = disturbed.iter().map(|&size| self.batches(size)[1]).sum();
        (!disturbed.is_empty()).then(|| {
            format!(
                "other work disturbed {noisy} batches of {} of {sizes} sizes and left fewer than {} of each, in \
                 {} visits",
                disturbed.len(),
                Estimate::FEWEST,
                self.passes.len()
            )
        })
    }
}

/// Further visits at most of a team with a size that other work has disturbed.
const AGAIN: usize = 3;

/// Runs a program under everything that `options` request.
pub(super) fn run<P: Program>(
    program: &P,
    options: &Options,
    around: &mut Around<'_>,
) -> Result<Kernel, Error> {
    let mut frame = Frame::on(&options.course, around.progress)?;
    let mut configurations = configurations(options, around.topology, &mut frame)?;
    let distance = Distance::before(&mut frame);
    let (passes, batches, time) = if options.quick { (3, 12, 60) } else { (6, 30, 500) };
    let effort = Effort { batches, time: Duration::from_millis(time), end: frame.end().clone() };
    frame.visit_all(options.which.name(), passes, &mut configurations, |frame, configuration, _| {
        turn(program, configuration, frame, &effort)
    })?;
    let sizes = program.sizes().len();
    for _ in 0..AGAIN {
        for configuration in &mut configurations {
            if !frame.end().has_come() && (0..sizes).any(|size| configuration.is_disturbed(size)) {
                turn(program, configuration, &mut frame, &effort)?;
            }
        }
    }
    for configuration in &configurations {
        if let Some(why) = &configuration.lost {
            frame.lacks(configuration.name(), why.clone());
        } else if let Some(why) = configuration.withheld(sizes) {
            frame.lacks(configuration.name(), why);
        }
    }
    distance.after(&mut frame);
    describe::<P>(&mut frame, batches);
    let mut points = Vec::new();
    let mut invariant_error: Option<f64> = None;
    for configuration in &configurations {
        points.extend((0..program.sizes().len()).filter_map(|size| point(program, configuration, size)));
        for error in configuration.passes.iter().flatten().filter_map(|samples| samples.error) {
            invariant_error = Some(invariant_error.map_or(error, |worst| worst.max(error)));
        }
    }
    points.sort_by_key(|point| point.size);
    Ok(Kernel { method: frame.finish(DESCRIPTION), points, invariant_error, ..Kernel::default() })
}

/// The share of its CPUs' time from which what the hypervisor took counts as a disturbance.
const STOLEN: f64 = 0.05;

const DESCRIPTION: &str = "Batches of every size in random order, by every team in turn in passes of random order. \
    Every third batch is watched: its threads read the clock as they begin and end their share of a region and at \
    every barrier, and what is not their own work is waiting. The share of waiting in watched batches times the time \
    of the others is sync_seconds, so that reading the clock does not add to the times. A batch during which a thread lost its CPU to other work is done \
    again, and counted; a team with a size that has too few others is visited again, up to three times, and what is \
    still disturbed has no figure.";

fn describe<P: Program>(frame: &mut Frame<'_>, batches: usize) {
    let clock = Clock::get();
    let readings = 1000;
    let start = clock.now();
    for _ in 0..readings {
        std::hint::black_box(clock.now());
    }
    let reading_ns = clock.ns(clock.now() - start) / f64::from(readings);
    frame.parameter("batches_a_pass", batches);
    frame.parameter("batch_us", BATCH.as_micros() as u64);
    frame.parameter("clock_reading_ns", reading_ns);
    frame.parameter("clock_readings_of_a_watched_thread", "2 a region and 2 a barrier inside it");
    frame.parameter("vectors", if P::WIDE { vectors() } else { "the architecture's baseline" });
    frame.parameter("regions_a_run", json!(P::REGIONS));
    frame.parameter("barriers_a_run", json!(P::BARRIERS));
}

/// One visit of a team that has not failed.
fn turn<P: Program>(
    program: &P,
    configuration: &mut Configuration,
    frame: &mut Frame<'_>,
    effort: &Effort,
) -> Result<(), Error> {
    if configuration.lost.is_some() {
        return Ok(());
    }
    let (cpus, barrier) = (&configuration.cpus, configuration.barrier);
    let mut random = frame.random.fork();
    let (began, steal) = (Instant::now(), Steal::from_now(cpus.iter().copied().collect()));
    let outcome = frame.run(cpus[0], move || match barrier {
        None => Ok(visit(program, &mut Alone, effort, &mut random)),
        // A team that cannot be created is not an error of the program.
        Some(barrier) => lead(barrier, cpus, |leader| visit(program, leader, effort, &mut random)),
    });
    match outcome {
        Ok(Ok(samples)) => {
            let mut samples = samples?;
            let all_s = began.elapsed().as_secs_f64() * cpus.len() as f64;
            if steal.seconds().is_some_and(|taken_s| taken_s > STOLEN * all_s) {
                samples.iter_mut().for_each(Samples::disturb);
            }
            configuration.passes.push(samples);
        }
        Ok(Err(why)) => configuration.lost = Some(Error::from(why).to_string()),
        Err(why) => configuration.lost = Some(why.to_string()),
    }
    Ok(())
}

fn point<P: Program>(program: &P, configuration: &Configuration, size: usize) -> Option<KernelPoint> {
    let all = || configuration.passes.iter().map(|pass| &pass[size]);
    // A figure of what other work did is withheld.
    let disturbed = configuration.is_disturbed(size);
    let gather = |of: fn(&Samples) -> &Vec<f64>| -> Vec<Vec<f64>> {
        all().filter(|_| !disturbed).map(|samples| of(samples).clone()).collect()
    };
    let scaled = |passes: &[Vec<f64>], by: &dyn Fn(f64) -> f64| {
        let passes: Vec<Vec<f64>> = passes.iter().map(|pass| pass.iter().map(|x| by(*x)).collect()).collect();
        statistics::estimate(&passes)
    };
    let times = gather(|samples| &samples.seconds);
    let seconds = statistics::estimate(&times);
    if seconds.is_none() && !disturbed {
        return None;
    }
    let median = seconds.as_ref().map(|seconds| seconds.median);
    let operations = program.sizes()[size].operations as f64;
    Some(KernelPoint {
        length: None,
        size: Some(program.sizes()[size].n),
        threads: configuration.cpus.len() as u32,
        barrier: configuration.barrier.map_or_else(|| "none".into(), Algorithm::name),
        mapping: configuration.mapping.map_or("", Mapping::name).into(),
        sync_seconds: median
            .and_then(|median| scaled(&gather(|samples| &samples.waiting), &|share| share * median)),
        gflops: scaled(&times, &|seconds| operations / seconds / 1e9),
        seconds,
        disturbed_batches: configuration.batches(size)[1] as u64,
        disturbed,
    })
}

/// The teams to run, one thread first; a mapping that places a team like an earlier one is named and left out.
fn configurations(
    options: &Options,
    topology: &Topology,
    frame: &mut Frame<'_>,
) -> Result<Vec<Configuration>, Error> {
    let cpus = frame.cpus.clone();
    let mut teams = options.threads.clone();
    if teams.is_empty() {
        teams =
            std::iter::successors(Some(2), |n| Some(2 * n)).take_while(|&n| n < cpus.len() as u32).collect();
        teams.push(cpus.len() as u32);
    }
    teams.sort_unstable();
    teams.dedup();
    if let Some(&most) = teams.iter().find(|&&n| n as usize > cpus.len()) {
        return Err(Error::argument(format!(
            "a team of {most} threads needs as many CPUs of its own, but there are {}: threads that share a \
             CPU would measure the scheduler, not the barrier",
            cpus.len()
        )));
    }
    if teams.first() == Some(&0) {
        return Err(Error::argument("a team needs at least one thread"));
    }
    let alone =
        Configuration { barrier: None, mapping: None, cpus: vec![cpus[0]], passes: Vec::new(), lost: None };
    let mut configurations = vec![alone];
    for threads in teams.into_iter().filter(|&threads| threads > 1) {
        let mut placed: Vec<(Mapping, Vec<u32>)> = Vec::new();
        for &mapping in &options.mappings {
            let mut places = mapping.order(topology, &cpus.iter().copied().collect());
            places.truncate(threads as usize);
            if let Some((like, _)) = placed.iter().find(|(_, other)| *other == places) {
                frame.method.not_available.extend([same_places(mapping, threads as usize, *like)]);
                continue;
            }
            for &barrier in &options.barriers {
                configurations.push(Configuration {
                    barrier: Some(barrier),
                    mapping: Some(mapping),
                    cpus: places.clone(),
                    passes: Vec::new(),
                    lost: None,
                });
            }
            placed.push((mapping, places));
        }
    }
    Ok(configurations)
}

#[cfg(test)]
mod tests {
    use coho_workloads::kernels::Daxpy;

    use super::*;

    #[test]
    fn a_size_that_other_work_disturbed_has_no_figure_and_a_reason() {
        let program = Daxpy::up_to(1 << 12);
        let sizes = program.sizes().len();
        let quiet = Samples { seconds: vec![1e-6; 6], ..Samples::default() };
        let mut noisy = quiet.clone();
        noisy.disturb();
        let mut configuration = Configuration {
            barrier: None,
            mapping: None,
            cpus: vec![0],
            passes: vec![
                (0..sizes).map(|size| if size == 0 { noisy.clone() } else { quiet.clone() }).collect(),
            ],
            lost: None,
        };
        let disturbed = point(&program, &configuration, 0).unwrap();
        assert!(disturbed.disturbed && disturbed.seconds.is_none() && disturbed.gflops.is_none());
        assert_eq!(disturbed.disturbed_batches, 6);
        assert!(configuration.withheld(sizes).unwrap().contains("6 batches of 1 of"));
        assert!(!point(&program, &configuration, 1).unwrap().disturbed);
        // Another visit that nothing disturbs brings the figure.
        configuration.passes.push(vec![quiet; sizes]);
        let again = point(&program, &configuration, 0).unwrap();
        assert!(!again.disturbed && again.seconds.unwrap().n == 6);
        assert_eq!(configuration.withheld(sizes), None);
    }
}
