//! Pairs of threads, one of each sending messages to the other: work for many CPUs.
//!
//!     coho run --try compact,spread,none -- target/release/examples/messaging 1000

use std::io::{Read, Result, Write};
use std::os::unix::net::UnixStream;

const PAIRS: usize = 16;
const MESSAGE: [u8; 100] = [7; 100];

fn main() -> Result<()> {
    exchange(std::env::args().nth(1).and_then(|messages| messages.parse().ok()).unwrap_or(1000))
}

pub fn exchange(messages: usize) -> Result<()> {
    std::thread::scope(|scope| {
        let members: Vec<_> = (0..PAIRS)
            .map(|_| {
                let (to, from) = UnixStream::pair()?;
                let sender = scope.spawn(move || send(messages, to));
                Ok([sender, scope.spawn(move || receive(messages, from))])
            })
            .collect::<Result<_>>()?;
        members.into_iter().flatten().try_for_each(|member| member.join().expect("it returns"))
    })
}

fn send(messages: usize, mut to: UnixStream) -> Result<()> {
    (0..messages).try_for_each(|_| to.write_all(&MESSAGE))
}

fn receive(messages: usize, mut from: UnixStream) -> Result<()> {
    let mut message = MESSAGE;
    (0..messages).try_for_each(|_| from.read_exact(&mut message))
}
