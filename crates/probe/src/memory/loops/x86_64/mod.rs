//! x86-64.

#[macro_use]
mod shape;
mod registers;
mod string;

use self::registers::{avx2, avx512, plain_4, plain_8, sse2};
use super::Stores::{Chosen, NonTemporal, Temporal};
use super::{ALWAYS, Feature, Loop, copy, read, write};

const SSE41: Feature = Feature { name: "sse4_1", present: || is_x86_feature_detected!("sse4.1") };
const AVX2: Feature = Feature { name: "avx2", present: || is_x86_feature_detected!("avx2") };
const AVX512: Feature = Feature { name: "avx512f", present: || is_x86_feature_detected!("avx512f") };

/// All loops, in the order in which they are reported. Every x86-64 CPU has SSE2, and with it MOVNTI and PREFETCHNTA.
pub(super) const LOOPS: &[Loop] = &[
    write("plain-4", Temporal, ALWAYS, plain_4::write),
    write("plain-8", Temporal, ALWAYS, plain_8::write),
    write("sse2", Temporal, ALWAYS, sse2::write),
    write("avx2", Temporal, AVX2, avx2::write),
    write("avx512", Temporal, AVX512, avx512::write),
    write("movnti-4", NonTemporal, ALWAYS, plain_4::write_nt),
    write("movnti-8", NonTemporal, ALWAYS, plain_8::write_nt),
    write("sse2-nt", NonTemporal, ALWAYS, sse2::write_nt),
    write("avx2-nt", NonTemporal, AVX2, avx2::write_nt),
    write("avx512-nt", NonTemporal, AVX512, avx512::write_nt),
    write("rep-stosb", Chosen, ALWAYS, string::write),
    read("plain-4", ALWAYS, plain_4::read),
    read("plain-8", ALWAYS, plain_8::read),
    read("sse2", ALWAYS, sse2::read),
    read("avx2", AVX2, avx2::read),
    read("avx512", AVX512, avx512::read),
    read("sse4.1-movntdqa", SSE41, sse2::read_movntdqa),
    read("avx2-movntdqa", AVX2, avx2::read_movntdqa),
    read("avx512-movntdqa", AVX512, avx512::read_movntdqa),
    read("plain-4-prefetchnta", ALWAYS, plain_4::read_prefetchnta),
    read("plain-8-prefetchnta", ALWAYS, plain_8::read_prefetchnta),
    read("sse2-prefetchnta", ALWAYS, sse2::read_prefetchnta),
    read("avx2-prefetchnta", AVX2, avx2::read_prefetchnta),
    read("avx512-prefetchnta", AVX512, avx512::read_prefetchnta),
    copy("plain-4", Temporal, ALWAYS, plain_4::copy),
    copy("plain-8", Temporal, ALWAYS, plain_8::copy),
    copy("sse2", Temporal, ALWAYS, sse2::copy),
    copy("avx2", Temporal, AVX2, avx2::copy),
    copy("avx512", Temporal, AVX512, avx512::copy),
    copy("movnti-8", NonTemporal, ALWAYS, plain_8::copy_nt),
    copy("sse2-nt", NonTemporal, ALWAYS, sse2::copy_nt),
    copy("avx2-nt", NonTemporal, AVX2, avx2::copy_nt),
    copy("avx512-nt", NonTemporal, AVX512, avx512::copy_nt),
    copy("sse4.1-movntdqa-nt", NonTemporal, SSE41, sse2::copy_movntdqa_nt),
    copy("avx2-movntdqa-nt", NonTemporal, AVX2, avx2::copy_movntdqa_nt),
    copy("avx512-movntdqa-nt", NonTemporal, AVX512, avx512::copy_movntdqa_nt),
    copy("plain-4-prefetchnta", Temporal, ALWAYS, plain_4::copy_prefetchnta),
    copy("plain-8-prefetchnta", Temporal, ALWAYS, plain_8::copy_prefetchnta),
    copy("sse2-prefetchnta", Temporal, ALWAYS, sse2::copy_prefetchnta),
    copy("avx2-prefetchnta", Temporal, AVX2, avx2::copy_prefetchnta),
    copy("avx512-prefetchnta", Temporal, AVX512, avx512::copy_prefetchnta),
    copy("sse2-prefetchnta-nt", NonTemporal, ALWAYS, sse2::copy_prefetchnta_nt),
    copy("avx2-prefetchnta-nt", NonTemporal, AVX2, avx2::copy_prefetchnta_nt),
    copy("avx512-prefetchnta-nt", NonTemporal, AVX512, avx512::copy_prefetchnta_nt),
    copy("rep-movsb", Chosen, ALWAYS, string::copy),
];

#[inline(always)]
pub(super) fn fence() {
    // SAFETY: SFENCE exists on every x86-64 CPU.
    unsafe { std::arch::x86_64::_mm_sfence() };
}
