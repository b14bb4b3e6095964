/* Locks, plain and nested. */
#include <omp.h>
#include <stdio.h>

int main(void)
{
    omp_lock_t lock;
    omp_nest_lock_t nest;
    int plain = 0, nested = 0, tried = 0, depth = 0;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel
    {
        for (int turn = 0; turn < 3000; turn++) {
            omp_set_lock(&lock);
            plain++;
            omp_unset_lock(&lock);
            while (!omp_test_lock(&lock)) {
            }
            tried++;
            omp_unset_lock(&lock);
            omp_set_nest_lock(&nest);
            int is = omp_test_nest_lock(&nest);
            nested++;
            if (is > depth)
                depth = is;
            omp_unset_nest_lock(&nest);
            omp_unset_nest_lock(&nest);
        }
    }
    int size = omp_get_max_threads();
    printf("%d %d %d, depth %d\n", plain / size, tried / size, nested / size, depth);
    printf("tests: %d", omp_test_lock(&lock));
    printf(" %d", omp_test_lock(&lock));
    printf(" %d", omp_test_nest_lock(&nest));
    printf(" %d\n", omp_test_nest_lock(&nest));
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    return 0;
}
