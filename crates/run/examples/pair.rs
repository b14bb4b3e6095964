//! Two threads that wait for each other through pipes, byte by byte: never more than one of them can run.
//!
//!     coho run --try compact,spread --per-thread -- target/release/examples/pair 20000
//!     coho run --live compact,spread,none --rate '([0-9]+) trips/s' -- target/release/examples/pair

use std::io::{PipeReader, PipeWriter, Read, Result, Write, pipe};
use std::thread;
use std::time::{Duration, Instant};

const OFTEN: Duration = Duration::from_millis(50);

fn main() -> Result<()> {
    trips(std::env::args().nth(1).and_then(|trips| trips.parse().ok()))
}

/// Makes this many trips there and back; if `None`, goes on for ever and prints how many it makes a second.
pub fn trips(most: Option<u64>) -> Result<()> {
    let (mut there, mut back) = (pipe()?, pipe()?);
    let echo = thread::spawn(move || echo(there.0, back.1));
    let (mut since, mut made) = (Instant::now(), 0_u32);
    for _ in 0..most.unwrap_or(u64::MAX) {
        there.1.write_all(&[0])?;
        back.0.read_exact(&mut [0])?;
        made += 1;
        if most.is_none() && since.elapsed() >= OFTEN {
            println!("{:.0} trips/s", f64::from(made) / since.elapsed().as_secs_f64());
            (since, made) = (Instant::now(), 0);
        }
    }
    drop(there.1);
    echo.join().expect("it returns")
}

fn echo(mut from: PipeReader, mut to: PipeWriter) -> Result<()> {
    let mut byte = [0];
    while from.read(&mut byte)? > 0 {
        to.write_all(&byte)?;
    }
    Ok(())
}
