/* Memory that threads share, by the allocations that the arguments name. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static double cpu_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void *counts(void *counter) {
    for (double begun = cpu_time(); cpu_time() - begun < 0.2;) {
        for (int i = 0; i < 100000; i++) __atomic_fetch_add((long *)counter, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void together(void *one, void *two) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, counts, one);
    pthread_create(&threads[1], NULL, counts, two);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

/* Two places that allocate, each in a function of its own, which returns where it was called from. */
__attribute__((noinline)) static void *by_malloc(size_t bytes) {
    char *block = malloc(bytes);
    if (block) *block = 0;
    return block;
}

__attribute__((noinline)) static void *by_another(size_t bytes) {
    char *block = calloc(1, bytes);
    if (block) *block = 1;
    return block;
}

static void small(void) {
    char *one = by_malloc(24), *two = by_another(40);
    printf("%p %p %p %p\n", one, two, by_malloc, by_another);
    together(one + 8, two + 32);
    free(one);
    free(two);
}

static void large(void) {
    char *block = by_malloc(1 << 20), *mapped;
    mapped = mmap(NULL, 3 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("%p %p %p\n", block, mapped, by_malloc);
    together(block + 500000, mapped + 8192);
    munmap(mapped, 3 << 12);
    free(block);
}

/* Each block is filled, grown, and looked at: all of these are as the C library's are. */
static void grow(void) {
    unsigned char *blocks[64] = {0};
    size_t lengths[64] = {0}, wrong = 0;
    unsigned seed = 7;
    for (int turn = 0; turn < 200000; turn++) {
        int at = (seed = seed * 1103515245 + 12345) >> 16 & 63;
        size_t length = (seed >> 8) % (turn % 100 == 0 ? 300000 : 700);
        for (size_t i = 0; i < lengths[at]; i += 61) wrong += blocks[at][i] != (unsigned char)(at + i);
        int how = turn % 7;
        unsigned char *new;
        if (how < 3) {
            new = realloc(blocks[at], length);
            if (length == 0) new = NULL;
        } else {
            free(blocks[at]);
            new = NULL;
            if (how == 3) new = by_malloc(length);
            if (how == 4) new = by_another(length);
            if (how == 4 && new) for (size_t i = 1; i < length; i++) wrong += new[i] != 0;
            if (how == 5) wrong += posix_memalign((void **)&new, 256, length) != 0 || (uintptr_t)new % 256;
            if (how == 6) new = aligned_alloc(64, length), wrong += (uintptr_t)new % 64;
            lengths[at] = 0;
        }
        if (how < 3) {
            size_t kept = lengths[at] < length ? lengths[at] : length;
            for (size_t i = 0; new && i < kept; i += 61) wrong += new[i] != (unsigned char)(at + i);
        }
        blocks[at] = new;
        lengths[at] = new ? length : 0;
        if (new) wrong += malloc_usable_size(new) < length;
        for (size_t i = 0; i < lengths[at]; i++) new[i] = at + i;
    }
    errno = 0;
    volatile size_t most = SIZE_MAX;
    void *none;
    wrong += malloc(most) != NULL || calloc(most, 2) != NULL || realloc(NULL, most) != NULL || errno != ENOMEM;
    wrong += posix_memalign(&none, 3, 8) != EINVAL || malloc(0) == NULL;
    printf("%zu\n", wrong);
}

/* Where ten blocks of a place are, after a block of each kind was freed. */
static void addresses(void) {
    free(by_malloc(20));
    for (int i = 0; i < 10; i++) {
        void *one = by_malloc(20), *two = by_another(20);
        one = realloc(one, 30);
        printf("%p %p\n", one, two);
    }
    printf("%p %p\n", by_malloc, by_another);
}

int main(int count, char **arguments) {
    const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"small", small}, {"large", large}, {"grow", grow}, {"addresses", addresses}};
    for (unsigned i = 0; count == 2 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(arguments[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    }
    return 2;
}
