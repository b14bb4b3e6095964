//! Threads that are pinned once and then given work: starting a pair of threads for each measurement would cost more
//! than the measurement.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use coho_platform::{pin, stolen};

use crate::Error;

/// How long a worker spins for its next job before it sleeps.
const BRIEF: Duration = Duration::from_micros(20);

/// A job for the worker on a CPU.
pub type Job<'env, T> = Box<dyn FnOnce() -> T + Send + 'env>;

/// One pinned thread on each of some CPUs.
///
/// ```
/// use coho_platform::pin;
/// use coho_probe::workers::Workers;
/// let cpu = pin::allowed()?.first().expect("a CPU to run on");
/// let workers = Workers::start(&[cpu])?;
/// let done = workers.run(vec![(cpu, Box::new(pin::current))]);
/// assert_eq!(done[0].as_ref().unwrap().value, Some(cpu));
/// # Ok::<(), coho_probe::Error>(())
/// ```
pub struct Workers {
    threads: BTreeMap<u32, Worker>,
}

struct Worker {
    jobs: Option<Sender<Job<'static, ()>>>,
    thread: Option<JoinHandle<()>>,
}

/// What a job returned, and how often its thread was interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done<T> {
    /// What the job returned.
    pub value: T,
    /// Involuntary context switches of the thread during the job.
    pub involuntary_switches: u64,
}

impl Workers {
    /// No threads.
    pub(crate) fn none() -> Self {
        Self { threads: BTreeMap::new() }
    }

    /// Starts and pins a thread on each CPU.
    ///
    /// # Errors
    /// [`Error::Cpu`] naming the first CPU that a thread cannot be pinned to, and why.
    pub fn start(cpus: &[u32]) -> Result<Self, Error> {
        let mut threads = BTreeMap::new();
        let (pinned, pins) = channel();
        for &cpu in cpus {
            if threads.contains_key(&cpu) {
                continue;
            }
            let (jobs, mailbox) = channel();
            let pinned = pinned.clone();
            let thread = std::thread::Builder::new()
                .name(format!("coho cpu {cpu}"))
                .spawn(move || {
                    let pin = pin::to(cpu);
                    let usable = pin.is_ok();
                    // The starter waits for every pin.
                    let _ = pinned.send(pin);
                    drop(pinned);
                    if usable {
                        work(&mailbox);
                    }
                })
                .map_err(|error| Error::cpu(cpu, format!("no thread for it: {error}")))?;
            threads.insert(cpu, Worker { jobs: Some(jobs), thread: Some(thread) });
        }
        drop(pinned);
        let workers = Self { threads };
        let mut failures: Vec<Error> = pins.iter().filter_map(Result::err).map(Error::from).collect();
        failures.sort_by_key(|error| match error {
            Error::Cpu { cpu, .. } => *cpu,
            _ => u32::MAX,
        });
        failures.into_iter().next().map_or(Ok(workers), Err)
    }

    /// The CPUs that have a worker.
    pub fn cpus(&self) -> Vec<u32> {
        self.threads.keys().copied().collect()
    }

    /// Runs jobs at the same time, each on its CPU's worker, and waits for all. Several jobs for one CPU run in order.
    ///
    /// A result is an error if no worker has that CPU, or if the worker was not on its CPU before or after the job.
    ///
    /// # Panics
    /// With a job's own panic, after all jobs have ended.
    pub fn run<'env, T: Send + 'env>(&self, jobs: Vec<(u32, Job<'env, T>)>) -> Vec<Result<Done<T>, Error>> {
        let mut values: Vec<Option<T>> = jobs.iter().map(|_| None).collect();
        let all = jobs.into_iter().zip(&mut values).map(|((cpu, job), value)| {
            let job: Job<'_, ()> = Box::new(move || *value = Some(job()));
            (cpu, job)
        });
        let switches = self.run_all(all.collect());
        switches
            .into_iter()
            .zip(values)
            .map(|(switches, value)| {
                let value = |involuntary_switches| Done {
                    value: value.expect("a job that has ended has left its value"),
                    involuntary_switches,
                };
                switches.map(value)
            })
            .collect()
    }

    /// The involuntary switches of each job. Apart from `run`, so that it is compiled once and not for each type of
    /// result.
    fn run_all<'env>(&self, jobs: Vec<(u32, Job<'env, ()>)>) -> Vec<Result<u64, Error>> {
        type Outcome = Result<Result<u64, Error>, Box<dyn Any + Send>>;
        let (outcome, outcomes) = channel::<(usize, Outcome)>();
        let mut results: Vec<Option<Result<u64, Error>>> = Vec::new();
        let mut under_way = 0;
        for (index, (cpu, job)) in jobs.into_iter().enumerate() {
            results.push(None);
            let outcome = outcome.clone();
            let erased: Job<'env, ()> = Box::new(move || {
                let result = catch_unwind(AssertUnwindSafe(|| watched(cpu, job)));
                // `run_all` waits for as many outcomes as it has handed out jobs.
                let _ = outcome.send((index, result));
            });
            // SAFETY: only the lifetime changes. `run_all` does not return before each job that was handed out has
            // sent its outcome, which is the last thing that it does with what it borrows; a job that could not be
            // handed out is dropped at once, and workers outlive `run_all` as it borrows them.
            let erased: Job<'static, ()> = unsafe { std::mem::transmute(erased) };
            let sent =
                self.threads.get(&cpu).and_then(|worker| worker.jobs.as_ref()).map(|jobs| jobs.send(erased));
            match sent {
                Some(Ok(())) => under_way += 1,
                Some(Err(_)) | None => results[index] = Some(Err(Error::cpu(cpu, "no worker runs on it"))),
            }
        }
        drop(outcome);
        let mut panicked = None;
        for _ in 0..under_way {
            let (index, result) = outcomes.recv().expect("each job under way sends its outcome");
            match result {
                Ok(result) => results[index] = Some(result),
                Err(panic) => panicked = Some(panic),
            }
        }
        if let Some(panic) = panicked {
            resume_unwind(panic);
        }
        results.into_iter().map(|result| result.expect("every job has an outcome")).collect()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in self.threads.values_mut() {
            worker.jobs = None;
        }
        for worker in self.threads.values_mut() {
            if let Some(thread) = worker.thread.take() {
                // Jobs catch their panics.
                let _ = thread.join();
            }
        }
    }
}

fn work(mailbox: &Receiver<Job<'static, ()>>) {
    while let Some(job) = next(mailbox) {
        job();
    }
}

fn next(mailbox: &Receiver<Job<'static, ()>>) -> Option<Job<'static, ()>> {
    let start = Instant::now();
    while start.elapsed() < BRIEF {
        match mailbox.try_recv() {
            Ok(job) => return Some(job),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
        }
    }
    mailbox.recv().ok()
}

/// Runs a job, and counts the involuntary switches of its thread.
fn watched(cpu: u32, job: Job<'_, ()>) -> Result<u64, Error> {
    pin::verify(cpu)?;
    let before = stolen::involuntary_switches();
    job();
    let switches = stolen::involuntary_switches() - before;
    pin::verify(cpu)?;
    Ok(switches)
}

#[cfg(test)]
mod tests {
    use coho_testing::{Capability, needs};

    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    fn cpus() -> Vec<u32> {
        pin::allowed().unwrap().iter().take(4).collect()
    }

    #[test]
    fn runs_borrowing_jobs_on_their_cpus() {
        let workers = Workers::start(&cpus()).unwrap();
        let sum = AtomicU64::new(0);
        for _ in 0..200 {
            let jobs = workers
                .cpus()
                .into_iter()
                .map(|cpu| {
                    let job: Job<'_, Option<u32>> = Box::new(|| {
                        sum.fetch_add(1, Ordering::Relaxed);
                        pin::current()
                    });
                    (cpu, job)
                })
                .collect();
            for (cpu, done) in workers.cpus().into_iter().zip(workers.run(jobs)) {
                assert_eq!(done.unwrap().value, Some(cpu));
            }
        }
        assert_eq!(sum.into_inner(), 200 * workers.cpus().len() as u64);
    }

    #[test]
    fn names_a_cpu_without_a_worker() {
        let workers = Workers::start(&cpus()).unwrap();
        let result = workers.run(vec![(60_000, Box::new(|| ()) as Job<'_, ()>)]);
        assert!(result[0].as_ref().unwrap_err().to_string().contains("CPU 60000"));
        let error = Workers::start(&[cpus()[0], 60_000]).err().expect("no such CPU");
        assert!(error.to_string().contains("CPU 60000"), "{error}");
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_worker_lives_on() {
        let workers = Workers::start(&cpus()[..1]).unwrap();
        let cpu = cpus()[0];
        let panicking: Vec<(u32, Job<'_, ()>)> = vec![(cpu, Box::new(|| panic!("on purpose")))];
        assert!(catch_unwind(AssertUnwindSafe(|| workers.run(panicking))).is_err());
        let job: Job<'_, u8> = Box::new(|| 7);
        assert_eq!(workers.run(vec![(cpu, job)])[0].as_ref().unwrap().value, 7);
    }

    #[test]
    fn a_worker_that_lost_its_pin_is_named() {
        needs!(Capability::TwoCpus);
        let (first, second) = (cpus()[0], cpus()[1]);
        let workers = Workers::start(&[first]).unwrap();
        let elsewhere = coho_topology::CpuSet::from_iter([second]);
        let job: Job<'_, ()> = Box::new(|| pin::confine(&elsewhere).unwrap());
        let error = workers.run(vec![(first, job)]).remove(0).unwrap_err();
        assert!(matches!(error, Error::Cpu { cpu, .. } if cpu == first), "{error}");
    }
}
