//! The hosts, and who uses them.

use std::cell::Cell;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use coho_delegate::{Caller, Host, HostBuilder, Request};
use coho_preload::{Errno, line};

use crate::sharing::Rights;
use crate::teams::Teams;
use crate::{state, turn};

struct Hosts {
    running: Vec<Host>,
    /// Where they are, once they were to be started.
    teams: Option<Teams>,
    /// Ways to them.
    users: usize,
    /// Threads so far, by team.
    threads: Vec<usize>,
    /// Requests that those have executed that have ended, for their callers.
    served: u64,
    /// The processor time that those took.
    took: Duration,
    /// What those that run may do.
    rights: Option<Rights>,
    /// No more are started.
    is_over: bool,
}

static HOSTS: Mutex<Hosts> = Mutex::new(Hosts {
    running: Vec::new(),
    teams: None,
    users: 0,
    threads: Vec::new(),
    served: 0,
    took: Duration::ZERO,
    rights: None,
    is_over: false,
});

/// The thread of one of them; 0 if there is none. They share all that they act by.
static THREAD: AtomicI32 = AtomicI32::new(0);

thread_local! {
    /// This thread has the hosts, or is about to.
    static IS_AT_WORK: Cell<bool> = const { Cell::new(false) };
    static IS_HOST: Cell<bool> = const { Cell::new(false) };
}

/// A way to a host.
#[derive(Debug)]
pub struct Way {
    pub caller: Caller,
}

impl Drop for Way {
    fn drop(&mut self) {
        let _work = Work::begin();
        let mut hosts = hosts();
        hosts.users -= 1;
        if hosts.users == 0 && state::ends_idle_hosts() {
            hosts.stop();
        }
    }
}

/// Waiting for the lock would set `errno`, in the middle of a call of the program's.
fn hosts() -> MutexGuard<'static, Hosts> {
    let _errno = Errno::kept();
    HOSTS.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Work;

impl Work {
    fn begin() -> Option<Self> {
        (!IS_AT_WORK.replace(true)).then_some(Self)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        IS_AT_WORK.set(false);
    }
}

/// Whether there is memory for this many bytes and for what a host and its callers take besides: without, Rust's library ends the
/// program.
pub fn has_memory(bytes: usize) -> bool {
    const BESIDES: usize = 64 << 10;
    let _errno = Errno::kept();
    // SAFETY: what is taken is given back.
    unsafe {
        let memory = std::hint::black_box(libc::malloc(bytes + BESIDES));
        libc::free(memory);
        !memory.is_null()
    }
}

/// A thread's ways, one to each team: none if there are no hosts.
pub fn ways() -> Vec<Way> {
    let ways: Option<Vec<Way>> = (0..state::teams().count()).map(|team| way(team, 1, 0)).collect();
    ways.unwrap_or_default()
}

/// A way to a team's next host, with this many lines, and slots of this many bytes. Starts hosts where there are none.
pub fn way(team: usize, lines: usize, slot_bytes: usize) -> Option<Way> {
    // A handler, or the program's own malloc, that comes while this thread has the hosts does without.
    let _work = Work::begin()?;
    if !has_memory(lines * slot_bytes) {
        return None;
    }
    let mut hosts = hosts();
    if hosts.running.is_empty() && !hosts.is_over {
        hosts.rights = Some(Rights::now());
        hosts.running = start(hosts.teams.get_or_insert_with(of_process));
        THREAD.store(hosts.running.first().map_or(0, Host::thread_number), Relaxed);
        hosts.is_over = hosts.running.is_empty();
        hosts.threads.resize(state::teams().count(), 0);
    }
    let thread = hosts.threads.get(team).copied()?;
    let number = hosts.teams.as_ref()?.place(team, thread);
    let mut caller = hosts.running.get(number)?.caller_with(lines, slot_bytes);
    if let Some(patience) = state::patience() {
        caller.set_patience(patience);
    }
    hosts.threads[team] += 1;
    hosts.users += 1;
    Some(Way { caller })
}

/// The number of a host's thread; 0 if there is none.
pub fn thread_number() -> libc::pid_t {
    THREAD.load(Relaxed)
}

/// The CPUs of this process's hosts, if it has had its turn.
pub fn own_cpus() -> Vec<u32> {
    let Some(_work) = Work::begin().filter(|_| state::turns().is_some()) else { return Vec::new() };
    hosts().teams.as_ref().map(Teams::all_cpus).unwrap_or_default()
}

/// What hosts may do, if there are some.
pub fn rights() -> Option<Rights> {
    // A handler that has interrupted this thread while it has the hosts does not ask.
    let _work = Work::begin()?;
    let hosts = hosts();
    hosts.rights.filter(|_| !hosts.running.is_empty())
}

/// Ends all, for good.
pub fn end() {
    // Left to such a handler, they have nothing more to do.
    let Some(_work) = Work::begin() else { return };
    let mut hosts = hosts();
    hosts.is_over = true;
    hosts.stop();
}

/// Ends those that nobody uses. They are started again where somebody needs them.
pub fn end_idle() {
    let _work = Work::begin();
    let mut hosts = hosts();
    if hosts.users == 0 {
        hosts.stop();
    }
}

/// Requests that hosts have executed so far.
pub fn served() -> u64 {
    let Some(_work) = Work::begin() else { return 0 };
    let hosts = hosts();
    hosts.served + hosts.running.iter().map(served_by).sum::<u64>()
}

/// What hosts have taken so far.
pub fn processor_time() -> Duration {
    let hosts = hosts();
    hosts.took + hosts.running.iter().map(Host::processor_time).sum::<Duration>()
}

/// Whether the calling thread executes calls: it does not wait for any.
pub fn is_host() -> bool {
    IS_HOST.get()
}

impl Hosts {
    /// Callers that are left make their calls themselves.
    fn stop(&mut self) {
        THREAD.store(0, Relaxed);
        for host in self.running.drain(..) {
            self.took += host.processor_time();
            host.end();
            self.served += served_by(&host);
        }
    }
}

/// Not counting what has made it a host.
fn served_by(host: &Host) -> u64 {
    host.served().saturating_sub(1)
}

/// The teams of this process, which takes its turn if processes do.
fn of_process() -> Teams {
    let teams = state::teams();
    let turn = state::turns().and_then(turn::take);
    turn.map_or_else(|| teams.clone(), |turn| teams.of_turn(turn))
}

fn start(teams: &Teams) -> Vec<Host> {
    // What is to be done this soon is not slept over.
    let builder = || Host::builder().longest_nap(state::flush() / 2);
    let builders = match &teams.all_cpus()[..] {
        [] => vec![builder()],
        cpus => cpus.iter().map(|&cpu| builder().cpu(cpu)).collect(),
    };
    let hosts: Result<Vec<_>, _> = builders.into_iter().map(HostBuilder::start).collect();
    for host in hosts.iter().flatten() {
        // Dropped, it waits until that is done.
        let mut caller = host.caller();
        caller.set_patience(Duration::MAX);
        // SAFETY: the function takes any arguments.
        unsafe { caller.post(Request::function(become_host, [0; 5])) };
    }
    hosts.unwrap_or_else(|error| {
        state::delegate_none();
        line("delegate", format_args!("{error}: the program makes its calls itself"));
        Vec::new()
    })
}

unsafe fn become_host(_: [usize; 5]) -> isize {
    IS_HOST.set(true);
    0
}
