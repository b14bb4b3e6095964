/* A region without work, many times, and one whose threads share much work. Each argument adds something by which the
   program keeps its number of threads. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double results[1 << 16];

__attribute__((noinline)) static void small(void) {
#pragma omp parallel
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void large(void) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 1 << 16; i++) {
        double sum = i;
        for (int j = 0; j < 50; j++)
            sum = sum * 0.999 + j;
        results[i] = sum;
    }
}

__attribute__((noinline)) static int clause(void) {
    int members = 0;
#pragma omp parallel num_threads(2) reduction(+ : members)
    members = 1;
    return members;
}

static int learned;

__attribute__((noinline)) static void one_asks(void) {
#pragma omp parallel
#pragma omp single
    learned = omp_get_num_threads();
}

int main(int count, char **words) {
    int wrong = 0;
    for (int i = 1; i < count; i++) {
        if (!strcmp(words[i], "max"))
            learned = omp_get_max_threads();
        if (!strcmp(words[i], "set"))
            omp_set_num_threads(learned = 2);
        if (!strcmp(words[i], "static"))
            omp_set_dynamic(0);
        if (!strcmp(words[i], "one"))
            one_asks();
        if (!strcmp(words[i], "dynamic"))
            omp_set_dynamic(1), learned = 0;
    }
    for (int i = 0; i < 60; i++) {
        for (int j = 0; j < 2000; j++)
            small();
        large();
        if (clause() != 2)
            wrong++;
        int members = 0;
#pragma omp parallel reduction(+ : members)
        members = 1;
        if (learned ? members != learned : members > 2)
            wrong++;
    }
    printf("%d wrong, dynamic %d\n", wrong, omp_get_dynamic());
    return wrong;
}
