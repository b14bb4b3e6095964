/* Atomic operations that LLVM's runtime does under locks, called by hand as other compilers call them. */
#include <complex.h>
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>

static int wrong;
static void check(int right, const char *what)
{
    if (!right) {
        fprintf(stderr, "wrong: %s\n", what);
        __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    }
}

int __kmpc_global_thread_num(void *);
void __kmpc_atomic_cmplx8_add(void *, int, double complex *, double complex);
double complex __kmpc_atomic_cmplx8_add_cpt(void *, int, double complex *, double complex, int);
double complex __kmpc_atomic_cmplx8_rd(void *, int, double complex *);
void __kmpc_atomic_float10_add(void *, int, long double *, long double);
void __kmpc_atomic_cmplx10_add(void *, int, long double complex *, long double complex);
long double complex __kmpc_atomic_cmplx10_rd(void *, int, long double complex *);
void __kmpc_atomic_cmplx4_add_cpt(void *, int, float complex *, float complex, float complex *, int);
void __kmpc_atomic_16(void *, int, void *, void *, void (*)(void *, void *, void *));
void __kmpc_atomic_32(void *, int, void *, void *, void (*)(void *, void *, void *));

struct four {
    long parts[4];
};

static void add_four(void *out, void *one, void *other)
{
    for (int i = 0; i < 4; i++)
        ((struct four *)out)->parts[i] = ((struct four *)one)->parts[i] + ((struct four *)other)->parts[i];
}

static void add_two(void *out, void *one, void *other)
{
    for (int i = 0; i < 2; i++)
        ((long *)out)[i] = ((long *)one)[i] + ((long *)other)[i];
}

enum { TURNS = 2000 };

int main(void)
{
    double complex c8 = 0, before = 0;
    long double complex c10 = 0;
    float complex c4 = 0;
    long double f10 = 0;
    struct four four = {{0}};
    _Alignas(16) long two[2] = {0};
    int members = 0;
#pragma omp parallel
    {
        int number = __kmpc_global_thread_num(0);
        struct four ones = {{1, 2, 3, 4}};
        _Alignas(16) long pair[2] = {1, 2};
        float complex out;
#pragma omp atomic
        members++;
        for (int i = 0; i < TURNS; i++) {
            __kmpc_atomic_cmplx8_add(0, number, &c8, 1 + 2 * I);
            double complex now = __kmpc_atomic_cmplx8_add_cpt(0, number, &before, 1 - I, 1);
            check(creal(now) == -cimag(now) && creal(now) >= 1, "what an operation returns");
            check(creal(__kmpc_atomic_cmplx8_rd(0, number, &before)) >= creal(now), "what is read");
            __kmpc_atomic_float10_add(0, number, &f10, 0.5L);
            __kmpc_atomic_cmplx10_add(0, number, &c10, 3 + 1 * I);
            __kmpc_atomic_cmplx4_add_cpt(0, number, &c4, 1 + 1 * I, &out, 1);
            check(crealf(out) == cimagf(out), "what an operation puts there");
            __kmpc_atomic_16(0, number, two, pair, add_two);
            __kmpc_atomic_32(0, number, &four, &ones, add_four);
        }
    }
    double sum = (double)members * TURNS;
    check(members == omp_get_max_threads(), "members");
    check(creal(c8) == sum && cimag(c8) == 2 * sum, "complex");
    check(creal(before) == sum, "complex, captured");
    check(f10 == sum / 2, "long double");
    c10 = __kmpc_atomic_cmplx10_rd(0, __kmpc_global_thread_num(0), &c10);
    check(creall(c10) == 3 * sum && cimagl(c10) == sum, "complex of long doubles");
    check(crealf(c4) == sum, "complex of floats, captured");
    check(two[0] == sum && two[1] == 2 * sum, "16 bytes");
    check(four.parts[0] == sum && four.parts[3] == 4 * sum, "32 bytes");
    printf("%d wrong\n", wrong);
    return 0;
}
