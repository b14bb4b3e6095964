//! Functions that others can observe, or that depend on what was written: they wait for writes that have been accepted, then
//! jump to the C library's, with arguments of any kind as they are.

use std::ffi::c_void;

use crate::behind::{PENDING, drain};
use crate::real::Real;

/// Waits until every accepted write is done, then returns the C library's function.
extern "C" fn settle(real: &Real) -> *mut c_void {
    drain();
    real.address()
}

#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    ($real:path) => {
        core::arch::naked_asm!(
            "endbr64",
            "cmp byte ptr [rip + {pending}], 0",
            "jne 2f",
            "mov r11, qword ptr [rip + {real}]",
            "test r11, r11",
            "jz 2f",
            "jmp r11",
            "2:",
            "push rdi",
            "push rsi",
            "push rdx",
            "push rcx",
            "push r8",
            "push r9",
            "push rax",
            "sub rsp, 128",
            "movups [rsp], xmm0",
            "movups [rsp + 16], xmm1",
            "movups [rsp + 32], xmm2",
            "movups [rsp + 48], xmm3",
            "movups [rsp + 64], xmm4",
            "movups [rsp + 80], xmm5",
            "movups [rsp + 96], xmm6",
            "movups [rsp + 112], xmm7",
            "lea rdi, [rip + {real}]",
            "call {settle}",
            "mov r11, rax",
            "movups xmm0, [rsp]",
            "movups xmm1, [rsp + 16]",
            "movups xmm2, [rsp + 32]",
            "movups xmm3, [rsp + 48]",
            "movups xmm4, [rsp + 64]",
            "movups xmm5, [rsp + 80]",
            "movups xmm6, [rsp + 96]",
            "movups xmm7, [rsp + 112]",
            "add rsp, 128",
            "pop rax",
            "pop r9",
            "pop r8",
            "pop rcx",
            "pop rdx",
            "pop rsi",
            "pop rdi",
            "jmp r11",
            pending = sym PENDING,
            real = sym $real,
            settle = sym settle,
        )
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    ($real:path) => {
        core::arch::naked_asm!(
            "adrp x16, {pending}",
            "ldrb w16, [x16, #:lo12:{pending}]",
            "cbnz w16, 2f",
            "adrp x16, {real}",
            "ldr x16, [x16, #:lo12:{real}]",
            "cbz x16, 2f",
            "br x16",
            "2:",
            "stp x29, x30, [sp, #-224]!",
            "stp x0, x1, [sp, #16]",
            "stp x2, x3, [sp, #32]",
            "stp x4, x5, [sp, #48]",
            "stp x6, x7, [sp, #64]",
            "str x8, [sp, #80]",
            "stp q0, q1, [sp, #96]",
            "stp q2, q3, [sp, #128]",
            "stp q4, q5, [sp, #160]",
            "stp q6, q7, [sp, #192]",
            "adrp x0, {real}",
            "add x0, x0, #:lo12:{real}",
            "bl {settle}",
            "mov x16, x0",
            "ldp x0, x1, [sp, #16]",
            "ldp x2, x3, [sp, #32]",
            "ldp x4, x5, [sp, #48]",
            "ldp x6, x7, [sp, #64]",
            "ldr x8, [sp, #80]",
            "ldp q0, q1, [sp, #96]",
            "ldp q2, q3, [sp, #128]",
            "ldp q4, q5, [sp, #160]",
            "ldp q6, q7, [sp, #192]",
            "ldp x29, x30, [sp], #224",
            "br x16",
            pending = sym PENDING,
            real = sym $real,
            settle = sym settle,
        )
    };
}

macro_rules! draining {
    ($($name:ident)+) => { $(
        /// Stands before the C library's function of this name.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            jump!(real::$name)
        }
    )+

        mod real {
            use crate::real::Real;
            $(
                #[allow(non_upper_case_globals, reason = "named as the function")]
                pub static $name: Real = Real::new(
                    match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("an identifier has no zero"),
                    },
                );
            )+
        }
    };
}

draining! {
    lseek lseek64 mmap mmap64 msync truncate truncate64 fallocate fallocate64 posix_fallocate posix_fallocate64
    readv preadv preadv64 preadv2 preadv64v2 writev pwritev pwritev64 pwritev2 pwritev64v2
    sendfile sendfile64 splice tee vmsplice copy_file_range send sendto sendmsg sendmmsg connect shutdown
    fcntl fcntl64 ioctl dup flock lockf lockf64 sync syncfs sync_file_range
    link linkat symlink symlinkat renameat2 chmod fchmod fchmodat chown fchown lchown fchownat
    utime utimes utimensat futimens futimes statfs statfs64 fstatfs fstatfs64 statvfs statvfs64 fstatvfs fstatvfs64
    kill raise abort pthread_kill pthread_sigqueue sigqueue killpg tgkill
    wait waitpid waitid wait3 wait4 pause sigsuspend sigwait sigwaitinfo sigtimedwait
    _exit _Exit quick_exit execve execv execvp execvpe execl execlp execle fexecve execveat
    posix_spawn posix_spawnp system popen pclose sem_post mq_send msgsnd semop
    setrlimit setrlimit64 prlimit prlimit64
    fopen fopen64 fdopen fflush fflush_unlocked fwrite fwrite_unlocked fputs fputs_unlocked puts
    fputc fputc_unlocked putc putc_unlocked putchar putchar_unlocked printf fprintf vprintf vfprintf dprintf vdprintf
    __printf_chk __fprintf_chk __vprintf_chk __vfprintf_chk __dprintf_chk __vdprintf_chk __overflow perror
    fread fread_unlocked fgets fgets_unlocked fgetc getc getline getdelim __uflow __underflow
    fseek fseeko fseeko64 ftell ftello ftello64 rewind
}
