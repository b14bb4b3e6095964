//! Who asks for memory: return addresses on the stack, as far as its words point into code.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};

use super::super::thread::this;

/// Words of the stack that are looked at.
const WORDS: usize = 64;
/// Of these, so many that point into code.
pub const MOST: usize = 7;
const PAGE: usize = 4096;

/// A module: its addresses, where its code begins and ends, what is added to its file's addresses, and its file's name, hashed.
#[derive(Default)]
struct Module {
    start: AtomicU64,
    end: AtomicU64,
    code_start: AtomicU64,
    code_end: AtomicU64,
    base: AtomicU64,
    name: AtomicU64,
}

const MODULES: usize = 256;
static LIST: [Module; MODULES] = [const {
    Module {
        start: AtomicU64::new(0),
        end: AtomicU64::new(0),
        code_start: AtomicU64::new(0),
        code_end: AtomicU64::new(0),
        base: AtomicU64::new(0),
        name: AtomicU64::new(0),
    }
}; MODULES];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A module, as the loader tells of it.
pub struct Told<'a> {
    pub range: (u64, u64),
    pub code: (u64, u64),
    pub base: u64,
    pub path: &'a [u8],
}

/// Remembers a module under its number in the loader's order; the last one ends the list. Who reads meanwhile may miss some.
pub fn remember_module(number: usize, told: &Told<'_>) {
    let Some(module) = LIST.get(number) else { return };
    let fields = [
        (&module.start, told.range.0),
        (&module.end, told.range.1),
        (&module.code_start, told.code.0),
        (&module.code_end, told.code.1),
        (&module.base, told.base),
        (&module.name, hash(told.path.rsplit(|&byte| byte == b'/').next().unwrap_or_default())),
    ];
    fields.into_iter().for_each(|(field, value)| field.store(value, Relaxed));
    COUNT.store(number + 1, Release);
}

fn modules() -> impl Iterator<Item = &'static Module> {
    LIST.iter().take(COUNT.load(Acquire))
}

/// Whether an address is in a module: its code, or its variables.
pub fn is_in_module(address: u64) -> bool {
    modules().any(|module| (module.start.load(Relaxed)..module.end.load(Relaxed)).contains(&address))
}

/// The module that code is in: its name, hashed, and the address in its file.
pub fn located(pc: u64) -> Option<(u64, u64)> {
    let module = modules().find(|module| is_code_of(module, pc))?;
    Some((module.name.load(Relaxed), pc.wrapping_sub(module.base.load(Relaxed))))
}

fn is_code_of(module: &Module, address: u64) -> bool {
    (module.code_start.load(Relaxed)..module.code_end.load(Relaxed)).contains(&address)
}

/// A hash of bytes (FNV-1a), never 0.
pub fn hash(bytes: &[u8]) -> u64 {
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, add).max(1)
}

/// The words of the stack from a function's return address on, as many as can be read.
///
/// # Safety
/// `stack` is where the calling thread's stack has the return address of a function that has not returned.
pub unsafe fn words<'a>(stack: *const u64) -> &'a [u64] {
    // A thread may have other stacks than its own: no page after this one is known to be there.
    let left_of_page = (PAGE - stack as usize % PAGE) / size_of::<u64>();
    let left_of_stack = (this().stack_end.get() as usize).wrapping_sub(stack as usize) / size_of::<u64>();
    const LONGEST: usize = (64 << 20) / size_of::<u64>();
    let left = if left_of_stack < LONGEST { left_of_stack } else { left_of_page };
    // SAFETY: the caller's promise; the stack goes on at least so far.
    unsafe { std::slice::from_raw_parts(stack, left.clamp(1, WORDS)) }
}

/// The return address, and the words after it that point into code: their numbers and themselves.
pub fn frames(words: &[u64]) -> ([(u8, u64); MOST], usize) {
    let mut found = [(0, words[0]); MOST];
    let mut count = 1;
    for (at, &word) in words.iter().enumerate().skip(1) {
        // Most words are numbers, or point to the heap or the stack.
        if word >> 12 != 0 && modules().any(|module| is_code_of(module, word)) {
            found[count] = (at as u8, word);
            count += 1;
            if count == MOST {
                break;
            }
        }
    }
    (found, count)
}
