/* What belongs to the program, and no preloaded library may change: looked at before and after calls that the libraries
   stand before. Prints it all, so that runs with and without a library can be compared, and "changed" with what has
   changed within the run. Argument: "calls", "calls-often", "threads" or "openmp". */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

extern char **environ;
enum { LONGEST = 1 << 16 };

struct text {
    char bytes[LONGEST];
    int length;
};

static void add(struct text *to, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    to->length += vsnprintf(to->bytes + to->length, LONGEST - to->length, format, arguments);
    va_end(arguments);
}

/* Whether a variable is how the library is asked for. */
static int asks(const char *variable) {
    return strncmp(variable, "COHO_", 5) == 0 || strncmp(variable, "LD_PRELOAD=", 11) == 0 ||
           strncmp(variable, "_=", 2) == 0;
}

static void descriptors(struct text *to) {
    for (int number = 0; number < 64; number++) {
        int flags = fcntl(number, F_GETFD), status = fcntl(number, F_GETFL);
        long at = number > 2 ? lseek(number, 0, SEEK_CUR) : 0;
        if (flags >= 0) add(to, "descriptor %d: %d %o at %ld\n", number, flags, status, at);
    }
}

/* Without errno and dlerror, which looking would change. */
static void look(struct text *to, int with_cpus) {
    char folder[4096];
    sigset_t set;
    stack_t stack;
    struct itimerval timer;
    cpu_set_t cpus;
    add(to, "locale %s\n", setlocale(LC_ALL, NULL));
    add(to, "rounding %d, raised %d, enabled %d\n", fegetround(), fetestexcept(FE_ALL_EXCEPT), fegetexcept());
#ifdef __x86_64__
    unsigned short control;
    unsigned vector;
    __asm__ volatile("fnstcw %0\n\tstmxcsr %1" : "=m"(control), "=m"(vector));
    add(to, "control words %x %x\n", control, vector);
#endif
    sigprocmask(SIG_BLOCK, NULL, &set);
    for (int number = 1; number < 64; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0) {
            /* Without the C library's own flag. */
            add(to, "signal %d: %d, flags %x, default %d, ignored %d\n", number, sigismember(&set, number),
                action.sa_flags & ~0x4000000, action.sa_handler == SIG_DFL, action.sa_handler == SIG_IGN);
        }
    }
    sigaltstack(NULL, &stack);
    add(to, "stack %d %zu\n", stack.ss_flags, stack.ss_size);
    for (char **variable = environ; *variable; variable++) {
        if (!asks(*variable)) add(to, "%s\n", *variable);
    }
    descriptors(to);
    mode_t mask = umask(0);
    umask(mask);
    add(to, "umask %o, in %s\n", mask, getcwd(folder, sizeof folder));
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
        getitimer(which, &timer);
        add(to, "timer %d: %d, %ld\n", which, timer.it_value.tv_sec > 0, (long)timer.it_interval.tv_sec);
    }
    sched_getaffinity(0, sizeof cpus, &cpus);
    if (with_cpus) {
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) if (CPU_ISSET(cpu, &cpus)) add(to, "CPU %d\n", cpu);
    }
    for (int limit = 0; limit < RLIMIT_NLIMITS; limit++) {
        struct rlimit most;
        getrlimit(limit, &most);
        add(to, "limit %d: %lx %lx\n", limit, (long)most.rlim_cur, (long)most.rlim_max);
    }
    char name[16];
    prctl(PR_GET_NAME, name);
    add(to, "named %s, slack %d, dumpable %d, nice %d, policy %d, users %d %d, group %d, session %d\n", name,
        prctl(PR_GET_TIMERSLACK), prctl(PR_GET_DUMPABLE), getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), getuid(),
        geteuid(), getgid(), getsid(0) > 0);
    int state, kind;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state), pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &kind);
    add(to, "cancelled %d %d\n", state, kind);
    add(to, "buffered %d, at end %d, wrong %d\n", stdout ? (int)ftell(stdin) : 0, feof(stdin), ferror(stdout));
}

static int file, rounds = 1500;
static void calls(void) {
    struct stat status;
    char bytes[8] = "", path[32];
    for (int i = 0; i < rounds; i++) {
        int wrong = stat("/", &status) + access("/", F_OK) + fstat(file, &status) + ftruncate(file, 0);
        wrong += write(file, "12345678", 8) != 8;
        wrong += (pwrite(file, bytes, 8, 0) != 8) + (pread(file, bytes, 8, 0) != 8);
        snprintf(path, sizeof path, "other%d", i % 3);
        int other = open(path, O_CREAT | O_RDWR, 0600);
        wrong += (read(other, bytes, 1) < 0) + close(other) + rename(path, "moved") + unlink("moved");
        lseek(file, 0, SEEK_SET);
        if (wrong) abort();
    }
}

static void *nothing(void *unused) { return unused; }
static void threads(void) {
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, nothing, NULL) != 0) abort();
        pthread_join(thread, NULL);
    }
    pid_t child;
    char *command[] = {"true", NULL};
    if (posix_spawnp(&child, "true", NULL, NULL, command, environ) != 0 || waitpid(child, NULL, 0) != child) abort();
    if (system("true") != 0) abort();
}

static void openmp(void) {
#ifdef _OPENMP
    int sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(2)
    for (int i = 0; i < 1000; i++) sum += i;
    if (sum != 499500 || omp_get_max_threads() < 1) abort();
#endif
}

static void handle(int signal) { (void)signal; }

int main(int count, char **arguments) {
    static struct text before, after;
    int at_begin = errno;
    if (count != 2) return 2;
    char kind = arguments[1][0];
    if (strcmp(arguments[1], "calls-often") == 0) rounds = 6000;
    void (*work)(void) = kind == 'c' ? calls : kind == 't' ? threads : openmp;
    setlocale(LC_NUMERIC, "C.UTF-8");
    file = open("file", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    umask(027);
    fesetround(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    static char memory[1 << 16];
    sigaltstack(&(stack_t){.ss_sp = memory, .ss_size = sizeof memory}, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {1000, 0}}, NULL);
    printf("kept in the buffer\n");
    look(&before, kind == 'c');
    for (int times = 0; times < 2; times++) {
        /* Wherever the library does arithmetic of its own, it would raise these. */
        feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_INEXACT | FE_OVERFLOW | FE_UNDERFLOW);
        if (dlopen("./missing.so", RTLD_NOW)) return 3;
        errno = 77;
        work();
        int left = errno;
        const char *told = dlerror();
        fedisableexcept(FE_ALL_EXCEPT);
        printf("errno %d, dlerror %s\n", kind == 'c' ? left : 0, told ? told : "nothing");
    }
    look(&after, kind == 'c');
    if (strcmp(before.bytes, after.bytes) != 0) printf("changed:\n%s--- to:\n", before.bytes);
    printf("errno %d when main begins\n%s", at_begin, after.bytes);
    return 0;
}
