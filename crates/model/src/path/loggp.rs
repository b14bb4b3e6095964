//! A variant in the terms of LogGP (Alexandrov, Ionescu, Schauser & Scheiman, 1995).

use super::Variant;

/// Overhead, latency, gap and gap per byte of a variant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogGp {
    /// o of the sender: what its CPU does before anything else moves the message, in ns.
    pub o_send_ns: f64,
    /// o of the receiver: what its CPU does at the end, in ns.
    pub o_receive_ns: f64,
    /// L: what is left of the time of a small message, in ns.
    pub latency_ns: f64,
    /// g: the slowest stage for a small message; no earlier can the next follow, in ns.
    pub gap_ns: f64,
    /// G: time of each byte of a large message, in ns.
    pub gap_per_byte_ns: f64,
}

impl Variant {
    /// LogGP's parameters, from messages of `small` bytes and the slope between half of `large` bytes and `large`.
    pub fn loggp(&self, small: f64, large: f64, instruction: usize) -> LogGp {
        let small = self.max_bytes.map_or(small, |most| small.min(most));
        let large = self.max_bytes.map_or(large, |most| large.min(most)).max(2.0 * small);
        let of = |stage: &super::Stage| stage.time_ns(small, 0.0, instruction);
        let cpu = |stage: &&super::Stage| stage.kind.is_cpu();
        let o_send_ns: f64 = self.stages.iter().take_while(cpu).map(of).sum();
        let behind = self.stages.iter().rev().take_while(cpu);
        let sender_only = self.stages.iter().all(|stage| stage.kind.is_cpu());
        let o_receive_ns: f64 = if sender_only { 0.0 } else { behind.map(of).sum() };
        let total = self.time_ns(small, 0.0, instruction);
        let slope = self.time_ns(large, 0.0, instruction) - self.time_ns(large / 2.0, 0.0, instruction);
        LogGp {
            o_send_ns,
            o_receive_ns,
            latency_ns: (total - o_send_ns - o_receive_ns).max(0.0),
            gap_ns: self.stages.iter().map(of).fold(0.0, f64::max),
            gap_per_byte_ns: slope / (large / 2.0),
        }
    }
}
