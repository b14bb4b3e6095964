/* Opens a library between its regions, as a program with plug-ins does. */
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>

static int members(void)
{
    int n = 0;
#pragma omp parallel num_threads(3) reduction(+ : n)
    n++;
    return n;
}

int main(int argc, char **argv)
{
    printf("before: %d\n", members());
    for (int i = 1; i < argc; i++) {
        void *opened = dlopen(argv[i], RTLD_NOW);
        int (*plug)(void) = opened ? (int (*)(void))dlsym(opened, "plug") : NULL;
        if (!plug) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        for (int round = 0; round < 3; round++)
            printf("within: %d\n", plug());
    }
    printf("after: %d\n", members());
    return 0;
}
