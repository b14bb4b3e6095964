//! Caches of processors without a deterministic cache leaf: leaves 0x80000005 (L1) and 0x80000006 (L2, L3), which give
//! sizes but not which CPUs share them. Each vendor defines its own fields, and the rest is reserved:
//!
//! | vendor | L1 | L2 | L3 |
//! |---|---|---|---|
//! | AMD, Hygon (APM volume 3, E.4.4 and E.4.5) | yes | yes | yes, 0 before family 10h |
//! | VIA (Centaur) | yes | yes, packed otherwise in the C3's models 7 and 8 | no |
//! | Intel (SDM volume 2, CPUID) | no | yes | no |
//! | others | as AMD | as AMD | no |

use super::view::{View, bits};
use crate::CacheKind;

/// A cache without its sharers.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlainCache {
    pub(super) level: u8,
    pub(super) kind: CacheKind,
    pub(super) size_bytes: u64,
    pub(super) line_bytes: u32,
    /// 0: fully associative.
    pub(super) ways: Option<u32>,
}

/// The caches that the vendor defines and the processor has.
pub(super) fn plain_caches(view: &View<'_>) -> Vec<PlainCache> {
    let vendor = view.vendor();
    let mut caches = Vec::new();
    if vendor != *b"GenuineIntel" {
        let l1 = view.get(0x8000_0005, 0);
        caches.extend([first_level(CacheKind::Data, l1.ecx), first_level(CacheKind::Instruction, l1.edx)]);
    }
    let outer = view.get(0x8000_0006, 0);
    caches.push(match &vendor {
        b"AuthenticAMD" | b"HygonGenuine" => amd_second_level(view, outer.ecx),
        b"CentaurHauls" => via_second_level(view, outer.ecx),
        _ => second_level(outer.ecx),
    });
    if view.is_amd() {
        let kib = bits(outer.edx, 31, 18) * 512;
        caches.push(unless_disabled(PlainCache { level: 3, ..outer_level(kib, outer.edx) }, outer.edx));
    }
    caches.retain(|cache| cache.size_bytes > 0);
    caches
}

fn first_level(kind: CacheKind, register: u32) -> PlainCache {
    let ways = match bits(register, 23, 16) {
        0 => None,
        0xFF => Some(0),
        ways => Some(ways),
    };
    let size_bytes = u64::from(bits(register, 31, 24)) << 10;
    PlainCache { level: 1, kind, size_bytes, line_bytes: bits(register, 7, 0), ways }
}

fn outer_level(kib: u32, register: u32) -> PlainCache {
    PlainCache {
        level: 2,
        kind: CacheKind::Unified,
        size_bytes: u64::from(kib) << 10,
        line_bytes: bits(register, 7, 0),
        ways: encoded_ways(bits(register, 15, 12)),
    }
}

fn second_level(register: u32) -> PlainCache {
    outer_level(bits(register, 31, 16), register)
}

/// AMD's associativity code 0 means that the cache is disabled, whatever its size.
fn unless_disabled(cache: PlainCache, register: u32) -> PlainCache {
    match bits(register, 15, 12) {
        0 => PlainCache { size_bytes: 0, ..cache },
        _ => cache,
    }
}

fn amd_second_level(view: &View<'_>, register: u32) -> PlainCache {
    // Erratum T13 (publication 21922): early Durons and Thunderbirds report a wrong size.
    let kib = match (view.family(), view.model(), view.stepping()) {
        (6, 3, 0) => 64,
        (6, 4, 0 | 1) => 256,
        _ => bits(register, 31, 16),
    };
    unless_disabled(outer_level(kib, register), register)
}

fn via_second_level(view: &View<'_>, register: u32) -> PlainCache {
    match (view.family(), view.model()) {
        // Samuel 2 and Ezra: size in KiB, ways and line size in one byte each, as in the leaf of the first level.
        (6, 7 | 8) => PlainCache { level: 2, ..first_level(CacheKind::Unified, register) },
        // Early Nehemiahs of 64 KiB report 65.
        (6, 9) if bits(register, 31, 16) == 65 => outer_level(64, register),
        _ => second_level(register),
    }
}

/// The associativity code of leaf 0x80000006.
fn encoded_ways(code: u32) -> Option<u32> {
    match code {
        1..=4 => Some(code),
        5 => Some(6),
        6 => Some(8),
        8 => Some(16),
        0xA => Some(32),
        0xB => Some(48),
        0xC => Some(64),
        0xD => Some(96),
        0xE => Some(128),
        0xF => Some(0),
        _ => None,
    }
}
