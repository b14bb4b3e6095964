//! Messages between two processes: what a path's prediction is compared with.
//!
//! One process sends a message and the other sends it back, each polling; half of the time there and back counts. The
//! buffers are the same each time.

mod partner;
mod shared;
mod tcp;

use coho_platform::stolen;
use coho_profile::Transfer;

use self::partner::{Order, Partner};
use super::Options;
use super::survey::Survey;
use crate::clock::Clock;
use crate::pages::Pages;
use crate::stop::End;
use crate::{Error, statistics};

/// Sizes of a message, in bytes.
const SIZES: [usize; 9] = [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, LARGEST];
const LARGEST: usize = 4 << 20;
/// What a window is to take, in ns.
const WINDOW_NS: f64 = 200_000.0;
/// How often a window is tried that something may interrupt.
const TRIES: usize = 4;

/// One end of a way between two processes. Both look again and again for what the other sends.
trait Way: Send {
    /// Sends a message; afterwards the caller may write to its buffer again.
    fn send(&mut self, message: &[u8]) -> Result<(), Lost>;

    /// Waits for a message of this size.
    fn receive(&mut self, message: &mut [u8]) -> Result<(), Lost>;
}

/// Nothing came from the other process, or nothing could be sent.
#[derive(Debug)]
struct Lost;

/// Adds the times of messages between processes on the first CPU and its nearest neighbour.
pub(super) fn measure(survey: &mut Survey<'_>) -> Result<(), Error> {
    let Some(pair) = survey.pair() else {
        survey.lacks("transfers", "they take two CPUs, and only one may be used");
        return Ok(());
    };
    let (options, end) = (survey.options, survey.end);
    let found = survey.on_first(move || Exchange::run(pair, options, end))?;
    match found {
        Ok(exchange) => {
            survey.memory.transfers = exchange.rows;
            survey.memory.method.not_available.extend(exchange.not_available);
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

/// A message of one size by one way, and what it took.
struct Cell {
    way: usize,
    bytes: usize,
    passes: Vec<Vec<f64>>,
}

impl Exchange {
    fn run([from, to]: [u32; 2], options: &Options, end: End) -> Result<Self, Error> {
        let mut exchange = Self::default();
        let (mut names, mut mine, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        for (path, ways) in [("shared-memory", shared::ways(LARGEST)), ("tcp-loopback", tcp::ways())] {
            match ways {
                Ok([here, there]) => {
                    names.push(path);
                    mine.push(here);
                    theirs.push(there);
                }
                Err(error) => {
                    exchange.not_available.push((format!("transfers by {path}"), error.to_string()))
                }
            }
        }
        // Each process touches its own after they part.
        let pages = Pages::map_at(LARGEST, options.paging, options.node)?;
        let partner = Partner::start(to, theirs, &pages)?;
        pages.touch();
        let mut cells: Vec<Cell> = (0..names.len())
            .flat_map(|way| SIZES.map(|bytes| Cell { way, bytes, passes: Vec::new() }))
            .collect();
        let mut random = fastrand::Rng::with_seed(options.seed);
        let (passes, windows) = if options.quick { (3, 4) } else { (6, 6) };
        for _ in 0..passes {
            random.shuffle(&mut cells);
            for cell in &mut cells {
                if end.has_come() {
                    break;
                }
                // SAFETY: the pages are this process's own, and nothing else refers to them here.
                let message = unsafe { std::slice::from_raw_parts_mut(pages.start().as_ptr(), cell.bytes) };
                let pass = visit(&partner, cell.way, mine[cell.way].as_mut(), message, windows);
                cell.passes.push(pass.map_err(|Lost| partner.why_lost(names[cell.way]))?);
            }
        }
        cells.sort_by_key(|cell| (cell.way, cell.bytes));
        let row = |cell: &Cell| {
            let ns = Some(statistics::estimate(&cell.passes)?);
            Some(Transfer { path: names[cell.way].into(), from, to, bytes: cell.bytes as u64, ns })
        };
        exchange.rows = cells.iter().filter_map(row).collect();
        Ok(exchange)
    }
}

/// Times of a message one way, in ns, of windows in which neither process was interrupted.
fn visit(
    partner: &Partner,
    way: usize,
    mine: &mut dyn Way,
    message: &mut [u8],
    windows: usize,
) -> Result<Vec<f64>, Lost> {
    let clock = Clock::get();
    let mut window = |rounds: u64| {
        let order = Order { way, bytes: message.len(), rounds };
        let before = stolen::involuntary_switches();
        let theirs = partner.begin(order);
        let first = message[0];
        let start = clock.now();
        for _ in 0..rounds {
            mine.send(message)?;
            mine.receive(message)?;
        }
        let ns = clock.ns(clock.now() - start);
        // Each time that it came to the other, that process counted on.
        assert_eq!(message[0], first.wrapping_add(rounds as u8), "another message came back than was sent");
        let alone = partner.end(theirs)? && stolen::involuntary_switches() == before;
        Ok((ns / (2 * rounds) as f64, alone))
    };
    // The first goes through memory that was last used for something else.
    let mut rounds = 1;
    loop {
        let (ns, _) = window(rounds)?;
        let taken = ns * (2 * rounds) as f64;
        if taken >= WINDOW_NS / 4.0 {
            rounds = ((rounds as f64 * WINDOW_NS / taken) as u64).max(1);
            break;
        }
        rounds *= 2;
    }
    let mut times = Vec::new();
    for _ in 0..windows * TRIES {
        let (ns, alone) = window(rounds)?;
        times.extend(alone.then_some(ns));
        if times.len() == windows {
            break;
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use coho_testing::{Capability, needs};

    use super::*;
    use crate::workers::{Job, Workers};
    use crate::{pin, stop};

    #[test]
    fn every_byte_comes_through() {
        // Made before anybody waits: where this is slow, patience would end meanwhile.
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
                        theirs.receive(&mut message)?;
                        theirs.send(&message)?;
                    }
                    Ok(())
                });
                for message in &messages {
                    let mut back = vec![0; message.len()];
                    mine.send(message)?;
                    mine.receive(&mut back)?;
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
    }

    #[test]
    fn processes_answer_each_other() {
        needs!(Capability::TwoCpus);
        let cpus: Vec<u32> = pin::allowed().unwrap().iter().take(2).collect();
        let [from, to] = [cpus[0], cpus[1]];
        let workers = Workers::start(&[from]).unwrap();
        let end = stop::End::after(std::time::Instant::now(), None);
        let job: Job<'_, _> =
            Box::new(move || Exchange::run([from, to], &Options { seed: 1, ..Options::quick() }, end));
        let exchange = workers.run(vec![(from, job)]).remove(0).unwrap().value.unwrap();
        for path in ["shared-memory", "tcp-loopback"] {
            let found = exchange.rows.iter().any(|row| row.path == path);
            let absent = exchange.not_available.iter().any(|(what, _)| what.ends_with(path));
            assert!(found != absent, "{path}: {exchange:?}");
        }
        assert!(exchange.rows.iter().all(|row| row.ns.as_ref().unwrap().median > 1.0));
    }
}
