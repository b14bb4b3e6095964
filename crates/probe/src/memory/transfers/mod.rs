//! Messages between two processes: what a path's prediction is compared with.
//!
//! One process sends a message and the other sends it back, each polling; half of the time there and back counts. The
//! buffers are the same each time. The parts of a prediction are timed between the same buffers in the same passes, but
//! on separate messages. Hosts move CPUs, and the place of a line decides what it costs, so figures from another minute
//! or from other lines would describe a different machine.

mod partner;
mod process_vm;
mod shared;
mod tcp;

use coho_platform::pages::Pages;
use coho_platform::stolen;
use coho_profile::{Estimate, Transfer, TransferPass};

use self::partner::{Order, Partner};
use super::Options;
use super::rates::clock_ticks;
use super::survey::Survey;
use crate::clock::{Clock, Ticks};
use crate::frame::{End, Passes};
use crate::{Error, statistics};

/// Sizes of a message, in bytes, after the least size of a way.
const SIZES: [usize; 9] = [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, LARGEST];
const LARGEST: usize = 4 << 20;
/// Bytes of a line.
const LINE: usize = 64;
/// The time of a window, in ns.
const WINDOW_NS: f64 = 200_000.0;
/// How often a window is tried, as something may interrupt it.
const TRIES: usize = 4;

/// One end of a way between two processes. Both poll for what the other sends.
trait Way: Send {
    /// Sends a message; afterwards the caller may write to its buffer again. The stopwatch times it.
    fn send(&mut self, message: &[u8], watch: &mut dyn Stopwatch) -> Result<(), Lost>;

    /// Waits for a message of this size. The stopwatch times the work once it can begin.
    fn receive(&mut self, message: &mut [u8], watch: &mut dyn Stopwatch) -> Result<(), Lost>;

    /// Called in its own process with the process of the other end.
    fn meet(&mut self, _other: libc::pid_t) {}
}

/// Adds up what an end itself takes, without its waiting.
trait Stopwatch {
    fn start(&mut self);
    fn stop(&mut self);
}

/// No stopwatch: the messages are timed as a whole.
struct Untimed;

impl Stopwatch for Untimed {
    fn start(&mut self) {}
    fn stop(&mut self) {}
}

/// The sum of all parts, and their number.
struct Timed {
    clock: Clock,
    since: Ticks,
    ticks: Ticks,
    /// What reading the clock itself takes.
    none: Ticks,
}

impl Timed {
    fn new() -> Self {
        let clock = Clock::get();
        Self { clock, since: 0, ticks: 0, none: clock_ticks(&clock) }
    }

    /// The sum so far, in ns.
    fn ns(&self) -> f64 {
        self.clock.ns(self.ticks)
    }
}

impl Stopwatch for Timed {
    fn start(&mut self) {
        self.since = self.clock.now();
    }

    fn stop(&mut self) {
        self.ticks += (self.clock.now() - self.since).saturating_sub(self.none);
    }
}

/// Nothing arrived from the other process, or nothing could be sent.
#[derive(Debug)]
enum Lost {
    /// The other process does not answer.
    Silent,
    /// The system does not allow this way.
    Refused(String),
}

/// Adds the times of messages between processes on the first CPU and its nearest neighbour.
pub(super) fn measure(survey: &mut Survey<'_>) -> Result<(), Error> {
    let Some(pair) = survey.pair() else {
        survey.lacks("transfers", "they need two CPUs, and only one may be used");
        return Ok(());
    };
    let (options, end) = (survey.options, survey.frame.end().clone());
    let found = survey.on_first(move || Exchange::run(pair, options, &end))?;
    match found {
        Ok(exchange) => {
            survey.memory.transfers = exchange.rows;
            survey.frame.method.not_available.extend(exchange.not_available);
        }
        Err(error) => survey.lacks("transfers", error.to_string()),
    }
    Ok(())
}

/// What was found.
#[derive(Debug, Default)]
struct Exchange {
    rows: Vec<Transfer>,
    not_available: Vec<(String, String)>,
}

/// A message of one size by one way, and its times by pass.
struct Cell {
    way: usize,
    bytes: usize,
    passes: Vec<Pass>,
}

/// Times of messages of one size, in ns a message: as a whole and, of separate messages, to send and to receive.
#[derive(Debug, Clone, Default)]
struct Times {
    whole: Vec<f64>,
    send: Vec<f64>,
    receive: Vec<f64>,
}

/// A message, and the least message measured alternately with it.
#[derive(Debug, Clone, Default)]
struct Pass {
    own: Times,
    least: Times,
    /// A message of one line: only its parts, and only if the least is just a flag.
    line: Times,
}

impl Cell {
    /// All windows of all passes.
    fn estimate(&self, of: fn(&Times) -> &Vec<f64>) -> Option<Estimate> {
        let all: Vec<Vec<f64>> = self.passes.iter().map(|pass| of(&pass.own).clone()).collect();
        statistics::estimate(&all)
    }

    /// Passes in which nothing is missing.
    fn passes(&self) -> Vec<TransferPass> {
        let pass = |pass: &Pass| {
            let median = |values: &[f64]| Some(statistics::estimate(&[values.to_vec()])?.median);
            Some(TransferPass {
                ns: median(&pass.own.whole)?,
                send_ns: median(&pass.own.send)?,
                receive_ns: median(&pass.own.receive)?,
                least_ns: median(&pass.least.whole)?,
                least_send_ns: median(&pass.least.send)?,
                least_receive_ns: median(&pass.least.receive)?,
                line_receive_ns: median(&pass.line.receive).unwrap_or(0.0),
            })
        };
        self.passes.iter().filter_map(pass).collect()
    }
}

/// Paths by name, and the least that is sent by each; a flag alone is a message of 0 bytes.
const PATHS: [(&str, usize); 3] = [("shared-memory", 0), ("process-vm", 64), ("tcp-loopback", 1)];

impl Exchange {
    fn run([from, to]: [u32; 2], options: &Options, end: &End) -> Result<Self, Error> {
        let mut exchange = Self::default();
        let (mut names, mut mine, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        let all = [shared::ways(LARGEST), process_vm::ways(), tcp::ways()];
        for ((path, least), ways) in PATHS.into_iter().zip(all) {
            match ways {
                Ok([here, there]) => {
                    names.push((path, least));
                    mine.push(here);
                    theirs.push(there);
                }
                Err(error) => {
                    exchange.not_available.push((format!("transfers by {path}"), error.to_string()))
                }
            }
        }
        // Each process touches its own copy after the fork.
        let pages = Pages::map_at(LARGEST, options.paging, options.node)?;
        let partner = Partner::start(to, theirs, &pages)?;
        mine.iter_mut().for_each(|way| way.meet(partner.pid()));
        pages.touch();
        let sizes =
            |least: usize| std::iter::once(least).chain(SIZES.into_iter().filter(move |size| *size > least));
        let mut cells: Vec<Cell> = (0..names.len())
            .flat_map(|way| sizes(names[way].1).map(move |bytes| Cell { way, bytes, passes: Vec::new() }))
            .collect();
        let mut lost: Vec<usize> = Vec::new();
        let mut random = fastrand::Rng::with_seed(options.course.seed);
        let (passes, windows) = if options.quick { (4, 3) } else { (6, 6) };
        for step in Passes::new(passes, cells.len(), &mut random, end) {
            let cell = &mut cells[step.at];
            if lost.contains(&cell.way) {
                continue;
            }
            // SAFETY: the pages are this process's own, and nothing else refers to them here.
            let message = unsafe { std::slice::from_raw_parts_mut(pages.start().as_ptr(), cell.bytes) };
            let least = names[cell.way].1;
            match visit(&partner, cell.way, mine[cell.way].as_mut(), message, least, windows) {
                Ok(pass) => cell.passes.push(pass),
                Err(Lost::Refused(why)) => {
                    lost.push(cell.way);
                    exchange.not_available.push((format!("transfers by {}", names[cell.way].0), why));
                }
                Err(Lost::Silent) => return Err(partner.why_lost(names[cell.way].0)),
            }
        }
        cells.retain(|cell| !lost.contains(&cell.way));
        cells.sort_by_key(|cell| (cell.way, cell.bytes));
        let row = |cell: &Cell| {
            Some(Transfer {
                path: names[cell.way].0.into(),
                from,
                to,
                bytes: cell.bytes as u64,
                ns: Some(cell.estimate(|times| &times.whole)?),
                send_ns: cell.estimate(|times| &times.send),
                receive_ns: cell.estimate(|times| &times.receive),
                passes: cell.passes(),
            })
        };
        exchange.rows = cells.iter().filter_map(row).collect();
        Ok(exchange)
    }
}

/// Times of a message one way, and of the least one, of windows in which neither process was interrupted: as a whole and
/// by parts, all in turn.
fn visit(
    partner: &Partner,
    way: usize,
    mine: &mut dyn Way,
    message: &mut [u8],
    least: usize,
    windows: usize,
) -> Result<Pass, Lost> {
    let mut meeting = Meeting { partner, way, mine };
    let (least, own) = (least.min(message.len()), message);
    let line = if least == 0 { LINE.min(own.len()) } else { 0 };
    let rounds = meeting.enough_rounds(own)?;
    let least_rounds = meeting.enough_rounds(&mut own[..least])?;
    let mut pass = Pass::default();
    for _ in 0..windows * TRIES {
        meeting.add_windows(own, rounds, windows, &mut pass.own)?;
        meeting.add_windows(&mut own[..least], least_rounds, windows, &mut pass.least)?;
        if line > 0 {
            meeting.add_parts(&mut own[..line], least_rounds, windows, &mut pass.line)?;
        }
        if [&pass.own, &pass.least].into_iter().all(|times| times.is_full(windows)) {
            break;
        }
    }
    Ok(pass)
}

impl Times {
    fn is_full(&self, windows: usize) -> bool {
        self.whole.len() == windows && self.send.len() == windows
    }
}

/// This process and the other on one way.
struct Meeting<'a> {
    partner: &'a Partner,
    way: usize,
    mine: &'a mut dyn Way,
}

impl Meeting<'_> {
    /// Time of a message one way over this many rounds, in ns, and whether nothing interrupted.
    fn window(
        &mut self,
        message: &mut [u8],
        rounds: u64,
        [sending, receiving]: [&mut dyn Stopwatch; 2],
    ) -> Result<(f64, bool), Lost> {
        let clock = Clock::get();
        let order = Order { way: self.way, bytes: message.len(), rounds };
        let before = stolen::involuntary_switches();
        let theirs = self.partner.begin(order);
        let first = message.first().copied();
        let start = clock.now();
        let mut round = || {
            self.mine.send(message, sending)?;
            self.mine.receive(message, receiving)
        };
        for _ in 0..rounds {
            if let Err(lost) = round() {
                if matches!(lost, Lost::Refused(_)) {
                    self.partner.end(theirs)?;
                }
                return Err(lost);
            }
        }
        let ns = clock.ns(clock.now() - start);
        // The other process increments the first byte each time that it gets the message.
        let expected = first.map(|first| first.wrapping_add(rounds as u8));
        assert_eq!(
            message.first().copied(),
            expected,
            "the message that came back differs from the one that was sent"
        );
        let alone = self.partner.end(theirs)? && stolen::involuntary_switches() == before;
        Ok((ns / (2 * rounds) as f64, alone))
    }

    /// Rounds that fill a window. The first go through memory that was last used for something else.
    fn enough_rounds(&mut self, message: &mut [u8]) -> Result<u64, Lost> {
        let mut rounds = 1;
        loop {
            let (ns, _) = self.window(message, rounds, [&mut Untimed, &mut Untimed])?;
            let taken = ns * (2 * rounds) as f64;
            if taken >= WINDOW_NS / 4.0 {
                return Ok(((rounds as f64 * WINDOW_NS / taken) as u64).max(1));
            }
            rounds *= 2;
        }
    }

    /// One window of each kind that is still wanted.
    fn add_windows(
        &mut self,
        message: &mut [u8],
        rounds: u64,
        windows: usize,
        times: &mut Times,
    ) -> Result<(), Lost> {
        if times.whole.len() < windows {
            let (ns, alone) = self.window(message, rounds, [&mut Untimed, &mut Untimed])?;
            times.whole.extend(alone.then_some(ns));
        }
        self.add_parts(message, rounds, windows, times)
    }

    /// One window whose parts are timed, if it is still wanted.
    fn add_parts(
        &mut self,
        message: &mut [u8],
        rounds: u64,
        windows: usize,
        times: &mut Times,
    ) -> Result<(), Lost> {
        if times.send.len() < windows {
            let [mut sending, mut receiving] = [Timed::new(), Timed::new()];
            let (_, alone) = self.window(message, rounds, [&mut sending, &mut receiving])?;
            if alone {
                times.send.push(sending.ns() / rounds as f64);
                times.receive.push(receiving.ns() / rounds as f64);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use coho_testing::{Capability, needs};

    use super::*;
    use crate::workers::{Job, Workers};
    use coho_platform::pin;

    #[test]
    fn every_byte_comes_through() {
        // Created before any process waits: if this is slow, patience would run out meanwhile.
        let mut random = fastrand::Rng::with_seed(7);
        let messages = SIZES.map(|bytes| {
            let mut message = vec![0; bytes];
            random.fill(&mut message);
            message
        });
        let echoed = |[mut mine, mut theirs]: [Box<dyn Way>; 2]| -> Result<(), Lost> {
            std::thread::scope(|scope| {
                scope.spawn(move || -> Result<(), Lost> {
                    for bytes in SIZES {
                        let mut message = vec![0; bytes];
                        theirs.receive(&mut message, &mut Untimed)?;
                        theirs.send(&message, &mut Untimed)?;
                    }
                    Ok(())
                });
                for message in &messages {
                    let mut back = vec![0; message.len()];
                    mine.send(message, &mut Untimed)?;
                    mine.receive(&mut back, &mut Untimed)?;
                    assert!(back == *message, "{}", back.len());
                }
                Ok(())
            })
        };
        assert!(echoed(shared::ways(LARGEST).unwrap()).is_ok(), "shared memory");
        // Loopback may be down in a network namespace.
        if tcp::ways().is_ok() {
            assert!(echoed(tcp::ways().unwrap()).is_ok(), "TCP");
        }
        // A process may read its own memory, unless a filter forbids the call.
        let mut own = process_vm::ways().unwrap();
        // SAFETY: asks for a number.
        own.iter_mut().for_each(|way| way.meet(unsafe { libc::getpid() }));
        let told = echoed(own);
        assert!(matches!(told, Ok(()) | Err(Lost::Refused(_))), "process_vm_readv: {told:?}");
    }

    /// A receiver that may not read tells the sender, so that it does not wait for ever.
    #[test]
    fn a_refused_way_is_given_up_by_both() {
        let [mut mine, mut theirs] = process_vm::ways().unwrap();
        // No process has such a number.
        [&mut mine, &mut theirs].into_iter().for_each(|way| way.meet(libc::pid_t::MAX));
        let refused = |lost| matches!(lost, Err(Lost::Refused(_)));
        std::thread::scope(|scope| {
            let other = scope.spawn(move || theirs.receive(&mut [0; 64], &mut Untimed));
            assert!(mine.send(&[1; 64], &mut Untimed).is_ok());
            assert!(refused(mine.receive(&mut [0; 64], &mut Untimed)));
            assert!(refused(other.join().unwrap()));
        });
    }

    #[test]
    fn processes_answer_each_other() {
        needs!(Capability::TwoCpus);
        let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
        let [from, to] = [cpus[0], cpus[1]];
        let workers = Workers::start(&[from]).unwrap();
        let end = End::after(std::time::Instant::now(), None);
        let job: Job<'_, _> = Box::new(move || Exchange::run([from, to], &Options::quick(), &end));
        let exchange = workers.run(vec![(from, job)]).remove(0).unwrap().value.unwrap();
        for (path, _) in PATHS {
            let found = exchange.rows.iter().any(|row| row.path == path);
            let absent = exchange.not_available.iter().any(|(what, _)| what.ends_with(path));
            assert!(found != absent, "{path}: {exchange:?}");
        }
        assert!(exchange.rows.iter().all(|row| row.ns.as_ref().unwrap().median > 1.0));
        assert!(
            exchange.rows.iter().any(|row| row.path == "shared-memory" && row.bytes == 0),
            "the flag alone"
        );
        // The time of an end is part of the time of its message.
        for row in exchange.rows.iter().filter(|row| row.bytes >= 65536) {
            let [whole, send, receive] =
                [&row.ns, &row.send_ns, &row.receive_ns].map(|ns| ns.as_ref().unwrap().median);
            let parts = send.max(receive);
            assert!(parts > 0.0 && parts < 4.0 * whole, "{row:?}");
            assert!(row.passes.iter().all(|pass| pass.least_ns > 0.0 && pass.ns > 0.0), "{row:?}");
        }
    }
}
