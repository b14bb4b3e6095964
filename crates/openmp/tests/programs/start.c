/* What starting a team takes: no thread runs before the last is created, so a runtime that waits for each would wait for
   ever; none asks for memory, so the C library gives none a heap of its own; and bound threads begin on their places, as
   the CPU of the thread that starts them has no time for all. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8 };

static struct { void *(*main)(void *); void *argument; } starts[THREADS];
static int created, begin_bound, quota_reads;
static sem_t all_created;

static void *held(void *start)
{
    int at = (int)(long)start;
    sem_wait(&all_created);
    sem_post(&all_created);
    return starts[at].main(starts[at].argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*main)(void *), void *argument)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    cpu_set_t cpus;
    begin_bound += attributes && pthread_attr_getaffinity_np(attributes, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) == 1;
    starts[created].main = main;
    starts[created].argument = argument;
    int error = real(thread, attributes, held, (void *)(long)created);
    if (++created == THREADS - 1)
        sem_post(&all_created);
    return error;
}

int open64(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open64");
    va_list arguments;
    va_start(arguments, flags);
    int mode = va_arg(arguments, int);
    va_end(arguments);
    quota_reads += strcmp(path, "/proc/self/cgroup") == 0;
    return real(path, flags, mode);
}

static int heaps(void)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    malloc_info(0, out);
    fclose(out);
    int count = 0;
    for (char *at = text; (at = strstr(at, "<heap nr=")); at++)
        count++;
    free(text);
    return count;
}

int main(void)
{
    int members = 0;
    sem_init(&all_created, 0, 0);
#pragma omp parallel num_threads(THREADS)
    __atomic_fetch_add(&members, 1, __ATOMIC_RELAXED);
    printf("%d members, %d threads created, %d of them on a CPU, %d heaps, the groups' limits read %d times\n", members,
           created, begin_bound, heaps(), quota_reads);
    return 0;
}
