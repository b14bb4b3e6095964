/* A child forked by a member of a region opens a region within it. */
#include <omp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp master
    {
        fflush(stdout);
        pid_t copy = fork();
        if (copy == 0) {
            int n = 0;
#pragma omp parallel num_threads(2) reduction(+ : n)
            n++;
            printf("in the copy: %d\n", n);
            fflush(stdout);
            _exit(3);
        }
        int status = 0;
        waitpid(copy, &status, 0);
        printf("the copy ended with %d\n", WEXITSTATUS(status));
    }
    return 0;
}
