//! Over a TCP connection on the loopback interface.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::{Lost, Stopwatch, Way};
use crate::Error;

/// How long to wait while nothing moves: the other process may have to share its CPU.
const PATIENCE: Duration = Duration::from_secs(2);

struct Tcp(TcpStream);

/// Both ends of a connection, neither of which ever sleeps or waits for more to send.
///
/// # Errors
/// If there is no such interface, or somebody else connects.
pub(super) fn ways() -> Result<[Box<dyn Way>; 2], Error> {
    let [here, there] =
        connection().map_err(|error| Error::system("TCP on the loopback interface", error))?;
    Ok([Box::new(Tcp(here)), Box::new(Tcp(there))])
}

fn connection() -> io::Result<[TcpStream; 2]> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let here = TcpStream::connect(listener.local_addr()?)?;
    let (there, address) = listener.accept()?;
    if address != here.local_addr()? {
        return Err(io::Error::other(format!("an unexpected peer connected: {address}")));
    }
    for end in [&here, &there] {
        end.set_nodelay(true)?;
        end.set_nonblocking(true)?;
    }
    Ok([here, there])
}

impl Way for Tcp {
    fn send(&mut self, message: &[u8], watch: &mut dyn Stopwatch) -> Result<(), Lost> {
        let stream = &mut self.0;
        all(message.len(), watch, |done| stream.write(&message[done..]))
    }

    fn receive(&mut self, message: &mut [u8], watch: &mut dyn Stopwatch) -> Result<(), Lost> {
        let stream = &mut self.0;
        all(message.len(), watch, |done| stream.read(&mut message[done..]))
    }
}

/// Moves bytes, part by part, until all are moved; calls that move some are timed.
fn all(
    bytes: usize,
    watch: &mut dyn Stopwatch,
    mut part: impl FnMut(usize) -> io::Result<usize>,
) -> Result<(), Lost> {
    let mut done = 0;
    let mut waiting: Option<Instant> = None;
    while done < bytes {
        watch.start();
        match part(done) {
            Ok(0) => return Err(Lost::Silent),
            Ok(moved) => {
                watch.stop();
                done += moved;
                waiting = None;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if waiting.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                    return Err(Lost::Silent);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(Lost::Silent),
        }
    }
    Ok(())
}
