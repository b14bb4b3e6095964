//! Registers, marks and instructions of x86-64.

use std::arch::asm;
use std::ffi::c_void;
use std::io;

use iced_x86::{Code, Decoder, DecoderOptions, InstructionInfoFactory, OpAccess, Register, UsedMemory};

use super::tally::{Access, Tally};

/// Memory operands are decoded here.
pub(super) const OPERANDS: bool = true;
/// Bytes of the longest instruction.
pub(super) const LONGEST: usize = 15;
/// What a mark has in R13.
const MARK: u64 = 0x636f_686f_2073_7465;
/// The direction flag: string instructions go down.
const DOWN: u64 = 1 << 10;

/// Calls `run` after a mark: a breakpoint, at which R12 has the address that the call returns to.
#[inline(never)]
pub(super) unsafe fn marked(run: extern "C" fn(*mut c_void), data: *mut c_void) {
    // SAFETY: a call by the C convention, whose registers are declared as changed; the tracer passes the breakpoint.
    unsafe {
        asm!(
            "lea r12, [rip + 2f]",
            "int3",
            "call {run}",
            "2:",
            run = in(reg) run,
            in("rdi") data,
            out("r12") _,
            inout("r13") MARK => _,
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
        self.0.rip
    }

    /// Whether the child stands at a mark.
    pub(super) fn at_mark(&self) -> bool {
        self.0.r13 == MARK && self.end_of_region().wrapping_sub(self.at()) <= LONGEST as u64
    }

    /// The call behind the mark is where the breakpoint stops already.
    pub(super) fn pass_mark(&mut self) {}

    /// Where the call behind the mark returns to.
    pub(super) fn end_of_region(&self) -> u64 {
        self.0.r12
    }

    /// As after an RDPMC that read 0.
    pub(super) fn skip_rdpmc(&mut self) {
        (self.0.rax, self.0.rdx) = (0, 0);
        self.0.rip += RDPMC.len() as u64;
    }

    /// Value of a general register or base of a segment; `None` for vector registers.
    fn value(&self, register: Register) -> Option<u64> {
        let regs = &self.0;
        let full = match register.full_register() {
            Register::RAX => regs.rax,
            Register::RBX => regs.rbx,
            Register::RCX => regs.rcx,
            Register::RDX => regs.rdx,
            Register::RSI => regs.rsi,
            Register::RDI => regs.rdi,
            Register::RBP => regs.rbp,
            Register::RSP => regs.rsp,
            Register::R8 => regs.r8,
            Register::R9 => regs.r9,
            Register::R10 => regs.r10,
            Register::R11 => regs.r11,
            Register::R12 => regs.r12,
            Register::R13 => regs.r13,
            Register::R14 => regs.r14,
            Register::R15 => regs.r15,
            Register::FS => regs.fs_base,
            Register::GS => regs.gs_base,
            Register::CS | Register::DS | Register::ES | Register::SS => 0,
            _ => return None,
        };
        Some(match register.size() {
            _ if register.is_segment_register() => full,
            1 => full & 0xff,
            4 => full & 0xffff_ffff,
            _ => full,
        })
    }
}

pub(super) fn registers(pid: libc::pid_t) -> io::Result<Registers> {
    // SAFETY: a zeroed value is valid, and the kernel fills it.
    unsafe {
        let mut registers: libc::user_regs_struct = std::mem::zeroed();
        match libc::ptrace(libc::PTRACE_GETREGS, pid, 0usize, &raw mut registers) {
            0 => Ok(Registers(registers)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

pub(super) fn set_registers(pid: libc::pid_t, registers: &Registers) -> io::Result<()> {
    // SAFETY: the kernel reads the whole value and checks it.
    match unsafe { libc::ptrace(libc::PTRACE_SETREGS, pid, 0usize, &raw const registers.0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

const RDPMC: [u8; 2] = [0x0f, 0x33];

pub(super) fn is_rdpmc(code: &[u8]) -> bool {
    code.starts_with(&RDPMC)
}

/// A decoded instruction.
pub(super) struct Instruction {
    length: u64,
    enters_kernel: bool,
    /// Bytes of an element, where it is repeated by count.
    repeats: Option<u64>,
    operands: Vec<(UsedMemory, Access)>,
}

impl Instruction {
    /// The instruction of these bytes; `None` if there is no such.
    pub(super) fn decode(code: &[u8], at: u64) -> Option<Self> {
        let decoded = Decoder::with_ip(64, code, at, DecoderOptions::NONE).decode();
        if decoded.is_invalid() {
            return None;
        }
        let repeated =
            decoded.is_string_instruction() && (decoded.has_rep_prefix() || decoded.has_repne_prefix());
        let enters_kernel = matches!(decoded.code(), Code::Syscall | Code::Sysenter)
            || (decoded.code() == Code::Int_imm8 && decoded.immediate8() == 0x80);
        let mut factory = InstructionInfoFactory::new();
        let operands = factory.info(&decoded).used_memory().iter();
        Some(Self {
            length: decoded.len() as u64,
            enters_kernel,
            repeats: repeated.then(|| decoded.memory_size().size() as u64),
            operands: operands.filter_map(|&operand| Some((operand, access(operand.access())?))).collect(),
        })
    }

    /// Adds what the instruction did between two stops. A repeated one stops after each element.
    pub(super) fn account(&self, before: &Registers, after: &Registers, tally: &mut Tally) {
        let ended = after.at() != before.at() || self.repeats.is_none();
        tally.instructions += u64::from(ended);
        tally.kernel_entries += u64::from(self.enters_kernel);
        tally.code(before.at(), self.length);
        let mut resolved = true;
        for &(operand, access) in &self.operands {
            let bytes = self.repeats.unwrap_or(operand.memory_size().size() as u64);
            let times = if self.repeats.is_some() { before.0.rcx.wrapping_sub(after.0.rcx) } else { 1 };
            let address = operand.virtual_address(0, |register, _, _| before.value(register));
            match address {
                Some(_) if times == 0 => {}
                Some(address) if bytes > 0 => {
                    let length = bytes.saturating_mul(times);
                    let down = self.repeats.is_some() && before.0.eflags & DOWN != 0;
                    let first = if down { address.wrapping_sub(length - bytes) } else { address };
                    tally.data(first, length, times, access);
                }
                _ => resolved = false,
            }
        }
        tally.unresolved += u64::from(!resolved);
    }
}

/// How an operand is accessed; accesses that depend on a mask count as made.
fn access(access: OpAccess) -> Option<Access> {
    match access {
        OpAccess::Read | OpAccess::CondRead => Some(Access::Load),
        OpAccess::Write | OpAccess::CondWrite => Some(Access::Store),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => Some(Access::Both),
        _ => None,
    }
}
