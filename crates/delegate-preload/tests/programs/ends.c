/* Threads number the lines that they write, and count those whose writes have returned, in memory that outlives the process. The
   process then ends in a way of its own. */
#include "cases.h"
#include <assert.h>

enum { THREADS = 3 };
static volatile long *counts; /* Of the threads, then of the main one. */
static int lines;

static void number(int writer) {
    char line[32];
    int length = sprintf(line, "%d %ld\n", writer, counts[writer]);
    if (write(lines, line, length) != length) abort();
    counts[writer]++;
}

static void *numbers(void *writer) {
    for (;;) number((long)writer);
}

static void *some_numbers(void *writer) {
    for (int i = 0; i < 3000; i++) number((long)writer);
    return NULL;
}

static void begin(void *(*work)(void *)) {
    lines = open("lines", O_CREAT | O_WRONLY | O_APPEND, 0600);
    int file = open("counts", O_CREAT | O_RDWR, 0600);
    if (ftruncate(file, 4096) != 0) abort();
    counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    for (long i = 0; i < THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, (void *)i);
    }
    /* Until they all take part. */
    for (int i = 0; i < THREADS; i++) {
        while (counts[i] < 200) usleep(100);
    }
    for (int i = 0; i < 300; i++) number(THREADS);
}

static void by_exit(void) { begin(numbers), exit(0); }
static void by_return(void) { begin(numbers); }
static void by__exit(void) { begin(numbers), _exit(0); }
static void by_quick_exit(void) { begin(numbers), quick_exit(0); }
static void by_exec(void) { begin(numbers), execl("/bin/true", "true", (char *)NULL); }
static void by_execv(void) { begin(numbers), execv("/bin/true", (char *[]){"true", NULL}); }
static void by_abort(void) { begin(numbers), abort(); }
static void by_assert(void) { begin(numbers), assert(!"holds"); }
static void by_raise(void) { begin(numbers), raise(SIGTERM); }
static void by_kill(void) { begin(numbers), kill(getpid(), SIGKILL); }
static void by_last_thread(void) { begin(some_numbers), pthread_exit(NULL); }
static void by_system_call(void) { begin(some_numbers), syscall(SYS_exit, 0); }
static void *cancels(void *first) {
    pthread_cancel(*(pthread_t *)first);
    return NULL;
}
static void by_cancellation(void) {
    static pthread_t first, thread;
    first = pthread_self();
    begin(some_numbers);
    pthread_create(&thread, NULL, cancels, &first);
    for (;;) pause();
}

static void handle(int signal) { signal == SIGALRM ? exit(0) : _exit(0); }
static void in_handler(int signal, int timer) {
    begin(numbers);
    struct sigaction action = {.sa_handler = handle};
    sigaction(signal, &action, NULL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    setitimer(timer, &(struct itimerval){.it_value = {0, 3000 + getpid() % 97 * 10}}, NULL);
    for (;;) number(THREADS);
}
static void exit_in_handler(void) { in_handler(SIGALRM, ITIMER_REAL); }
static void _exit_in_handler(void) { in_handler(SIGVTALRM, ITIMER_VIRTUAL); }

int main(int arguments_count, char **arguments) {
    static const struct test cases[] = {
        {"exit", by_exit}, {"return", by_return}, {"_exit", by__exit}, {"quick_exit", by_quick_exit}, {"exec", by_exec},
        {"execv", by_execv}, {"abort", by_abort}, {"assert", by_assert}, {"raise", by_raise}, {"kill", by_kill},
        {"last_thread", by_last_thread}, {"system_call", by_system_call}, {"cancellation", by_cancellation},
        {"exit_in_handler", exit_in_handler}, {"_exit_in_handler", _exit_in_handler},
    };
    return choose(cases, sizeof cases / sizeof *cases, arguments_count, arguments);
}
