//! Leaf 2, in which processors without leaf 4 (Pentium II to early Pentium 4) name their caches, one byte each.

use super::sizes::PlainCache;
use super::view::View;
use crate::CacheKind::{self, Data, Instruction, Unified};

/// Byte, level, kind, KiB, ways, line bytes (Intel SDM volume 2A, table "Encoding of CPUID Leaf 2 Descriptors").
const DESCRIPTORS: [(u8, u8, CacheKind, u32, u32, u32); 68] = [
    (0x06, 1, Instruction, 8, 4, 32),
    (0x08, 1, Instruction, 16, 4, 32),
    (0x09, 1, Instruction, 32, 4, 64),
    (0x0A, 1, Data, 8, 2, 32),
    (0x0C, 1, Data, 16, 4, 32),
    (0x0D, 1, Data, 16, 4, 64),
    (0x0E, 1, Data, 24, 6, 64),
    (0x1D, 2, Unified, 128, 2, 64),
    (0x21, 2, Unified, 256, 8, 64),
    (0x22, 3, Unified, 512, 4, 64),
    (0x23, 3, Unified, 1024, 8, 64),
    (0x24, 2, Unified, 1024, 16, 64),
    (0x25, 3, Unified, 2048, 8, 64),
    (0x29, 3, Unified, 4096, 8, 64),
    (0x2C, 1, Data, 32, 8, 64),
    (0x30, 1, Instruction, 32, 8, 64),
    (0x39, 2, Unified, 128, 4, 64),
    (0x3A, 2, Unified, 192, 6, 64),
    (0x3B, 2, Unified, 128, 2, 64),
    (0x3C, 2, Unified, 256, 4, 64),
    (0x3D, 2, Unified, 384, 6, 64),
    (0x3E, 2, Unified, 512, 4, 64),
    (0x41, 2, Unified, 128, 4, 32),
    (0x42, 2, Unified, 256, 4, 32),
    (0x43, 2, Unified, 512, 4, 32),
    (0x44, 2, Unified, 1024, 4, 32),
    (0x45, 2, Unified, 2048, 4, 32),
    (0x46, 3, Unified, 4096, 4, 64),
    (0x47, 3, Unified, 8192, 8, 64),
    (0x48, 2, Unified, 3072, 12, 64),
    (0x49, 2, Unified, 4096, 16, 64),
    (0x4A, 3, Unified, 6144, 12, 64),
    (0x4B, 3, Unified, 8192, 16, 64),
    (0x4C, 3, Unified, 12288, 12, 64),
    (0x4D, 3, Unified, 16384, 16, 64),
    (0x4E, 2, Unified, 6144, 24, 64),
    (0x60, 1, Data, 16, 8, 64),
    (0x66, 1, Data, 8, 4, 64),
    (0x67, 1, Data, 16, 4, 64),
    (0x68, 1, Data, 32, 4, 64),
    (0x78, 2, Unified, 1024, 4, 64),
    (0x79, 2, Unified, 128, 8, 64),
    (0x7A, 2, Unified, 256, 8, 64),
    (0x7B, 2, Unified, 512, 8, 64),
    (0x7C, 2, Unified, 1024, 8, 64),
    (0x7D, 2, Unified, 2048, 8, 64),
    (0x7F, 2, Unified, 512, 2, 64),
    (0x80, 2, Unified, 512, 8, 64),
    (0x82, 2, Unified, 256, 8, 32),
    (0x83, 2, Unified, 512, 8, 32),
    (0x84, 2, Unified, 1024, 8, 32),
    (0x85, 2, Unified, 2048, 8, 32),
    (0x86, 2, Unified, 512, 4, 64),
    (0x87, 2, Unified, 1024, 8, 64),
    (0xD0, 3, Unified, 512, 4, 64),
    (0xD1, 3, Unified, 1024, 4, 64),
    (0xD2, 3, Unified, 2048, 4, 64),
    (0xD6, 3, Unified, 1024, 8, 64),
    (0xD7, 3, Unified, 2048, 8, 64),
    (0xD8, 3, Unified, 4096, 8, 64),
    (0xDC, 3, Unified, 1536, 12, 64),
    (0xDD, 3, Unified, 3072, 12, 64),
    (0xDE, 3, Unified, 6144, 12, 64),
    (0xE2, 3, Unified, 2048, 16, 64),
    (0xE3, 3, Unified, 4096, 16, 64),
    (0xE4, 3, Unified, 8192, 16, 64),
    (0xEA, 3, Unified, 12288, 24, 64),
    (0xEB, 3, Unified, 18432, 24, 64),
];

/// Cyrix has descriptors of its own: the first level of the 6x86MX and MediaGX.
const CYRIX: [(u8, u8, CacheKind, u32, u32, u32); 1] = [(0x80, 1, Unified, 16, 4, 16)];

/// The caches that leaf 2 names: Intel's and Cyrix's, no other vendor defines descriptors. Trace caches (0x70 to 0x73) hold decoded operations, not bytes, and are left out.
pub(super) fn caches(view: &View<'_>) -> Vec<PlainCache> {
    let known: &[_] = match &view.vendor() {
        b"GenuineIntel" => &DESCRIPTORS,
        b"CyrixInstead" => &CYRIX,
        _ => return Vec::new(),
    };
    let answer = view.get(2, 0);
    // AL says how often to ask; on every processor that is once. A register with its top bit set holds no descriptors.
    let registers = [answer.eax & !0xFF, answer.ebx, answer.ecx, answer.edx];
    let valid = registers.into_iter().filter(|register| register >> 31 == 0);
    let named = valid.flat_map(u32::to_le_bytes).filter_map(|byte| {
        let &(_, level, kind, kib, ways, line_bytes) = known.iter().find(|row| row.0 == byte)?;
        let size_bytes = u64::from(kib) << 10;
        Some(PlainCache { level, kind, size_bytes, line_bytes, ways: Some(ways) })
    });
    named.collect()
}
