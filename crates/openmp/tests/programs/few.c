/* With room for only a few stacks. */
#include <omp.h>
#include <stdio.h>
#include <sys/resource.h>

static int members(int asked)
{
    int n = 0;
#pragma omp parallel num_threads(asked) reduction(+ : n)
    n++;
    return n;
}

int main(void)
{
    /* Stacks of 8 MiB each, in so much address space. */
    struct rlimit limit = { 200 << 20, 200 << 20 };
    setrlimit(RLIMIT_AS, &limit);
    int first = members(64), again = members(64);
    printf("some of 64: %s, again: %s, one more: %s\n", first > 2 && first < 64 ? "yes" : "no", again == first ? "yes" : "no",
        members(2) == 2 ? "yes" : "no");
    return 0;
}
