//! What the compiler calls before accesses that are not atomic, and what programs call to tell the runtime of their
//! locks.

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::ptr;

use coho_recording::Access;

use super::thread;

const READ: u8 = 0;
const WRITE: u8 = 1;
const BOTH: u8 = 2;

const fn kind<const KIND: u8>() -> Access {
    match KIND {
        READ => Access::Read,
        WRITE => Access::Write,
        _ => Access::Both,
    }
}

/// Calls return behind their own last byte.
const fn call(returns_to: u64) -> u64 {
    returns_to.wrapping_sub(1)
}

extern "C" fn aligned<const BYTES: u8, const KIND: u8>(address: usize, returns_to: u64) {
    thread::access(call(returns_to), address, BYTES, kind::<KIND>());
}

extern "C" fn unaligned<const BYTES: u8, const KIND: u8>(address: usize, returns_to: u64) {
    thread::access_lines(call(returns_to), address, BYTES.into(), kind::<KIND>());
}

extern "C" fn range<const KIND: u8>(address: usize, bytes: usize, returns_to: u64) {
    thread::access_lines(call(returns_to), address, bytes, kind::<KIND>());
}

/// An access of a caller that the program names.
extern "C" fn of_caller<const BYTES: u8, const KIND: u8>(address: usize, pc: u64) {
    thread::access(pc, address, BYTES, kind::<KIND>());
}

extern "C" fn range_of_caller<const KIND: u8>(address: usize, bytes: usize, pc: u64) {
    thread::access_lines(pc, address, bytes, kind::<KIND>());
}

extern "C" fn update_table_of_methods(place: usize, _: *const c_void, returns_to: u64) {
    thread::access(call(returns_to), place, 8, Access::Write);
}

/// Functions that hand on where they return to, in the register after their arguments'.
macro_rules! from_there {
    ($($name:ident => $inner:path, $register:literal;)+) => { $(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!("endbr64", concat!("mov ", $register, ", [rsp]"), "jmp {inner}", inner = sym $inner)
        }
    )+ };
}

from_there! {
    __tsan_read1 => aligned::<1, READ>, "rsi";
    __tsan_read2 => aligned::<2, READ>, "rsi";
    __tsan_read4 => aligned::<4, READ>, "rsi";
    __tsan_read8 => aligned::<8, READ>, "rsi";
    __tsan_read16 => aligned::<16, READ>, "rsi";
    __tsan_write1 => aligned::<1, WRITE>, "rsi";
    __tsan_write2 => aligned::<2, WRITE>, "rsi";
    __tsan_write4 => aligned::<4, WRITE>, "rsi";
    __tsan_write8 => aligned::<8, WRITE>, "rsi";
    __tsan_write16 => aligned::<16, WRITE>, "rsi";
    __tsan_read_write1 => aligned::<1, BOTH>, "rsi";
    __tsan_read_write2 => aligned::<2, BOTH>, "rsi";
    __tsan_read_write4 => aligned::<4, BOTH>, "rsi";
    __tsan_read_write8 => aligned::<8, BOTH>, "rsi";
    __tsan_read_write16 => aligned::<16, BOTH>, "rsi";
    __tsan_volatile_read1 => aligned::<1, READ>, "rsi";
    __tsan_volatile_read2 => aligned::<2, READ>, "rsi";
    __tsan_volatile_read4 => aligned::<4, READ>, "rsi";
    __tsan_volatile_read8 => aligned::<8, READ>, "rsi";
    __tsan_volatile_read16 => aligned::<16, READ>, "rsi";
    __tsan_volatile_write1 => aligned::<1, WRITE>, "rsi";
    __tsan_volatile_write2 => aligned::<2, WRITE>, "rsi";
    __tsan_volatile_write4 => aligned::<4, WRITE>, "rsi";
    __tsan_volatile_write8 => aligned::<8, WRITE>, "rsi";
    __tsan_volatile_write16 => aligned::<16, WRITE>, "rsi";
    __tsan_unaligned_read2 => unaligned::<2, READ>, "rsi";
    __tsan_unaligned_read4 => unaligned::<4, READ>, "rsi";
    __tsan_unaligned_read8 => unaligned::<8, READ>, "rsi";
    __tsan_unaligned_read16 => unaligned::<16, READ>, "rsi";
    __tsan_unaligned_write2 => unaligned::<2, WRITE>, "rsi";
    __tsan_unaligned_write4 => unaligned::<4, WRITE>, "rsi";
    __tsan_unaligned_write8 => unaligned::<8, WRITE>, "rsi";
    __tsan_unaligned_write16 => unaligned::<16, WRITE>, "rsi";
    __tsan_unaligned_read_write2 => unaligned::<2, BOTH>, "rsi";
    __tsan_unaligned_read_write4 => unaligned::<4, BOTH>, "rsi";
    __tsan_unaligned_read_write8 => unaligned::<8, BOTH>, "rsi";
    __tsan_unaligned_read_write16 => unaligned::<16, BOTH>, "rsi";
    __tsan_unaligned_volatile_read2 => unaligned::<2, READ>, "rsi";
    __tsan_unaligned_volatile_read4 => unaligned::<4, READ>, "rsi";
    __tsan_unaligned_volatile_read8 => unaligned::<8, READ>, "rsi";
    __tsan_unaligned_volatile_read16 => unaligned::<16, READ>, "rsi";
    __tsan_unaligned_volatile_write2 => unaligned::<2, WRITE>, "rsi";
    __tsan_unaligned_volatile_write4 => unaligned::<4, WRITE>, "rsi";
    __tsan_unaligned_volatile_write8 => unaligned::<8, WRITE>, "rsi";
    __tsan_unaligned_volatile_write16 => unaligned::<16, WRITE>, "rsi";
    __tsan_read_range => range::<READ>, "rdx";
    __tsan_write_range => range::<WRITE>, "rdx";
    __tsan_vptr_read => aligned::<8, READ>, "rsi";
    __tsan_vptr_update => update_table_of_methods, "rdx";
}

/// Functions under their own names.
macro_rules! defined {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? => $body:expr;)+) => { $(
        /// As the runtime's function of this name, which looks for races.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($argument: $type),*) $(-> $result)? {
            $body
        }
    )+ };
}

defined! {
    __tsan_read1_pc(address: usize, pc: u64) => of_caller::<1, READ>(address, pc);
    __tsan_read2_pc(address: usize, pc: u64) => of_caller::<2, READ>(address, pc);
    __tsan_read4_pc(address: usize, pc: u64) => of_caller::<4, READ>(address, pc);
    __tsan_read8_pc(address: usize, pc: u64) => of_caller::<8, READ>(address, pc);
    __tsan_read16_pc(address: usize, pc: u64) => of_caller::<16, READ>(address, pc);
    __tsan_write1_pc(address: usize, pc: u64) => of_caller::<1, WRITE>(address, pc);
    __tsan_write2_pc(address: usize, pc: u64) => of_caller::<2, WRITE>(address, pc);
    __tsan_write4_pc(address: usize, pc: u64) => of_caller::<4, WRITE>(address, pc);
    __tsan_write8_pc(address: usize, pc: u64) => of_caller::<8, WRITE>(address, pc);
    __tsan_write16_pc(address: usize, pc: u64) => of_caller::<16, WRITE>(address, pc);
    __tsan_read_range_pc(address: usize, bytes: usize, pc: u64) => range_of_caller::<READ>(address, bytes, pc);
    __tsan_write_range_pc(address: usize, bytes: usize, pc: u64) => range_of_caller::<WRITE>(address, bytes, pc);
    __tsan_init() => ();
    __tsan_func_entry(_caller: *const c_void) => ();
    __tsan_func_exit() => ();
    __tsan_ignore_thread_begin() => ();
    __tsan_ignore_thread_end() => ();
    __tsan_flush_memory() => ();
    __tsan_acquire(_address: *mut c_void) => ();
    __tsan_release(_address: *mut c_void) => ();
    __tsan_mutex_create(_address: *mut c_void, _flags: u32) => ();
    __tsan_mutex_destroy(_address: *mut c_void, _flags: u32) => ();
    __tsan_mutex_pre_lock(_address: *mut c_void, _flags: u32) => ();
    __tsan_mutex_post_lock(_address: *mut c_void, _flags: u32, _depth: c_int) => ();
    __tsan_mutex_pre_unlock(_address: *mut c_void, _flags: u32) -> c_int => 0;
    __tsan_mutex_post_unlock(_address: *mut c_void, _flags: u32) => ();
    __tsan_mutex_pre_signal(_address: *mut c_void, _flags: u32) => ();
    __tsan_mutex_post_signal(_address: *mut c_void, _flags: u32) => ();
    __tsan_mutex_pre_divert(_address: *mut c_void, _flags: u32) => ();
    __tsan_mutex_post_divert(_address: *mut c_void, _flags: u32) => ();
    __tsan_external_register_tag(_name: *const c_void) -> *mut c_void => ptr::null_mut();
    __tsan_external_register_header(_tag: *mut c_void, _name: *const c_void) => ();
    __tsan_external_assign_tag(_address: *mut c_void, _tag: *mut c_void) => ();
    __tsan_external_read(_address: *mut c_void, _caller: *mut c_void, _tag: *mut c_void) => ();
    __tsan_external_write(_address: *mut c_void, _caller: *mut c_void, _tag: *mut c_void) => ();
    __tsan_get_current_fiber() -> *mut c_void => ptr::null_mut();
    __tsan_create_fiber(_flags: u32) -> *mut c_void => ptr::null_mut();
    __tsan_destroy_fiber(_fiber: *mut c_void) => ();
    __tsan_switch_to_fiber(_fiber: *mut c_void, _flags: u32) => ();
    __tsan_set_fiber_name(_fiber: *mut c_void, _name: *const c_void) => ();
}
