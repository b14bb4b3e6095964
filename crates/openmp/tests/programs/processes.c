/* Several threads that open regions, forked children, and an exit within a region. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int region(void)
{
    int sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    {
#pragma omp barrier
        sum += omp_get_thread_num() + 1;
    }
    return sum;
}

static void *opener(void *turns)
{
    long sum = 0;
    for (long turn = 0; turn < (long)turns; turn++)
        sum += region();
    return (void *)sum;
}

int main(void)
{
    pthread_t threads[4];
    long sum = 0;
    printf("first: %d\n", region());
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, opener, (void *)50);
        for (int i = 0; i < 4; i++) {
            void *result;
            pthread_join(threads[i], &result);
            sum += (long)result;
        }
    }
    printf("threads: %ld\n", sum);
    fflush(stdout);
    for (int round = 0; round < 3; round++) {
        pid_t child = fork();
        if (child == 0) {
            int status = getenv("CHILD_OPENS") ? region() + (int)(long)opener((void *)20) / 20 : 12;
            _exit(status);
        }
        int status;
        waitpid(child, &status, 0);
        printf("copy: %d\n", WEXITSTATUS(status));
    }
    printf("after: %d\n", region());
    fflush(stdout);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0)
            exit(3);
#pragma omp barrier
    }
    return 0;
}
