//! Reads numbers from what a command prints, and passes its output on as it comes.

use std::io::{self, Read, Write};
use std::process::{ChildStderr, ChildStdout};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use regex_lite::Regex;

use crate::child::Running;

/// The most bytes to search for the end of a line.
const LONGEST_LINE: usize = 64 << 10;
/// Descendants may keep the output open for as long as they like.
const PATIENCE: Duration = Duration::from_secs(1);

/// Numbers that a command prints.
pub(super) struct Printed {
    numbers: Receiver<f64>,
    output: Sender<ChildStdout>,
    errors: Sender<ChildStderr>,
}

impl Printed {
    /// Starts the threads that will read, so that no command has been started yet if they are refused.
    ///
    /// # Errors
    /// The operating system's error.
    pub(super) fn ready(expression: &Regex, to_stderr: bool) -> io::Result<Self> {
        let (sender, numbers) = mpsc::channel();
        let matcher = (expression.clone(), sender);
        let to: fn() -> Box<dyn Write> =
            if to_stderr { || Box::new(io::stderr()) } else { || Box::new(io::stdout()) };
        let output = reader(to, matcher.clone())?;
        let errors = reader(|| Box::new(io::stderr()), matcher)?;
        Ok(Self { numbers, output, errors })
    }

    /// From now on, reads and passes on both piped outputs of a command.
    pub(super) fn read(&self, running: &mut Running) {
        // The readers wait for them.
        let _ = running.output().map(|output| self.output.send(output));
        let _ = running.errors().map(|errors| self.errors.send(errors));
    }

    /// The numbers since the last call.
    pub(super) fn take(&mut self) -> Vec<f64> {
        self.numbers.try_iter().collect()
    }

    /// Waits for the outputs' ends.
    pub(super) fn end(self) {
        let until = Instant::now() + PATIENCE;
        while self.numbers.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok() {}
    }
}

/// A thread that copies the stream it is given; it ends with the stream, or when nothing can be sent to it any more.
fn reader<R: Read + Send + 'static>(
    to: fn() -> Box<dyn Write>,
    found: (Regex, Sender<f64>),
) -> io::Result<Sender<R>> {
    let (sender, from) = mpsc::channel::<R>();
    let read = move || {
        if let Ok(from) = from.recv() {
            copy(from, to(), &found);
        }
    };
    thread::Builder::new().name("coho output".into()).spawn(read)?;
    Ok(sender)
}

/// Copies until either side ends. When the reader of our output is gone, the closed pipe tells the command.
fn copy(mut from: impl Read, mut to: impl Write, (expression, found): &(Regex, Sender<f64>)) {
    let mut buffer = [0; 8192];
    let mut line = Vec::new();
    loop {
        let read = match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) | Ok(0) => return,
            Ok(read) => &buffer[..read],
        };
        if to.write_all(read).and_then(|()| to.flush()).is_err() {
            return;
        }
        for &byte in read {
            if matches!(byte, b'\n' | b'\r') {
                // Sending fails once the run is over, which does no harm.
                let _ = number(expression, &line).map(|number| found.send(number));
                line.clear();
            } else if line.len() < LONGEST_LINE {
                line.push(byte);
            }
        }
    }
}

/// The number that an expression finds in a line, multiplied by k, M or G if the match includes such a suffix.
fn number(expression: &Regex, line: &[u8]) -> Option<f64> {
    let line = String::from_utf8_lossy(line);
    let captures = expression.captures(&line)?;
    let text = captures.get(1).or_else(|| captures.get(0))?.as_str().trim_ascii();
    let factor = match text.bytes().last()? {
        b'k' | b'K' => 1e3,
        b'M' => 1e6,
        b'G' => 1e9,
        _ => 1.0,
    };
    let number: f64 = text.trim_end_matches(['k', 'K', 'M', 'G']).parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_first_group_or_all_that_matches() {
        let of = |expression: &str, line: &str| number(&Regex::new(expression).unwrap(), line.as_bytes());
        assert_eq!(of(r"([0-9.]+) trips/s", "pair: 260431.5 trips/s, 3 waits"), Some(260_431.5));
        assert_eq!(of(r"[0-9]+", "at 7"), Some(7.0));
        assert_eq!(of(r"IOPS=([0-9.]+[kMG]?)", "read: IOPS=12.5k, BW=1"), Some(12_500.0));
        assert_eq!(of(r"rate (\S+)", "rate fast"), None);
        assert_eq!(of(r"rate (\S+)", "rate -3"), None);
        assert_eq!(of(r"rate (\S+)", "rate inf"), None);
        assert_eq!(of(r"rate (\S+)", "no such thing"), None);
    }

    #[test]
    fn all_is_copied_and_numbers_of_whole_lines_are_found() {
        let (sender, numbers) = mpsc::channel();
        let text = b"x 1\nx 2\r\nx 3 \nno\n\xff x 4\nx 5";
        let mut copied = Vec::new();
        copy(&text[..], &mut copied, &(Regex::new(r"x (\d)").unwrap(), sender));
        assert_eq!(copied, text);
        assert_eq!(numbers.iter().collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn a_command_is_no_longer_read_when_nobody_reads_us() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (sender, _numbers) = mpsc::channel();
        copy(io::repeat(b'x'), Gone, &(Regex::new("x").unwrap(), sender));
    }
}
