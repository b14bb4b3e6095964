//! Opening regions.

use std::cell::Cell;
use std::ptr;

use coho_sync::Member;
use libc::{c_int, c_void};

use super::arguments::{LEAST, Micro, Words, call, of_words, word};
use super::number;
use crate::exports::chosen;
use crate::here::Membership;
use crate::openings;
use crate::pool::{Line, own};
use crate::region::{Begin, Part, Work, open_for, serve};

/// What the compiler has asked for the thread's next region.
#[derive(Debug, Default)]
pub struct Asked {
    /// 0: as many as usual.
    threads: Cell<u32>,
    /// OpenMP's number of a policy; 0: the usual one.
    bind: Cell<u32>,
}

impl Asked {
    /// What is asked is asked for one region.
    #[inline(always)]
    pub fn take(&self) -> (u32, u32) {
        (self.threads.take(), self.bind.take())
    }
}

/// A region's function and its words, where the compiler has put them.
struct Called {
    micro: Micro,
    count: usize,
    registers: *const usize,
    stack: *const usize,
    /// Words that do not fit on a line.
    far: Vec<usize>,
}

/// The number of words stands in the low bits of their line's address. In its place: the line has the words' address and
/// their number.
const FAR: usize = Line::WORDS + 1;
const BITS: usize = align_of::<Line>() - 1;

const _: () = assert!(Line::WORDS >= LEAST && FAR <= BITS);

/// A region's function that takes one word, or none and does not look at it.
type OfOne = unsafe extern "C-unwind" fn(*const c_int, *const c_int, usize);

impl Called {
    fn word(&self, at: usize) -> usize {
        // SAFETY: there are `count`, in these places.
        unsafe { word(at, self.registers, self.stack) }
    }
}

impl Work for Called {
    unsafe fn alone(&self, membership: &Membership) {
        // SAFETY: as the caller promises.
        unsafe {
            let words = Words::new(self.count, self.registers, self.stack);
            call_as(membership, self.micro, self.count, words.pointer());
        }
    }

    fn function(&self) -> usize {
        self.micro as usize
    }

    #[inline(always)]
    fn order(&mut self, line: &Line, _: u32) -> (Part, [*mut (); 2]) {
        let micro = self.micro as *mut ();
        if self.count <= 1 {
            // All of it arrives with the order.
            let word = if self.count == 1 { self.word(0) } else { 0 };
            return (serve_one, [micro, ptr::without_provenance_mut(word)]);
        }
        let mut bits = self.count;
        if self.count > Line::WORDS {
            self.far = (0..self.count).map(|at| self.word(at)).collect();
            line.put([self.far.as_ptr().expose_provenance(), self.count].into_iter());
            bits = FAR;
        } else {
            line.put((0..self.count).map(|at| self.word(at)));
        }
        (serve_many, [micro, line.words().map_addr(|address| address | bits).cast_mut().cast()])
    }
}

/// A member's part of a region of one word at most: the words are the region, its function and that word.
///
/// # Safety
/// [`Called`] has put the words together.
unsafe fn serve_one(member: &Member<'_>, [region, micro, word]: [*mut (); 3]) {
    // SAFETY: as the caller promises.
    unsafe {
        let micro = std::mem::transmute::<*mut (), OfOne>(micro);
        serve(Some(member), region.cast_const().cast(), false, |membership| {
            let (number, rank) = (number(), membership.rank as c_int);
            micro(&raw const number, &raw const rank, word.addr());
        });
    }
}

/// The same, of more words.
///
/// # Safety
/// As above.
unsafe fn serve_many(member: &Member<'_>, [region, micro, line]: [*mut (); 3]) {
    // SAFETY: as the caller promises.
    unsafe {
        let micro = std::mem::transmute::<*mut (), Micro>(micro);
        let words = line.map_addr(|address| address & !BITS).cast_const().cast::<usize>();
        serve(Some(member), region.cast_const().cast(), false, |membership| match line.addr() & BITS {
            FAR => call_as(membership, micro, *words.add(1), ptr::with_exposed_provenance(*words)),
            count => call_as(membership, micro, count, words),
        });
    }
}

/// Calls a region's function as a member's part of the region.
///
/// # Safety
/// As [`call`] says.
#[inline(always)]
pub(super) unsafe fn call_as(membership: &Membership, micro: Micro, count: usize, words: *const usize) {
    let (number, rank) = (number(), membership.rank as c_int);
    // SAFETY: as the caller promises.
    unsafe { call(micro, &raw const number, &raw const rank, count, words) };
}

/// Opens a region as asked.
///
/// # Safety
/// The compiler's function, and so many words in these places.
#[inline(always)]
unsafe fn begin(micro: Micro, count: usize, registers: *const usize, stack: *const usize) {
    let (threads, bind) = own().asked.take();
    // Members' numbers depend on the opener's.
    number();
    let mut called = Called { micro, count, registers, stack, far: Vec::new() };
    // SAFETY: as the caller promises.
    unsafe { open_for(&mut called, threads, bind, Begin::Nothing) };
}

/// # Safety
/// The compiler's.
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn fork_call() {
    of_words!(fork)
}

unsafe extern "C-unwind" fn fork(
    _place: *const c_void,
    count: c_int,
    micro: Micro,
    registers: *const usize,
    stack: *const usize,
) -> *mut c_void {
    let Some(_entered) = openings::enter() else {
        pass_on_what_is_asked();
        return chosen("__kmpc_fork_call");
    };
    let count = count.max(0) as usize;
    // SAFETY: the compiler's.
    unsafe { begin(micro, count, registers, stack) };
    ptr::null_mut()
}

/// Tells the program's own runtime, which is to open the region, what was asked for it.
#[cold]
fn pass_on_what_is_asked() {
    type Function = unsafe extern "C" fn(*const c_void, c_int, c_int);
    let (threads, bind) = own().asked.take();
    for (asked, name) in [(threads, "__kmpc_push_num_threads"), (bind, "__kmpc_push_proc_bind")] {
        if asked > 0 {
            // SAFETY: the runtime's functions of these names have that type.
            unsafe {
                std::mem::transmute::<*mut c_void, Function>(chosen(name))(
                    ptr::null(),
                    number(),
                    asked as c_int,
                );
            }
        }
    }
}

/// A region that may be one of one thread, with a word if there is one.
pub unsafe extern "C-unwind" fn fork_call_if(
    place: *const c_void,
    count: c_int,
    micro: Micro,
    forks: c_int,
    word: usize,
) {
    let Some(_entered) = openings::enter() else {
        type Function = unsafe extern "C-unwind" fn(*const c_void, c_int, Micro, c_int, usize);
        pass_on_what_is_asked();
        // SAFETY: the runtime's function of that name has that type.
        return unsafe {
            std::mem::transmute::<*mut c_void, Function>(chosen("__kmpc_fork_call_if"))(
                place, count, micro, forks, word,
            );
        };
    };
    if forks == 0 {
        own().asked.take();
        own().asked.threads.set(1);
    }
    // SAFETY: the compiler's.
    unsafe { begin(micro, count.clamp(0, 1) as usize, &raw const word, ptr::null()) };
}

pub extern "C" fn push_num_threads(_place: *const c_void, _number: c_int, threads: c_int) {
    own().asked.threads.set(threads.max(0) as u32);
}

pub extern "C" fn pop_num_threads() {
    own().asked.threads.set(0);
}

/// LLVM's numbers of policies are OpenMP's.
pub extern "C" fn push_proc_bind(_place: *const c_void, _number: c_int, policy: c_int) {
    own().asked.bind.set((policy.max(0) as u32) & 7);
}
