/* Who waits long for tasks does not keep a CPU busy where the user says so: a barrier, taskwait, a group, and a dependence. Prints
 * the CPU's time as a part of the time that passes. */
#include <omp.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static void lasts(void)
{
    usleep(200000);
}

static double cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

int main(void)
{
    int place = 0;
    double begun = omp_get_wtime(), used = cpu();
#pragma omp parallel num_threads(4)
    {
#pragma omp single nowait
        {
#pragma omp task
            lasts();
        }
#pragma omp barrier
#pragma omp single
        {
            /* Usually another member executes the task. */
#pragma omp task
            lasts();
            usleep(20000);
#pragma omp taskwait
#pragma omp taskgroup
            {
#pragma omp task
                lasts();
                usleep(20000);
            }
#pragma omp task depend(out : place)
            lasts();
            usleep(20000);
#pragma omp task depend(in : place) if (0)
            ;
        }
    }
    printf("%.3f\n", (cpu() - used) / (omp_get_wtime() - begun));
    return 0;
}
