//! UMWAIT (Intel) and MWAITX (AMD).

use std::arch::asm;
use std::arch::x86_64::{__cpuid_count, _rdtsc};
use std::sync::atomic::{AtomicU8, Ordering};

/// Time-stamp ticks that one doze may last.
const TICKS: u32 = 20_000;

const UNKNOWN: u8 = 0;
const NEITHER: u8 = 1;
const UMWAIT: u8 = 2;
const MWAITX: u8 = 3;

static KIND: AtomicU8 = AtomicU8::new(UNKNOWN);

fn kind() -> u8 {
    match KIND.load(Ordering::Relaxed) {
        UNKNOWN => {
            let kind = detect();
            KIND.store(kind, Ordering::Relaxed);
            kind
        }
        kind => kind,
    }
}

#[allow(unused_unsafe, reason = "newer toolchains declare the intrinsic safe")]
fn detect() -> u8 {
    // SAFETY: every x86-64 processor has CPUID.
    let leaf = |leaf| unsafe { __cpuid_count(leaf, 0) };
    if leaf(0).eax >= 7 && leaf(7).ecx >> 5 & 1 == 1 {
        UMWAIT
    } else if leaf(0x8000_0000).eax >= 0x8000_0001 && leaf(0x8000_0001).ecx >> 29 & 1 == 1 {
        MWAITX
    } else {
        NEITHER
    }
}

pub(crate) fn can_doze() -> bool {
    kind() != NEITHER
}

/// Waits a few microseconds for a write to the line; may return early for no reason, and does not wait once `done`.
pub(crate) fn doze(line: &AtomicU8, done: &dyn Fn() -> bool) {
    match kind() {
        UMWAIT => {
            // SAFETY: CPUID announces the instruction; it only watches the address, which is borrowed.
            unsafe { asm!("umonitor {line}", line = in(reg) line.as_ptr(), options(nostack)) };
            if done() {
                return;
            }
            // SAFETY: as above; ends at the given tick at the latest.
            unsafe {
                let until = _rdtsc() + u64::from(TICKS);
                // Bit 0: the lighter state, which ends sooner.
                asm!(
                    "umwait {state:e}",
                    state = in(reg) 1u32,
                    in("eax") until as u32,
                    in("edx") (until >> 32) as u32,
                    options(nostack),
                );
            }
        }
        MWAITX => {
            // SAFETY: CPUID announces the instruction; it only watches the address, which is borrowed.
            unsafe {
                asm!("monitorx", in("rax") line.as_ptr(), in("ecx") 0, in("edx") 0, options(nostack));
            }
            if done() {
                return;
            }
            // SAFETY: as above. EBX holds the limit since ECX bit 1 is set; LLVM keeps RBX for itself.
            unsafe {
                asm!(
                    "mov {saved}, rbx",
                    "mov ebx, {ticks:e}",
                    "mwaitx",
                    "mov rbx, {saved}",
                    saved = out(reg) _,
                    ticks = in(reg) TICKS,
                    in("eax") 0xf0u32,
                    in("ecx") 2u32,
                    options(nostack),
                );
            }
        }
        _ => {}
    }
}
