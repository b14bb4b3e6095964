//! The functions of the libraries that the loader searches after this one.

use coho_preload::Next;

use crate::hooks;

/// When the library is loaded.
pub fn look_up_all() {
    coho_preload::look_up_all(of::ALL);
}

/// From now on, calls go past the jumps that are stored at entries of the C library's.
pub fn look_behind_all() {
    let found = |next: &&&Next| !next.found().is_null();
    of::ALL.iter().filter(found).for_each(|next| next.replace(hooks::original(next.found())));
}

/// Calls the function of the same name with the same arguments.
macro_rules! real {
    ($name:ident($($argument:expr),* ; $($kind:ty),*) -> $result:ty) => {
        ::coho_preload::call_next!($crate::real::of::$name; $($argument),*; $($kind),*; $result)
    };
}

pub(crate) use real;

/// Each is named as the function.
pub mod of {
    coho_preload::next_functions! {
        _Exit _Fork __assert_fail __assert_perror_fail __clone __close_nocancel __dprintf_chk __fprintf_chk __fxstat
        __fxstat64 __fxstatat __fxstatat64 __lxstat __lxstat64 __open64_2 __open_2 __openat64_2 __openat_2
        __overflow __pread64_chk __pread_chk __printf_chk __read_chk __uflow __underflow __vdprintf_chk
        __vfprintf_chk __vprintf_chk __xstat __xstat64 _exit abort access aio_fsync aio_fsync64 aio_read
        aio_read64 aio_write aio_write64 brk capset chdir chmod chown chroot clone close close_range
        closefrom connect copy_file_range creat creat64 dlmopen dlopen dprintf dup dup2 dup3
        eventfd_write execl execle execlp execv execve execveat execvp execvpe fallocate fallocate64 fchdir
        fchmod fchmodat fchown fchownat fclose fcloseall fcntl fcntl64 fdatasync fdopen fexecve fflush
        fflush_unlocked fgetc fgets fgets_unlocked flock fopen fopen64 fprintf fputc fputc_unlocked fputs
        fputs_unlocked fread fread_unlocked fremovexattr freopen freopen64 fseek fseeko fseeko64 fsetxattr
        fstat fstat64 fstatat fstatat64 fstatfs fstatfs64 fstatvfs fstatvfs64 fsync ftell ftello ftello64
        ftruncate ftruncate64 fts64_read fts_read ftw ftw64 futimens futimes futimesat fwrite
        fwrite_unlocked getc getdelim getline initgroups ioctl kill killpg lchown link linkat lio_listio
        lio_listio64 lockf lockf64 login_tty lremovexattr lseek lseek64 lsetxattr lstat lstat64 mkdir
        mkdirat mmap mmap64 mprotect mq_send mq_timedsend mremap msgsnd msync munmap nftw nftw64 nice open
        open64 openat openat64 pause pclose perror personality pidfd_send_signal pkey_alloc pkey_mprotect
        pkey_set popen posix_fallocate posix_fallocate64 posix_spawn posix_spawnp prctl pread pread64 preadv
        preadv2 preadv64 preadv64v2 printf prlimit prlimit64 pthread_cancel pthread_create pthread_exit
        pthread_getaffinity_np pthread_kill pthread_setaffinity_np pthread_setcanceltype
        pthread_setschedparam pthread_setschedprio pthread_sigqueue ptrace putc putc_unlocked putchar
        putchar_unlocked puts pwrite pwrite64 pwritev pwritev2 pwritev64 pwritev64v2 quick_exit raise read
        readv removexattr rename renameat renameat2 rewind rmdir sbrk sched_getaffinity sched_setaffinity sched_setattr
        sched_setparam sched_setscheduler sem_post semop semtimedop send sendfile sendfile64 sendmmsg
        sendmsg sendto setegid seteuid setfsgid setfsuid setgid setgroups setitimer setns setpriority
        setregid setresgid setresuid setreuid setrlimit setrlimit64 setuid setxattr shmdt shutdown sigqueue
        sigsuspend sigtimedwait sigwait sigwaitinfo splice stat stat64 statfs statfs64 statvfs statvfs64
        statx symlink symlinkat sync sync_file_range syncfs syscall system tee tgkill thrd_create
        timer_create truncate truncate64 umask unlink unlinkat unshare utime utimensat utimes vdprintf
        vfprintf vmsplice vprintf wait wait3 wait4 waitid waitpid wordexp write writev
        #[cfg(target_arch = "x86_64")] arch_prctl
        vfork
    }
}
