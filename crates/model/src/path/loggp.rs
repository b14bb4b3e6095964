//! A variant in the terms of LogGP (Alexandrov, Ionescu, Schauser & Scheiman, 1995).

use coho_profile::Ns;

use super::{Path, Side, Stage, Variant};

/// Sizes of messages, in bytes: a small one, for rates that are known for such sizes, and a large one.
const SMALL: f64 = 8.0;
const LARGE: f64 = 1_048_576.0;

/// The share of a time by which sums in another order may differ.
const ROUNDING: f64 = 1e-9;

/// Overhead, latency, gap and gap per byte of a variant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogGp {
    /// Size of the small message to which o, L and g apply, in bytes.
    pub bytes: f64,
    /// o of the sender: how long its CPU is busy with a small message. `None`, as for the receiver, where no stage is a
    /// CPU's: whole messages do not show what their ends do.
    pub o_send: Option<Ns>,
    /// o of the receiver: how long its CPU is busy with it.
    pub o_receive: Option<Ns>,
    /// L: the rest of a small message's time. `None` without o, and where the two ends overlap: both together are busy
    /// for longer than the message takes.
    pub latency: Option<Ns>,
    /// g: the slowest stage for a small message, before which no next message can follow.
    pub gap: Ns,
    /// G: time of each byte of a large message.
    pub gap_per_byte: Ns,
}

impl Path {
    /// LogGP's parameters of one of the path's variants. The small message is the smallest for which every table of
    /// rates has a measurement, since below that size a rate says nothing about a message's cost; or the largest that
    /// the variant carries, if that is smaller.
    pub fn loggp(&self, variant: &Variant, instruction: usize) -> LogGp {
        let stages = self.variants.iter().flat_map(|variant| &variant.stages);
        let measured = stages.filter_map(|stage| stage.rate(instruction)?.least_bytes());
        variant.loggp(measured.fold(SMALL, f64::max), LARGE, instruction)
    }
}

impl Variant {
    /// LogGP's parameters, from messages of `small` bytes and the slope from half of `large` bytes to `large`.
    pub fn loggp(&self, small: f64, large: f64, instruction: usize) -> LogGp {
        let small = self.max_bytes.map_or(small, |most| small.min(most));
        let large = self.max_bytes.map_or(large, |most| large.min(most)).max(2.0 * small);
        let time_of = |stage: &Stage| stage.time(small, Ns::ZERO, instruction);
        let sides = sides(&self.stages);
        let busy = |side| {
            let own = self.stages.iter().zip(&sides).filter(|(_, side_of)| **side_of == Some(side));
            // A sum of none would be -0.
            own.fold(Ns::ZERO, |sum, (stage, _)| sum + time_of(stage))
        };
        let overheads = self.stages.iter().any(|stage| stage.kind.is_cpu());
        let [o_send, o_receive] = [Side::Sender, Side::Receiver].map(|side| overheads.then(|| busy(side)));
        let total = self.time(small, Ns::ZERO, instruction);
        let rest = |(send, receive)| {
            // What is left of ends that take all of the time is 0, apart from rounding.
            let rest = total - send - receive;
            (rest > -ROUNDING * total).then(|| rest.max(Ns::ZERO))
        };
        let slope = self.time(large, Ns::ZERO, instruction) - self.time(large / 2.0, Ns::ZERO, instruction);
        LogGp {
            bytes: small,
            o_send,
            o_receive,
            latency: o_send.zip(o_receive).and_then(rest),
            gap: self.stages.iter().map(time_of).fold(Ns::ZERO, Ns::max),
            gap_per_byte: slope / (large / 2.0),
        }
    }
}

/// Whose CPU is busy with each stage. Where the file does not say, a CPU's stages before anything crosses are the
/// sender's, those after everything has crossed are the receiver's, and those between are nobody's overhead.
fn sides(stages: &[Stage]) -> Vec<Option<Side>> {
    let before = |stage: &&Stage| stage.kind.is_cpu() && stage.side != Some(Side::Receiver);
    let behind = |stage: &&Stage| stage.kind.is_cpu() && stage.side != Some(Side::Sender);
    let sent = stages.iter().take_while(before).count();
    let received = stages.len() - stages.iter().rev().take_while(behind).count();
    let side = |(at, stage): (usize, &Stage)| match stage.side {
        Some(side) => Some(side),
        None if at < sent => Some(Side::Sender),
        None if at >= received => Some(Side::Receiver),
        None => None,
    };
    stages.iter().enumerate().map(side).collect()
}
