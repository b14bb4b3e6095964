//! Functions that others can observe, or that depend on what was written: they wait for writes that have been accepted, then
//! jump to the C library's, with arguments of any kind as they are.

use std::ffi::c_void;

use coho_preload::Next;

use crate::real;
use crate::write_queue::{PENDING, UNSEEN, drain};
use crate::{cpus, ending};

/// Waits until every accepted write is done, then returns the C library's function.
extern "C" fn settle(real: &Next) -> *mut c_void {
    drain();
    real.address()
}

/// What ends the process, whatever its other threads do meanwhile: from then on they have their writes done at once. So they
/// have where another program was to take over and cannot.
extern "C" fn finish(real: &Next) -> *mut c_void {
    ending::finish();
    cpus::give_back();
    real.address()
}

/// What ends the process at once, as no handler of `atexit` comes.
extern "C" fn leave_process(real: &Next) -> *mut c_void {
    ending::leave_process();
    real.address()
}

/// What makes a process: it has the calling thread's CPUs.
extern "C" fn give_back(real: &Next) -> *mut c_void {
    drain();
    cpus::give_back();
    real.address()
}

/// The process ends with its last thread: that must not be a host, once the first thread has left.
extern "C" fn leave(real: &Next) -> *mut c_void {
    ending::leave();
    real.address()
}

/// Jumps to the C library's function, at once if nothing is on its way.
#[cfg(target_arch = "x86_64")]
macro_rules! settle_if {
    ($pending:path, $real:path) => {
        coho_preload::jump! {
            before: [
                "cmp byte ptr [rip + {pending}], 0",
                "jne 2f",
                "mov r11, qword ptr [rip + {real}]",
                "test r11, r11",
                "jz 2f",
                "jmp r11"
            ],
            arguments: ["lea rdi, [rip + {real}]"],
            ask: settle,
            pending = sym $pending,
            real = sym $real,
        }
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! settle_if {
    ($pending:path, $real:path) => {
        coho_preload::jump! {
            before: [
                "adrp x16, {pending}",
                "ldrb w16, [x16, #:lo12:{pending}]",
                "cbnz w16, 2f",
                "adrp x16, {real}",
                "ldr x16, [x16, #:lo12:{real}]",
                "cbz x16, 2f",
                "br x16"
            ],
            arguments: ["adrp x0, {real}", "add x0, x0, #:lo12:{real}"],
            ask: settle,
            pending = sym $pending,
            real = sym $real,
        }
    };
}

macro_rules! settling {
    ($real:path) => {
        settle_if!(PENDING, $real)
    };
}

macro_rules! settling_unseen {
    ($real:path) => {
        settle_if!(UNSEEN, $real)
    };
}

/// Jumps to the C library's function once something has been done.
#[cfg(target_arch = "x86_64")]
macro_rules! after {
    ($ask:path, $real:path) => {
        coho_preload::jump! { before: [], arguments: ["lea rdi, [rip + {real}]"], ask: $ask, real = sym $real }
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! after {
    ($ask:path, $real:path) => {
        coho_preload::jump! {
            before: [],
            arguments: ["adrp x0, {real}", "add x0, x0, #:lo12:{real}"],
            ask: $ask,
            real = sym $real,
        }
    };
}

macro_rules! finishing {
    ($real:path) => {
        after!(finish, $real)
    };
}

macro_rules! leaving_process {
    ($real:path) => {
        after!(leave_process, $real)
    };
}

macro_rules! giving_back {
    ($real:path) => {
        after!(give_back, $real)
    };
}

macro_rules! leaving {
    ($real:path) => {
        after!(leave, $real)
    };
}

macro_rules! jumping {
    ($($way:ident { $($name:ident)+ })+) => { $($(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            $way!(real::of::$name)
        }
    )+)+
    };
}

jumping! {
    settling {
        lseek lseek64 msync truncate truncate64 posix_fallocate posix_fallocate64
        __read_chk __pread_chk __pread64_chk __open_2 __open64_2 __openat_2 __openat64_2
        __xstat __xstat64 __lxstat __lxstat64 __fxstat __fxstat64 __fxstatat __fxstatat64 ftw ftw64 nftw nftw64 fts_read fts64_read
        splice tee vmsplice send sendto sendmsg sendmmsg connect shutdown
        ioctl flock lockf lockf64 sync syncfs
        link linkat symlink symlinkat renameat2 chmod fchmod fchmodat chown fchown lchown fchownat
        utime utimes utimensat futimens futimes futimesat setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr statfs statfs64 fstatfs fstatfs64 statvfs statvfs64 fstatvfs fstatvfs64
        kill raise pthread_kill pthread_sigqueue sigqueue killpg tgkill
        wait waitpid waitid wait3 wait4 pause sigsuspend sigwait sigwaitinfo sigtimedwait
        pclose sem_post mq_send mq_timedsend msgsnd semop semtimedop
        eventfd_write pidfd_send_signal dlopen dlmopen
        aio_read aio_read64 aio_write aio_write64 aio_fsync aio_fsync64 lio_listio lio_listio64
        fopen fopen64 fdopen dprintf vdprintf __dprintf_chk __vdprintf_chk perror
    }
    settling_unseen {
        fflush fflush_unlocked fwrite fwrite_unlocked fputs fputs_unlocked puts
        fputc fputc_unlocked putc putc_unlocked putchar putchar_unlocked printf fprintf vprintf vfprintf
        __printf_chk __fprintf_chk __vprintf_chk __vfprintf_chk __overflow
        fread fread_unlocked fgets fgets_unlocked fgetc getc getline getdelim __uflow __underflow
        fseek fseeko fseeko64 ftell ftello ftello64 rewind
    }
    giving_back { posix_spawn posix_spawnp system popen wordexp }
    leaving_process { _exit _Exit quick_exit }
    finishing {
        abort __assert_fail __assert_perror_fail
        execve execv execvp execvpe execl execlp execle fexecve execveat
    }
    leaving { pthread_exit }
}

/// As `lseek`, for the C library's own calls.
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
#[unsafe(naked)]
pub unsafe extern "C" fn seek_within() {
    settling!(real::of::lseek)
}
