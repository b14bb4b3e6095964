//! Regions' functions take as many arguments as the region uses variables, so they are called, and handed over, by a
//! number of words.

use core::arch::naked_asm;

use libc::{c_int, c_void};

/// The function that the compiler has made of a region's body. It takes the addresses of its thread's number and of its
/// rank, and then as many words as it needs.
pub type Micro = unsafe extern "C-unwind" fn();

/// How many of the words that a region's opener hands over arrive in registers.
pub const HANDED_IN_REGISTERS: usize = if cfg!(target_arch = "x86_64") { 3 } else { 5 };

/// [`call`] reads at least this many words.
pub const LEAST: usize = 6;

/// Calls a region's function with `count` words.
///
/// # Safety
/// The function takes them, and there are at least [`LEAST`] words at `words`.
#[unsafe(naked)]
#[cfg(target_arch = "x86_64")]
pub unsafe extern "C-unwind" fn call(
    micro: Micro,
    number: *const c_int,
    rank: *const c_int,
    count: usize,
    words: *const usize,
) {
    naked_asm!(
        "endbr64",
        "push rbp",
        "mov rbp, rsp",
        "mov r11, rdi",
        "mov r10, r8",
        "mov rax, rcx",
        "mov rdi, rsi",
        "mov rsi, rdx",
        // Those beyond the fourth, the last first; the stack stays aligned.
        "cmp rax, 4",
        "jbe 3f",
        "test al, 1",
        "jz 2f",
        "sub rsp, 8",
        "2:",
        "push qword ptr [r10 + 8*rax - 8]",
        "dec rax",
        "cmp rax, 4",
        "ja 2b",
        "3:",
        "mov rdx, qword ptr [r10]",
        "mov rcx, qword ptr [r10 + 8]",
        "mov r8, qword ptr [r10 + 16]",
        "mov r9, qword ptr [r10 + 24]",
        "call r11",
        "leave",
        "ret",
    )
}

/// Calls a region's function with `count` words.
///
/// # Safety
/// The function takes them, and there are at least [`LEAST`] words at `words`.
#[unsafe(naked)]
#[cfg(target_arch = "aarch64")]
pub unsafe extern "C-unwind" fn call(
    micro: Micro,
    number: *const c_int,
    rank: *const c_int,
    count: usize,
    words: *const usize,
) {
    naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "mov x29, sp",
        "mov x16, x0",
        "mov x17, x4",
        "mov x0, x1",
        "mov x1, x2",
        // Words beyond the sixth go onto the stack, which stays aligned.
        "subs x9, x3, #6",
        "b.ls 3f",
        "add x10, x9, #1",
        "bic x10, x10, #1",
        "sub sp, sp, x10, lsl #3",
        "add x11, x17, #48",
        "mov x12, sp",
        "2:",
        "ldr x13, [x11], #8",
        "str x13, [x12], #8",
        "subs x9, x9, #1",
        "b.ne 2b",
        "3:",
        "ldp x2, x3, [x17]",
        "ldp x4, x5, [x17, #16]",
        "ldp x6, x7, [x17, #32]",
        "blr x16",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        "ret",
    )
}

/// What a function of a variable number of words hands to another of these: its first three arguments, the words that
/// arrived in registers, and those on the stack. Null if that is all, or a function to call instead, with the same
/// arguments.
pub type Handed = unsafe extern "C-unwind" fn(
    place: *const c_void,
    count: c_int,
    micro: Micro,
    registers: *const usize,
    stack: *const usize,
) -> *mut c_void;

/// The body of a function of a place, a number of words, a region's function and that many words.
#[cfg(target_arch = "x86_64")]
macro_rules! of_words {
    ($handed:path) => {{
        const _: $crate::kmp::arguments::Handed = $handed;
        core::arch::naked_asm!(
            "endbr64",
            "push r9",
            "push r8",
            "push rcx",
            "push rdx",
            "push rsi",
            "push rdi",
            "sub rsp, 8",
            "lea rcx, [rsp + 32]",
            "lea r8, [rsp + 64]",
            "call {handed}",
            "add rsp, 8",
            "pop rdi",
            "pop rsi",
            "pop rdx",
            "pop rcx",
            "pop r8",
            "pop r9",
            "test rax, rax",
            "jnz 2f",
            "ret",
            "2:",
            "mov r11, rax",
            // No argument is in a vector register.
            "xor eax, eax",
            "jmp r11",
            handed = sym $handed,
        )
    }};
}

/// The body of a function of a place, a number of words, a region's function and that many words.
#[cfg(target_arch = "aarch64")]
macro_rules! of_words {
    ($handed:path) => {{
        const _: $crate::kmp::arguments::Handed = $handed;
        core::arch::naked_asm!(
            "stp x29, x30, [sp, #-80]!",
            "mov x29, sp",
            "stp x0, x1, [sp, #16]",
            "stp x2, x3, [sp, #32]",
            "stp x4, x5, [sp, #48]",
            "stp x6, x7, [sp, #64]",
            "add x3, sp, #40",
            "add x4, sp, #80",
            "bl {handed}",
            "mov x16, x0",
            "ldp x0, x1, [sp, #16]",
            "ldp x2, x3, [sp, #32]",
            "ldp x4, x5, [sp, #48]",
            "ldp x6, x7, [sp, #64]",
            "ldp x29, x30, [sp], #80",
            "cbnz x16, 2f",
            "ret",
            "2:",
            "br x16",
            handed = sym $handed,
        )
    }};
}

pub(crate) use of_words;

/// One of a function's words.
///
/// # Safety
/// There are as many, in these places.
#[inline(always)]
pub unsafe fn word(at: usize, registers: *const usize, stack: *const usize) -> usize {
    // SAFETY: as the caller promises.
    unsafe {
        if at < HANDED_IN_REGISTERS { *registers.add(at) } else { *stack.add(at - HANDED_IN_REGISTERS) }
    }
}

/// Words kept where they are called with.
pub struct Words {
    near: [usize; Self::NEAR],
    far: Vec<usize>,
}

impl Words {
    /// Regions with more variables are rare.
    const NEAR: usize = 16;

    /// Of a function's words.
    ///
    /// # Safety
    /// There are `count`, in these places.
    #[inline(always)]
    pub unsafe fn new(count: usize, registers: *const usize, stack: *const usize) -> Self {
        // SAFETY: as the caller promises.
        let word = |at: usize| unsafe { word(at, registers, stack) };
        let (mut near, mut far) = ([0; Self::NEAR], Vec::new());
        if count > Self::NEAR {
            far.extend((0..count).map(word));
        } else {
            near.iter_mut().take(count).enumerate().for_each(|(at, place)| *place = word(at));
        }
        Self { near, far }
    }

    #[inline(always)]
    pub fn pointer(&self) -> *const usize {
        if self.far.is_empty() { self.near.as_ptr() } else { self.far.as_ptr() }
    }
}

const _: () = assert!(Words::NEAR >= LEAST);

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C-unwind" fn add_up(
        number: *const c_int,
        rank: *const c_int,
        sum: *mut usize,
        b: usize,
        c: usize,
        d: usize,
        e: usize,
        f: usize,
        g: usize,
        h: usize,
        i: usize,
    ) {
        // SAFETY: the test's.
        unsafe {
            *sum = (*number as usize)
                + 10 * (*rank as usize)
                + 100 * (b + 2 * c + 3 * d + 4 * e + 5 * f)
                + 10_000 * (g + 2 * h + 3 * i);
        }
    }

    #[unsafe(naked)]
    unsafe extern "C-unwind" fn entry() {
        of_words!(handed)
    }

    unsafe extern "C-unwind" fn handed(
        place: *const c_void,
        count: c_int,
        micro: Micro,
        registers: *const usize,
        stack: *const usize,
    ) -> *mut c_void {
        if place.is_null() {
            return instead as *mut c_void;
        }
        // SAFETY: the test's.
        unsafe {
            let words = Words::new(count as usize, registers, stack);
            call(micro, &raw const count, place.cast(), count as usize, words.pointer());
        }
        std::ptr::null_mut()
    }

    type Entry = unsafe extern "C" fn(*const c_int, c_int, Micro, ...);

    unsafe extern "C" fn instead(
        _place: *const c_void,
        count: c_int,
        _micro: Micro,
        sum: *mut usize,
        more: usize,
    ) {
        // SAFETY: the test's.
        unsafe { *sum = count as usize + more };
    }

    #[test]
    fn all_words_arrive_where_they_are_taken() {
        let (mut sum, rank) = (0_usize, 7);
        // SAFETY: functions of these types.
        unsafe {
            let entry = std::mem::transmute::<unsafe extern "C-unwind" fn(), Entry>(entry);
            let micro = std::mem::transmute::<*const (), Micro>(add_up as *const ());
            entry(
                &raw const rank,
                9,
                micro,
                &raw mut sum,
                1usize,
                2usize,
                3usize,
                4usize,
                5usize,
                6usize,
                7usize,
                8usize,
            );
            assert_eq!(sum, 9 + 70 + 100 * (1 + 4 + 9 + 16 + 25) + 10_000 * (6 + 14 + 24));
            entry(std::ptr::null(), 4, micro, &raw mut sum, 5usize);
            assert_eq!(sum, 9);
        }
    }

    #[test]
    fn any_number_of_words_is_called_with() {
        for count in 0..40 {
            let words: Vec<usize> = (0..count.max(LEAST)).collect();
            let registers = &words[..HANDED_IN_REGISTERS];
            // SAFETY: the words are there.
            let kept =
                unsafe { Words::new(count, registers.as_ptr(), words[HANDED_IN_REGISTERS..].as_ptr()) };
            for (at, word) in words.iter().enumerate().take(count) {
                // SAFETY: as above.
                assert_eq!(unsafe { *kept.pointer().add(at) }, *word);
            }
        }
    }
}
