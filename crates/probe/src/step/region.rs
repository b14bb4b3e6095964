//! Steps through the code between two marks.

use std::time::{Duration, Instant};

use coho_platform::stop;

use super::Options;
use super::code::Code;
use super::machine::{self, Registers};
use super::tally::Tally;
use super::tracee::{Go, Tracee};
use crate::Error;

/// Steps between two looks at the clock.
const LOOK: u64 = 1024;

/// Lets the child run to its next mark and counts from there to the mark that ends the region. The call that enters it
/// and the return from it are not counted.
pub(super) fn count(
    tracee: &mut Tracee,
    code: &mut Code,
    options: &Options,
    end: Instant,
) -> Result<Tally, Error> {
    let mut before = to_mark(tracee, code, options)?;
    let (first, last) = (before.at(), before.end_of_region());
    let mut tally = Tally::default();
    let mut signal = 0;
    for step in 0..options.most_steps {
        if step % LOOK == 0 {
            if stop::requested() {
                return Err(Error::Stopped);
            }
            if Instant::now() >= end {
                return Err(too_long(options.limit));
            }
        }
        let delivered = signal != 0;
        let stopped = tracee.go(Go::Step, std::mem::take(&mut signal))?;
        let mut after = tracee.registers()?;
        if stopped == libc::SIGTRAP && after.at() == last {
            return Ok(tally);
        }
        // A signal may stop the child before the instruction; once it is delivered, nothing but its handler was reached.
        let executed = !delivered && (stopped == libc::SIGTRAP || after.at() != before.at());
        if executed && before.at() != first {
            code.account(tracee.pid(), &before, &after, &mut tally)?;
        }
        if stopped != libc::SIGTRAP {
            before = after;
            if options.emulate_rdpmc && skip_rdpmc(stopped, &mut after, tracee, code)? {
                code.account(tracee.pid(), &before, &after, &mut tally)?;
            } else if stopped != libc::SIGSTOP {
                tally.signals += 1;
                signal = stopped;
            }
        }
        before = after;
    }
    let most = options.most_steps;
    Err(Error::time_is_up(format!("the work did not end within {most} steps: count a shorter piece of it")))
}

/// Lets the child run at full speed to its next mark; returns its registers there.
fn to_mark(tracee: &mut Tracee, code: &mut Code, options: &Options) -> Result<Registers, Error> {
    let mut signal = 0;
    loop {
        let stopped = tracee.go(Go::On, signal)?;
        let mut registers = tracee.registers()?;
        if stopped == libc::SIGTRAP && registers.at_mark() {
            registers.pass_mark();
            tracee.set_registers(&registers)?;
            return Ok(registers);
        }
        let passed_over = options.emulate_rdpmc && skip_rdpmc(stopped, &mut registers, tracee, code)?;
        signal = if passed_over || stopped == libc::SIGSTOP { 0 } else { stopped };
    }
}

/// Skips the instruction that reads a counter, if the signal is about it.
fn skip_rdpmc(
    signal: libc::c_int,
    registers: &mut Registers,
    tracee: &Tracee,
    code: &mut Code,
) -> Result<bool, Error> {
    if signal != libc::SIGSEGV || !machine::is_rdpmc(code.bytes(tracee.pid(), registers.at())?.as_slice()) {
        return Ok(false);
    }
    registers.skip_rdpmc();
    tracee.set_registers(registers)?;
    Ok(true)
}

pub(super) fn too_long(limit: Duration) -> Error {
    Error::time_is_up(format!("the work did not end within {} s under single steps", limit.as_secs_f64()))
}
