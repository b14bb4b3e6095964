/* Functions of LLVM's runtime that only newer compilers call, called by hand. */
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

typedef void (*micro)(int *, int *, ...);

static int wrong, members, others;
static void check(int right, const char *what)
{
    if (!right) {
        fprintf(stderr, "wrong: %s\n", what);
        __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    }
}

static int (*number)(void *), (*masked)(void *, int, int), (*dispatch_next)(void *, int, int *, int *, int *, int *);
static void (*dispatch_init)(void *, int, int, int, int, int, int), (*dispatch_deinit)(void *, int);
static void (*barrier)(void *, int);

static void body(int *thread, int *rank, int *word, ...)
{
    check(number(0) == *thread, "a thread's number");
    check(*word == 5, "the word");
    __atomic_fetch_add(&members, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&others, masked(0, *thread, 1), __ATOMIC_RELAXED);
    /* Left before its end, as by a cancelled loop; the next one has all its iterations. */
    int last, from, to, stride;
    dispatch_init(0, *thread, 35, 0, 9, 1, 1);
    dispatch_next(0, *thread, &last, &from, &to, &stride);
    dispatch_deinit(0, *thread);
    barrier(0, *thread);
    static int sum;
    dispatch_init(0, *thread, 35 | 1 << 30, 0, 99, 1, 7);
    while (dispatch_next(0, *thread, &last, &from, &to, &stride))
        for (int i = from; i <= to; i++)
            __atomic_fetch_add(&sum, i, __ATOMIC_RELAXED);
    dispatch_deinit(0, *thread);
    barrier(0, *thread);
    check(*rank != 0 || sum == 4950, "a loop after one that was left");
    barrier(0, *thread);
    if (*rank == 0)
        sum = 0;
}

static void (*init_lock)(void *, int, omp_lock_t *), (*set_lock)(void *, int, omp_lock_t *),
    (*unset_lock)(void *, int, omp_lock_t *), (*set_limit)(void *, int, int);
static int (*test_lock)(void *, int, omp_lock_t *), (*in_task)(void);
static void *(*copy_light)(void *, int, void *);

/* A lock under which members count, and a value that the first has for all. */
static void body_of_old(int *thread, int *rank, omp_lock_t *lock, ...)
{
    static int counted, value = 7;
    for (int i = 0; i < 1000; i++) {
        set_lock(0, *thread, lock);
        counted++;
        unset_lock(0, *thread, lock);
    }
    void *copied = copy_light(0, *thread, *rank == 0 ? &value : 0);
    check(copied == &value, "what one member has for all");
    barrier(0, *thread);
    check(counted == 1000 * omp_get_num_threads(), "a lock");
    barrier(0, *thread);
    if (*rank == 0) {
        check(test_lock(0, *thread, lock) && !test_lock(0, *thread, lock), "a lock that is tried");
        unset_lock(0, *thread, lock);
        set_limit(0, *thread, 1);
        check(omp_get_thread_limit() == 1, "a task's limit");
        counted = 0;
    }
}

static void *find(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    check(found != 0, name);
    return found;
}

int main(void)
{
    number = find("__kmpc_global_thread_num");
    masked = find("__kmpc_masked");
    dispatch_init = find("__kmpc_dispatch_init_4");
    dispatch_next = find("__kmpc_dispatch_next_4");
    dispatch_deinit = find("__kmpc_dispatch_deinit");
    barrier = find("__kmpc_barrier");
    void (*fork_if)(void *, int, micro, int, void *) = find("__kmpc_fork_call_if");
    int word = 5, threads = omp_get_max_threads();
    fork_if(0, 1, (micro)body, 1, &word);
    check(members == threads && others == (threads > 1), "a region");
    members = others = 0;
    fork_if(0, 1, (micro)body, 0, &word);
    check(members == 1 && others == 0, "a region of one thread");
    void (*push)(void *, int, int) = find("__kmpc_push_num_threads");
    void (*pop)(void *, int) = find("__kmpc_pop_num_threads");
    push(0, 0, threads + 1);
    pop(0, 0);
    members = 0;
    fork_if(0, 1, (micro)body, 1, &word);
    check(members == threads, "what was asked is forgotten");
    init_lock = find("__kmpc_init_lock");
    set_lock = find("__kmpc_set_lock");
    unset_lock = find("__kmpc_unset_lock");
    test_lock = find("__kmpc_test_lock");
    copy_light = find("__kmpc_copyprivate_light");
    set_limit = find("__kmpc_set_thread_limit");
    omp_lock_t lock;
    init_lock(0, 0, &lock);
    fork_if(0, 1, (micro)body_of_old, 1, &lock);
    fork_if(0, 1, (micro)body_of_old, 0, &lock);
    in_task = find("omp_in_explicit_task");
    check(!in_task(), "no task");
#pragma omp task if (0)
    {
        check(in_task(), "a task");
    }
    printf("%d wrong\n", wrong);
    return 0;
}
