/* What is easily got wrong by who makes a call for somebody else. Each case prints what it finds: the same whoever executes
   the calls. */
#include "cases.h"
#include <aio.h>
#include <fts.h>
#include <ftw.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/sendfile.h>

static int opened(const char *name, int flags) {
    int number = open(name, O_CREAT | O_RDWR | flags, 0600);
    if (number < 0) abort();
    return number;
}

static void put(int to, const char *text) {
    if (write(to, text, strlen(text)) != (long)strlen(text)) abort();
}

static volatile size_t any = 64;

/* Functions that the compiler puts in the place of others where it cannot tell a buffer's length. */
static void fortified(void) {
    int lines = opened("lines", O_TRUNC), other = opened("lines", 0), wrong = 0;
    char seen[64];
    for (int i = 0; i < 500; i++) {
        put(lines, "0123456789\n");
        wrong += (i % 2 ? read(other, seen, any) : pread(other, seen, any, 11L * i)) != 11;
        lseek(other, 0, SEEK_END);
    }
    for (int i = 0; i < 100; i++) {
        put(lines, "0123456789\n");
        int volatile flags = O_RDWR | O_TRUNC;
        struct stat status;
        close(open("lines", flags));
        wrong += fstat(lines, &status) != 0 || status.st_size != 0;
    }
    printf("wrong %d\n", wrong);
}

/* Memory that could be read, and no longer can. */
static void unmapped(void) {
    int lines = opened("lines", 0), short_lived = opened("map", 0);
    struct stat status;
    for (int way = 0; way < 4; way++) {
        if (ftruncate(short_lived, 4096) != 0) abort();
        int flags = way == 2 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
        char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, way == 2 ? short_lived : -1, 0);
        strcpy(page, "/proc/self/comm");
        for (int i = 0; i < 3; i++) {
            if (write(lines, page, 100) != 100 || stat(page, &status) != 0) abort();
        }
        switch (way) {
        case 0: munmap(page, 4096); break;
        case 1: mprotect(page, 4096, PROT_NONE); break;
        case 2: if (ftruncate(short_lived, 0) != 0) abort(); break;
        case 3: if (mremap(page, 4096, 8192, MREMAP_MAYMOVE) == page) munmap(page, 8192); break;
        }
        SHOW(write(lines, page, 100));
        SHOW(stat(page, &status));
    }
    SHOW(lseek(lines, 0, SEEK_END));
}

/* What is written stands in memory that maps the file, at once. */
static void mapped(void) {
    int lines = opened("lines", 0), wrong = 0;
    if (ftruncate(lines, 8192) != 0) abort();
    put(lines, "begin\n");
    volatile char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, lines, 0);
    for (int i = 6; i < 4000; i++) {
        char byte = 'a' + i % 26;
        if (write(lines, &byte, 1) != 1) abort();
        wrong += map[i] != byte;
    }
    map[5000] = 'x';
    SHOW(msync((void *)map, 8192, MS_SYNC));
    char seen = 0;
    SHOW(pread(lines, &seen, 1, 5000));
    printf("wrong %d, %c\n", wrong, seen);
}

/* A descriptor's flags change after it has been used. */
static void flags(void) {
    int lines = opened("lines", 0), copy = dup(lines);
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(page, 'p', 4096);
    if (write(lines, page, 4096) != 4096) abort();
    SHOW(fcntl(copy, F_SETFL, O_DIRECT));
    SHOW(write(lines, page, 4096));
    SHOW(write(lines, page + 1, 511));
    SHOW(write(lines, page, 4096));
    SHOW(fcntl(copy, F_SETFL, O_APPEND));
    SHOW(lseek(lines, 5, SEEK_SET));
    SHOW(write(lines, "tail", 4));
    SHOW(lseek(lines, 0, SEEK_CUR));
    SHOW(fcntl(copy, F_SETFL, 0));
    SHOW(lseek(lines, 5, SEEK_SET));
    SHOW(write(lines, "head", 4));
    SHOW(lseek(copy, 0, SEEK_CUR));
    SHOW(fcntl(lines, F_DUPFD_CLOEXEC, 100) >= 100);
    SHOW(fcntl(100, F_GETFD));
    SHOW(write(100, "more", 4));
    SHOW(close(lines));
    SHOW(close(copy));
    SHOW(pread(100, page, 4, 9));
    printf("%.4s\n", page);
}

static volatile sig_atomic_t handled;
static pthread_t handled_by;
static void note(int signal) {
    handled = signal;
    handled_by = pthread_self();
}

/* Limits that come after a file has been written to. */
static void limits(void) {
    struct sigaction action = {.sa_handler = note};
    sigaction(SIGXFSZ, &action, NULL);
    int lines = opened("lines", O_APPEND);
    char bytes[200];
    memset(bytes, 'b', sizeof bytes);
    for (int way = 0; way < 3; way++) {
        struct rlimit limit = {300, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
        if (ftruncate(lines, 0) != 0) abort();
        SHOW(write(lines, bytes, 200));
        switch (way) {
        case 0: setrlimit(RLIMIT_FSIZE, &limit); break;
        case 1: prlimit(0, RLIMIT_FSIZE, &limit, NULL); break;
        case 2: syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, &limit, NULL); break;
        }
        handled = 0;
        SHOW(write(lines, bytes, 200));
        SHOW(handled);
        SHOW(write(lines, bytes, 200));
        printf("signal %d\n", handled == SIGXFSZ && pthread_equal(handled_by, pthread_self()));
        SHOW(lseek(lines, 0, SEEK_END));
        setrlimit(RLIMIT_FSIZE, &none);
    }
    /* Descriptors with numbers beyond what tables may be made for. */
    struct rlimit many = {20000, 20000};
    if (setrlimit(RLIMIT_NOFILE, &many) != 0) {
        getrlimit(RLIMIT_NOFILE, &many);
        many.rlim_cur = many.rlim_max;
        setrlimit(RLIMIT_NOFILE, &many);
    }
    int far = many.rlim_cur > 5000 ? 5000 : many.rlim_cur - 1;
    if (dup2(lines, far) != far) abort();
    for (int i = 0; i < 10; i++) {
        put(far, "far ");
        put(lines, "near ");
    }
    SHOW(lseek(lines, 0, SEEK_CUR));
    SHOW(close(far));
    SHOW(close(far) + errno);
}

/* Files whose contents the kernel makes up, partly for who asks. */
static void special(void) {
    char seen[64] = {0}, name[64] = {0};
    const char *paths[] = {"/proc/thread-self/comm", "//proc//thread-self/comm", "/proc/./thread-self/comm", "thread-self/comm"};
    prctl(PR_SET_NAME, "caller");
    for (int i = 0; i < 4; i++) {
        if (i == 3 && chdir("/proc") != 0) abort();
        memset(seen, 0, sizeof seen);
        int comm = open(paths[i], O_RDWR);
        SHOW(read(comm, seen, sizeof seen) > 0);
        printf("%s", seen);
        put(comm, "renamed");
        prctl(PR_GET_NAME, name);
        printf("%s\n", name);
        prctl(PR_SET_NAME, "caller");
        close(comm);
    }
    int score = open("/proc/self/oom_score_adj", O_WRONLY);
    SHOW(write(score, "nonsense", 8));
    SHOW(write(score, "nonsense", 8));
    SHOW(close(score));
}

static int forked(void *unused) {
    (void)unused;
    char seen[8];
    for (int i = 0; i < 300; i++) {
        struct stat status;
        if (write(file, "c", 1) != 1 || pread(file, seen, 1, i) != 1 || stat(".", &status) != 0) _exit(1);
    }
    _exit(7);
}

/* Every way to make a process. */
static void forks(void) {
    static char stack[256 << 10] __attribute__((aligned(16)));
    for (int way = 0; way < 4; way++) {
        put(file, "before");
        pid_t child = -1;
        fflush(stdout);
        switch (way) {
        case 0: child = fork(); break;
        case 1: child = _Fork(); break;
        case 2: child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); break;
        case 3: child = clone(forked, stack + sizeof stack, SIGCHLD, NULL); break;
        }
        if (child == 0) forked(NULL);
        int how = 0;
        waitpid(child, &how, 0);
        printf("%d: %d\n", way, WEXITSTATUS(how));
        put(file, "after");
        SHOW(lseek(file, 0, SEEK_END));
    }
}

/* A child of vfork has its parent's memory, and its parent waits for it. */
static void vforks(void) {
    int volatile shared = 0;
    for (int i = 0; i < 100; i++) {
        put(file, "before");
        pid_t child = vfork();
        if (child == 0) {
            int copy = dup(file);
            close(file);
            put(copy, "child");
            dup2(copy, file);
            shared++;
            _exit(0);
        }
        int seen = shared;
        waitpid(child, NULL, 0);
        if (seen != i + 1) printf("%d of %d\n", seen, i + 1);
        put(file, "after");
    }
    SHOW(lseek(file, 0, SEEK_CUR));
}

/* Not every call is one that a thread can be cancelled in. */
static int volatile reached, cleaned, ready;
static void clean(void *unused) {
    (void)unused;
    cleaned++;
}
static void *marked(void *unused) {
    struct stat status;
    warm_up();
    pthread_cleanup_push(clean, unused);
    pthread_cancel(pthread_self());
    if (stat(".", &status) != 0 || access(".", R_OK) != 0) abort();
    reached++;
    for (;;) write(file, "c", 1);
    pthread_cleanup_pop(0);
}
static void *at_once(void *unused) {
    int old;
    warm_up();
    pthread_cleanup_push(clean, unused);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
    /* Only computation may be cancelled anywhere. */
    for (ready = 1;;) continue;
    pthread_cleanup_pop(0);
}
static void *disabled(void *unused) {
    int old;
    warm_up();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    pthread_cancel(pthread_self());
    put(file, "not cancelled");
    reached++;
    return unused;
}
static void cancellation_points(void) {
    void *(*const all[])(void *) = {marked, at_once, disabled};
    for (int i = 0; i < 12; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, all[i % 3], NULL);
        if (i % 3 == 1) {
            while (!ready) usleep(100);
            usleep(37 * i);
            ready = 0;
            pthread_cancel(thread);
        }
        pthread_join(thread, &result);
        if ((result == PTHREAD_CANCELED) == (i % 3 == 2)) printf("wrong\n");
    }
    printf("%d %d\n", reached, cleaned);
    put(file, "still");
}

/* Calls that wait, and handlers with and without SA_RESTART. */
static void interrupts(void) {
    for (int restart = 0; restart < 2; restart++) {
        int ends[2];
        char block[65536] = {0};
        struct sigaction action = {.sa_handler = note, .sa_flags = restart ? SA_RESTART : 0};
        sigaction(SIGALRM, &action, NULL);
        if (pipe(ends) != 0) abort();
        put(file, "pending");
        pid_t child = fork();
        if (child == 0) {
            usleep(200000);
            write(ends[1], "x", 1);
            _exit(0);
        }
        struct itimerval soon = {.it_value = {0, 30000}};
        setitimer(ITIMER_REAL, &soon, NULL);
        SHOW(read(ends[0], block, 1));
        waitpid(child, NULL, 0);
        if (!restart) SHOW(read(ends[0], block, 1));
        while (write(ends[1], block, sizeof block) == (long)sizeof block && fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0) continue;
        fcntl(ends[1], F_SETFL, 0);
        if (!restart) {
            setitimer(ITIMER_REAL, &soon, NULL);
            SHOW(write(ends[1], block, sizeof block));
            setitimer(ITIMER_REAL, &soon, NULL);
            SHOW(fcntl(ends[1], F_SETLKW, &(struct flock){.l_type = F_RDLCK}));
        }
        close(ends[0]);
        signal(SIGPIPE, SIG_IGN);
        SHOW(write(ends[1], block, 1));
        close(ends[1]);
    }
    SHOW(lseek(file, 0, SEEK_CUR));
}

/* A handler that writes, on a stack of its own, between pages that nobody may touch. */
static void small(int signal) {
    (void)signal;
    int before = errno;
    if (write(file, "h", 1) == 1) handled++;
    errno = before;
}
static void stacks(void) {
    size_t bytes = (sysconf(_SC_SIGSTKSZ) + 4095) / 4096 * 4096;
    char *memory = mmap(NULL, bytes + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory + 4096, bytes, PROT_READ | PROT_WRITE);
    stack_t stack = {.ss_sp = memory + 4096, .ss_size = bytes};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = small, .sa_flags = SA_ONSTACK};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    long written = 0;
    while (written < 5000 || handled < 30) {
        put(file, "w");
        written++;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d\n", lseek(file, 0, SEEK_CUR) == written + handled);
}

/* Calls that take from a file, or put into one, past the descriptor that is written to. */
static void copies(void) {
    int from = opened("from", 0), wrong = 0;
    loff_t at;
    for (int i = 0; i < 200; i++) {
        int to = opened("to", O_TRUNC), pipes[2];
        if (pipe(pipes) != 0) abort();
        put(from, "0123456789");
        off_t start = 10L * i;
        put(to, "head ");
        wrong += sendfile(to, from, &start, 100) != 10;
        put(to, " middle ");
        at = 10L * i;
        wrong += copy_file_range(from, &at, to, NULL, 100, 0) != 10;
        put(to, " tail ");
        at = 10L * i;
        wrong += splice(from, &at, pipes[1], NULL, 10, 0) != 10;
        wrong += splice(pipes[0], NULL, to, NULL, 10, 0) != 10;
        char all[64] = {0};
        wrong += pread(to, all, sizeof all, 0) != 49 || strcmp(all, "head 0123456789 middle 0123456789 tail 0123456789") != 0;
        close(to), close(pipes[0]), close(pipes[1]);
    }
    printf("wrong %d\n", wrong);
}

static long size_seen;
static int visit(const char *path, const struct stat *status, int kind) {
    (void)kind;
    if (strcmp(path, "./lines") == 0) size_seen = status->st_size;
    return 0;
}
/* Functions of the C library that look at files by themselves. */
static void walks(void) {
    int lines = opened("lines", 0), wrong = 0;
    for (int i = 1; i <= 300; i++) {
        put(lines, "0123456789");
        if (i % 2) {
            ftw(".", visit, 8);
        } else {
            char *roots[] = {".", NULL};
            FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
            for (FTSENT *entry; (entry = fts_read(walk));) {
                if (strcmp(entry->fts_name, "lines") == 0) size_seen = entry->fts_statp->st_size;
            }
            fts_close(walk);
        }
        wrong += size_seen != 10L * i;
    }
    printf("wrong %d\n", wrong);
}

/* Calls that do well leave errno alone. */
static void *contends(void *unused) {
    for (int i = 0; i < 4000; i++) {
        errno = 77;
        put(file, "x");
        if (errno != 77) return "changed";
    }
    return unused;
}
static void numbers_of_errors(void) {
    pthread_t all[3];
    for (int i = 0; i < 3; i++) pthread_create(&all[i], NULL, contends, NULL);
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(all[i], &result);
        printf("%s\n", result ? (char *)result : "as before");
    }
    FILE *memory = fmemopen(NULL, 100, "w");
    errno = 77;
    fclose(memory);
    printf("%d\n", errno);
}

/* The folder changes between calls. */
static void folders(void) {
    int wrong = 0;
    mkdir("a", 0700), mkdir("b", 0700);
    for (int i = 0; i < 200; i++) {
        struct stat status;
        umask(i % 2 ? 077 : 0);
        if (chdir(i % 2 ? "a" : "b") != 0) abort();
        int number = open("f", O_CREAT | O_WRONLY, 0666);
        put(number, "x");
        if (chdir("..") != 0) abort();
        wrong += stat(i % 2 ? "a/f" : "b/f", &status) != 0 || (status.st_mode & 0777) != (i % 2 ? 0600 : 0666);
        wrong += access(i % 2 ? "b/f" : "a/f", F_OK) == 0;
        if (i % 3 == 0) close_range(number, number, 0);
        else if (i % 3 == 1) closefrom(number);
        else close(number);
        wrong += write(number, "y", 1) != -1 || errno != EBADF;
        unlink(i % 2 ? "a/f" : "b/f");
    }
    printf("wrong %d\n", wrong);
}

/* Threads come and go while others write: the library's own locks are waited for, by hosts, too. */
static void *comes_and_goes(void *unused) {
    struct stat status;
    for (int i = 0; i < 100; i++) {
        put(file, "x");
        if (stat(".", &status) != 0) abort();
    }
    return unused;
}
static void crowds(void) {
    for (int i = 0; i < 100; i++) {
        pthread_t all[4];
        for (int j = 0; j < 4; j++) pthread_create(&all[j], NULL, comes_and_goes, NULL);
        for (int j = 0; j < 4; j++) pthread_join(all[j], NULL);
    }
    SHOW(lseek(file, 0, SEEK_CUR));
}

/* A handler sees all that was written before it came, wherever it has interrupted its thread. */
static volatile long written, missed, seen;
static void measure(int signal) {
    long bytes = written;
    struct stat status;
    if (fstat(file, &status) == 0 && status.st_size < bytes) missed++;
    seen++;
}
/* Begins the time anew after each signal: on a busy machine a handler can take longer than it, and the thread would do
   nothing else. */
static void (*ticked)(int);
static volatile int pause_us;
static void arm(void) {
    struct itimerval timer = {{0, 0}, {0, pause_us}};
    setitimer(ITIMER_REAL, &timer, NULL);
}
static void on_tick(int signal) {
    ticked(signal);
    arm();
}
static void tick(void (*handler)(int), int microseconds) {
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    ticked = handler, pause_us = microseconds;
    sigaction(SIGALRM, &action, NULL);
    arm();
}
static void measures(void) {
    for (tick(measure, 200); seen < 2000; written++) put(file, "x");
    tick(measure, 0);
    SHOW(missed);
}

/* Handlers that write while a thread's first calls are delegated. */
static void beginner(int signal) { put(file, "x"), seen++; }
static void *begins(void *unused) {
    struct stat status;
    for (int i = 0; i < 100; i++) put(file, "x"), stat(".", &status);
    return unused;
}
static void beginnings(void) {
    sigset_t alarm;
    sigemptyset(&alarm), sigaddset(&alarm, SIGALRM);
    tick(beginner, 50);
    for (int i = 0; i < 40; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, begins, NULL);
        pthread_sigmask(SIG_BLOCK, &alarm, NULL);
        pthread_join(thread, NULL);
        pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    }
    tick(beginner, 0);
    SHOW(lseek(file, 0, SEEK_END) - seen);
}

/* Asynchronous input by the C library. */
static void inputs(void) {
    int wrong = 0;
    char page[4096] = "", byte;
    for (int i = 1; i <= 300; i++) {
        if (write(file, page, sizeof page) != sizeof page) abort();
        struct aiocb input = {.aio_fildes = file, .aio_buf = &byte, .aio_nbytes = 1, .aio_offset = i * 4096L - 1};
        aio_read(&input);
        while (aio_error(&input) == EINPROGRESS) sched_yield();
        wrong += aio_return(&input) != 1;
    }
    SHOW(wrong);
}

/* No memory is left when a thread makes its first calls. */
static void *exhausts(void *unused) {
    struct rlimit limit = {64 << 20, 64 << 20};
    setrlimit(RLIMIT_AS, &limit);
    for (size_t size = 1 << 20; size >= 16; size /= 2) {
        while (malloc(size)) {
        }
    }
    for (int i = 0; i < 500; i++) put(file, "x");
    put(1, "written\n");
    _exit(0);
}
static void exhaustion(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, exhausts, NULL);
    pthread_join(thread, NULL);
}

/* Rights that change while writes are on their way. */
static long threads_of_the_process(void) {
    struct stat status;
    /* A folder has two links of its own, and one for each folder in it. */
    return stat("/proc/self/task", &status) == 0 ? (long)status.st_nlink - 2 : -1;
}

static void change(int way) {
    struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    struct sock_fprog filter = {1, &allow};
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {0};
    switch (way) {
    case 0: SHOW(unshare(CLONE_NEWUSER | CLONE_NEWNS)); break;
    case 1: SHOW(setns(open("/proc/self/ns/mnt", O_RDONLY), CLONE_NEWNS)); break;
    case 2: SHOW(setgroups(0, NULL)); SHOW(setgid(65534)); SHOW(setuid(65534)); break;
    case 3: SHOW(setresuid(-1, 65534, -1)); break;
    case 4: SHOW(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); SHOW(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)); break;
    case 5: SHOW(syscall(SYS_capset, &header, none)); break;
    case 6: SHOW(unshare(CLONE_FS | CLONE_FILES)); break;
    case 7: SHOW(syscall(SYS_setfsuid, 65534)); break;
    }
}

static void rights(int way) {
    int lines = opened("lines", O_APPEND);
    for (int i = 0; i < 50; i++) put(lines, "before\n");
    change(way);
    put(lines, "after\n");
    SHOW(lseek(lines, 0, SEEK_END));
    SHOW(threads_of_the_process());
    SHOW(open("file", O_RDWR) >= 0);
    SHOW(mkdir("/new", 0700));
    rmdir("/new");
}
static void rights_0(void) { rights(0); }
static void rights_1(void) { rights(1); }
static void rights_2(void) { rights(2); }
static void rights_3(void) { rights(3); }
static void rights_4(void) { rights(4); }
static void rights_5(void) { rights(5); }
static void rights_6(void) { rights(6); }
static void rights_7(void) { rights(7); }

int main(int arguments_count, char **arguments) {
    static const struct test cases[] = {
        {"fortified", fortified}, {"unmapped", unmapped}, {"mapped", mapped}, {"flags", flags}, {"limits", limits},
        {"special", special}, {"forks", forks}, {"vforks", vforks}, {"cancellation_points", cancellation_points},
        {"interrupts", interrupts}, {"stacks", stacks}, {"copies", copies}, {"walks", walks},
        {"numbers_of_errors", numbers_of_errors}, {"folders", folders}, {"crowds", crowds},
        {"measures", measures}, {"beginnings", beginnings}, {"inputs", inputs}, {"exhaustion", exhaustion},
        {"namespaces", rights_0}, {"another_namespace", rights_1}, {"users", rights_2}, {"effective_user", rights_3},
        {"filters", rights_4}, {"capabilities", rights_5}, {"own_table", rights_6}, {"file_system_user", rights_7},
    };
    return choose(cases, sizeof cases / sizeof *cases, arguments_count, arguments);
}
