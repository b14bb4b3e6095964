/* The layout of Boost's smart_ptr/detail/spinlock_pool.hpp, since 1.35: 41 spinlocks of an int each in one array, of
   which an object takes that of its address modulo 41. Two threads that lock different ones still share a line. The
   fix is a spinlock that fills a line. */
#include <stdatomic.h>
#include "pair.h"

static struct spinlock {
    atomic_int taken;
#ifdef APART
    char apart[LINE - sizeof(int)];
#endif
} pool[41] __attribute__((aligned(LINE)));

static void work(long rank, long repeats)
{
    struct spinlock *lock = &pool[rank * 3];
    HIDE(lock);
    volatile long value[LINE / sizeof(long)] = {0};
    for (long i = 0; i < repeats; i++) {
        while (atomic_exchange_explicit(&lock->taken, 1, memory_order_acquire))
            ;
        for (int one = 0; one < 8; one++)
            value[one] += i;
        atomic_store_explicit(&lock->taken, 0, memory_order_release);
    }
}
