//! Rates and costs that a path takes from a profile.

use coho_profile::{CacheType, Estimate, Memory, MemoryRate, Ns, Profile, Transfer};

use super::entries::{CostSource, MAX_BYTES, MAX_NS, MAX_RATE, Query, TransferPart, TransferQuery};
use super::file::Place;
use super::{Error, Rate, Reason};
use crate::delegation;

/// A line, and the longest message whose first line arrives with the flag, in bytes. The CPU loads as far ahead as it
/// looks before it knows that the flag has come: on a Zen 3, a message of 64 B took 6 ns more than the flag alone,
/// one of 256 B 70 ns, and from 1 KiB on as much as the receiver's copy takes by itself.
const LINE_BYTES: u64 = 64;
const SHORT_BYTES: u64 = 512;
/// The least that a copy of some bytes can take.
const LEAST: Ns = Ns(0.1);

/// A profile, if there is one.
#[derive(Clone, Copy)]
pub(super) struct Measured<'a>(pub Option<&'a Profile>);

impl<'a> Measured<'a> {
    fn lacks(self, place: Place<'_>, what: &str) -> Error {
        let whose = if self.0.is_some() { "the profile has no" } else { "no profile was given that has" };
        place.error(Reason::Lacks(format!("{whose} {what}")))
    }

    fn memory(self) -> Option<&'a Memory> {
        self.0?.memory.as_ref()
    }

    /// The quickest at each size of the profile's rates that match the query.
    pub fn rate(self, query: &Query, place: Place<'_>) -> Result<Rate, Error> {
        let answers = |rate: &&MemoryRate| {
            rate.op == query.op
                && rate.cache_type == query.cache_type
                && rate.threads == query.threads
                && rate.destination_type.unwrap_or_default() == CacheType::WriteBack
                && query.instruction.as_ref().is_none_or(|wanted| is_named(&rate.instruction, wanted))
                && query.state.is_none_or(|wanted| Some(wanted) == rate.state)
                && query.fence.is_none_or(|wanted| Some(wanted) == rate.fence)
        };
        let rates = self.memory().into_iter().flat_map(|memory| &memory.rates).filter(answers);
        let points = rates.filter_map(|rate| Some((rate.bytes as f64, rate.bytes_per_s.as_ref()?.median)));
        let usable = |(bytes, rate): &(f64, f64)| {
            (1.0..=MAX_BYTES).contains(bytes) && *rate > 0.0 && *rate <= MAX_RATE
        };
        let mut points: Vec<(f64, f64)> = points.filter(usable).collect();
        if points.is_empty() {
            let mut wanted = format!("{} rates of type {}", query.op, query.cache_type);
            for (name, value) in [
                ("instruction", query.instruction.clone()),
                ("state", query.state.map(|state| state.to_string())),
                ("fence", query.fence.map(|fence| fence.to_string())),
            ] {
                wanted += &value.map_or(String::new(), |value| format!(", {name} {value}"));
            }
            let how = "add them with `coho memory -o profile.json` and name the profile, or state 'table' or \
                       'bytes_per_s' here";
            return Err(self.lacks(place, &format!("{wanted}; {how}")));
        }
        // A table keeps the first of the points of one size.
        points.sort_by(|a, b| b.1.total_cmp(&a.1));
        Ok(Rate::table(points))
    }

    /// The profile's messages on a path.
    fn messages(self, path: &str) -> impl Iterator<Item = &'a Transfer> {
        let transfers = self.memory().into_iter().flat_map(|memory| &memory.transfers);
        transfers.filter(move |transfer| transfer.path == path)
    }

    fn lacks_messages(self, path: &str, place: Place<'_>) -> Error {
        let what = format!(
            "parts of messages by {path}; add them with `coho memory --parts transfers -o profile.json` and name the \
             profile"
        );
        self.lacks(place, &what)
    }

    /// The rate of messages by size, or of what one of their ends takes.
    pub fn rate_of_messages(self, query: &TransferQuery, place: Place<'_>) -> Result<Rate, Error> {
        let receive = |bytes: u64| {
            let mut of_size = self.messages(&query.path).filter(|transfer| transfer.bytes == bytes);
            of_size.find_map(|transfer| median(&transfer.receive_ns)).unwrap_or_default()
        };
        // Without its overhead, which the empty message also has.
        let line = (receive(LINE_BYTES) - receive(0)).max(Ns::ZERO);
        let part = |transfer: &Transfer| match query.part {
            TransferPart::Whole => median(&transfer.ns),
            TransferPart::Send => median(&transfer.send_ns),
            TransferPart::ReceiveBehindFlag if transfer.bytes <= SHORT_BYTES => {
                median(&transfer.receive_ns).map(|whole| whole - line)
            }
            TransferPart::Receive | TransferPart::ReceiveBehindFlag => median(&transfer.receive_ns),
        };
        let sized = self.messages(&query.path).filter(|transfer| transfer.bytes > 0);
        let points = sized.filter_map(|transfer| {
            // Less than the clock's step is not nothing.
            let (time, bytes) = (part(transfer)?.max(LEAST), transfer.bytes as f64);
            Some((bytes, time.bytes_per_s(bytes)))
        });
        let points: Vec<(f64, f64)> = points.collect();
        if points.is_empty() {
            return Err(self.lacks_messages(&query.path, place));
        }
        Ok(Rate::table(points).of_messages())
    }

    pub fn cost(self, source: &CostSource, place: Place<'_>) -> Result<Ns, Error> {
        match source {
            CostSource::Stated(ns) => Ok(*ns),
            CostSource::Call(call) => {
                let calls = self.0.and_then(|profile| profile.calls.as_ref());
                let how = format!("add it with `coho calls --call '{call}' -o profile.json`");
                let what = format!("time of call '{call}'; {how}, or state 'ns' here");
                calls
                    .and_then(|calls| delegation::issued(calls, call))
                    .ok_or_else(|| self.lacks(place, &what))
            }
            CostSource::OneWay => {
                let coherence = self.0.and_then(|profile| profile.coherence.as_ref());
                let what = "times of flags or turn; add them with `coho coherence -o profile.json`, or state 'ns' here";
                let there_and_back = coherence.and_then(delegation::channel);
                there_and_back.map(|time| time / 2.0).ok_or_else(|| self.lacks(place, what))
            }
            CostSource::Handover(path) => self.handover(path).ok_or_else(|| self.lacks_messages(path, place)),
        }
    }

    /// What remains of the smallest message on a path without the work of its ends: the lines that announce it, minus
    /// what both ends do at the same time, and minus the cost of timing them. It may be below 0.
    fn handover(self, path: &str) -> Option<Ns> {
        let least = self.messages(path).min_by_key(|transfer| transfer.bytes)?;
        Some(median(&least.ns)? - median(&least.send_ns)? - median(&least.receive_ns)?)
    }
}

fn median(estimate: &Option<Estimate>) -> Option<Ns> {
    let median = estimate.as_ref()?.median;
    (0.0..=MAX_NS).contains(&median).then_some(Ns(median))
}

/// Whether an instruction is the wanted one, or matches `*-nt`, which stands for all that end so.
fn is_named(instruction: &str, wanted: &str) -> bool {
    match wanted.strip_prefix('*') {
        Some(end) => instruction.ends_with(end),
        None => instruction == wanted,
    }
}
