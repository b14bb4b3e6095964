/* What a program may do after which a thread has something of its own that its other threads have not, or seems to. Each case
   does it between two logs, and then shows what came of it: the same whoever executes the calls. */
#include "cases.h"
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <time.h>

enum { NOBODY = 65534, LINES = 100 };

static long raw(long number, long a, long b, long c) {
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#endif
}

static void log_to(const char *name) {
    int log = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0666), bad = 0, error = 0;
    struct stat status = {0};
    for (int i = 0; i < LINES; i++) {
        if (write(log, "klmnopqrs\n", 10) != 10) bad++, error = errno;
    }
    int size = fstat(log, &status) == 0 ? status.st_size : -1;
    printf("%s: %d of %d writes failed: %s; %d bytes", name, bad, LINES, error ? strerrorname_np(error) : "none", size);
    close(log);
    printf(", %d closed", stat(name, &status) == 0 ? (int)status.st_size : -1);
    printf(", of %d and %d, mode %o\n", status.st_uid, status.st_gid, status.st_mode);
}

static void credentials(void) {
    uid_t u[3] = {0};
    gid_t g[3] = {0};
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2] = {0};
    getresuid(u, u + 1, u + 2), getresgid(g, g + 1, g + 2);
    syscall(SYS_capget, &header, sets);
    printf("users %d %d %d %d, groups %d %d %d %d and %d\n", u[0], u[1], u[2], setfsuid(-1), g[0], g[1], g[2], setfsgid(-1), getgroups(0, NULL));
    printf("capabilities %x %x %x, no new %d, filter %d\n", sets[0].effective, sets[0].permitted, sets[0].inheritable,
           prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_SECCOMP));
}

static void observe(void) {
    struct stat status;
    char seen[4] = "";
    log_to("after.log");
    SHOW(pwrite(file, "more", 4, 0));
    SHOW(pread(file, seen, 4, 0));
    SHOW(stat("private/x", &status));
    SHOW(access("private", X_OK));
    SHOW(mkdir("made", 0777));
    if (stat("made", &status) == 0) printf("made by %d and %d, mode %o\n", status.st_uid, status.st_gid, status.st_mode);
    SHOW(rename("made", "moved"));
    SHOW(rmdir("moved"));
    SHOW(unlink("after.log"));
    SHOW(rmdir("/new"));
    credentials();
}

/* Descriptors. */
static void close_range_unshare(void) { SHOW(close_range(100, ~0U, CLOSE_RANGE_UNSHARE)); }
static void close_range_unshare_by_number(void) { SHOW(syscall(SYS_close_range, 100, ~0U, CLOSE_RANGE_UNSHARE)); }
static int open_some(void) {
    int last = -1;
    for (int i = 0; i < 5; i++) {
        last = open("some", O_CREAT | O_WRONLY, 0600);
        if (write(last, "s", 1) != 1) abort();
    }
    return last;
}
static void close_range_plain(void) {
    int last = open_some();
    SHOW(close_range(last - 3, last, 0));
    SHOW(write(last, "x", 1));
}
static void close_range_on_exec(void) {
    int last = open_some();
    SHOW(close_range(last - 3, last, CLOSE_RANGE_CLOEXEC));
    SHOW(write(last, "x", 1));
}
static void closefrom_all(void) {
    int last = open_some();
    closefrom(last - 3);
    SHOW(write(last, "x", 1));
}
static void unshare_files(void) { SHOW(unshare(CLONE_FILES)); }
static void unshare_files_by_number(void) { SHOW(syscall(SYS_unshare, CLONE_FILES)); }
static void unshare_files_unseen(void) { SHOW(raw(SYS_unshare, CLONE_FILES, 0, 0)); }

/* Folders. */
static void unshare_folders(void) { SHOW(unshare(CLONE_FS)); SHOW(chdir("sub")); umask(077); }
static void unshare_folders_unseen(void) { SHOW(raw(SYS_unshare, CLONE_FS, 0, 0)); SHOW(chdir("sub")); umask(077); }
static void change_folder(void) { SHOW(chdir("sub")); }
static void change_folder_by_descriptor(void) { SHOW(fchdir(open("sub", O_RDONLY))); }
static void change_root(void) { SHOW(chroot(".")); SHOW(chdir("/sub")); }
static void change_umask(void) { umask(077); }

/* Namespaces. */
static void unshare_mounts(void) {
    SHOW(unshare(CLONE_NEWNS));
    SHOW(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
    SHOW(mount("none", "sub", "tmpfs", 0, NULL));
    log_to("sub/mounted.log");
}
static void unshare_user(void) { SHOW(unshare(CLONE_NEWUSER)); }
static void unshare_names(void) { SHOW(unshare(CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWCGROUP)); }
static void set_namespace(void) { SHOW(setns(open("/proc/self/ns/mnt", O_RDONLY), CLONE_NEWNS)); }
static void pivot(void) {
    SHOW(unshare(CLONE_NEWNS));
    SHOW(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
    SHOW(mount("none", "sub", "tmpfs", 0, NULL));
    if (chdir("sub") == 0) mkdir("old", 0700);
    SHOW(syscall(SYS_pivot_root, ".", "old"));
    log_to("/pivoted.log");
}

/* Users and groups. */
static void set_user(void) { SHOW(setuid(NOBODY)); }
static void set_effective_user(void) { SHOW(seteuid(NOBODY)); }
static void set_three_users(void) { SHOW(setresuid(-1, NOBODY, -1)); }
static void set_two_users(void) { SHOW(setreuid(-1, NOBODY)); }
static void set_file_user(void) { SHOW(setfsuid(NOBODY)); }
static void set_file_user_by_number(void) { SHOW(syscall(SYS_setfsuid, NOBODY)); }
static void set_file_user_unseen(void) {
    struct stat status;
    SHOW(raw(SYS_setfsuid, NOBODY, 0, 0));
    /* It is noticed after some calls. */
    for (int i = 0; i < 5000; i++) stat(".", &status);
    for (int i = 0; i < 5000; i++) if (write(file, "x", 1) != 1) abort();
}
static void set_group(void) { SHOW(setgid(NOBODY)); }
static void set_effective_group(void) { SHOW(setegid(NOBODY)); }
static void set_three_groups(void) { SHOW(setresgid(-1, NOBODY, -1)); }
static void set_two_groups(void) { SHOW(setregid(-1, NOBODY)); }
static void set_file_group(void) { SHOW(setfsgid(NOBODY)); }
static void set_groups(void) { SHOW(setgroups(1, (gid_t[]){1234})); }
static void initialise_groups(void) { SHOW(initgroups("nobody", NOBODY)); }

/* Capabilities and filters. */
static void no_capabilities(int by_name) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {0};
    extern int capset(void *, const void *);
    SHOW(by_name ? capset(&header, none) : syscall(SYS_capset, &header, none));
}
static void set_capabilities(void) { no_capabilities(1); }
static void set_capabilities_by_number(void) { no_capabilities(0); }
static void keep_capabilities(void) { SHOW(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)); }
static void drop_bounding(void) { SHOW(prctl(PR_CAPBSET_DROP, CAP_SYS_TIME, 0, 0, 0)); }
static void set_secure_bits(void) { SHOW(prctl(PR_SET_SECUREBITS, 1, 0, 0, 0)); }
static void clear_ambient(void) { SHOW(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)); }
static void no_new_privileges(void) { SHOW(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); }
static void not_dumpable(void) { SHOW(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)); SHOW(prctl(PR_GET_DUMPABLE)); }
static void name_a_thread(void) { SHOW(prctl(PR_SET_NAME, "other")); }
static void flush_for_others(void) { SHOW(prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0)); SHOW(prctl(PR_SET_IO_FLUSHER, 0, 0, 0, 0)); }

/* Makes no folders, and opens nothing to write to that is not there. */
static void filter(int by_name) {
    struct sock_filter code[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
#ifdef SYS_mkdir
        {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_mkdir},
#endif
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_mkdirat},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EACCES},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    SHOW(by_name ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}
static void set_filter(void) { filter(1); }
static void set_filter_by_number(void) { filter(0); }
static void restrict_by_landlock(void) {
    struct landlock_ruleset_attr rules = {.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR};
    int set = syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    SHOW(syscall(SYS_landlock_restrict_self, set, 0));
}
static void join_keyring(void) { SHOW(syscall(SYS_keyctl, 1, NULL) > 0); }
static void add_key(void) { SHOW(syscall(SYS_add_key, "user", "coho-test", "x", 1L, -1) > 0); }

/* Limits, and the processor time that hosts would use. */
static void limit_descriptors(void) {
    struct rlimit few = {40, 40};
    int opened = 0;
    SHOW(setrlimit(RLIMIT_NOFILE, &few));
    while (open("file", O_RDONLY) >= 0) opened++;
    printf("%d opened, then %s\n", opened > 10, strerrorname_np(errno));
    closefrom(30);
}
static void limit_size(void) {
    signal(SIGXFSZ, SIG_IGN);
    SHOW(setrlimit(RLIMIT_FSIZE, &(struct rlimit){3000, 3000}));
}
static void limit_time(void) { SHOW(setrlimit(RLIMIT_CPU, &(struct rlimit){1000, 1000})); }
static void limit_time_by_number(void) { SHOW(syscall(SYS_prlimit64, 0, RLIMIT_CPU, &(struct rlimit){1000, 1000}, NULL)); }
static void limit_threads(void) { SHOW(prlimit(0, RLIMIT_NPROC, &(struct rlimit){1000, 1000}, NULL)); }
static void time_profile(void) { SHOW(setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {1000, 0}}, NULL)); }
static void time_alarm(void) { SHOW(setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {1000, 0}}, NULL)); }
static void time_process(void) {
    timer_t timer;
    SHOW(timer_create(CLOCK_PROCESS_CPUTIME_ID, NULL, &timer));
}

/* A thread's own way with the kernel. */
static void priority(void) { SHOW(setpriority(PRIO_PROCESS, 0, 5)); }
static void be_nice(void) { SHOW(nice(5)); }
static void schedule(void) { SHOW(sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0})); }
static void schedule_thread(void) { SHOW(pthread_setschedparam(pthread_self(), SCHED_BATCH, &(struct sched_param){0})); }
static void disk_priority(void) { SHOW(syscall(SYS_ioprio_set, 1, 0, 2 << 13 | 7)); }
static void memory_policy(void) { SHOW(syscall(SYS_set_mempolicy, 0, NULL, 0L)); }
static void set_personality(void) { SHOW(personality(ADDR_NO_RANDOMIZE)); }
static void ask_personality(void) { SHOW(personality(0xffffffff)); }
static void be_traced(void) { SHOW(ptrace(PTRACE_TRACEME, 0, NULL, NULL)); }
static void protection_key(void) {
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int key = pkey_alloc(0, 0);
    if (key >= 0) pkey_mprotect(page, 4096, PROT_READ | PROT_WRITE, key);
    SHOW(pread(file, page, 4, 0));
    SHOW(pwrite(file, page, 4, 0));
}
static void ring(void) {
    char parameters[120] = {0};
    SHOW(close(syscall(SYS_io_uring_setup, 4, parameters)));
}
static void unknown_call(void) { SHOW(syscall(4000)); }

/* Processes. */
static int writes_elsewhere(void *unused) {
    /* Its number is one of the maker's as well, or will be. */
    int own = open("own.log", O_CREAT | O_WRONLY, 0600), bad = 0;
    for (int i = 0; i < 100; i++) bad += write(own, "own\n", 4) != 4;
    if (chdir("sub") != 0) bad++;
    _exit(bad);
}
static void made(pid_t child) {
    struct stat status;
    int how = 0;
    SHOW(waitpid(child, &how, 0) == child);
    SHOW(how);
    SHOW(stat("own.log", &status));
    printf("%ld bytes\n", (long)status.st_size);
}
static void clone_memory_alone(void) {
    static char stack[256 << 10] __attribute__((aligned(16)));
    made(clone(writes_elsewhere, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
}
static void clone_nothing(void) {
    static char stack[256 << 10] __attribute__((aligned(16)));
    made(clone(writes_elsewhere, stack + sizeof stack, SIGCHLD, NULL));
}
static void clone_by_number(void) {
    fflush(stdout);
    long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) writes_elsewhere(NULL);
    made(child);
}
static void vfork_and_close(void) {
    fflush(stdout);
    pid_t child = vfork();
    if (child == 0) {
        close_range(0, ~0U, CLOSE_RANGE_UNSHARE);
        _exit(0);
    }
    SHOW(waitpid(child, NULL, 0) == child);
}
static void fork_one(void) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) writes_elsewhere(NULL);
    made(child);
}

static const struct test cases[] = {
#define CASE(name) {#name, name}
    CASE(close_range_unshare), CASE(close_range_unshare_by_number), CASE(close_range_plain), CASE(close_range_on_exec),
    CASE(closefrom_all), CASE(unshare_files), CASE(unshare_files_by_number), CASE(unshare_files_unseen),
    CASE(unshare_folders), CASE(unshare_folders_unseen), CASE(change_folder), CASE(change_folder_by_descriptor),
    CASE(change_root), CASE(change_umask), CASE(unshare_mounts), CASE(unshare_user), CASE(unshare_names), CASE(set_namespace),
    CASE(pivot), CASE(set_user), CASE(set_effective_user), CASE(set_three_users), CASE(set_two_users), CASE(set_file_user),
    CASE(set_file_user_by_number), CASE(set_file_user_unseen), CASE(set_group), CASE(set_effective_group),
    CASE(set_three_groups), CASE(set_two_groups), CASE(set_file_group), CASE(set_groups), CASE(initialise_groups),
    CASE(set_capabilities), CASE(set_capabilities_by_number), CASE(keep_capabilities), CASE(drop_bounding),
    CASE(set_secure_bits), CASE(clear_ambient), CASE(no_new_privileges), CASE(not_dumpable), CASE(name_a_thread),
    CASE(flush_for_others), CASE(set_filter), CASE(set_filter_by_number), CASE(restrict_by_landlock), CASE(join_keyring),
    CASE(add_key), CASE(limit_descriptors), CASE(limit_size), CASE(limit_time), CASE(limit_time_by_number),
    CASE(limit_threads), CASE(time_profile), CASE(time_alarm), CASE(time_process), CASE(priority), CASE(be_nice),
    CASE(schedule), CASE(schedule_thread), CASE(disk_priority), CASE(memory_policy), CASE(set_personality),
    CASE(ask_personality), CASE(be_traced), CASE(protection_key), CASE(ring), CASE(unknown_call), CASE(clone_memory_alone),
    CASE(clone_nothing), CASE(clone_by_number), CASE(vfork_and_close), CASE(fork_one),
};

static void run(void (*act)(void)) {
    umask(022);
    mkdir("sub", 0777), chmod("sub", 0777), chmod(".", 0777);
    mkdir("private", 0);
    log_to("before.log");
    act();
    observe();
}

int main(int arguments_count, char **arguments) {
    if (arguments_count != 2) return 2;
    file = open("file", O_CREAT | O_RDWR | O_TRUNC, 0600);
    for (int i = 0; i < 80; i++) if (pwrite(file, "w", 1, i) != 1) abort();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, arguments[1]) == 0) {
            run(cases[i].run);
            return 0;
        }
    }
    return 2;
}
