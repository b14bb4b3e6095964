//! Handlers on a stack of their own: the program's may be small, as the one is that Rust's threads have for signals.

use super::thread::this;

/// Bytes of a handler's stack.
pub const STACK_BYTES: usize = 64 << 10;

/// Where the calling thread's handlers have their stack; 0 if it has none. They do not interrupt each other.
pub extern "C" fn stack() -> usize {
    this().slot().map_or(0, |slot| slot.handler_stack)
}

/// Defines the handler `$name` of a signal, which calls `$inner` with its arguments on the thread's other stack.
macro_rules! on_own_stack {
    ($name:ident => $inner:path) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "endbr64",
                "push rbp",
                "mov rbp, rsp",
                "push rdi",
                "push rsi",
                "push rdx",
                "push rdx",
                "call {stack}",
                "pop rdx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "test rax, rax",
                "cmovnz rsp, rax",
                "call {inner}",
                "mov rsp, rbp",
                "pop rbp",
                "ret",
                stack = sym $crate::active::handlers::stack,
                inner = sym $inner,
            )
        }
    };
}

pub(super) use on_own_stack;
