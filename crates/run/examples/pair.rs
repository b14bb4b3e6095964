//! Two threads that wait for each other through pipes, byte by byte: never more than one of them can run.
//!
//!     coho run --try compact,spread,none -- target/release/examples/pair 20000

use std::io::{PipeReader, PipeWriter, Read, Result, Write, pipe};

fn main() -> Result<()> {
    let trips = std::env::args().nth(1).and_then(|trips| trips.parse().ok()).unwrap_or(5000);
    let (there, back) = (pipe()?, pipe()?);
    std::thread::scope(|scope| {
        let echo = scope.spawn(|| turns(trips, there.0, back.1, false));
        turns(trips, back.0, there.1, true)?;
        echo.join().expect("it returns")
    })
}

fn turns(trips: u32, mut from: PipeReader, mut to: PipeWriter, begins: bool) -> Result<()> {
    let mut byte = [0];
    for _ in 0..trips {
        if begins {
            to.write_all(&byte)?;
        }
        from.read_exact(&mut byte)?;
        if !begins {
            to.write_all(&byte)?;
        }
    }
    Ok(())
}
