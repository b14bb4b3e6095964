//! Which leaves to ask: only those that decoding reads, since a hypervisor traps each one, which takes up to 100 us.

use crate::Error;
use crate::cpuid::dump::{CpuAnswers, Registers};

/// As many sub-leaves as decoding reads of one leaf.
const MOST_SUBLEAVES: u32 = 16;

/// AMD's and Hygon's vendor strings, as EBX of leaf 0 begins them.
const AMD: [u32; 2] = [u32::from_le_bytes(*b"Auth"), u32::from_le_bytes(*b"Hygo")];

/// Asks one CPU by `cpuid(leaf, sub-leaf)`.
pub(super) fn ask(
    os: u32,
    cpuid: impl Fn(u32, u32) -> Result<Registers, Error>,
) -> Result<CpuAnswers, Error> {
    let mut cpu = CpuAnswers::new(os);
    let basic = one(&mut cpu, &cpuid, 0)?;
    let amd = AMD.contains(&basic.ebx);
    let last = basic.eax;
    let leaf1 = one(&mut cpu, &cpuid, 1)?;
    if leaf1.ecx & 1 << 31 != 0 {
        one(&mut cpu, &cpuid, 0x4000_0000)?;
    }
    if !amd {
        if last >= 4 {
            all(&mut cpu, &cpuid, 4, |answer| answer.eax & 0x1F != 0)?;
        } else if last >= 2 {
            one(&mut cpu, &cpuid, 2)?;
        }
        let hybrid = last >= 7 && one(&mut cpu, &cpuid, 7)?.edx & 1 << 15 != 0;
        if hybrid && last >= 0x1A {
            one(&mut cpu, &cpuid, 0x1A)?;
        }
    }
    let more_levels = |answer: Registers| answer.ecx & 0xFF00 != 0;
    for leaf in [0xB, 0x1F] {
        if last >= leaf {
            all(&mut cpu, &cpuid, leaf, more_levels)?;
        }
    }
    let last = one(&mut cpu, &cpuid, 0x8000_0000)?.eax;
    let plain = [1, 2, 3, 4, 5, 6, 8, 0x1E].map(|leaf| 0x8000_0000 | leaf);
    for leaf in plain.into_iter().filter(|&leaf| leaf <= last && (amd || leaf < 0x8000_0009)) {
        one(&mut cpu, &cpuid, leaf)?;
    }
    if amd && last >= 0x8000_001D {
        all(&mut cpu, &cpuid, 0x8000_001D, |answer| answer.eax & 0x1F != 0)?;
    }
    if amd && last >= 0x8000_0026 {
        all(&mut cpu, &cpuid, 0x8000_0026, more_levels)?;
    }
    Ok(cpu)
}

fn one(
    cpu: &mut CpuAnswers,
    cpuid: &impl Fn(u32, u32) -> Result<Registers, Error>,
    leaf: u32,
) -> Result<Registers, Error> {
    let answer = cpuid(leaf, 0)?;
    cpu.answer(leaf, Some(0), answer);
    Ok(answer)
}

/// Asks successive sub-leaves, up to and including the first that says there are no more.
fn all(
    cpu: &mut CpuAnswers,
    cpuid: &impl Fn(u32, u32) -> Result<Registers, Error>,
    leaf: u32,
    more: impl Fn(Registers) -> bool,
) -> Result<(), Error> {
    for subleaf in 0..MOST_SUBLEAVES {
        let answer = cpuid(leaf, subleaf)?;
        cpu.answer(leaf, Some(subleaf), answer);
        if !more(answer) {
            break;
        }
    }
    Ok(())
}
