//! What messages between nodes cost: by size, among pairs alone and at once, and what their ends do.
//!
//! Rank 0 leads: it orders the first ranks of two nodes to exchange messages and hears what that took. All others sleep,
//! so that nodes that share CPUs, as containers do, leave them to the pair that is timed.

mod exchange;
mod order;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use coho_probe::statistics::estimate;
use coho_profile::{Estimate, MessageEnds, Method, NodeMessage};

use crate::job::Job;
use exchange::Rank;
use order::{Kind, Order};

/// Sizes of messages, in bytes.
const SIZES: [u64; 9] = [1, 8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 1 << 20, 4 << 20];
/// The size by which nodes are told apart.
const SMALL: u64 = 8;
/// Of pairs at once.
const AT_ONCE: [u64; 2] = [SMALL, 1 << 20];
/// Pairs of which all sizes are measured, at most.
const PAIRS: usize = 6;
/// How often all nodes exchange messages in pairs at once.
const MATCHINGS: usize = 3;
const PASSES: usize = 3;
/// Bursts of a visit, and about how long each should take.
const BURSTS: u64 = 5;
const BURST_NS: f64 = 200_000.0;
/// How long pairs that exchange at once do so: they do not begin at the same moment.
const TOGETHER_NS: f64 = 4_000_000.0;

/// What was measured.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) method: Method,
    pub(crate) messages: Vec<NodeMessage>,
    pub(crate) ends: Vec<MessageEnds>,
}

/// Samples of a kind, pass by pass.
type Samples<K> = BTreeMap<K, Vec<Vec<f64>>>;

/// Measures among the first ranks of these nodes, for about `limit` at most; all ranks call it. Only rank 0 has a result.
pub(crate) fn measure(job: &Job<'_>, leaders: &[usize], limit: Duration) -> Result<Option<Measured>> {
    let rank = Rank::new(job.library);
    match job.library.rank {
        0 => Lead { rank, leaders, begun: Instant::now(), limit }.measure().map(Some),
        own => {
            if leaders.contains(&(own as usize)) {
                rank.follow()?;
            }
            Ok(None)
        }
    }
}

/// Two nodes, by their places among the leaders.
type Pair = (usize, usize);

struct Lead<'j> {
    rank: Rank<'j>,
    leaders: &'j [usize],
    begun: Instant,
    limit: Duration,
}

impl Lead<'_> {
    fn measure(mut self) -> Result<Measured> {
        let n = self.leaders.len();
        let mut method = Method {
            description: "MPI_Send and MPI_Recv between the first ranks of two nodes while all others sleep: half the time \
                          of a message and its answer. A sender is busy while MPI_Send runs, a receiver while MPI_Recv \
                          does when the answer is long due; the gap is what each further message of a burst adds."
                .into(),
            ..Method::default()
        };
        let mut pairs: Vec<Pair> = (0..n).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        fastrand::shuffle(&mut pairs);
        let mut times = Samples::<(Pair, u64, usize)>::new();
        let mut ends = Samples::<(Pair, usize)>::new();
        let few: Vec<Pair> = pairs.iter().copied().take(PAIRS).collect();

        for _ in 0..PASSES {
            fastrand::shuffle(&mut pairs);
            for pair in &pairs {
                if self.is_over() {
                    break;
                }
                let took = self.alone(*pair, SMALL)?;
                times.entry((*pair, SMALL, 1)).or_default().push(took);
            }
        }
        let reached = times.len();
        if reached < pairs.len() {
            let why = format!("{reached} of {} pairs were reached in the time", pairs.len());
            method.not_available.insert("other pairs of nodes".into(), why);
        }
        for _ in 0..PASSES {
            let mut cells: Vec<(Pair, u64)> =
                few.iter().flat_map(|pair| SIZES.map(|bytes| (*pair, bytes))).collect();
            fastrand::shuffle(&mut cells);
            for (pair, bytes) in cells.into_iter().filter(|(_, bytes)| *bytes != SMALL) {
                let took = self.alone(pair, bytes)?;
                times.entry((pair, bytes, 1)).or_default().push(took);
            }
            for pair in &few {
                for (part, took) in self.ends(*pair)?.into_iter().enumerate() {
                    ends.entry((*pair, part)).or_default().push(took);
                }
            }
        }
        if n < 4 {
            method.not_available.insert("pairs at once".into(), "they take four nodes or more".into());
        } else {
            for _ in 0..MATCHINGS {
                for bytes in AT_ONCE {
                    for (pair, took) in self.at_once(bytes)? {
                        times.entry((pair, bytes, n / 2)).or_default().push(took);
                    }
                }
            }
        }
        self.order_all(&[], Order::END)?;
        method.passes = PASSES as u64;
        method.duration_s = self.begun.elapsed().as_secs_f64();
        let messages = times.iter().map(|((pair, bytes, at_once), passes)| NodeMessage {
            a: pair.0 as u32,
            b: pair.1 as u32,
            bytes: *bytes,
            at_once: *at_once as u32,
            one_way_ns: estimate(passes),
        });
        let part = |pair: Pair, part: usize| -> Option<Estimate> { estimate(ends.get(&(pair, part))?) };
        let ends = few.iter().map(|pair| MessageEnds {
            a: pair.0 as u32,
            b: pair.1 as u32,
            bytes: SMALL,
            send_ns: part(*pair, 0),
            receive_ns: part(*pair, 1),
            gap_ns: part(*pair, 2),
        });
        Ok(Measured { method, messages: messages.collect(), ends: ends.collect() })
    }

    fn is_over(&self) -> bool {
        self.begun.elapsed() > self.limit
    }

    /// One-way times of a pair that nothing else happens beside.
    fn alone(&mut self, pair: Pair, bytes: u64) -> Result<Vec<f64>> {
        let repeats = self.filling(pair, bytes, BURST_NS)?;
        self.visit(&[pair], Order { kind: Kind::PingPong, bytes, repeats, bursts: BURSTS, ..Order::END })
            .map(|mut all| all.swap_remove(0))
    }

    /// How many messages there and back fill a burst.
    fn filling(&mut self, pair: Pair, bytes: u64, ns: f64) -> Result<u64> {
        let order = Order { kind: Kind::PingPong, bytes, repeats: 1, bursts: 3, ..Order::END };
        let tried = self.visit(&[pair], order)?.swap_remove(0);
        let least = tried.into_iter().fold(f64::INFINITY, f64::min).max(1.0);
        Ok(((ns / (2.0 * least)) as u64).clamp(1, 10_000))
    }

    /// What the ends of small messages do: times of sending, of receiving, and gaps.
    fn ends(&mut self, pair: Pair) -> Result<[Vec<f64>; 3]> {
        let order = Order { kind: Kind::Ends, bytes: SMALL, repeats: 8, bursts: BURSTS, ..Order::END };
        let all = self.visit(&[pair], order)?.swap_remove(0);
        Ok([0, 1, 2].map(|part| all.iter().copied().skip(part).step_by(3).collect()))
    }

    /// All nodes in pairs that chance chooses, at once; the last one rests if they are odd. What was timed in the middle
    /// counts, while all pairs are at it.
    fn at_once(&mut self, bytes: u64) -> Result<Vec<(Pair, Vec<f64>)>> {
        let mut nodes: Vec<usize> = (0..self.leaders.len()).collect();
        fastrand::shuffle(&mut nodes);
        let pairs: Vec<Pair> =
            nodes.chunks_exact(2).map(|two| (two[0].min(two[1]), two[0].max(two[1]))).collect();
        let repeats = self.filling(pairs[0], bytes, TOGETHER_NS / BURSTS as f64)?;
        let order = Order { kind: Kind::PingPong, bytes, repeats, bursts: 3 * BURSTS, ..Order::END };
        let times = self.visit(&pairs, order)?;
        let middle = |times: Vec<f64>| times[BURSTS as usize..2 * BURSTS as usize].to_vec();
        Ok(pairs.into_iter().zip(times.into_iter().map(middle)).collect())
    }

    /// Has pairs carry out an order at once; what the first of each has timed.
    fn visit(&mut self, pairs: &[Pair], order: Order) -> Result<Vec<Vec<f64>>> {
        let ranks: Vec<(usize, usize)> =
            pairs.iter().map(|(a, b)| (self.leaders[*a], self.leaders[*b])).collect();
        let own = self.order_all(&ranks, order)?;
        ranks
            .iter()
            .map(|(first, _)| match first {
                0 => own.clone().context("rank 0 took part"),
                &other => self.rank.result_of(other, order),
            })
            .collect()
    }

    /// Sends an order to both ranks of each pair, or one to end to all, and carries it out if it is this rank's.
    fn order_all(&mut self, pairs: &[(usize, usize)], order: Order) -> Result<Option<Vec<f64>>> {
        let mut own = None;
        if order == Order::END {
            for &leader in self.leaders.iter().filter(|leader| **leader > 0) {
                self.rank.send_order(leader, order)?;
            }
        }
        for &(first, second) in pairs {
            let of_first = Order { peer: second as u64, is_first: true, ..order };
            let of_second = Order { peer: first as u64, is_first: false, ..order };
            for (rank, order) in [(first, of_first), (second, of_second)] {
                if rank == 0 {
                    own = Some(order);
                } else {
                    self.rank.send_order(rank, order)?;
                }
            }
        }
        own.map(|order| self.rank.carry_out(order)).transpose()
    }
}
