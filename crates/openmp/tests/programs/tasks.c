/* Tasks: waited for by barriers, taskwait and groups; cut from loops; final, undeferred, nested and dependent ones. */
#include <omp.h>
#include <stdio.h>

static long fib(int n)
{
    if (n < 2)
        return n;
    long a, b;
#pragma omp task shared(a) final(n < 8)
    a = fib(n - 1);
#pragma omp task shared(b) if (n > 5)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static void tree(int depth, int *count)
{
#pragma omp atomic
    (*count)++;
    if (depth == 0)
        return;
    for (int child = 0; child < 3; child++) {
#pragma omp task firstprivate(depth)
        tree(depth - 1, count);
    }
}

struct large {
    char bytes[300];
};

int main(void)
{
    long result = 0;
    int count = 0;
#pragma omp parallel
#pragma omp single
    result = fib(18);
    printf("fib: %ld\n", result);

#pragma omp parallel
#pragma omp single nowait
    tree(6, &count);
    printf("tree: %d\n", count);

    count = 0;
#pragma omp parallel
    {
        tree(3, &count);
#pragma omp barrier
#pragma omp single
        printf("at the barrier: %d\n", count / omp_get_num_threads());
    }

    int at_wait = 0, in_group = 0;
#pragma omp parallel
#pragma omp single
    {
        count = 0;
#pragma omp taskgroup
        {
            tree(4, &count);
        }
        in_group = count;
        int own = 0;
        for (int i = 0; i < 100; i++) {
#pragma omp task shared(own)
#pragma omp atomic
            own++;
        }
#pragma omp taskwait
        at_wait = own;
    }
    printf("group: %d; taskwait: %d\n", in_group, at_wait);

    long sum = 0;
    struct large large = {{0}};
    for (int i = 0; i < 300; i++)
        large.bytes[i] = i % 100;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 200; i++) {
#pragma omp task firstprivate(large)
            {
                long part = 0;
                for (int j = 0; j < 300; j++)
                    part += large.bytes[j];
#pragma omp atomic
                sum += part;
            }
        }
    }
    printf("large: %ld\n", sum);

    sum = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop grainsize(7)
        for (int i = 0; i < 1000; i++)
#pragma omp atomic
            sum += i;
#pragma omp taskloop num_tasks(13) nogroup
        for (unsigned long long i = 1000; i > 10; i -= 3)
#pragma omp atomic
            sum += i;
#pragma omp taskloop
        for (long i = 100; i >= -100; i -= 2)
#pragma omp atomic
            sum += 2 * i + 1;
    }
    printf("taskloop: %ld\n", sum);

    int chain[50] = {0}, wrong = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int turn = 0; turn < 20; turn++)
            for (int i = 1; i < 50; i++) {
#pragma omp task depend(in : chain[i - 1]) depend(out : chain[i]) shared(wrong)
                {
                    if (i > 1 && chain[i - 1] <= chain[i])
#pragma omp atomic
                        wrong++;
                    chain[i]++;
                }
            }
    }
    printf("chain: %d wrong, ends with %d\n", wrong, chain[49]);

    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
    int held = 0;
#pragma omp parallel
    for (int i = 0; i < 20; i++) {
#pragma omp task
        {
            omp_set_nest_lock(&lock);
            omp_set_nest_lock(&lock);
            held++;
#pragma omp taskyield
            omp_unset_nest_lock(&lock);
            omp_unset_nest_lock(&lock);
        }
    }
    printf("held: %d\n", held / omp_get_max_threads());

    /* Outside all regions a task is executed at once. */
    count = 0;
    tree(2, &count);
#pragma omp taskwait
    printf("alone: %d, final %d\n", count, omp_in_final());
    return 0;
}
