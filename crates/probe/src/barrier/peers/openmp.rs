//! OpenMP runtimes: a small C program, compiled by the compiler that brings the runtime, and loaded here.

use std::ffi::{c_int, c_long, c_void};
use std::path::Path;
use std::process::{Command, Stdio};

use coho_platform::threads;
use coho_sync::Barrier;

use crate::Error;
use crate::barrier::burst::Bursts;
use crate::barrier::serial::Serial;
use crate::clock::Clock;

const SOURCE: &str = include_str!("openmp.c");
/// Regions by which the length of the serial part is found.
const REGIONS: u64 = 64;

/// A runtime and the command that compiles for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::barrier) struct Runtime {
    pub(in crate::barrier) name: &'static str,
    compiler: &'static str,
    option: &'static str,
}

impl Runtime {
    pub(in crate::barrier) const ALL: [Self; 2] = [
        Self { name: "libgomp", compiler: "gcc", option: "-fopenmp" },
        Self { name: "libomp", compiler: "clang", option: "-fopenmp=libomp" },
    ];
}

type Pin = unsafe extern "C" fn(c_int, *const c_int) -> c_int;
type Barriers = unsafe extern "C" fn(
    c_int,
    c_long,
    c_long,
    c_long,
    extern "C" fn() -> u64,
    extern "C" fn(*const c_void, c_int),
    *const c_void,
    *mut u64,
    *mut u64,
);
type Regions =
    unsafe extern "C" fn(c_int, c_long, extern "C" fn() -> u64, extern "C" fn(u64, u64), u64) -> u64;
type End = unsafe extern "C" fn();

/// A loaded runtime.
pub(in crate::barrier) struct OpenMp {
    pin: Pin,
    barriers: Barriers,
    regions: Regions,
    end: End,
}

extern "C" fn now() -> u64 {
    Clock::get().now()
}

extern "C" fn serial_part(turns: u64, region: u64) {
    Serial::of_turns(turns).run(region);
}

extern "C" fn wait(barrier: *const c_void, rank: c_int) {
    // SAFETY: the barrier that was given together with this function, which outlives the call.
    let barrier = unsafe { &*barrier.cast::<Barrier>() };
    barrier.wait(rank as usize);
}

impl OpenMp {
    /// Compiles the program in `directory`, a private one, and loads it.
    ///
    /// # Errors
    /// If the compiler or its runtime is missing.
    pub(in crate::barrier) fn load(runtime: Runtime, directory: &Path) -> Result<Self, Error> {
        let source = directory.join("openmp.c");
        let library = directory.join(format!("{}.so", runtime.name));
        std::fs::write(&source, SOURCE).map_err(|error| Error::system(source.display(), error))?;
        let compiled = Command::new(runtime.compiler)
            .args(["-O2", runtime.option, "-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .env("TMPDIR", directory)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Error::system(runtime.compiler, error))?;
        if !compiled.status.success() {
            let why = String::from_utf8_lossy(&compiled.stderr);
            let why = why.lines().find(|line| line.contains("error")).unwrap_or("it failed");
            return Err(Error::system(format!("{} {}", runtime.compiler, runtime.option), why));
        }
        // SAFETY: compiled from the source above, whose initialisers are the runtime's own. It is never unloaded: the
        // runtime's threads run in it.
        let loaded = Box::leak(Box::new(
            unsafe { libloading::Library::new(&library) }
                .map_err(|error| Error::system(runtime.name, error))?,
        ));
        let missing = |error: libloading::Error| Error::system(runtime.name, error);
        // SAFETY: the types are those of the source.
        unsafe {
            Ok(Self {
                pin: *loaded.get::<Pin>(b"coho_openmp_pin").map_err(missing)?,
                barriers: *loaded.get::<Barriers>(b"coho_openmp_barriers").map_err(missing)?,
                regions: *loaded.get::<Regions>(b"coho_openmp_regions").map_err(missing)?,
                end: *loaded.get::<End>(b"coho_openmp_end").map_err(missing)?,
            })
        }
    }

    /// Pins the runtime's threads. The calling thread becomes its thread 0.
    pub(in crate::barrier) fn pin(&self, cpus: &[u32]) -> Result<(), Error> {
        // A runtime ends the process if it is refused a thread.
        threads::can_start(cpus.len().saturating_sub(1))
            .map_err(|error| Error::system(format!("{} threads", cpus.len()), error))?;
        let places: Vec<_> = cpus.iter().map(|&cpu| cpu as c_int).collect();
        // SAFETY: as many places as threads.
        match unsafe { (self.pin)(places.len() as c_int, places.as_ptr()) } {
            0 => Ok(()),
            failed => Err(Error::work(format!("{failed} of its threads could not be pinned"))),
        }
    }

    /// Times of one barrier of the runtime and of `ours`, burst by burst on the runtime's own threads, in ns.
    pub(in crate::barrier) fn barriers(&self, ours: &Barrier, bursts: Bursts) -> [Vec<f64>; 2] {
        let sum = |ticks: &[u64]| Clock::get().ns(ticks.iter().sum());
        let theirs = bursts.fill(|repeats| sum(&self.both(ours, 1, [repeats, 1])[0]));
        let mine = bursts.fill(|repeats| sum(&self.both(ours, 1, [1, repeats])[1]));
        let [their_ticks, our_ticks] = self.both(ours, bursts.count, [theirs, mine]);
        [per_operation(&their_ticks, theirs), per_operation(&our_ticks, mine)]
    }

    /// The clock ticks that bursts took, theirs and ours.
    fn both(&self, ours: &Barrier, bursts: usize, repeats: [u64; 2]) -> [Vec<u64>; 2] {
        let (mut their_ticks, mut our_ticks) = (vec![0u64; bursts], vec![0u64; bursts]);
        // SAFETY: the barrier is for as many threads, and both arrays hold as many readings as bursts.
        unsafe {
            (self.barriers)(
                ours.threads() as c_int,
                bursts as c_long,
                repeats[0] as c_long,
                repeats[1] as c_long,
                now,
                wait,
                (&raw const *ours).cast(),
                their_ticks.as_mut_ptr(),
                our_ticks.as_mut_ptr(),
            );
        }
        [their_ticks, our_ticks]
    }

    /// Times of one empty parallel region, in ns: as for a team, without the serial part before it.
    pub(in crate::barrier) fn regions(&self, threads: usize, bursts: Bursts) -> Vec<f64> {
        let burst = |repeats: u64, serial: Serial| {
            // SAFETY: plain numbers, and functions of these types.
            let ticks = unsafe {
                (self.regions)(threads as c_int, repeats as c_long, now, serial_part, serial.turns())
            };
            Clock::get().ns(ticks)
        };
        let serial = Serial::before(burst(REGIONS, Serial::of_turns(0)) / REGIONS as f64);
        let repeats = bursts.fill(|repeats| burst(repeats, serial));
        let region = |_| (burst(repeats, serial) - serial.alone_ns(repeats)) / repeats as f64;
        (0..bursts.count).map(region).collect()
    }

    /// Ends the runtime's threads, which would otherwise spin during the next measurement on their CPUs.
    pub(in crate::barrier) fn end(&self) {
        // SAFETY: outside a parallel region.
        unsafe { (self.end)() }
    }
}

fn per_operation(ticks: &[u64], repeats: u64) -> Vec<f64> {
    ticks.iter().map(|&ticks| Clock::get().ns(ticks) / repeats as f64).collect()
}
