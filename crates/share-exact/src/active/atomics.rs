//! Atomic operations, which the compiler has the runtime do: each is done with the order that the program asks for.

use std::arch::{asm, naked_asm};
use std::ffi::c_int;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, compiler_fence, fence};

use coho_recording::Access;

use super::thread;

/// The order as the compilers number it, without their hints beside it.
fn order(number: c_int) -> Ordering {
    match number & 0x7fff {
        0 => Relaxed,
        1 | 2 => Acquire,
        3 => Release,
        4 => AcqRel,
        _ => SeqCst,
    }
}

/// The same of what only reads.
fn of_load(number: c_int) -> Ordering {
    match order(number) {
        Relaxed => Relaxed,
        Acquire => Acquire,
        _ => SeqCst,
    }
}

/// The same of what only writes.
fn of_store(number: c_int) -> Ordering {
    match order(number) {
        Relaxed => Relaxed,
        Release => Release,
        _ => SeqCst,
    }
}

/// Of the two orders of an exchange that may fail, the second is of a read.
fn of_failure(number: c_int) -> Ordering {
    of_load(number)
}

fn count(address: usize, bytes: usize, access: Access, returns_to: u64) {
    thread::access(returns_to.wrapping_sub(1), address, bytes as u8, access);
}

/// Functions that hand on where they return to, in the register after their arguments'.
macro_rules! from_there {
    ($name:ident => $inner:path, $register:literal) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!("endbr64", concat!("mov ", $register, ", [rsp]"), "jmp {inner}", inner = sym $inner)
        }
    };
}

/// The functions of one width.
macro_rules! atomics {
    ($width:ident, $atomic:ident, $value:ident:
        $load:ident $store:ident $exchange:ident $add:ident $sub:ident $and:ident $or:ident $xor:ident $nand:ident
        $strong:ident $weak:ident $val:ident) => {
        mod $width {
            use super::*;

            /// # Safety
            /// The program's address, which it accesses so by itself.
            unsafe fn at<'a>(address: *mut $value) -> &'a $atomic {
                // SAFETY: the caller's promise.
                unsafe { $atomic::from_ptr(address) }
            }

            unsafe extern "C" fn load(address: *mut $value, mo: c_int, returns_to: u64) -> $value {
                count(address as usize, size_of::<$value>(), Access::Read, returns_to);
                // SAFETY: as the program's own operation; so below.
                unsafe { at(address) }.load(of_load(mo))
            }

            unsafe extern "C" fn store(address: *mut $value, value: $value, mo: c_int, returns_to: u64) {
                count(address as usize, size_of::<$value>(), Access::Write, returns_to);
                // SAFETY: as above.
                unsafe { at(address) }.store(value, of_store(mo));
            }

            macro_rules! modifying {
                ($inner:ident, $method:ident) => {
                    unsafe extern "C" fn $inner(
                        address: *mut $value,
                        value: $value,
                        mo: c_int,
                        returns_to: u64,
                    ) -> $value {
                        count(address as usize, size_of::<$value>(), Access::Both, returns_to);
                        // SAFETY: as above.
                        unsafe { at(address) }.$method(value, order(mo))
                    }
                };
            }

            modifying!(exchange, swap);
            modifying!(add, fetch_add);
            modifying!(sub, fetch_sub);
            modifying!(and, fetch_and);
            modifying!(or, fetch_or);
            modifying!(xor, fetch_xor);
            modifying!(nand, fetch_nand);

            unsafe extern "C" fn compare_exchange(
                address: *mut $value,
                expected: *mut $value,
                value: $value,
                mo: c_int,
                failure: c_int,
                returns_to: u64,
            ) -> c_int {
                // SAFETY: the program's variable.
                let old = unsafe { expected.read() };
                // SAFETY: as above.
                let found = unsafe { value_of(address, old, value, mo, failure, returns_to) };
                if found != old {
                    // SAFETY: as above.
                    unsafe { expected.write(found) };
                }
                (found == old).into()
            }

            unsafe extern "C" fn value_of(
                address: *mut $value,
                old: $value,
                value: $value,
                mo: c_int,
                failure: c_int,
                returns_to: u64,
            ) -> $value {
                count(address as usize, size_of::<$value>(), Access::Both, returns_to);
                // SAFETY: as above.
                let done = unsafe { at(address) }.compare_exchange(old, value, order(mo), of_failure(failure));
                done.unwrap_or_else(|found| found)
            }

            from_there!($load => load, "rdx");
            from_there!($store => store, "rcx");
            from_there!($exchange => exchange, "rcx");
            from_there!($add => add, "rcx");
            from_there!($sub => sub, "rcx");
            from_there!($and => and, "rcx");
            from_there!($or => or, "rcx");
            from_there!($xor => xor, "rcx");
            from_there!($nand => nand, "rcx");
            from_there!($strong => compare_exchange, "r9");
            from_there!($weak => compare_exchange, "r9");
            from_there!($val => value_of, "r9");
        }
    };
}

atomics! { of_8, AtomicU8, u8:
__tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange __tsan_atomic8_fetch_add __tsan_atomic8_fetch_sub
__tsan_atomic8_fetch_and __tsan_atomic8_fetch_or __tsan_atomic8_fetch_xor __tsan_atomic8_fetch_nand
__tsan_atomic8_compare_exchange_strong __tsan_atomic8_compare_exchange_weak __tsan_atomic8_compare_exchange_val }
atomics! { of_16, AtomicU16, u16:
__tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange __tsan_atomic16_fetch_add
__tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and __tsan_atomic16_fetch_or __tsan_atomic16_fetch_xor
__tsan_atomic16_fetch_nand __tsan_atomic16_compare_exchange_strong __tsan_atomic16_compare_exchange_weak
__tsan_atomic16_compare_exchange_val }
atomics! { of_32, AtomicU32, u32:
__tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange __tsan_atomic32_fetch_add
__tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and __tsan_atomic32_fetch_or __tsan_atomic32_fetch_xor
__tsan_atomic32_fetch_nand __tsan_atomic32_compare_exchange_strong __tsan_atomic32_compare_exchange_weak
__tsan_atomic32_compare_exchange_val }
atomics! { of_64, AtomicU64, u64:
__tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange __tsan_atomic64_fetch_add
__tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and __tsan_atomic64_fetch_or __tsan_atomic64_fetch_xor
__tsan_atomic64_fetch_nand __tsan_atomic64_compare_exchange_strong __tsan_atomic64_compare_exchange_weak
__tsan_atomic64_compare_exchange_val }

/// 16 bytes as they are passed: in two registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
struct Two {
    low: u64,
    high: u64,
}

impl Two {
    fn of(value: u128) -> Self {
        Self { low: value as u64, high: (value >> 64) as u64 }
    }

    fn value(self) -> u128 {
        u128::from(self.low) | u128::from(self.high) << 64
    }
}

/// Exchanges 16 bytes if they are as expected, in the strongest order; what they were. The standard library's function
/// is a call of one that is nowhere if nothing is optimised.
///
/// # Safety
/// As below.
unsafe fn exchange_if(address: *mut u128, old: u128, new: u128) -> u128 {
    let (Two { mut low, mut high }, new) = (Two::of(old), Two::of(new));
    // SAFETY: the caller's promise. The compiler keeps RBX to itself.
    unsafe {
        asm!(
            "xchg rsi, rbx",
            "lock cmpxchg16b [rdi]",
            "mov rbx, rsi",
            in("rdi") address,
            inout("rsi") new.low => _,
            in("rcx") new.high,
            inout("rax") low,
            inout("rdx") high,
            options(nostack),
        );
    }
    Two { low, high }.value()
}

/// # Safety
/// The program's address, aligned to 16, which it accesses so by itself: its CPU can do it.
unsafe fn compare_exchange_16(address: *mut u128, old: u128, new: u128, returns_to: u64) -> u128 {
    count(address as usize, 16, Access::Both, returns_to);
    // SAFETY: the caller's promise.
    unsafe { exchange_if(address, old, new) }
}

/// # Safety
/// As above.
unsafe fn update_16(address: *mut u128, returns_to: u64, new: impl Fn(u128) -> u128) -> Two {
    count(address as usize, 16, Access::Both, returns_to);
    let mut old = 0;
    loop {
        // SAFETY: the caller's promise.
        let found = unsafe { exchange_if(address, old, new(old)) };
        if found == old {
            return Two::of(old);
        }
        old = found;
    }
}

unsafe extern "C" fn load_16(address: *mut u128, _: c_int, returns_to: u64) -> Two {
    // Nothing else reads 16 bytes at once on all CPUs. SAFETY: as above, and so below.
    Two::of(unsafe { compare_exchange_16(address, 0, 0, returns_to) })
}

unsafe extern "C" fn store_16(address: *mut u128, value: Two, _: c_int, returns_to: u64) {
    // SAFETY: as above.
    unsafe { update_16(address, returns_to, |_| value.value()) };
}

macro_rules! modifying_16 {
    ($($name:ident => $inner:ident: |$old:ident, $value:ident| $new:expr;)+) => { $(
        unsafe extern "C" fn $inner(address: *mut u128, value: Two, _: c_int, returns_to: u64) -> Two {
            let $value = value.value();
            // SAFETY: as above.
            unsafe { update_16(address, returns_to, |$old| $new) }
        }
        from_there!($name => $inner, "r8");
    )+ };
}

modifying_16! {
    __tsan_atomic128_exchange => exchange_16: |_old, value| value;
    __tsan_atomic128_fetch_add => add_16: |old, value| old.wrapping_add(value);
    __tsan_atomic128_fetch_sub => sub_16: |old, value| old.wrapping_sub(value);
    __tsan_atomic128_fetch_and => and_16: |old, value| old & value;
    __tsan_atomic128_fetch_or => or_16: |old, value| old | value;
    __tsan_atomic128_fetch_xor => xor_16: |old, value| old ^ value;
    __tsan_atomic128_fetch_nand => nand_16: |old, value| !(old & value);
}

unsafe extern "C" fn compare_exchange_of_16(
    address: *mut u128,
    expected: *mut Two,
    value: Two,
    _: c_int,
    _: c_int,
    returns_to: u64,
) -> c_int {
    // SAFETY: the program's variable, and as above.
    unsafe {
        let old = expected.read();
        let found = Two::of(compare_exchange_16(address, old.value(), value.value(), returns_to));
        if found != old {
            expected.write(found);
        }
        (found == old).into()
    }
}

unsafe extern "C" fn value_of_16(
    address: *mut u128,
    old: Two,
    value: Two,
    _: c_int,
    _: c_int,
    returns_to: u64,
) -> Two {
    // SAFETY: as above.
    Two::of(unsafe { compare_exchange_16(address, old.value(), value.value(), returns_to) })
}

from_there!(__tsan_atomic128_load => load_16, "rdx");
from_there!(__tsan_atomic128_store => store_16, "r8");

/// Functions whose arguments fill the registers hand it on by the stack.
macro_rules! by_stack {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                "endbr64",
                "push qword ptr [rsp]",
                "call {inner}",
                "add rsp, 8",
                "ret",
                inner = sym compare_exchange_of_16,
            )
        }
    )+ };
}

by_stack! { __tsan_atomic128_compare_exchange_strong __tsan_atomic128_compare_exchange_weak }

/// With one argument more than registers: the order of a failure, which comes by the stack, is the same for all of 16
/// bytes; what is handed on stands in its place.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn __tsan_atomic128_compare_exchange_val() {
    naked_asm!(
        "endbr64",
        "mov rax, [rsp]",
        "push rax",
        "push rax",
        "push rax",
        "call {inner}",
        "add rsp, 24",
        "ret",
        inner = sym value_of_16,
    )
}

/// A fence between threads.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_thread_fence(mo: c_int) {
    let order = order(mo);
    if order != Relaxed {
        fence(order);
    }
}

/// A fence between a thread and its signal handlers.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_signal_fence(mo: c_int) {
    let order = order(mo);
    if order != Relaxed {
        compiler_fence(order);
    }
}
