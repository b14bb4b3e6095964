//! Registers, marks and instructions of AArch64. Operands in memory are not decoded.
//!
//! An exclusive load and store never succeed under single steps, since each stop clears the monitor: such a loop ends
//! at the limit of steps.

use std::arch::asm;
use std::ffi::c_void;
use std::io;

use super::tally::Tally;

/// Memory operands are not decoded here.
pub(super) const OPERANDS: bool = false;
/// Bytes of an instruction.
pub(super) const LONGEST: usize = 4;
/// What a mark has in X21.
const MARK: u64 = 0x636f_686f_2073_7465;
/// The kernel's name for the set of general registers.
const NT_PRSTATUS: usize = 1;

/// Calls `run` after a mark: a breakpoint, at which X20 has the address that the call returns to.
#[inline(never)]
pub(super) unsafe fn marked(run: extern "C" fn(*mut c_void), data: *mut c_void) {
    // SAFETY: a call by the C convention, whose registers are declared as changed; the tracer passes the breakpoint.
    unsafe {
        asm!(
            "adr x20, 2f",
            "brk #0",
            "blr {run}",
            "2:",
            run = in(reg) run,
            in("x0") data,
            out("x20") _,
            inout("x21") MARK => _,
            clobber_abi("C"),
        );
    }
}

/// The registers of a stopped child.
#[derive(Clone, Copy)]
pub(super) struct Registers(libc::user_regs_struct);

impl Registers {
    /// Address of the next instruction.
    pub(super) fn at(&self) -> u64 {
        self.0.pc
    }

    /// Whether the child stands at a mark.
    pub(super) fn at_mark(&self) -> bool {
        self.0.regs[21] == MARK && self.end_of_region().wrapping_sub(self.at()) == 2 * LONGEST as u64
    }

    /// Moves to the call behind the mark: the breakpoint stops at itself.
    pub(super) fn pass_mark(&mut self) {
        self.0.pc += LONGEST as u64;
    }

    /// Where the call behind the mark returns to.
    pub(super) fn end_of_region(&self) -> u64 {
        self.0.regs[20]
    }

    /// There is no RDPMC to pass over.
    pub(super) fn skip_rdpmc(&mut self) {}
}

pub(super) fn registers(pid: libc::pid_t) -> io::Result<Registers> {
    // SAFETY: a zeroed value is valid, and the kernel fills it.
    unsafe {
        let mut registers: libc::user_regs_struct = std::mem::zeroed();
        transfer(libc::PTRACE_GETREGSET, pid, &raw mut registers)?;
        Ok(Registers(registers))
    }
}

pub(super) fn set_registers(pid: libc::pid_t, registers: &Registers) -> io::Result<()> {
    // SAFETY: the kernel only reads the value, and checks it.
    unsafe { transfer(libc::PTRACE_SETREGSET, pid, (&raw const registers.0).cast_mut()) }
}

/// # Safety
/// `registers` must be valid for what the request does.
unsafe fn transfer(request: u32, pid: libc::pid_t, registers: *mut libc::user_regs_struct) -> io::Result<()> {
    let mut place = libc::iovec { iov_base: registers.cast(), iov_len: size_of::<libc::user_regs_struct>() };
    // SAFETY: `place` describes the value, which the caller vouches for.
    match unsafe { libc::ptrace(request as _, pid, NT_PRSTATUS, &raw mut place) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(super) fn is_rdpmc(_code: &[u8]) -> bool {
    false
}

/// A decoded instruction.
pub(super) struct Instruction {
    enters_kernel: bool,
}

impl Instruction {
    /// The instruction of these bytes; `None` if they are too few.
    pub(super) fn decode(code: &[u8], _at: u64) -> Option<Self> {
        let word = u32::from_le_bytes(code.get(..LONGEST)?.try_into().ok()?);
        // SVC #imm16
        Some(Self { enters_kernel: word & 0xffe0_001f == 0xd400_0001 })
    }

    /// Adds what the instruction did between two stops.
    pub(super) fn account(&self, before: &Registers, _after: &Registers, tally: &mut Tally) {
        tally.instructions += 1;
        tally.kernel_entries += u64::from(self.enters_kernel);
        tally.code(before.at(), LONGEST as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_enters_the_kernel() {
        let enters = |word: u32| Instruction::decode(&word.to_le_bytes(), 0).unwrap().enters_kernel;
        // svc #0; svc #0xffff; then hvc #0, brk #0, nop
        assert!(enters(0xd400_0001) && enters(0xd41f_ffe1));
        assert!(!enters(0xd400_0002) && !enters(0xd420_0000) && !enters(0xd503_201f));
        assert!(Instruction::decode(&[0; 3], 0).is_none());
    }
}
