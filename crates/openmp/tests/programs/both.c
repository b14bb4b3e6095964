/* Code by clang that calls code by gcc: in turn, one within the other, and in a forked child. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* By gcc. */
int gnu_members(void **threads);
long gnu_share(int from, int to);
void gnu_lock(omp_lock_t *lock, int *count);

static int wrong;
static void check(int right, const char *what)
{
    if (!right) {
        fprintf(stderr, "wrong: %s\n", what);
        wrong++;
    }
}

static __thread char own;

int main(void)
{
    void *ours[64] = {0}, *theirs[64] = {0};
    int members = 0, count = 0;
#pragma omp parallel reduction(+ : members)
    {
        members++;
        ours[omp_get_thread_num()] = &own;
    }
    check(gnu_members(theirs) == members, "as many members");
    /* A thread's memory tells which it is, and lies elsewhere for each library. */
    for (int i = 1; i < members; i++)
        check((char *)theirs[i] - (char *)ours[i] == (char *)theirs[0] - (char *)ours[0] ||
                  labs((char *)theirs[i] - (char *)ours[i]) < 1 << 23,
              "the same threads");
    long sum = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel reduction(+ : sum)
    {
        /* Their loop shares out among our members. */
        sum += gnu_share(0, 1000);
        gnu_lock(&lock, &count);
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
    }
    check(sum == 499500, "a loop of one in a region of the other");
    check(count == 2 * members, "a lock of both");
    omp_set_max_active_levels(2);
    int inner = 0;
#pragma omp parallel num_threads(2) reduction(+ : inner)
    {
        void *within[64];
        inner += gnu_members(within);
    }
    check(inner == 2 * members, "a region of one within one of the other");
    pid_t child = fork();
    if (child == 0) {
        int again = 0;
#pragma omp parallel reduction(+ : again)
        again++;
        _exit(again == members && gnu_members(theirs) == members ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a forked child");
    printf("%d wrong\n", wrong);
    return 0;
}
