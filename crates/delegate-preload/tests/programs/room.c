/* One thread that logs, or two, for so many milliseconds of its time. Prints the CPUs that each may use at its end, or those of one that the first has made. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_barrier_t all;
static char cpus[2][200];
static volatile int over;
static long milliseconds;

static long processor_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Not asked for, as that is answered with all of them in any case. */
static void *looks(void *number) {
    char line[200];
    FILE *status = fopen("/proc/thread-self/status", "r");
    while (fgets(line, sizeof line, status)) {
        if (strncmp(line, "Cpus_allowed_list:", 18) == 0) strcpy(cpus[(long)number], line + 19);
    }
    return NULL;
}

static void *logs(void *number) {
    char name[20];
    sprintf(name, "log%ld", (long)number);
    int file = open(name, O_CREAT | O_RDWR | O_TRUNC, 0600);
    pthread_barrier_wait(&all);
    for (long begun = processor_ms(); !over;) {
        over = over || processor_ms() - begun >= milliseconds; /* for all: none is left alone */
        for (int i = 0; i < 256; i++) {
            if (pwrite(file, name, 4, 0) != 4) abort();
        }
    }
    return looks(number);
}

int main(int count, char **arguments) {
    long threads = atol(arguments[1]);
    milliseconds = atol(arguments[2]);
    pthread_t others[2];
    pthread_barrier_init(&all, NULL, threads);
    for (long i = 1; i < threads; i++) pthread_create(&others[i], NULL, logs, (void *)i);
    logs((void *)0);
    for (long i = 1; i < threads; i++) pthread_join(others[i], NULL);
    if (threads == 1) {
        pthread_create(&others[1], NULL, looks, (void *)1);
        pthread_join(others[1], NULL);
    }
    printf("%s%s", cpus[0], cpus[1]);
    return 0;
}
