//! Atomic operations that LLVM's runtime does under locks of its own: no processor exchanges such operands at once, or none
//! adds them up. The program's own runtime keeps doing them. As its locks queue threads by the numbers that it gives them,
//! each call goes there with the calling thread's.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::Relaxed;

use libc::c_int;

use super::own_number;
use crate::exports::{absent, own};

/// A function, and the runtime's once it has been looked up.
struct Operation {
    /// Ends with a zero.
    name: &'static str,
    own: AtomicPtr<c_void>,
}

/// The runtime's function. The calling thread's number there is put into its place among the saved arguments.
extern "C" fn own_function(operation: &Operation, number: &mut c_int) -> *mut c_void {
    *number = own_number();
    let mut function = operation.own.load(Relaxed);
    if function.is_null() {
        function = own(operation.name).unwrap_or_else(|| absent(operation.name));
        operation.own.store(function, Relaxed);
    }
    function
}

/// Where the second and the third argument of a call are saved.
#[cfg(target_arch = "x86_64")]
const SECOND: usize = 168;
#[cfg(target_arch = "x86_64")]
const THIRD: usize = 160;
#[cfg(target_arch = "aarch64")]
const SECOND: usize = 24;

#[cfg(target_arch = "x86_64")]
macro_rules! operation {
    ($operation:path, $saved:path) => {
        coho_preload::jump! {
            before: [],
            arguments: ["lea rdi, [rip + {operation}]", "lea rsi, [rsp + {saved}]"],
            ask: $crate::kmp::atomic::own_function,
            operation = sym $operation,
            saved = const $saved,
        }
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! operation {
    ($operation:path, $saved:path) => {
        coho_preload::jump! {
            before: [],
            arguments: ["adrp x0, {operation}", "add x0, x0, :lo12:{operation}", "add x1, sp, #{saved}"],
            ask: $crate::kmp::atomic::own_function,
            operation = sym $operation,
            saved = const $saved,
        }
    };
}

/// Defines functions of a place, the thread's number, saved there, and more.
macro_rules! operations {
    ($list:ident, $saved:path: $($name:ident)*) => {
        #[expect(non_upper_case_globals, reason = "named as the functions")]
        mod $list {
            use super::{AtomicPtr, Operation, ptr};
            $(pub static $name: Operation =
                Operation { name: concat!(stringify!($name), "\0"), own: AtomicPtr::new(ptr::null_mut()) };)*
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];
        }

        $(
            /// As LLVM's runtime's.
            ///
            /// # Safety
            /// As LLVM's runtime's.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                operation!($list::$name, $saved)
            }
        )*
    };
}

operations! {
    plain, SECOND:
        __kmpc_atomic_10 __kmpc_atomic_16 __kmpc_atomic_20 __kmpc_atomic_32 __kmpc_atomic_cmplx10_add
        __kmpc_atomic_cmplx10_add_cpt __kmpc_atomic_cmplx10_div __kmpc_atomic_cmplx10_div_cpt
        __kmpc_atomic_cmplx10_div_cpt_rev __kmpc_atomic_cmplx10_div_rev __kmpc_atomic_cmplx10_mul
        __kmpc_atomic_cmplx10_mul_cpt __kmpc_atomic_cmplx10_rd __kmpc_atomic_cmplx10_sub __kmpc_atomic_cmplx10_sub_cpt
        __kmpc_atomic_cmplx10_sub_cpt_rev __kmpc_atomic_cmplx10_sub_rev __kmpc_atomic_cmplx10_swp
        __kmpc_atomic_cmplx10_wr __kmpc_atomic_cmplx16_add __kmpc_atomic_cmplx16_div __kmpc_atomic_cmplx16_div_rev
        __kmpc_atomic_cmplx16_mul __kmpc_atomic_cmplx16_sub __kmpc_atomic_cmplx16_sub_rev __kmpc_atomic_cmplx16_wr
        __kmpc_atomic_cmplx4_add __kmpc_atomic_cmplx4_add_cmplx8 __kmpc_atomic_cmplx4_add_cpt __kmpc_atomic_cmplx4_div
        __kmpc_atomic_cmplx4_div_cmplx8 __kmpc_atomic_cmplx4_div_cpt __kmpc_atomic_cmplx4_div_cpt_rev
        __kmpc_atomic_cmplx4_div_rev __kmpc_atomic_cmplx4_mul __kmpc_atomic_cmplx4_mul_cmplx8
        __kmpc_atomic_cmplx4_mul_cpt __kmpc_atomic_cmplx4_rd __kmpc_atomic_cmplx4_sub __kmpc_atomic_cmplx4_sub_cmplx8
        __kmpc_atomic_cmplx4_sub_cpt __kmpc_atomic_cmplx4_sub_cpt_rev __kmpc_atomic_cmplx4_sub_rev
        __kmpc_atomic_cmplx4_swp __kmpc_atomic_cmplx4_wr __kmpc_atomic_cmplx8_add __kmpc_atomic_cmplx8_add_cpt
        __kmpc_atomic_cmplx8_div __kmpc_atomic_cmplx8_div_cpt __kmpc_atomic_cmplx8_div_cpt_rev
        __kmpc_atomic_cmplx8_div_rev __kmpc_atomic_cmplx8_mul __kmpc_atomic_cmplx8_mul_cpt __kmpc_atomic_cmplx8_rd
        __kmpc_atomic_cmplx8_sub __kmpc_atomic_cmplx8_sub_cpt __kmpc_atomic_cmplx8_sub_cpt_rev
        __kmpc_atomic_cmplx8_sub_rev __kmpc_atomic_cmplx8_swp __kmpc_atomic_cmplx8_wr __kmpc_atomic_fixed1_add_cpt_fp
        __kmpc_atomic_fixed1_add_fp __kmpc_atomic_fixed1_div_cpt_fp __kmpc_atomic_fixed1_div_cpt_rev_fp
        __kmpc_atomic_fixed1_div_fp __kmpc_atomic_fixed1_div_rev_fp __kmpc_atomic_fixed1_mul_cpt_fp
        __kmpc_atomic_fixed1_mul_fp __kmpc_atomic_fixed1_sub_cpt_fp __kmpc_atomic_fixed1_sub_cpt_rev_fp
        __kmpc_atomic_fixed1_sub_fp __kmpc_atomic_fixed1_sub_rev_fp __kmpc_atomic_fixed1u_add_cpt_fp
        __kmpc_atomic_fixed1u_add_fp __kmpc_atomic_fixed1u_div_cpt_fp __kmpc_atomic_fixed1u_div_cpt_rev_fp
        __kmpc_atomic_fixed1u_div_fp __kmpc_atomic_fixed1u_div_rev_fp __kmpc_atomic_fixed1u_mul_cpt_fp
        __kmpc_atomic_fixed1u_mul_fp __kmpc_atomic_fixed1u_sub_cpt_fp __kmpc_atomic_fixed1u_sub_cpt_rev_fp
        __kmpc_atomic_fixed1u_sub_fp __kmpc_atomic_fixed1u_sub_rev_fp __kmpc_atomic_fixed2_add_cpt_fp
        __kmpc_atomic_fixed2_add_fp __kmpc_atomic_fixed2_div_cpt_fp __kmpc_atomic_fixed2_div_cpt_rev_fp
        __kmpc_atomic_fixed2_div_fp __kmpc_atomic_fixed2_div_rev_fp __kmpc_atomic_fixed2_mul_cpt_fp
        __kmpc_atomic_fixed2_mul_fp __kmpc_atomic_fixed2_sub_cpt_fp __kmpc_atomic_fixed2_sub_cpt_rev_fp
        __kmpc_atomic_fixed2_sub_fp __kmpc_atomic_fixed2_sub_rev_fp __kmpc_atomic_fixed2u_add_cpt_fp
        __kmpc_atomic_fixed2u_add_fp __kmpc_atomic_fixed2u_div_cpt_fp __kmpc_atomic_fixed2u_div_cpt_rev_fp
        __kmpc_atomic_fixed2u_div_fp __kmpc_atomic_fixed2u_div_rev_fp __kmpc_atomic_fixed2u_mul_cpt_fp
        __kmpc_atomic_fixed2u_mul_fp __kmpc_atomic_fixed2u_sub_cpt_fp __kmpc_atomic_fixed2u_sub_cpt_rev_fp
        __kmpc_atomic_fixed2u_sub_fp __kmpc_atomic_fixed2u_sub_rev_fp __kmpc_atomic_fixed4_add_cpt_fp
        __kmpc_atomic_fixed4_add_fp __kmpc_atomic_fixed4_div_cpt_fp __kmpc_atomic_fixed4_div_cpt_rev_fp
        __kmpc_atomic_fixed4_div_fp __kmpc_atomic_fixed4_div_rev_fp __kmpc_atomic_fixed4_mul_cpt_fp
        __kmpc_atomic_fixed4_mul_fp __kmpc_atomic_fixed4_sub_cpt_fp __kmpc_atomic_fixed4_sub_cpt_rev_fp
        __kmpc_atomic_fixed4_sub_fp __kmpc_atomic_fixed4_sub_rev_fp __kmpc_atomic_fixed4u_add_cpt_fp
        __kmpc_atomic_fixed4u_add_fp __kmpc_atomic_fixed4u_div_cpt_fp __kmpc_atomic_fixed4u_div_cpt_rev_fp
        __kmpc_atomic_fixed4u_div_fp __kmpc_atomic_fixed4u_div_rev_fp __kmpc_atomic_fixed4u_mul_cpt_fp
        __kmpc_atomic_fixed4u_mul_fp __kmpc_atomic_fixed4u_sub_cpt_fp __kmpc_atomic_fixed4u_sub_cpt_rev_fp
        __kmpc_atomic_fixed4u_sub_fp __kmpc_atomic_fixed4u_sub_rev_fp __kmpc_atomic_fixed8_add_cpt_fp
        __kmpc_atomic_fixed8_add_fp __kmpc_atomic_fixed8_div_cpt_fp __kmpc_atomic_fixed8_div_cpt_rev_fp
        __kmpc_atomic_fixed8_div_fp __kmpc_atomic_fixed8_div_rev_fp __kmpc_atomic_fixed8_mul_cpt_fp
        __kmpc_atomic_fixed8_mul_fp __kmpc_atomic_fixed8_sub_cpt_fp __kmpc_atomic_fixed8_sub_cpt_rev_fp
        __kmpc_atomic_fixed8_sub_fp __kmpc_atomic_fixed8_sub_rev_fp __kmpc_atomic_fixed8u_add_cpt_fp
        __kmpc_atomic_fixed8u_add_fp __kmpc_atomic_fixed8u_div_cpt_fp __kmpc_atomic_fixed8u_div_cpt_rev_fp
        __kmpc_atomic_fixed8u_div_fp __kmpc_atomic_fixed8u_div_rev_fp __kmpc_atomic_fixed8u_mul_cpt_fp
        __kmpc_atomic_fixed8u_mul_fp __kmpc_atomic_fixed8u_sub_cpt_fp __kmpc_atomic_fixed8u_sub_cpt_rev_fp
        __kmpc_atomic_fixed8u_sub_fp __kmpc_atomic_fixed8u_sub_rev_fp __kmpc_atomic_float10_add
        __kmpc_atomic_float10_add_cpt __kmpc_atomic_float10_add_cpt_fp __kmpc_atomic_float10_add_fp
        __kmpc_atomic_float10_div __kmpc_atomic_float10_div_cpt __kmpc_atomic_float10_div_cpt_fp
        __kmpc_atomic_float10_div_cpt_rev __kmpc_atomic_float10_div_cpt_rev_fp __kmpc_atomic_float10_div_fp
        __kmpc_atomic_float10_div_rev __kmpc_atomic_float10_div_rev_fp __kmpc_atomic_float10_max
        __kmpc_atomic_float10_max_cpt __kmpc_atomic_float10_min __kmpc_atomic_float10_min_cpt
        __kmpc_atomic_float10_mul __kmpc_atomic_float10_mul_cpt __kmpc_atomic_float10_mul_cpt_fp
        __kmpc_atomic_float10_mul_fp __kmpc_atomic_float10_rd __kmpc_atomic_float10_sub __kmpc_atomic_float10_sub_cpt
        __kmpc_atomic_float10_sub_cpt_fp __kmpc_atomic_float10_sub_cpt_rev __kmpc_atomic_float10_sub_cpt_rev_fp
        __kmpc_atomic_float10_sub_fp __kmpc_atomic_float10_sub_rev __kmpc_atomic_float10_sub_rev_fp
        __kmpc_atomic_float10_swp __kmpc_atomic_float10_wr __kmpc_atomic_float16_add __kmpc_atomic_float16_add_cpt
        __kmpc_atomic_float16_div __kmpc_atomic_float16_div_cpt __kmpc_atomic_float16_div_cpt_rev
        __kmpc_atomic_float16_div_rev __kmpc_atomic_float16_max __kmpc_atomic_float16_max_cpt
        __kmpc_atomic_float16_min __kmpc_atomic_float16_min_cpt __kmpc_atomic_float16_mul
        __kmpc_atomic_float16_mul_cpt __kmpc_atomic_float16_rd __kmpc_atomic_float16_sub __kmpc_atomic_float16_sub_cpt
        __kmpc_atomic_float16_sub_cpt_rev __kmpc_atomic_float16_sub_rev __kmpc_atomic_float16_swp
        __kmpc_atomic_float16_wr __kmpc_atomic_float4_add_cpt_fp __kmpc_atomic_float4_add_fp
        __kmpc_atomic_float4_div_cpt_fp __kmpc_atomic_float4_div_cpt_rev_fp __kmpc_atomic_float4_div_fp
        __kmpc_atomic_float4_div_rev_fp __kmpc_atomic_float4_mul_cpt_fp __kmpc_atomic_float4_mul_fp
        __kmpc_atomic_float4_sub_cpt_fp __kmpc_atomic_float4_sub_cpt_rev_fp __kmpc_atomic_float4_sub_fp
        __kmpc_atomic_float4_sub_rev_fp __kmpc_atomic_float8_add_cpt_fp __kmpc_atomic_float8_add_fp
        __kmpc_atomic_float8_div_cpt_fp __kmpc_atomic_float8_div_cpt_rev_fp __kmpc_atomic_float8_div_fp
        __kmpc_atomic_float8_div_rev_fp __kmpc_atomic_float8_mul_cpt_fp __kmpc_atomic_float8_mul_fp
        __kmpc_atomic_float8_sub_cpt_fp __kmpc_atomic_float8_sub_cpt_rev_fp __kmpc_atomic_float8_sub_fp
        __kmpc_atomic_float8_sub_rev_fp
}

// Their results are too long for registers, so on x86-64 the place for them comes first.
#[cfg(target_arch = "x86_64")]
operations! {
    in_memory, THIRD:
        __kmpc_atomic_cmplx16_add_cpt __kmpc_atomic_cmplx16_div_cpt __kmpc_atomic_cmplx16_div_cpt_rev
        __kmpc_atomic_cmplx16_mul_cpt __kmpc_atomic_cmplx16_rd __kmpc_atomic_cmplx16_sub_cpt
        __kmpc_atomic_cmplx16_sub_cpt_rev __kmpc_atomic_cmplx16_swp
}

#[cfg(target_arch = "aarch64")]
operations! {
    in_memory, SECOND:
        __kmpc_atomic_cmplx16_add_cpt __kmpc_atomic_cmplx16_div_cpt __kmpc_atomic_cmplx16_div_cpt_rev
        __kmpc_atomic_cmplx16_mul_cpt __kmpc_atomic_cmplx16_rd __kmpc_atomic_cmplx16_sub_cpt
        __kmpc_atomic_cmplx16_sub_cpt_rev __kmpc_atomic_cmplx16_swp
}

/// Whether a function is one of these.
pub fn is_under_a_lock(name: &str) -> bool {
    plain::NAMES.contains(&name) || in_memory::NAMES.contains(&name)
}
