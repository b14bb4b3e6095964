/* The part by gcc of both.c. */
#include <omp.h>

static __thread char own;

int gnu_members(void **threads)
{
    int members = 0;
#pragma omp parallel reduction(+ : members)
    {
        members++;
        threads[omp_get_thread_num()] = &own;
    }
    return members;
}

long gnu_share(int from, int to)
{
    long sum = 0;
#pragma omp for schedule(dynamic, 3)
    for (int i = from; i < to; i++)
        sum += i;
    return sum;
}

void gnu_lock(omp_lock_t *lock, int *count)
{
    omp_set_lock(lock);
    ++*count;
    omp_unset_lock(lock);
}
