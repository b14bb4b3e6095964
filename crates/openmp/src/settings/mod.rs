//! What the user has chosen by environment variables: OpenMP's internal control variables.

mod libgomp;
mod read;

use std::sync::OnceLock;
use std::time::Duration;

use coho_preload::Mask;
use coho_sync::{Algorithm, WaitPolicy};

use crate::affinity;

pub use read::{AUTO, DYNAMIC, GUIDED, MONOTONIC, STATIC, schedule, threads};

/// The most nested levels that OpenMP programs can ask for here, as many as libgomp's.
pub const MOST_LEVELS: u32 = 255;

/// How a loop's iterations are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    pub kind: Kind,
    /// 0: the default, which is an equal share of everything for a static schedule, and otherwise 1.
    pub chunk: u64,
}

impl Schedule {
    pub const STATIC: Self = Self { kind: Kind::Static, chunk: 0 };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Static,
    /// Each member's chunks in ascending order.
    Dynamic,
    /// In any order.
    Nonmonotonic,
    Guided,
}

/// The variables that each task has of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variables {
    pub threads: u32,
    pub max_active_levels: u32,
    /// The most threads of a region.
    pub limit: u32,
    pub schedule: Schedule,
    /// The schedule as the program has set it, in OpenMP's numbers: `auto` is kept so that queries return it.
    pub schedule_kind: i32,
    /// Its chunk, likewise.
    pub schedule_chunk: i32,
    pub is_dynamic: bool,
    /// How the next region binds its threads, unless it says otherwise itself.
    pub bind: Bind,
    pub device: i32,
}

/// Where a region's threads are bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bind {
    False,
    True,
    Primary,
    Close,
    Spread,
}

/// Settings of the whole process.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub variables: Variables,
    /// The number of threads that was asked for, if no region can have so many.
    pub too_many: Option<u32>,
    /// For regions at each level; beyond its end the task's own number holds.
    pub threads: Vec<u32>,
    /// For regions at each level; beyond its end the enclosing region's policy holds.
    pub bind: Vec<Bind>,
    /// None: threads are not bound.
    pub places: Option<Vec<Mask>>,
    pub thread_limit: u32,
    /// The most threads of all teams of a `teams` construct together.
    pub teams_thread_limit: u32,
    /// The default allocator, unless the program chooses another.
    pub allocator: usize,
    /// Whether a member executes tasks at once when many wait.
    pub bounds_tasks: bool,
    /// `None`: as for the C library's threads.
    pub stack_bytes: Option<usize>,
    pub max_task_priority: u32,
    /// Whether constructs may be cancelled.
    pub cancels: bool,
    pub policy: WaitPolicy,
    /// Whether coho finds the number of threads of each region.
    pub finds_threads: bool,
    /// Whether regions show their threads if they are others than before.
    pub displays_affinity: bool,
    /// Whether a member does something at a region's beginning: it is bound or shown.
    pub prepares_members: bool,
    pub algorithm: Algorithm,
    /// CPUs that the process might use when it began.
    pub processors: u32,
    /// CPUs that the thread that first asked might use then.
    pub allowed: Mask,
    /// A setting that is not supported here, so that libgomp must run the program.
    pub objection: Option<String>,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// CPUs that the calling thread may use. If places are set, threads are bound, so the CPUs that the process could use
/// at its start count.
pub fn processors() -> u32 {
    let settings = settings();
    let mask = if settings.places.is_none() { Mask::current() } else { None };
    mask.map_or(settings.processors, |mask| mask.iter().count() as u32)
}

/// Read once.
pub fn settings() -> &'static Settings {
    SETTINGS.get_or_init(|| {
        let variable = |name: &str| {
            let name = std::ffi::CString::new(name).ok()?;
            let value = std::str::from_utf8(coho_preload::setting(&name)?).ok()?.trim();
            (!value.is_empty()).then(|| value.to_owned())
        };
        // LLVM's runtime binds a thread that asks, though regions are not to run on its threads.
        let before = Mask::current();
        let answers = crate::exports::with_own(libgomp::ask);
        if let Some(before) = before
            && Mask::current().as_ref() != Some(&before)
        {
            before.apply();
        }
        let settings = read::settings(&variable, answers);
        let displays_affinity = affinity::is_displayed(affinity::dialect());
        let prepares_members = displays_affinity || settings.places.is_some();
        Settings { displays_affinity, prepares_members, ..settings }
    })
}

impl Settings {
    /// How many threads a task of this level of regions asks for unless it says otherwise.
    pub fn threads_within(&self, level: u32) -> Option<u32> {
        self.threads.get(level as usize).copied()
    }

    /// How regions opened by a task of this level bind their threads, unless the task's own setting holds.
    pub fn bind_within(&self, level: u32) -> Option<Bind> {
        self.bind.get(level as usize).copied()
    }
}

/// How long a look at a flag takes, for counts of looks.
const LOOK: Duration = Duration::from_nanos(10);
