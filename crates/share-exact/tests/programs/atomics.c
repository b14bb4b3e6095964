/* Every atomic operation, alone and among threads; it ends with 0 if all did what they are to. */
#include <pthread.h>
#include <stdio.h>

static int failed;

#define IS(is, shall)                                                                                                          \
    do {                                                                                                                       \
        if ((is) != (shall)) {                                                                                                 \
            fprintf(stderr, "line %d\n", __LINE__);                                                                            \
            failed = 1;                                                                                                        \
        }                                                                                                                      \
    } while (0)

#define ALL(type)                                                                                                              \
    do {                                                                                                                       \
        static _Alignas(16) type one;                                                                                          \
        type high = (type)1 << (8 * sizeof(type) - 2), old;                                                                    \
        __atomic_store_n(&one, high + 5, __ATOMIC_RELEASE);                                                                    \
        IS(__atomic_load_n(&one, __ATOMIC_ACQUIRE), high + 5);                                                                 \
        IS(__atomic_exchange_n(&one, high + 6, __ATOMIC_ACQ_REL), high + 5);                                                   \
        IS(__atomic_fetch_add(&one, 3, __ATOMIC_RELAXED), high + 6);                                                           \
        IS(__atomic_fetch_sub(&one, 2, __ATOMIC_SEQ_CST), high + 9);                                                           \
        IS(__atomic_fetch_and(&one, (type)~3, __ATOMIC_ACQUIRE), high + 7);                                                    \
        IS(__atomic_fetch_or(&one, 9, __ATOMIC_RELEASE), high + 4);                                                            \
        IS(__atomic_fetch_xor(&one, 1, __ATOMIC_SEQ_CST), high + 13);                                                          \
        IS(__atomic_fetch_nand(&one, 8, __ATOMIC_SEQ_CST), high + 12);                                                         \
        IS(__atomic_load_n(&one, __ATOMIC_SEQ_CST), (type)~(type)8);                                                           \
        old = 1;                                                                                                               \
        IS(__atomic_compare_exchange_n(&one, &old, 2, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED), 0);                              \
        IS(old, (type)~(type)8);                                                                                               \
        IS(__atomic_compare_exchange_n(&one, &old, high + 2, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE), 1);                       \
        while (!__atomic_compare_exchange_n(&one, &old, high, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))                          \
            ;                                                                                                                  \
        IS(__sync_val_compare_and_swap(&one, high, high + 1), high);                                                           \
        IS(one, high + 1);                                                                                                     \
    } while (0)

static unsigned long sum;
static unsigned char bytes[4];
static unsigned __int128 wide;
/* Two flags and what they guard: without the strongest order, both may find the other's down. */
static int flags[2], within, seen;

static void *add(void *rank)
{
    for (long i = 0; i < 20000; i++) {
        __atomic_fetch_add(&sum, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&bytes[(long)rank % 4], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&wide, (unsigned __int128)1 << 64 | 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static void *enter(void *argument)
{
    long rank = (long)argument;
    for (long i = 0; i < 50000; i++) {
        __atomic_store_n(&flags[rank], 1, __ATOMIC_SEQ_CST);
        if (!__atomic_load_n(&flags[!rank], __ATOMIC_SEQ_CST)) {
            if (__atomic_exchange_n(&within, 1, __ATOMIC_RELAXED))
                __atomic_store_n(&seen, 1, __ATOMIC_RELAXED);
            __atomic_store_n(&within, 0, __ATOMIC_RELAXED);
        }
        __atomic_store_n(&flags[rank], 0, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static void two(void *(*work)(void *))
{
    pthread_t threads[2];
    for (long rank = 0; rank < 2; rank++)
        pthread_create(&threads[rank], NULL, work, (void *)rank);
    for (long rank = 0; rank < 2; rank++)
        pthread_join(threads[rank], NULL);
}

int main(void)
{
    ALL(unsigned char);
    ALL(unsigned short);
    ALL(unsigned int);
    ALL(unsigned long);
    ALL(unsigned __int128);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_ACQUIRE);
    two(add);
    IS(sum, 40000);
    IS(wide, (unsigned __int128)40000 << 64 | 40000);
    IS(bytes[0], 20000 % 256);
    two(enter);
    IS(seen, 0);
    puts(failed ? "failed" : "done");
    return failed;
}
