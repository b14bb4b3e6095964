/* Opens a library in the middle of a loop outside all regions; the loop must end in the runtime that began it. */
#include <dlfcn.h>
#include <stdio.h>

static int members(int size)
{
    int n = 0;
#pragma omp parallel num_threads(size) reduction(+ : n)
    n++;
    return n;
}

int main(int argc, char **argv)
{
    int (*plug)(void) = NULL;
    int sum = 0;
    printf("before: %d\n", members(3));
    if (argc < 2)
        return 1;
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 8; i++) {
        if (i == 2)
            plug = (int (*)(void))dlsym(dlopen(argv[1], RTLD_NOW), "plug");
        sum += members(3) + members(1);
    }
#pragma omp sections
    {
#pragma omp section
        sum += members(3);
#pragma omp section
        sum += members(1);
    }
    printf("loop: %d\n", sum);
    printf("after: %d\n", members(3));
    printf("plug: %d\n", plug());
    return 0;
}
