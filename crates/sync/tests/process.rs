//! The barrier of processes: this program again, started for each rank, over a file that all map at their own addresses.
//!
//! A program of its own: its processes would keep those of other tests from running.

use std::cell::Cell;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use coho_platform::scratch::{Folder, Wish};
use coho_sync::{Error, Lost, ProcessBarrier, WaitPolicy};
use coho_testing::alone;

/// In the environment of a rank: what it does, as words.
const ORDER: &str = "COHO_TEST_RANK";
/// Longer than any machine takes.
const PATIENCE: Duration = Duration::from_secs(120);
/// Where the ranks' counts begin in the file, after the barrier.
const COUNTS: usize = 1 << 20;

/// A file that ranks map.
struct Shared {
    start: NonNull<u8>,
}

impl Shared {
    fn create(path: &Path) -> Self {
        std::fs::write(path, []).unwrap();
        std::fs::File::options().write(true).open(path).unwrap().set_len(2 * COUNTS as u64).unwrap();
        Self::open(path)
    }

    fn open(path: &Path) -> Self {
        use std::os::fd::AsRawFd;
        let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
        let (access, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping, as long as the file.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), 2 * COUNTS, access, shared, file.as_raw_fd(), 0) };
        assert_ne!(start, libc::MAP_FAILED);
        Self { start: NonNull::new(start.cast()).unwrap() }
    }

    fn join(&self, rank: usize, ranks: usize, policy: WaitPolicy) -> Result<ProcessBarrier, Error> {
        self.join_within(rank, ranks, policy, PATIENCE)
    }

    fn join_within(
        &self,
        rank: usize,
        ranks: usize,
        policy: WaitPolicy,
        limit: Duration,
    ) -> Result<ProcessBarrier, Error> {
        // SAFETY: the mapping is never undone, and only ranks use its first part.
        unsafe { ProcessBarrier::join(self.start, COUNTS, rank, ranks, policy, limit) }
    }

    /// How many barriers a rank has arrived at.
    fn count(&self, rank: usize) -> &AtomicUsize {
        // SAFETY: behind the barrier's part, aligned, and used as an atomic word alone.
        unsafe { self.start.add(COUNTS + 128 * rank).cast().as_ref() }
    }
}

fn policy(word: &str) -> WaitPolicy {
    match word {
        "adaptive" => WaitPolicy::Adaptive,
        "passive" => WaitPolicy::Passive,
        "spin" => WaitPolicy::SpinFor(Duration::from_micros(3)),
        other => panic!("{other} is no policy"),
    }
}

/// After a barrier, no rank may be seen behind it, nor more than one barrier ahead.
fn meet(shared: &Shared, barrier: &ProcessBarrier, rounds: usize, delays: bool) {
    let mut random = fastrand::Rng::with_seed(barrier.rank() as u64);
    let begun = shared.count(barrier.rank()).load(Relaxed);
    for round in begun + 1..=begun + rounds {
        if delays && random.u8(..) < 16 {
            std::thread::sleep(Duration::from_micros(random.u64(..300)));
        }
        shared.count(barrier.rank()).store(round, Relaxed);
        barrier.wait().unwrap();
        for other in 0..barrier.ranks() {
            let seen = shared.count(other).load(Relaxed);
            assert!((round..=round + 1).contains(&seen), "{barrier:?}: {other} at {seen} in round {round}");
        }
    }
}

/// What a process of its own does as one rank.
#[test]
#[ignore = "a program that another test starts"]
fn as_a_rank() {
    let order = std::env::var(ORDER).unwrap();
    let words: Vec<_> = order.split(' ').collect();
    let [file, rank, ranks, how, act] = words[..] else { panic!("{order}") };
    let shared = Shared::open(Path::new(file));
    let barrier = shared.join(rank.parse().unwrap(), ranks.parse().unwrap(), policy(how)).unwrap();
    match act {
        "meets" => {
            meet(&shared, &barrier, 2000, false);
            meet(&shared, &barrier, 200, true);
        }
        // Once they have met once, so that all know each other.
        "waits" => {
            barrier.wait().unwrap();
            println!("\nmet");
            let lost = (0..1000).find_map(|_| barrier.wait().err()).unwrap();
            println!("\nlost {} {}", lost.rank, lost.left);
            assert_eq!(barrier.wait(), Err(lost), "and so it stays");
        }
        "stays-away" => {
            barrier.wait().unwrap();
            println!("\nmet");
            std::thread::sleep(PATIENCE);
        }
        // Counts how often it is called for work, until the last rank comes.
        "works" => {
            let calls = Cell::new(0);
            barrier.wait().unwrap();
            println!("\nmet");
            let work = |_| {
                calls.set(calls.get() + 1);
                Duration::from_millis(1)
            };
            let begun = Instant::now();
            barrier.wait_working(Duration::from_millis(1), &work).unwrap();
            assert!(calls.get() <= begun.elapsed().as_millis(), "no more than once a millisecond");
            println!("\nworked {}", calls.get());
        }
        "keeps-awake" => {
            let calls = Cell::new(0);
            barrier.wait().unwrap();
            println!("\nmet");
            let work = |_| {
                calls.set(calls.get() + 1);
                Duration::ZERO
            };
            barrier.wait_working(Duration::ZERO, &work).unwrap();
            println!("\nworked {}", calls.get());
        }
        "is-late" => {
            barrier.wait().unwrap();
            println!("\nmet");
            std::thread::sleep(Duration::from_millis(300));
            barrier.wait().unwrap();
        }
        "leaves" => barrier.wait().unwrap(),
        other => panic!("{other}"),
    }
}

/// A rank's process, which does not outlive the test.
struct Process {
    child: Child,
    lines: Box<dyn Iterator<Item = String>>,
}

impl Process {
    fn start(file: &Path, rank: usize, ranks: usize, how: &str, act: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "as_a_rank", "--nocapture"]);
        command.env(ORDER, format!("{} {rank} {ranks} {how} {act}", file.display()));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        Self { child, lines: Box::new(lines) }
    }

    /// The rest of its next line that begins so.
    fn says(&mut self, beginning: &str) -> String {
        self.lines.find_map(|line| Some(line.strip_prefix(beginning)?.trim().to_owned())).unwrap()
    }

    fn signal(&self, signal: i32) {
        // SAFETY: no pointers; it has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    /// Its state, as `ps` shows it.
    fn state(&self) -> char {
        let stat = std::fs::read_to_string(format!("/proc/{}/task/{}/stat", self.child.id(), self.thread()));
        stat.unwrap().rsplit(") ").next().unwrap().chars().next().unwrap()
    }

    /// How often it has gone to sleep.
    fn sleeps(&self) -> u64 {
        let path = format!("/proc/{}/task/{}/status", self.child.id(), self.thread());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.unwrap().trim().parse().unwrap()
    }

    /// The thread that runs the rank: the newest, as the test's harness has started it.
    fn thread(&self) -> u32 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        tasks.map(|task| task.unwrap().file_name().to_str().unwrap().parse().unwrap()).max().unwrap()
    }

    fn ends_well(mut self) {
        self.lines.by_ref().for_each(drop);
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Place {
    file: PathBuf,
    shared: Shared,
    _folder: Folder,
}

fn place() -> Place {
    let folder = Folder::create(Wish { name: "process-barrier", ..Wish::default() }).unwrap();
    let file = folder.path().join("memory");
    Place { shared: Shared::create(&file), file, _folder: folder }
}

#[test]
fn nobody_leaves_before_all_have_arrived() {
    let _alone = alone();
    for how in ["adaptive", "passive", "spin"] {
        for ranks in [1, 2, 3, 5] {
            let place = place();
            let start = |rank| Process::start(&place.file, rank, ranks, how, "meets");
            let processes: Vec<_> = (0..ranks).map(start).collect();
            processes.into_iter().for_each(Process::ends_well);
            assert!((0..ranks).all(|rank| place.shared.count(rank).load(Relaxed) == 2200), "{how}, {ranks}");
        }
    }
}

/// Starts ranks that wait for the last one, which stays away or leaves, after all have met.
fn waiting_for_the_last(place: &Place, ranks: usize, how: &str, last: &str) -> Vec<Process> {
    let act = |rank| if rank + 1 == ranks { last } else { "waits" };
    (0..ranks).map(|rank| Process::start(&place.file, rank, ranks, how, act(rank))).collect()
}

#[test]
fn all_learn_of_a_rank_that_is_killed_before_it_arrives() {
    let _alone = alone();
    for how in ["adaptive", "passive", "spin"] {
        let place = place();
        let mut ranks = waiting_for_the_last(&place, 4, how, "stays-away");
        ranks.iter_mut().for_each(|rank| drop(rank.says("met")));
        let mut killed = ranks.pop().unwrap();
        killed.signal(libc::SIGKILL);
        let begun = Instant::now();
        for rank in &mut ranks {
            assert_eq!(rank.says("lost"), "3 false", "{how}");
        }
        println!("all told {:.0?} after the kill ({how})", begun.elapsed());
        // They have not even needed its parent, which has not yet asked for its end.
        assert_eq!(killed.child.wait().unwrap().signal(), Some(libc::SIGKILL));
        ranks.into_iter().for_each(Process::ends_well);
    }
}

#[test]
fn all_learn_of_a_rank_that_is_killed_in_the_barrier() {
    let _alone = alone();
    let place = place();
    let mut ranks = waiting_for_the_last(&place, 4, "adaptive", "stays-away");
    ranks.iter_mut().for_each(|rank| drop(rank.says("met")));
    // It waits for the last like the other two, and sleeps.
    while ranks[1].state() != 'S' {
        std::thread::yield_now();
    }
    ranks[1].signal(libc::SIGKILL);
    for rank in [0, 2] {
        assert_eq!(ranks[rank].says("lost"), "1 false");
    }
    let _absent = ranks.pop();
    ranks.remove(1);
    ranks.into_iter().for_each(Process::ends_well);
}

#[test]
fn a_rank_that_leaves_is_named() {
    let place = place();
    let mut ranks = waiting_for_the_last(&place, 3, "adaptive", "leaves");
    for rank in &mut ranks[..2] {
        assert_eq!(rank.says("lost"), "2 true");
    }
    ranks.into_iter().for_each(Process::ends_well);
}

#[test]
fn a_rank_that_is_stopped_is_awaited_asleep() {
    let _alone = alone();
    let place = place();
    let mut ranks = waiting_for_the_last(&place, 3, "adaptive", "stays-away");
    ranks.iter_mut().for_each(|rank| drop(rank.says("met")));
    let stopped = ranks.pop().unwrap();
    stopped.signal(libc::SIGSTOP);
    // Many looks at the others' lives, each of which begins a sleep again.
    let mut asleep = 0;
    while asleep < 200 {
        std::thread::sleep(Duration::from_millis(1));
        asleep += usize::from(ranks.iter().all(|rank| rank.state() == 'S'));
    }
    // Each look ends a sleep, and little else does.
    let before: Vec<_> = ranks.iter().map(Process::sleeps).collect();
    let started = Instant::now();
    std::thread::sleep(Duration::from_millis(500));
    for (rank, before) in ranks.iter().zip(before) {
        let most = started.elapsed().as_millis() as u64 / 10 + 20;
        assert!(rank.sleeps() - before < most, "{} sleeps, not {most}", rank.sleeps() - before);
    }
    stopped.signal(libc::SIGKILL);
    for rank in &mut ranks {
        assert_eq!(rank.says("lost"), "2 false");
    }
    ranks.into_iter().for_each(Process::ends_well);
}

#[test]
fn who_owes_work_is_called_while_it_waits() {
    let _alone = alone();
    for how in ["adaptive", "passive"] {
        let place = place();
        let [mut works, mut awake, late] = [(0, "works"), (1, "keeps-awake"), (2, "is-late")]
            .map(|(rank, act)| Process::start(&place.file, rank, 3, how, act));
        let calls = |rank: &mut Process| rank.says("worked").parse::<u32>().unwrap();
        let (some, all) = (calls(&mut works), calls(&mut awake));
        // Few, where other programs have the CPUs.
        assert!(some > 2 && all > 2, "{how}: {some} and {all}");
        [works, awake, late].into_iter().for_each(Process::ends_well);
    }
}

#[test]
fn copies_made_by_fork_are_ranks_too_and_copies_of_a_rank_are_nobody() {
    const EPISODES: usize = 3000;
    let _alone = alone();
    let place = place();
    let child = |work: &dyn Fn()| {
        // SAFETY: the child does what it is told, which allocates nothing that another thread may have locked, and ends.
        match unsafe { libc::fork() } {
            0 => {
                work();
                // SAFETY: ends the process at once.
                unsafe { libc::_exit(0) }
            }
            child => child,
        }
    };
    let join = |rank| place.shared.join(rank, 3, WaitPolicy::Adaptive).unwrap();
    let children = [1, 2].map(|rank| {
        child(&|| {
            let barrier = join(rank);
            for _ in 0..EPISODES {
                if barrier.wait().is_err() {
                    // SAFETY: ends the process at once.
                    unsafe { libc::_exit(1) }
                }
            }
        })
    });
    let barrier = join(0);
    let mut copy = None;
    for episode in 0..EPISODES {
        if episode == EPISODES / 2 {
            // SAFETY: in the child, which never drops the barrier itself.
            copy = Some(child(&|| drop(unsafe { std::ptr::read(&raw const barrier) })));
        }
        barrier.wait().unwrap();
    }
    for child in children.into_iter().chain(copy) {
        let mut status = 0;
        // SAFETY: the status is written.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0);
    }
}

#[test]
fn bad_requests_are_refused() {
    let place = place();
    let shared = &place.shared;
    let join = |rank, ranks| shared.join_within(rank, ranks, WaitPolicy::Adaptive, Duration::ZERO);
    assert_eq!(join(0, 0).unwrap_err(), Error::Size { asked: 0, most: coho_sync::MAX_THREADS });
    assert_eq!(join(2, 2).unwrap_err(), Error::Argument("rank 2 of 2".into()));
    // SAFETY: refused before it is used.
    let at = |offset, bytes| unsafe {
        let start = shared.start.add(offset);
        ProcessBarrier::join(start, bytes, 0, 2, WaitPolicy::Adaptive, Duration::ZERO).unwrap_err()
    };
    for error in [at(0, ProcessBarrier::bytes(2) - 1), at(64, COUNTS)] {
        assert!(
            matches!(&error, Error::Argument(why) if why.contains("are needed, aligned to 128")),
            "{error}"
        );
    }
    // Nobody has made it yet, and then only two of three come.
    assert_eq!(join(1, 3).unwrap_err(), Error::Absent { ranks: vec![0] });
    assert_eq!(join(0, 3).unwrap_err(), Error::Absent { ranks: vec![1, 2] });
    assert_eq!(join(0, 3).unwrap_err(), Error::Argument("rank 0 has joined before".into()));
    // SAFETY: nobody uses the barrier any more.
    unsafe { shared.start.cast::<u32>().write(1) };
    let other = join(1, 3).unwrap_err();
    assert!(matches!(&other, Error::Argument(why) if why.contains("another version")), "{other}");
}

#[test]
fn who_gave_up_joining_is_named_to_those_that_come_later() {
    let place = place();
    let join = |rank, limit| place.shared.join_within(rank, 2, WaitPolicy::Adaptive, limit);
    assert_eq!(join(0, Duration::ZERO).unwrap_err(), Error::Absent { ranks: vec![1] });
    let barrier = join(1, PATIENCE).unwrap();
    assert_eq!(barrier.wait(), Err(Lost { rank: 0, left: true }));
}
