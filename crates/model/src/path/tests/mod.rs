//! Paths as files, the ready ones, and the paper's.

mod check;
mod crossings;
mod dimmnet;
mod figures;
mod files;
mod fit;
mod loggp;
mod stages;

use coho_profile::{BlockState, Estimate, Memory, MemoryRate, Ns, Operation, Profile, Transfer};

use super::*;

fn parse(text: &str) -> Result<PathFile, Error> {
    PathFile::parse("test.toml", text, &|_| Err("there are no other files"))
}

fn resolve(text: &str) -> Result<Path, Error> {
    parse(text)?.resolve(None)
}

/// The error of a file that must have one.
fn wrong(text: &str) -> (Option<usize>, String) {
    let error = resolve(text).expect_err(text);
    (error.line(), error.reason().to_string())
}

const WHOLE: &str = r#"name = "whole"
[rates]
bus = { bytes_per_s = 1e9 }
double = { of = "bus", times = 2 }
table = { table = [[512, 1e9], [4096, 2e9]] }
[costs]
ring = { ns = 40 }
[[stage]]
name = "a"
kind = "copy"
rate = "double"
fixed = ["ring", "ring"]
[[stage]]
name = "b"
kind = "dma"
rate = "table"
gap_ns = 7
[[variant]]
name = "both"
stages = ["a", "b"]
[[variant]]
name = "one"
stages = ["b"]
"#;

fn profile(rates: &[(&str, u64, BlockState, f64)]) -> Profile {
    let rate = |&(instruction, bytes, state, rate): &(&str, u64, BlockState, f64)| MemoryRate {
        op: Operation::Copy,
        instruction: instruction.into(),
        bytes,
        threads: 1,
        state: Some(state),
        bytes_per_s: Some(Estimate::exact(rate)),
        ..MemoryRate::default()
    };
    let memory = Memory { rates: rates.iter().map(rate).collect(), ..Memory::default() };
    Profile { memory: Some(memory), ..Profile::default() }
}

/// A message from CPU 0 to another; in ns, what it takes to send, as a whole and to receive.
fn transfer(path: &str, to: u32, bytes: u64, [send, whole, receive]: [f64; 3]) -> Transfer {
    Transfer {
        path: path.into(),
        from: 0,
        to,
        bytes,
        ns: Some(Estimate::exact(whole)),
        send_ns: Some(Estimate::exact(send)),
        receive_ns: Some(Estimate::exact(receive)),
        ..Transfer::default()
    }
}

fn with_transfers(transfers: Vec<Transfer>) -> Profile {
    Profile { memory: Some(Memory { transfers, ..Memory::default() }), ..Profile::default() }
}

/// A profile of messages: each one's path, bytes and times as for [`transfer`].
fn messages(all: &[(&str, u64, [f64; 3])]) -> Profile {
    with_transfers(all.iter().map(|&(path, bytes, ns)| transfer(path, 1, bytes, ns)).collect())
}

/// A DMA with a start-up gap.
fn stage(gap: Ns, bytes_per_s: f64, overlap: Overlap) -> Stage {
    Stage {
        name: String::new(),
        kind: Kind::Dma,
        side: None,
        rates: vec![Some(Rate::constant(bytes_per_s))],
        gap,
        gaps: 0,
        fixed: Ns::ZERO,
        overlap,
    }
}
