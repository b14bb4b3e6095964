/* Threads that share, end, fork and take signals, by the case that the argument names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static volatile long line[8] __attribute__((aligned(64)));
static volatile long *volatile reloaded[2] = {&line[2], &line[3]};
static double seconds = 0.3;

static double cpu_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

#define UNTIL(ENOUGH) for (double begun = cpu_time(); cpu_time() - begun < (ENOUGH);)

__attribute__((noinline)) static void increment(volatile long *counter) {
    for (int i = 0; i < 100000; i++) __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static void increment_reloaded(volatile long *volatile *counter) {
    for (int i = 0; i < 100000; i++) __atomic_fetch_add(*counter, 1, __ATOMIC_RELAXED);
}

static void *counts(void *counter) {
    UNTIL(seconds) increment(counter);
    return NULL;
}

static void *counts_reloaded(void *counter) {
    UNTIL(seconds) increment_reloaded(counter);
    return NULL;
}

/* The counter's address stands in memory with its bytes swapped: reading the instructions alone does not show it. */
static volatile unsigned long hidden[2];

__attribute__((noinline)) static void increment_hidden(volatile unsigned long *place) {
    for (int i = 0; i < 100000; i++) {
        __atomic_fetch_add((long *)__builtin_bswap64(*place), 1, __ATOMIC_RELAXED);
    }
}

static void *counts_hidden(void *place) {
    UNTIL(3 * seconds) increment_hidden(place);
    return NULL;
}

static void together(void *(*work)(void *), void *one, void *two) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, work, one);
    pthread_create(&threads[1], NULL, work, two);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

static void counters(void) {
    printf("%p %p\n", (void *)&line[0], (void *)increment);
    together(counts, (void *)&line[0], (void *)&line[1]);
}

static void reload(void) {
    printf("%p %p\n", (void *)&line[2], (void *)increment_reloaded);
    together(counts_reloaded, (void *)&reloaded[0], (void *)&reloaded[1]);
}

static void stepped(void) {
    printf("%p %p\n", (void *)&line[6], (void *)increment_hidden);
    for (int i = 0; i < 2; i++) hidden[i] = __builtin_bswap64((unsigned long)&line[6 + i]);
    together(counts_hidden, (void *)&hidden[0], (void *)&hidden[1]);
}

/* A trap of the program's own, which it handles, or which ends it. */
static volatile int traps;
static void trapped(int signal) { traps += signal == SIGTRAP; }

static void own_trap(void) {
    struct sigaction old = {.sa_handler = trapped};
    stepped();
    sigaction(SIGTRAP, &(struct sigaction){.sa_handler = trapped}, &old);
    if (old.sa_handler != SIG_DFL || old.sa_flags) abort();
    __asm__ volatile("int3");
    stepped();
    printf("%d\n", traps);
    fflush(stdout);
    signal(SIGTRAP, SIG_DFL);
    __asm__ volatile("int3");
}

static void dies_of_trap(void) {
    stepped();
    __asm__ volatile("int3");
}

static int c11_thread(void *counter) {
    counts(counter);
    return -7;
}

static void c11(void) {
    thrd_t thread;
    int result = 0;
    if (thrd_create(&thread, c11_thread, (void *)&line[0]) != thrd_success) abort();
    if (thrd_join(thread, &result) != thrd_success) abort();
    printf("%p %d\n", (void *)&line[0], result);
}

static volatile int profiled;
static void profile(int signal) { profiled += signal == SIGPROF; }

static void *keeps_errno(void *counter) {
    errno = 77;
    UNTIL(seconds) {
        increment(counter);
        if (errno != 77) abort();
    }
    return NULL;
}

static void handler(void) {
    struct sigaction now;
    signal(SIGPROF, profile);
    setitimer(ITIMER_PROF, &(struct itimerval){{0, 5000}, {0, 5000}}, NULL);
    together(keeps_errno, (void *)&line[0], (void *)&line[1]);
    sigaction(SIGPROF, NULL, &now);
    printf("%d %d\n", profiled > 0, now.sa_handler == profile);
}

static void forks(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, counts, (void *)&line[0]);
    pid_t child = fork();
    if (child == 0) {
        together(counts, (void *)&line[4], (void *)&line[5]);
        _exit(3);
    }
    int status;
    pthread_join(thread, NULL);
    waitpid(child, &status, 0);
    printf("%d %d %d\n", getpid(), child, WEXITSTATUS(status));
}

static void *ends_somehow(void *number) {
    increment(&line[6]);
    if ((long)number % 3 == 1) pthread_exit(number);
    if ((long)number % 3 == 2) {
        pthread_cancel(pthread_self());
        pthread_testcancel();
    }
    return number;
}

static void churn(void) {
    long ended = 0;
    for (long turn = 0; turn < 500; turn++) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, ends_somehow, (void *)(turn * 4 + i));
        if (turn % 50 == 0) {
            pid_t child = fork();
            if (child == 0) _exit(0);
            waitpid(child, NULL, 0);
        }
        for (int i = 0; i < 4; i++) {
            void *result;
            long number = turn * 4 + i;
            pthread_join(threads[i], &result);
            ended += result == (number % 3 == 2 ? PTHREAD_CANCELED : (void *)number);
        }
    }
    printf("%ld\n", ended);
}

static void *waits(void *set) {
    int signal;
    sigwait(set, &signal);
    printf("%s\n", signal == SIGUSR1 ? "its own signal" : "another's signal");
    return NULL;
}

static void *has_blocked(void *counter) {
    sigset_t all, now;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    counts(counter);
    int open = 0;
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++) open += !sigismember(&now, signal);
    printf("%d open\n", open);
    return NULL;
}

/* Signals are waited for while timers tick: a busy thread, and one that waits for every signal there is. */
static void masked(void) {
    sigset_t all;
    pthread_t waiting;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_create(&waiting, NULL, waits, &all);
    printf("%p\n", (void *)&line[0]);
    fflush(stdout);
    pthread_t busy;
    pthread_create(&busy, NULL, has_blocked, (void *)&line[0]);
    counts((void *)&line[1]);
    pthread_join(busy, NULL);
    kill(getpid(), SIGUSR1);
    pthread_join(waiting, NULL);
}

static volatile sig_atomic_t taken, foreign;
static void take(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    if (info->si_code == SI_QUEUE && info->si_value.sival_int == 5) taken++;
    else foreign++;
}

static void *takes_all(void *counter) {
    int wrong = 0, many = 0;
    counts(counter);
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++) {
        struct sigaction action = {.sa_sigaction = take, .sa_flags = SA_SIGINFO}, old;
        wrong += sigaction(signal, NULL, &old) != 0 || old.sa_handler != SIG_DFL || old.sa_flags != 0;
        wrong += sigaction(signal, &action, &old) != 0 || old.sa_handler != SIG_DFL;
        many++;
    }
    counts(counter);
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++) {
        sigqueue(getpid(), signal, (union sigval){.sival_int = 5});
    }
    printf("%d %d %d\n", wrong, many - taken, (int)foreign);
    return NULL;
}

/* The program handles every real-time signal. */
static void wants(void) { together(takes_all, (void *)&line[0], (void *)&line[1]); }

/* The first thread ends before the others do. */
static void first_ends(void) {
    static pthread_t threads[2];
    printf("%p %p\n", (void *)&line[0], (void *)increment);
    fflush(stdout);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, counts, (void *)&line[i]);
    pthread_exit(NULL);
}

static void *counts_briefly(void *used) {
    UNTIL(0.0005) increment(&line[6]);
    *(double *)used = cpu_time();
    return NULL;
}

/* Threads that use less CPU time than lies between two of the kernel's ticks; microseconds of all of them. */
static void brief(void) {
    double all = 0, used;
    for (int i = 0; i < 1000; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, counts_briefly, &used);
        pthread_join(thread, NULL);
        all += used;
    }
    printf("%ld\n", (long)(all * 1e6));
}

/* A library is loaded once threads are recorded, and the process ends without another word. */
static void loads(void (*end)(int)) {
    pthread_t thread;
    pthread_create(&thread, NULL, counts, (void *)&line[0]);
    pthread_join(thread, NULL);
    if (!dlopen("libresolv.so.2", RTLD_NOW)) abort();
    end(0);
}
static void loads_exit(void) { loads(_exit); }
static void loads_Exit(void) { loads(_Exit); }
static void loads_quick_exit(void) { loads(quick_exit); }

/* Nobody handles the last real-time signal: it ends the process. */
static void ends_by_signal(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, counts, (void *)&line[0]);
    pthread_join(thread, NULL);
    raise(SIGRTMAX);
}

int main(int count, char **arguments) {
    const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"counters", counters}, {"reload", reload}, {"c11", c11},       {"handler", handler},
                 {"forks", forks},       {"churn", churn},   {"masked", masked}, {"wants", wants},
                 {"ends", ends_by_signal}, {"first", first_ends}, {"brief", brief},
                 {"_exit", loads_exit}, {"_Exit", loads_Exit}, {"quick_exit", loads_quick_exit},
                 {"stepped", stepped},   {"trap", own_trap}, {"dies", dies_of_trap}};
    for (unsigned i = 0; count == 2 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(arguments[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    }
    return 2;
}
