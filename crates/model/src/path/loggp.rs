//! A variant in the terms of LogGP (Alexandrov, Ionescu, Schauser & Scheiman, 1995).

use coho_profile::Ns;
use serde::Serialize;

use super::figure::whole;
use super::{Path, Side, Stage, Variant};

/// Sizes of messages, in bytes: a small one, for rates that are known for such sizes, and a large one.
const SMALL: f64 = 8.0;
const LARGE: f64 = 1_048_576.0;

/// The share of a time by which sums in another order may differ.
const ROUNDING: f64 = 1e-9;

/// Overhead, latency, gap and gap per byte of a variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(non_snake_case)]
pub struct LogGp {
    /// The reading of the paper, where there are several.
    pub reading: Option<String>,
    /// The variant.
    pub variant: String,
    /// The instructions with which a CPU copies.
    pub instruction: String,
    /// Size of the small message to which o, L and g apply, in bytes.
    #[serde(serialize_with = "whole")]
    pub bytes: f64,
    /// o of the sender: how long its CPU is busy with a small message. `None`, as for the receiver, where no stage is a
    /// CPU's: whole messages do not show what their ends do.
    pub o_send_ns: Option<Ns>,
    /// o of the receiver: how long its CPU is busy with it.
    pub o_receive_ns: Option<Ns>,
    /// L: the rest of a small message's time. `None` without o, and where the two ends overlap: both together are busy
    /// for longer than the message takes.
    pub L_ns: Option<Ns>,
    /// g: the slowest stage for a small message, before which no next message can follow.
    pub g_ns: Ns,
    /// G: time of each byte of a large message.
    pub G_ns_per_byte: Ns,
}

impl LogGp {
    /// Whether the two ends overlap: their overheads together take longer than the message, which leaves no latency.
    pub fn ends_overlap(&self) -> bool {
        self.o_send_ns.is_some() && self.L_ns.is_none()
    }
}

impl Path {
    /// LogGP's parameters of one of the path's variants. The small message is the smallest for which every table of
    /// rates has a measurement, since below that size a rate says nothing about a message's cost; or the largest that
    /// the variant carries, if that is smaller.
    pub fn loggp(&self, variant: &Variant, instruction: usize) -> LogGp {
        let stages = self.variants.iter().flat_map(|variant| &variant.stages);
        let measured = stages.filter_map(|stage| stage.rate(instruction)?.least_bytes());
        let small = variant.max_bytes.unwrap_or(f64::INFINITY).min(measured.fold(SMALL, f64::max));
        let large = variant.max_bytes.unwrap_or(f64::INFINITY).min(LARGE).max(2.0 * small);
        let time_of = |stage: &Stage| stage.time(small, Ns::ZERO, instruction);
        let sides = sides(&variant.stages);
        let busy = |side| {
            let own = variant.stages.iter().zip(&sides).filter(|(_, side_of)| **side_of == Some(side));
            // A sum of none would be -0.
            own.fold(Ns::ZERO, |sum, (stage, _)| sum + time_of(stage))
        };
        let overheads = variant.stages.iter().any(|stage| stage.kind.is_cpu());
        let [o_send_ns, o_receive_ns] =
            [Side::Sender, Side::Receiver].map(|side| overheads.then(|| busy(side)));
        let total = variant.time(small, Ns::ZERO, instruction);
        let rest = |(send, receive)| {
            // What is left of ends that take all of the time is 0, apart from rounding.
            let rest = total - send - receive;
            (rest > -ROUNDING * total).then(|| rest.max(Ns::ZERO))
        };
        let slope =
            variant.time(large, Ns::ZERO, instruction) - variant.time(large / 2.0, Ns::ZERO, instruction);
        LogGp {
            reading: self.reading.clone(),
            variant: variant.name.clone(),
            instruction: self.instructions[instruction].clone(),
            bytes: small,
            o_send_ns,
            o_receive_ns,
            L_ns: o_send_ns.zip(o_receive_ns).and_then(rest),
            g_ns: variant.stages.iter().map(time_of).fold(Ns::ZERO, Ns::max),
            G_ns_per_byte: slope / (large / 2.0),
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
