/* The default device and the default allocator: who has them from whom, and what is allocated by them. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

int32_t omp_get_default_device_(void);
void omp_set_default_device_(const int32_t *);
/* LLVM's module declares its argument as a value. */
#ifdef __clang__
void omp_set_default_allocator_(intptr_t);
#define FROM(variable) variable
#else
void omp_set_default_allocator_(const intptr_t *);
#define FROM(variable) &variable
#endif

enum { THREADS = 3 };

static void print(const char *what, const long *values)
{
    printf("%s:", what);
    for (int i = 0; i < THREADS; i++)
        printf(" %ld", values[i]);
    printf("\n");
}

static void devices(void)
{
    printf("device %d", omp_get_default_device());
    for (int device = -3; device < 3; device++) {
        omp_set_default_device(device);
        printf(", %d", omp_get_default_device());
    }
    int32_t seven = 7;
    omp_set_default_device_(&seven);
    long had[THREADS], set[THREADS], within[THREADS], after[THREADS];
#pragma omp parallel num_threads(THREADS)
    {
        int me = omp_get_thread_num();
        had[me] = omp_get_default_device_();
        omp_set_default_device(10 + me);
#pragma omp barrier
        set[me] = omp_get_default_device();
#pragma omp task if (0)
        {
            within[me] = omp_get_default_device();
            omp_set_default_device(50);
        }
        after[me] = omp_get_default_device();
    }
    printf(", then %d\n", omp_get_default_device());
    print("had", had);
    print("set", set);
    print("within", within);
    print("after", after);
}

static long is_aligned(void *memory, omp_allocator_handle_t allocator)
{
    long is = (uintptr_t)memory % 4096 == 0;
    omp_free(memory, allocator);
    return is;
}

/* One digit for each way to allocate, of memory whose allocator is not given. */
static long aligned(void)
{
    long ways = is_aligned(omp_alloc(10, omp_null_allocator), omp_null_allocator);
    ways = ways * 10 + is_aligned(omp_calloc(10, 3, omp_null_allocator), omp_null_allocator);
    ways = ways * 10 + is_aligned(omp_aligned_alloc(16, 32, omp_null_allocator), omp_null_allocator);
    ways = ways * 10 + is_aligned(omp_aligned_calloc(16, 2, 16, omp_null_allocator), omp_null_allocator);
    return ways * 10 + is_aligned(omp_realloc(0, 32, omp_null_allocator, omp_null_allocator), omp_null_allocator);
}

static void allocators(void)
{
    printf("allocator %ld", (long)omp_get_default_allocator());
    omp_set_default_allocator(omp_large_cap_mem_alloc);
    printf(", %ld", (long)omp_get_default_allocator());
    omp_set_default_allocator(omp_null_allocator);
    printf(", %ld\n", (long)omp_get_default_allocator());
    omp_alloctrait_t trait = {omp_atk_alignment, 4096};
    omp_allocator_handle_t pages = omp_init_allocator(omp_default_mem_space, 1, &trait);
    intptr_t handle = (intptr_t)pages;
    omp_set_default_allocator_(FROM(handle));
    printf("aligned %ld\n", aligned());
    long had[THREADS], set[THREADS], after[THREADS];
#pragma omp parallel num_threads(THREADS)
    {
        int me = omp_get_thread_num();
        had[me] = aligned();
        if (me == 1)
            omp_set_default_allocator(omp_default_mem_alloc);
#pragma omp barrier
        set[me] = omp_get_default_allocator() == pages;
        omp_set_default_allocator(omp_high_bw_mem_alloc);
#pragma omp task if (0)
        omp_set_default_allocator((omp_allocator_handle_t)(intptr_t)(5 + me));
        after[me] = (long)omp_get_default_allocator();
    }
    print("had", had);
    print("set", set);
    print("after", after);
    printf("again %ld, %d\n", aligned(), omp_get_default_allocator() == pages);
    omp_set_default_allocator(omp_default_mem_alloc);
    omp_destroy_allocator(pages);
}

int main(void)
{
    devices();
    allocators();
    return 0;
}
