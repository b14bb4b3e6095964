//! Counts a process's OpenMP constructs if `COHO_OPENMP_COUNT` names a folder, and writes the counts there as
//! `PID.json` when the process exits. Only the first member of a team counts and measures times.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Once;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicPtr};
use std::time::Instant;

use coho_preload::{on_fork, setting};
use coho_sync::MAX_THREADS;

use crate::openings;
use crate::settings::settings;

/// Counts for teams of one size. Times are in [`ticks`].
#[derive(Debug, Default)]
pub struct Line {
    regions: AtomicU64,
    /// Regions within others.
    nested: AtomicU64,
    barriers: AtomicU64,
    loops: AtomicU64,
    singles: AtomicU64,
    /// How many members could run at once in the last region.
    at_once: AtomicU64,
    /// Time from the beginning of outermost regions to their end.
    inside: AtomicU64,
    /// Waiting time of the first member: in barriers, and before and after its part of a region.
    waiting: AtomicU64,
}

/// Everything that is counted.
#[derive(Debug)]
struct Counts {
    folder: PathBuf,
    begun: Instant,
    begun_ticks: u64,
    /// By size of team, from 0.
    lines: Box<[Line]>,
}

/// Null if nothing is counted.
static COUNTS: AtomicPtr<Counts> = AtomicPtr::new(ptr::null_mut());
/// Whether another runtime has executed a part.
static IS_INCOMPLETE: AtomicBool = AtomicBool::new(false);

/// The clock's ticks; a reading costs a few nanoseconds.
#[inline(always)]
fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: all CPUs of this kind have it.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    {
        let now;
        // SAFETY: the virtual counter may be read in user mode.
        unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) now, options(nostack, nomem)) };
        now
    }
}

/// Begins if the user wants it. Call it when the process takes over.
pub fn begin() {
    static ONCE: Once = Once::new();
    let Some(folder) = setting(c"COHO_OPENMP_COUNT").filter(|folder| folder.starts_with(b"/")) else {
        return;
    };
    let folder = Path::new(OsStr::from_bytes(folder)).to_owned();
    ONCE.call_once(|| {
        begin_in(folder);
        on_fork(begin_anew);
    });
}

fn begin_in(folder: PathBuf) {
    let lines = (0..=MAX_THREADS).map(|_| Line::default()).collect();
    let counts = Counts { folder, begun: Instant::now(), begun_ticks: ticks(), lines };
    COUNTS.store(Box::into_raw(Box::new(counts)), Relaxed);
}

/// A forked child counts for itself. This may only store, as the thread that forks may hold locks.
unsafe extern "C" fn begin_anew() {
    // SAFETY: never freed, and the copy has one thread.
    if let Some(counts) = unsafe { COUNTS.load(Relaxed).as_mut() } {
        counts.begun = Instant::now();
        counts.begun_ticks = ticks();
        for line in &counts.lines {
            for figure in line.figures() {
                figure.1.store(0, Relaxed);
            }
        }
    }
}

/// From now on another runtime executes the program's constructs.
pub fn becomes_incomplete() {
    IS_INCOMPLETE.store(true, Relaxed);
}

/// The counts of a team of this size, for its first member; `None` for others, and if nothing is counted.
#[inline(always)]
fn line(rank: u32, size: impl FnOnce() -> u32) -> Option<&'static Line> {
    if rank != 0 {
        return None;
    }
    // SAFETY: never freed.
    let counts = unsafe { COUNTS.load(Relaxed).as_ref() }?;
    counts.lines.get(size() as usize)
}

/// A stretch of time that the first member of a team spends.
#[derive(Debug, Clone, Copy)]
pub struct Watch(Option<(&'static Line, u64)>);

impl Watch {
    /// Does nothing unless a team's first member is counted.
    #[inline(always)]
    pub fn start(rank: u32, size: impl FnOnce() -> u32) -> Self {
        Self(line(rank, size).map(|line| (line, ticks())))
    }

    /// It was in a barrier.
    #[inline(always)]
    pub fn end_barrier(self) {
        if let Some((line, start)) = self.0 {
            line.waiting.fetch_add(ticks().wrapping_sub(start), Relaxed);
            line.barriers.fetch_add(1, Relaxed);
        }
    }

    /// It was at work in a region, which the region's waiting does not hold.
    #[inline(always)]
    pub fn end_work(self) {
        if let Some((line, start)) = self.0 {
            line.waiting.fetch_sub(ticks().wrapping_sub(start), Relaxed);
        }
    }

    /// It was a region, at this level.
    #[inline(always)]
    pub fn end_region(self, level: u32, at_once: impl FnOnce() -> Option<usize>) {
        if let Some((line, start)) = self.0 {
            let took = ticks().wrapping_sub(start);
            line.waiting.fetch_add(took, Relaxed);
            line.regions.fetch_add(1, Relaxed);
            line.at_once.store(at_once().unwrap_or_default() as u64, Relaxed);
            if level > 1 {
                line.nested.fetch_add(1, Relaxed);
            } else {
                line.inside.fetch_add(took, Relaxed);
            }
        }
    }
}

/// Counts a loop or sections that a member of a team begins.
#[inline(always)]
pub fn count_loop(rank: u32, size: impl FnOnce() -> u32) {
    if let Some(line) = line(rank, size) {
        line.loops.fetch_add(1, Relaxed);
    }
}

/// Counts a `single` that a member of a team comes to.
#[inline(always)]
pub fn count_single(rank: u32, size: impl FnOnce() -> u32) {
    if let Some(line) = line(rank, size) {
        line.singles.fetch_add(1, Relaxed);
    }
}

impl Line {
    fn figures(&self) -> [(&'static str, &AtomicU64); 8] {
        [
            ("regions", &self.regions),
            ("nested", &self.nested),
            ("barriers", &self.barriers),
            ("loops", &self.loops),
            ("singles", &self.singles),
            ("at_once", &self.at_once),
            ("inside_s", &self.inside),
            ("waiting_s", &self.waiting),
        ]
    }
}

impl Counts {
    fn json(&self) -> String {
        let seconds = self.begun.elapsed().as_secs_f64();
        let per_tick = seconds / ticks().wrapping_sub(self.begun_ticks).max(1) as f64;
        let mut text = format!(
            "{{\"pid\":{},\"seconds\":{seconds:.9},\"barrier\":\"{}\",\"has_tasks\":{},\"is_complete\":{},\"teams\":[",
            std::process::id(),
            settings().algorithm.name(),
            openings::has_tasks(),
            !IS_INCOMPLETE.load(Relaxed)
        );
        let mut separator = "";
        for (threads, line) in self.lines.iter().enumerate() {
            if line.regions.load(Relaxed) == 0 {
                continue;
            }
            let _ = write!(text, "{separator}{{\"threads\":{threads}");
            for (name, figure) in line.figures() {
                let figure = figure.load(Relaxed);
                let _ = if name.ends_with("_s") {
                    // The first member's part may be a tick longer than the region.
                    let seconds = (figure as i64).max(0) as f64 * per_tick;
                    write!(text, ",\"{name}\":{seconds:.9}")
                } else {
                    write!(text, ",\"{name}\":{figure}")
                };
            }
            text.push('}');
            separator = ",";
        }
        text + "]}\n"
    }
}

/// Run when the process exits.
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

extern "C" fn end() {
    // SAFETY: never freed.
    if let Some(counts) = unsafe { COUNTS.load(Relaxed).as_ref() } {
        let path = counts.folder.join(format!("{}.json", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let _ = file.and_then(|mut file| file.write_all(counts.json().as_bytes()));
    }
}
