//! Rates and costs: figures of the file itself, or those of a profile.

use coho_profile::{CacheType, Estimate, MemoryRate, Ns, Transfer};
use toml::Spanned;

use super::{MAX_BYTES, MAX_NS, Resolver, within};
use crate::delegation;
use crate::path::error::{Error, Place};
use crate::path::file::{Entry, Query, RawCost, RawRate, RawStage, TransferPart, TransferQuery, chain};
use crate::path::rate::{Factor, Rate};

/// The quickest rate that a file may state, in bytes per second.
const MAX_RATE: f64 = 1e15;
/// A line, and the longest message whose first line arrives with the flag, in bytes. The CPU loads as far ahead as it
/// looks before it knows that the flag has come: on a Zen 3, a message of 64 B took 6 ns more than the flag alone,
/// one of 256 B 70 ns, and from 1 KiB on as much as the receiver's copy takes by itself.
const LINE_BYTES: u64 = 64;
const SHORT_BYTES: u64 = 512;
/// The least that a copy of some bytes can take.
const LEAST: Ns = Ns(0.1);
const ONE_SOURCE: &str = "a rate has one of: bytes_per_s, table, profile, transfer, of";
const ONE_COST: &str = "a cost has one of: ns, call, message, transfer";

impl Resolver<'_> {
    /// Follows `of` to the rate that has figures of its own.
    pub(super) fn rate(&self, name: &str, entry: &Entry<RawRate>) -> Result<Rate, Error> {
        let (mut at, mut entry) = (name.to_owned(), entry);
        let mut seen: Vec<String> = Vec::new();
        let mut factors = Vec::new();
        loop {
            let raw = &entry.value;
            let place = self.file.place(entry);
            if seen.contains(&at) {
                return Err(place.error(format!("rates {} refer to each other: a cycle", chain(&seen, &at))));
            }
            seen.push(at);
            factors.extend(self.factor(entry)?);
            let Some(target) = &raw.of else {
                return Ok(self.own_figures(entry, &place)?.with(factors));
            };
            if raw.bytes_per_s.is_some()
                || raw.table.is_some()
                || raw.profile.is_some()
                || raw.transfer.is_some()
                || raw.start_ns.is_some()
            {
                return Err(
                    place.error("a rate of another has no figures of its own; leave out 'of' or the figures")
                );
            }
            let wanted = target.get_ref();
            let place = self.file.place_in(entry, target);
            entry = self
                .file
                .rates
                .get(wanted)
                .ok_or_else(|| place.error(format!("no rate '{wanted}'; add it to [rates]")))?;
            at = wanted.clone();
        }
    }

    fn factor(&self, entry: &Entry<RawRate>) -> Result<Option<Factor>, Error> {
        let raw = &entry.value;
        let from_bytes = match &raw.from_bytes {
            Some(from) => {
                let place = self.file.place_in(entry, from);
                within(&place, "a size in bytes", *from.get_ref(), 0.0, MAX_BYTES)?
            }
            None => 0.0,
        };
        let Some(times) = &raw.times else {
            return match raw.from_bytes {
                Some(_) => Err(self
                    .file
                    .place(entry)
                    .error("'from_bytes' says from where on 'times' holds; add 'times'")),
                None => Ok(None),
            };
        };
        let place = self.file.place_in(entry, times);
        let times = within(&place, "a factor", *times.get_ref(), 1e-6, 1e6)?;
        Ok(Some(Factor { times, from_bytes }))
    }

    fn own_figures(&self, entry: &Entry<RawRate>, place: &Place) -> Result<Rate, Error> {
        let raw = &entry.value;
        let start = match &raw.start_ns {
            Some(start) => self.time(entry, start, "a start-up time in ns")?,
            None => Ns::ZERO,
        };
        if let Some(query) = &raw.transfer {
            return match (&raw.bytes_per_s, &raw.table, &raw.profile, &raw.start_ns) {
                (None, None, None, None) => self.of_messages(query, place),
                _ => Err(place.error(ONE_SOURCE)),
            };
        }
        match (&raw.bytes_per_s, &raw.table, &raw.profile) {
            (Some(rate), None, None) => {
                let place = self.file.place_in(entry, rate);
                Ok(Rate::start_up(start, positive_rate(&place, *rate.get_ref())?))
            }
            (None, ..) if raw.start_ns.is_some() => {
                Err(place.error("'start_ns' goes with 'bytes_per_s' alone"))
            }
            (None, Some(table), None) => {
                let place = self.file.place_in(entry, table);
                let mut points = Vec::new();
                for &(bytes, rate) in table.get_ref() {
                    points.push((
                        within(&place, "a size in bytes", bytes, 1.0, MAX_BYTES)?,
                        positive_rate(&place, rate)?,
                    ));
                }
                if points.is_empty() {
                    return Err(place.error("an empty table; add pairs of bytes and bytes a second"));
                }
                let sizes = points.len();
                let table = Rate::table(points);
                if table.corners().count() < sizes {
                    return Err(place.error("a table has each size once"));
                }
                Ok(table)
            }
            (None, None, Some(query)) => self.measured(query, place),
            _ => Err(place.error(ONE_SOURCE)),
        }
    }

    /// The profile's messages on a path.
    fn messages(&self, path: &str) -> impl Iterator<Item = &Transfer> {
        let memory = self.profile.and_then(|profile| profile.memory.as_ref());
        let path = path.to_owned();
        memory.into_iter().flat_map(|memory| &memory.transfers).filter(move |transfer| transfer.path == path)
    }

    /// The rate of messages by size, or of what one of their ends takes.
    fn of_messages(&self, query: &TransferQuery, place: &Place) -> Result<Rate, Error> {
        let receive = |bytes: u64| {
            let mut of_size = self.messages(&query.path).filter(move |transfer| transfer.bytes == bytes);
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
        let points =
            self.messages(&query.path).filter(|transfer| transfer.bytes > 0).filter_map(|transfer| {
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

    fn lacks_messages(&self, path: &str, place: &Place) -> Error {
        place.error(format!(
            "{} parts of messages by {path}; add them with `coho memory --parts transfers -o profile.json` and name the \
             profile",
            self.lacks()
        ))
    }

    /// What remains of the smallest message on a path without the work of its ends: the lines that announce it, minus
    /// what both ends do at the same time, and minus the cost of timing them. It may be below 0.
    fn handover(&self, path: &str, place: &Place) -> Result<Ns, Error> {
        let least = self.messages(path).min_by_key(|transfer| transfer.bytes);
        let flag = least.and_then(|transfer| {
            Some(median(&transfer.ns)? - median(&transfer.send_ns)? - median(&transfer.receive_ns)?)
        });
        flag.ok_or_else(|| self.lacks_messages(path, place))
    }

    /// The quickest at each size of the profile's rates that match the query.
    fn measured(&self, query: &Query, place: &Place) -> Result<Rate, Error> {
        let rates =
            self.profile.and_then(|profile| profile.memory.as_ref()).map_or(&[][..], |memory| &memory.rates);
        let answers = |rate: &&MemoryRate| {
            rate.op == query.op
                && rate.cache_type == query.cache_type
                && rate.threads == query.threads
                && rate.destination_type.unwrap_or_default() == CacheType::WriteBack
                && query.instruction.as_ref().is_none_or(|wanted| is_named(&rate.instruction, wanted))
                && query.state.is_none_or(|wanted| Some(wanted) == rate.state)
                && query.fence.is_none_or(|wanted| Some(wanted) == rate.fence)
        };
        let mut points: Vec<(f64, f64)> = Vec::new();
        for rate in rates.iter().filter(answers) {
            let Some(median) = rate.bytes_per_s.as_ref().map(|estimate| estimate.median) else { continue };
            let bytes = rate.bytes as f64;
            let usable = (1.0..=MAX_BYTES).contains(&bytes) && median > 0.0 && median <= MAX_RATE;
            if !usable {
                continue;
            }
            match points.iter_mut().find(|point| point.0 == bytes) {
                Some(point) => point.1 = point.1.max(median),
                None => points.push((bytes, median)),
            }
        }
        if !points.is_empty() {
            return Ok(Rate::table(points));
        }
        let mut wanted = format!("{} rates of type {}", query.op, query.cache_type);
        for (name, value) in [
            ("instruction", query.instruction.clone()),
            ("state", query.state.map(|state| state.to_string())),
            ("fence", query.fence.map(|fence| fence.to_string())),
        ] {
            if let Some(value) = value {
                wanted += &format!(", {name} {value}");
            }
        }
        Err(place.error(format!(
            "{} {wanted}; add them with `coho memory -o profile.json` and name the profile, or state 'table' or \
             'bytes_per_s' here",
            self.lacks()
        )))
    }

    /// The beginning of an error about a missing figure.
    fn lacks(&self) -> &'static str {
        if self.profile.is_some() { "the profile has no" } else { "no profile was given that has" }
    }

    pub(super) fn named_cost(&self, entry: &Entry<RawStage>, name: &Spanned<String>) -> Result<Ns, Error> {
        let wanted = name.get_ref();
        let Some(cost) = self.file.costs.get(wanted) else {
            let place = self.file.place_in(entry, name);
            return Err(place.error(format!("no cost '{wanted}'; add it to [costs]")));
        };
        self.cost(cost)
    }

    pub(super) fn cost(&self, cost: &Entry<RawCost>) -> Result<Ns, Error> {
        let place = self.file.place(cost);
        let raw = &cost.value;
        let times = match &raw.times {
            Some(times) => within(&self.file.place_in(cost, times), "a factor", *times.get_ref(), 0.0, 1e6)?,
            None => 1.0,
        };
        if let Some(path) = &raw.transfer {
            return match (&raw.ns, &raw.call, raw.message) {
                (None, None, None) => Ok(self.handover(path, &place)? * times),
                _ => Err(place.error(ONE_COST)),
            };
        }
        let time = match (&raw.ns, &raw.call, raw.message) {
            (Some(ns), None, None) => self.time(cost, ns, "a time in ns")?,
            (None, Some(call), None) => {
                let calls = self.profile.and_then(|profile| profile.calls.as_ref());
                calls.and_then(|calls| delegation::issued(calls, call)).ok_or_else(|| {
                    place.error(format!(
                        "{} time of call '{call}'; add it with `coho calls --call '{call}' -o profile.json`, or \
                         state 'ns' here",
                        self.lacks()
                    ))
                })?
            }
            (None, None, Some(_)) => {
                let coherence = self.profile.and_then(|profile| profile.coherence.as_ref());
                coherence.and_then(delegation::channel).map(|time| time / 2.0).ok_or_else(|| {
                    place.error(format!(
                        "{} times of flags or turn; add them with `coho coherence -o profile.json`, or state 'ns' here",
                        self.lacks()
                    ))
                })?
            }
            _ => return Err(place.error(ONE_COST)),
        };
        Ok(time * times)
    }

    /// A time that the file states.
    pub(super) fn time<T>(&self, entry: &Entry<T>, ns: &Spanned<f64>, what: &str) -> Result<Ns, Error> {
        within(&self.file.place_in(entry, ns), what, *ns.get_ref(), 0.0, MAX_NS).map(Ns)
    }
}

fn median(estimate: &Option<Estimate>) -> Option<Ns> {
    let median = estimate.as_ref()?.median;
    (median.is_finite() && (0.0..=MAX_NS).contains(&median)).then_some(Ns(median))
}

fn positive_rate(place: &Place, value: f64) -> Result<f64, Error> {
    within(place, "a rate in bytes a second", value, 1e-3, MAX_RATE)
}

/// Whether an instruction is the wanted one, or matches `*-nt`, which stands for all that end so.
fn is_named(instruction: &str, wanted: &str) -> bool {
    match wanted.strip_prefix('*') {
        Some(end) => instruction.ends_with(end),
        None => instruction == wanted,
    }
}
