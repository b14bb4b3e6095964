//! The main identification register, MIDR_EL1.

use std::arch::asm;
use std::fs;

use super::{Identity, PERF_TYPE_RAW, Vendor};

pub(super) fn identity() -> Identity {
    let midr = midr().unwrap_or(0);
    Identity {
        vendor: Vendor::Arm,
        family: (midr >> 24 & 0xff) as u32,
        model: (midr >> 4 & 0xfff) as u32,
        stepping: (midr >> 16 & 0xf0 | midr & 0xf) as u32,
        efficient: false,
        amx: false,
        raw_kind: PERF_TYPE_RAW,
    }
}

/// What sysfs shows for the CPU that the caller runs on, else what the kernel answers when the register is read.
fn midr() -> Option<u64> {
    let cpu = coho_platform::pin::current().unwrap_or(0);
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1");
    let shown = fs::read_to_string(path)
        .ok()
        .and_then(|text| u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok());
    shown.or_else(|| {
        // SAFETY: no pointers.
        let readable = unsafe { libc::getauxval(libc::AT_HWCAP) } & libc::HWCAP_CPUID != 0;
        readable.then(|| {
            let midr: u64;
            // SAFETY: with HWCAP_CPUID the kernel answers reads of the identification registers in user mode.
            unsafe { asm!("mrs {}, midr_el1", out(reg) midr, options(nomem, nostack)) };
            midr
        })
    })
}
