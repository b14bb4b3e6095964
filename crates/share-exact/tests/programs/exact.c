/* Threads whose accesses are known to the last one: exact HOW N. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static _Alignas(128) volatile long words[16];
static _Alignas(128) volatile int small[32];
static _Alignas(128) _Atomic long turn;
static pthread_barrier_t barrier;
static long repeats;

/* Both have the lines in turn, until they count as shared, and only then touch what is counted. */
static void *work(void *argument)
{
    long rank = (long)argument;
    for (long i = 0; i < 20; i++) {
        while (atomic_load(&turn) % 2 != rank)
            ;
        words[2] = i;
        small[2] = i;
        atomic_fetch_add(&turn, 1);
    }
    pthread_barrier_wait(&barrier);
    for (long i = 0; i < repeats; i++) {
        words[rank] = words[rank] + 1;
        if (i % 4 == 0)
            small[rank]++;
    }
    return NULL;
}

static void both_do(void *(*work)(void *))
{
    pthread_t threads[2];
    pthread_barrier_init(&barrier, NULL, 2);
    for (long rank = 0; rank < 2; rank++)
        pthread_create(&threads[rank], NULL, work, (void *)rank);
    for (long rank = 0; rank < 2; rank++)
        pthread_join(threads[rank], NULL);
}

static void both(void) { both_do(work); }

/* Memory that is copied and filled by a function, whose calls the compiler leaves alone. */
static void *(*volatile copies)(void *, const void *, size_t) = memcpy;
static void *(*volatile fills)(void *, int, size_t) = memset;
static void *(*volatile moves)(void *, const void *, size_t) = memmove;

static void *copy(void *argument)
{
    long rank = (long)argument, mine[3] = {rank, rank, rank};
    for (long i = 0; i < 20; i++) {
        while (atomic_load(&turn) % 2 != rank)
            ;
        words[2] = i;
        atomic_fetch_add(&turn, 1);
    }
    pthread_barrier_wait(&barrier);
    for (long i = 0; i < repeats; i++) {
        copies((void *)&words[rank], mine, 8);
        if (i % 2 == 0)
            moves(mine, (void *)&words[rank], 8);
        if (i % 4 == 0)
            fills((void *)&words[rank], (int)rank, 8);
    }
    return NULL;
}

/* Threads that come and go. */
static void *brief(void *rank)
{
    words[(long)rank % 8]++;
    return NULL;
}

int main(int count, char **arguments)
{
    if (count < 3)
        return 2;
    repeats = atol(arguments[2]);
    printf("%p %p\n", (void *)words, (void *)small);
    fflush(stdout);
    if (!strcmp(arguments[1], "copy")) {
        char overlapping[] = "0123456789";
        moves(overlapping + 2, overlapping, 8);
        moves(overlapping, overlapping + 4, 6);
        both_do(copy);
        return strcmp(overlapping, "2345674567");
    }
    if (!strcmp(arguments[1], "fork")) {
        both();
        pid_t child = fork();
        both();
        int status = 0;
        if (child == 0)
            _exit(0);
        waitpid(child, &status, 0);
        return status;
    }
    if (!strcmp(arguments[1], "churn")) {
        for (long i = 0; i < repeats; i++) {
            pthread_t threads[2];
            for (long rank = 0; rank < 2; rank++)
                pthread_create(&threads[rank], NULL, brief, (void *)rank);
            for (long rank = 0; rank < 2; rank++)
                pthread_join(threads[rank], NULL);
        }
        return words[0] == repeats && words[1] == repeats ? 0 : 1;
    }
    both();
    return words[0] == repeats && words[1] == repeats ? 0 : 1;
}
