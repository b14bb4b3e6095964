//! Functions that allocate and free, in the place of those of the C and C++ libraries.

use std::arch::naked_asm;
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use coho_preload::{Next, call_next};
use libc::{c_int, off_t, size_t};

use super::super::arena;
use super::super::thread::this;
use super::padding::{LINES, rounded};
use super::{IS_ACTIVE, blocks, sites};

type Pointer = *mut c_void;
/// Where the stack has the return address of the program's call.
type Stack = *const u64;

/// The C library's functions.
mod next {
    coho_preload::next_functions! {
        malloc calloc realloc memalign posix_memalign aligned_alloc free
        mmap munmap
    }
}

/// The C++ library's.
mod next_of_cpp {
    coho_preload::next_functions! {
        _Znwm _Znam _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t
        _ZnwmSt11align_val_t _ZnamSt11align_val_t
        _ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t
        _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t
        _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t
        _ZdlPvSt11align_val_tRKSt9nothrow_t _ZdaPvSt11align_val_tRKSt9nothrow_t
    }
}

/// Whether functions were looked for: what is not known then is not there.
static HAS_LOOKED: AtomicBool = AtomicBool::new(false);

/// Looks for all functions, as the library is loaded. Looking in vain takes longer, so those of a C++ library that is not
/// there are left out.
pub fn look_up_all() {
    coho_preload::look_up_all(next::ALL);
    next_of_cpp::_Znwm.look_up();
    if !next_of_cpp::_Znwm.found().is_null() {
        coho_preload::look_up_all(next_of_cpp::ALL);
    }
    // It tells nothing of those that were not found. SAFETY: no arguments.
    unsafe { libc::dlerror() };
    HAS_LOOKED.store(true, Relaxed);
}

/// Whether all that the program allocates and frees comes by here, and one library does it: only then may a block be another
/// one than it would have been.
pub fn is_whole() -> bool {
    let mine: [(&CStr, *const ()); 7] = [
        (c"malloc", malloc as *const ()),
        (c"free", free as *const ()),
        (c"realloc", realloc as *const ()),
        (c"_Znwm", _Znwm as *const ()),
        (c"_Znam", _Znam as *const ()),
        (c"_ZdlPv", _ZdlPv as *const ()),
        (c"_ZdaPv", _ZdaPv as *const ()),
    ];
    // SAFETY: strings that end with a zero.
    let first = |name: &CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    let library =
        |function: &Next| coho_preload::library_of(function.found() as usize).map(|library| library.base());
    let one = library(&next::malloc);
    mine.iter().all(|&(name, own)| first(name) as *const () == own)
        && [&next::free, &next::realloc, &next::memalign].iter().all(|function| library(function) == one)
}

/// Whether the function is known. To look for it may allocate: such memory is the library's own.
fn is_found(function: &Next) -> bool {
    if !function.found().is_null() {
        return true;
    }
    if this().is_own.get() {
        return false;
    }
    this().on_its_own(|| function.look_up());
    !function.found().is_null()
}

/// The same for a function of the C++ library's, which most programs have no use for.
fn is_there(function: &Next) -> bool {
    !function.found().is_null() || !HAS_LOOKED.load(Relaxed) && is_found(function)
}

fn is_active() -> bool {
    IS_ACTIVE.load(Relaxed)
}

/// Functions that hand on where they were called from, in the register after their arguments'.
macro_rules! from_there {
    ($($name:ident => $inner:path, $register:literal;)+) => { $(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C-unwind" fn $name() {
            naked_asm!("endbr64", concat!("mov ", $register, ", rsp"), "jmp {inner}", inner = sym $inner)
        }
    )+ };
}

from_there! {
    malloc => allocate, "rsi";
    calloc => allocate_zeros, "rdx";
    realloc => allocate_again, "rdx";
    memalign => allocate_aligned::<0>, "rdx";
    aligned_alloc => allocate_aligned::<1>, "rdx";
    posix_memalign => allocate_into, "rcx";
    _Znwm => new::<0>, "rsi";
    _Znam => new::<1>, "rsi";
    _ZnwmRKSt9nothrow_t => new_or_null::<0>, "rdx";
    _ZnamRKSt9nothrow_t => new_or_null::<1>, "rdx";
    _ZnwmSt11align_val_t => new_aligned::<0>, "rdx";
    _ZnamSt11align_val_t => new_aligned::<1>, "rdx";
    _ZnwmSt11align_val_tRKSt9nothrow_t => new_aligned_or_null::<0>, "rcx";
    _ZnamSt11align_val_tRKSt9nothrow_t => new_aligned_or_null::<1>, "rcx";
}

/// Functions with six arguments hand it on by the stack.
macro_rules! mapping {
    ($($name:ident => $inner:path;)+) => { $(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!("endbr64", "mov rax, rsp", "push rax", "call {inner}", "pop rcx", "ret", inner = sym $inner)
        }
    )+ };
}

mapping! {
    mmap => map;
    mmap64 => map;
}

/// Allocates for a place: by its own function, or in lines of its own.
unsafe fn at_place(stack: Stack, bytes: usize, align: usize, plain: impl FnOnce() -> Pointer) -> Pointer {
    if !is_active() {
        return plain();
    }
    // SAFETY: the program's call has not returned.
    let place = unsafe { sites::place(stack) };
    let padded = if place.is_padded { padded(bytes, align) } else { ptr::null_mut() };
    let is_padded = !padded.is_null();
    let block = if is_padded { padded } else { plain() };
    if !block.is_null() {
        blocks::add(block as usize, bytes, place.site, is_padded);
    }
    block
}

/// Memory in lines of its own; null if there is none.
fn padded(bytes: usize, align: usize) -> Pointer {
    let Some(bytes) = rounded(bytes) else { return ptr::null_mut() };
    // SAFETY: the C library's function.
    unsafe { call_next!(next::memalign; align.max(LINES), bytes; size_t, size_t; Pointer) }
}

unsafe extern "C-unwind" fn allocate(bytes: size_t, stack: Stack) -> Pointer {
    if this().is_own.get() || !is_found(&next::malloc) {
        return arena::allocate(bytes);
    }
    // SAFETY: the caller's promises are handed on.
    unsafe { at_place(stack, bytes, 1, || call_next!(next::malloc; bytes; size_t; Pointer)) }
}

unsafe extern "C-unwind" fn allocate_zeros(count: size_t, bytes: size_t, stack: Stack) -> Pointer {
    if this().is_own.get() || !is_found(&next::calloc) {
        return count.checked_mul(bytes).map_or(ptr::null_mut(), arena::allocate);
    }
    let plain = || {
        // SAFETY: the caller's promises are handed on.
        unsafe { call_next!(next::calloc; count, bytes; size_t, size_t; Pointer) }
    };
    let Some(all) = count.checked_mul(bytes) else { return plain() };
    // SAFETY: as above; what is padded has so many bytes, which no `calloc` has cleared.
    unsafe {
        let block = at_place(stack, all, 1, plain);
        if !block.is_null() && blocks::at(block as usize).is_some_and(blocks::Block::is_padded) {
            ptr::write_bytes(block.cast::<u8>(), 0, all);
        }
        block
    }
}

unsafe extern "C-unwind" fn allocate_again(block: Pointer, bytes: size_t, stack: Stack) -> Pointer {
    if arena::has(block) || this().is_own.get() && block.is_null() {
        // SAFETY: a new block; the old one is the library's, and as long as what is left of its memory.
        return unsafe {
            let new = allocate(bytes, stack);
            if !new.is_null() && !block.is_null() {
                ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast(), bytes.min(arena::left(block)));
            }
            new
        };
    }
    if !is_found(&next::realloc) {
        return ptr::null_mut();
    }
    // SAFETY: the caller's promises are handed on.
    let plain = || unsafe { call_next!(next::realloc; block, bytes; Pointer, size_t; Pointer) };
    if !is_active() {
        return plain();
    }
    let old = blocks::at(block as usize);
    // SAFETY: the program's call has not returned.
    let place = unsafe { sites::place(stack) };
    if place.is_padded && bytes > 0 {
        let new = padded(bytes, 1);
        if !new.is_null() {
            // SAFETY: both have so many bytes; the old one is the program's no more.
            unsafe {
                if let (Some(old), false) = (old, block.is_null()) {
                    ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast(), bytes.min(old.bytes()));
                } else if !block.is_null() {
                    // Of a block that is not known, the allocator knows how long it is.
                    let known = libc::malloc_usable_size(block);
                    ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast(), bytes.min(known));
                }
                free(block);
            }
            blocks::add(new as usize, bytes, place.site, true);
            return new;
        }
    }
    // Before another thread can be given its memory.
    blocks::remove(block as usize);
    let new = plain();
    if !new.is_null() {
        blocks::add(new as usize, bytes, place.site, false);
    } else if let (Some(old), true) = (old, bytes > 0) {
        blocks::add(block as usize, old.bytes(), old.site(), old.is_padded());
    }
    new
}

unsafe extern "C-unwind" fn allocate_aligned<const IS_STANDARD: u8>(
    align: size_t,
    bytes: size_t,
    stack: Stack,
) -> Pointer {
    let function = if IS_STANDARD == 1 { &next::aligned_alloc } else { &next::memalign };
    if !is_found(function) {
        return ptr::null_mut();
    }
    // SAFETY: the caller's promises are handed on.
    unsafe { at_place(stack, bytes, align, || call_next!(function; align, bytes; size_t, size_t; Pointer)) }
}

unsafe extern "C-unwind" fn allocate_into(
    to: *mut Pointer,
    align: size_t,
    bytes: size_t,
    stack: Stack,
) -> c_int {
    if !is_found(&next::posix_memalign) {
        return libc::ENOMEM;
    }
    let mut result = 0;
    // SAFETY: the caller's promises are handed on. An alignment that makes no sense is the C library's to refuse.
    unsafe {
        let mut plain = || {
            let mut block = ptr::null_mut();
            result = call_next!(next::posix_memalign; &raw mut block, align, bytes;
                *mut Pointer, size_t, size_t; c_int);
            block
        };
        let block = if align.is_power_of_two() && align >= size_of::<Pointer>() {
            at_place(stack, bytes, align, plain)
        } else {
            plain()
        };
        if result == 0 {
            to.write(block);
        }
    }
    result
}

/// Takes the place of the C library's function of this name.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn free(block: Pointer) {
    if arena::has(block) || !is_found(&next::free) {
        return;
    }
    if is_active() {
        blocks::remove(block as usize);
    }
    // SAFETY: the caller's promises are handed on.
    unsafe { call_next!(next::free; block; Pointer; ()) }
}

/// What `operator new` does where the program has none by its libraries' order: as the C++ library's own.
unsafe fn or_abort(block: Pointer) -> Pointer {
    if block.is_null() {
        // SAFETY: it does not return. Without the C++ library, nothing can be thrown.
        unsafe { libc::abort() }
    }
    block
}

unsafe fn plain(align: usize, bytes: usize) -> Pointer {
    // SAFETY: the C library's functions.
    unsafe {
        if align <= 16 {
            call_next!(next::malloc; bytes.max(1); size_t; Pointer)
        } else {
            call_next!(next::memalign; align, bytes.max(1); size_t, size_t; Pointer)
        }
    }
}

/// The function for arrays, or for one object.
fn of<const ARRAY: u8>(one: &'static Next, array: &'static Next) -> &'static Next {
    if ARRAY == 1 { array } else { one }
}

unsafe extern "C-unwind" fn new<const ARRAY: u8>(bytes: size_t, stack: Stack) -> Pointer {
    let function = of::<ARRAY>(&next_of_cpp::_Znwm, &next_of_cpp::_Znam);
    // SAFETY: the caller's promises are handed on.
    unsafe {
        at_place(stack, bytes, 1, || match is_there(function) {
            false => or_abort(plain(1, bytes)),
            true => call_next!(function; bytes; size_t; Pointer),
        })
    }
}

unsafe extern "C-unwind" fn new_or_null<const ARRAY: u8>(
    bytes: size_t,
    tag: Pointer,
    stack: Stack,
) -> Pointer {
    let function = of::<ARRAY>(&next_of_cpp::_ZnwmRKSt9nothrow_t, &next_of_cpp::_ZnamRKSt9nothrow_t);
    // SAFETY: the caller's promises are handed on.
    unsafe {
        at_place(stack, bytes, 1, || match is_there(function) {
            false => plain(1, bytes),
            true => call_next!(function; bytes, tag; size_t, Pointer; Pointer),
        })
    }
}

unsafe extern "C-unwind" fn new_aligned<const ARRAY: u8>(
    bytes: size_t,
    align: size_t,
    stack: Stack,
) -> Pointer {
    let function = of::<ARRAY>(&next_of_cpp::_ZnwmSt11align_val_t, &next_of_cpp::_ZnamSt11align_val_t);
    // SAFETY: the caller's promises are handed on.
    unsafe {
        at_place(stack, bytes, align, || match is_there(function) {
            false => or_abort(plain(align, bytes)),
            true => call_next!(function; bytes, align; size_t, size_t; Pointer),
        })
    }
}

unsafe extern "C-unwind" fn new_aligned_or_null<const ARRAY: u8>(
    bytes: size_t,
    align: size_t,
    tag: Pointer,
    stack: Stack,
) -> Pointer {
    let function = of::<ARRAY>(
        &next_of_cpp::_ZnwmSt11align_val_tRKSt9nothrow_t,
        &next_of_cpp::_ZnamSt11align_val_tRKSt9nothrow_t,
    );
    // SAFETY: the caller's promises are handed on.
    unsafe {
        at_place(stack, bytes, align, || match is_there(function) {
            false => plain(align, bytes),
            true => call_next!(function; bytes, align, tag; size_t, size_t, Pointer; Pointer),
        })
    }
}

/// `operator delete`: what is padded is the C library's, whatever the C++ library does.
macro_rules! deleting {
    ($($name:ident($($argument:ident: $kind:ty),*);)+) => { $(
        /// Takes the place of the C++ library's function of this name.
        ///
        /// # Safety
        /// As the C++ library's.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "named as the function")]
        pub unsafe extern "C-unwind" fn $name(block: Pointer $(, $argument: $kind)*) {
            let is_padded = is_active() && blocks::at(block as usize).is_some_and(blocks::Block::is_padded);
            // SAFETY: the caller's promises are handed on.
            unsafe {
                if is_padded || !is_there(&next_of_cpp::$name) {
                    return free(block);
                }
                if is_active() {
                    blocks::remove(block as usize);
                }
                call_next!(next_of_cpp::$name; block $(, $argument)*; Pointer $(, $kind)*; ())
            }
        }
    )+ };
}

deleting! {
    _ZdlPv();
    _ZdaPv();
    _ZdlPvm(bytes: size_t);
    _ZdaPvm(bytes: size_t);
    _ZdlPvRKSt9nothrow_t(tag: Pointer);
    _ZdaPvRKSt9nothrow_t(tag: Pointer);
    _ZdlPvSt11align_val_t(align: size_t);
    _ZdaPvSt11align_val_t(align: size_t);
    _ZdlPvmSt11align_val_t(bytes: size_t, align: size_t);
    _ZdaPvmSt11align_val_t(bytes: size_t, align: size_t);
    _ZdlPvSt11align_val_tRKSt9nothrow_t(align: size_t, tag: Pointer);
    _ZdaPvSt11align_val_tRKSt9nothrow_t(align: size_t, tag: Pointer);
}

unsafe extern "C" fn map(
    address: Pointer,
    bytes: size_t,
    access: c_int,
    kind: c_int,
    file: c_int,
    offset: off_t,
    stack: Stack,
) -> Pointer {
    // SAFETY: the caller's promises are handed on.
    unsafe {
        let mapped = call_next!(next::mmap; address, bytes, access, kind, file, offset;
            Pointer, size_t, c_int, c_int, c_int, off_t; Pointer);
        let is_memory = kind & libc::MAP_ANONYMOUS != 0 && access & libc::PROT_WRITE != 0;
        if is_active() && is_memory && mapped != libc::MAP_FAILED {
            blocks::add(mapped as usize, bytes, sites::place(stack).site, false);
        }
        mapped
    }
}

/// Takes the place of the C library's function of this name.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(address: Pointer, bytes: size_t) -> c_int {
    if is_active() && !address.is_null() {
        blocks::remove(address as usize);
    }
    // SAFETY: the caller's promises are handed on.
    unsafe { call_next!(next::munmap; address, bytes; Pointer, size_t; c_int) }
}
