/* What ranks of a job do, by the first argument. Each ends with a line that the test looks for. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Enough calls on a communicator for it to be served. */
#define MANY 40

static int rank, ranks;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 7);
}

static void meet(MPI_Comm comm, int times)
{
    while (times--)
        if (MPI_Barrier(comm) != MPI_SUCCESS)
            fail("a barrier fails");
}

/* After a barrier, all must have written before it. */
static void check_order(MPI_Comm comm)
{
    MPI_Win window;
    volatile int *counts;
    int size, own, unit;
    MPI_Aint bytes;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &size);
    MPI_Win_allocate_shared(own ? 0 : size * 64 * sizeof(int), 1, MPI_INFO_NULL, comm, (void *)&counts, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, (void *)&counts);
    for (int i = 0; i < size * 64; i++)
        if (!own)
            counts[i] = 0;
    PMPI_Barrier(comm);
    for (int turn = 1; turn <= 100; turn++) {
        counts[own * 64] = turn;
        meet(comm, 1);
        for (int other = 0; other < size; other++)
            if (counts[other * 64] < turn || counts[other * 64] > turn + 1)
                fail("left a barrier before all came");
    }
    meet(comm, 1);
    MPI_Win_free(&window);
}

#define CHECK(type, handle, op, apply) \
    do { \
        type own[2] = {(type)(rank + 1), (type)(3 * rank)}, got[2], all = (type)1, last = (type)0; \
        for (int i = 0; i < 3; i++) { \
            if (i == 1) { \
                memcpy(got, own, sizeof own); \
                MPI_Allreduce(MPI_IN_PLACE, got, 2, handle, op, MPI_COMM_WORLD); \
            } else \
                MPI_Allreduce(own, got, 2, handle, op, MPI_COMM_WORLD); \
            all = (type)1, last = (type)0; \
            for (int other = 1; other < ranks; other++) { \
                type a = all, b = (type)(other + 1); \
                all = (type)(apply); \
                a = last, b = (type)(3 * other); \
                last = (type)(apply); \
            } \
            if (memcmp(&got[0], &all, sizeof all) || memcmp(&got[1], &last, sizeof last)) \
                fail("a reduction is wrong: " #handle " " #op); \
        } \
    } while (0)

#define CHECK_NUMBERS(type, handle) \
    CHECK(type, handle, MPI_SUM, a + b); \
    CHECK(type, handle, MPI_PROD, a * b); \
    CHECK(type, handle, MPI_MAX, a > b ? a : b); \
    CHECK(type, handle, MPI_MIN, a < b ? a : b)

#define CHECK_INTEGERS(type, handle) \
    CHECK_NUMBERS(type, handle); \
    CHECK(type, handle, MPI_BAND, a & b); \
    CHECK(type, handle, MPI_BOR, a | b); \
    CHECK(type, handle, MPI_BXOR, a ^ b); \
    CHECK(type, handle, MPI_LAND, a && b); \
    CHECK(type, handle, MPI_LOR, a || b); \
    CHECK(type, handle, MPI_LXOR, !a != !b)

static void own_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void check_reductions(void)
{
    CHECK_INTEGERS(int, MPI_INT);
    CHECK_INTEGERS(long, MPI_LONG);
    CHECK_INTEGERS(unsigned, MPI_UNSIGNED);
    CHECK_INTEGERS(unsigned long, MPI_UNSIGNED_LONG);
    CHECK_INTEGERS(long long, MPI_LONG_LONG);
    CHECK_INTEGERS(unsigned long long, MPI_UNSIGNED_LONG_LONG);
    CHECK_NUMBERS(float, MPI_FLOAT);
    CHECK_NUMBERS(double, MPI_DOUBLE);
    /* What goes through. */
    CHECK_INTEGERS(short, MPI_SHORT);
    MPI_Op op;
    MPI_Op_create(own_sum, 1, &op);
    CHECK(int, MPI_INT, op, a + b);
    MPI_Op_free(&op);
    /* A sum that depends on its order is the same on all ranks, to the last bit. */
    for (int turn = 0; turn < 200; turn++) {
        double own[8], sum[8], all[8];
        for (int i = 0; i < 8; i++)
            own[i] = 1.0 / (1 + rank + 7 * i + turn) * (rank % 2 ? 1e9 : 1e-9);
        MPI_Allreduce(own, sum, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        memcpy(all, sum, sizeof sum);
        MPI_Bcast(all, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (memcmp(all, sum, sizeof sum))
            fail("ranks have different sums");
    }
}

static void check_communicators(void)
{
    for (int turn = 0; turn < 20; turn++) {
        MPI_Comm comm, half;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        meet(comm, turn % 2 ? MANY : 2);
        MPI_Comm_split(comm, rank % 2, -rank, &half);
        meet(half, MANY);
        int own, sum, size;
        MPI_Comm_size(half, &size);
        for (int i = 0; i < 3; i++) {
            MPI_Comm_rank(half, &own);
            MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, half);
            if (sum != size * (size - 1) / 2)
                fail("a part's sum is wrong");
        }
        MPI_Comm_free(&comm);
        meet(half, 2);
        MPI_Comm_free(&half);
        meet(MPI_COMM_WORLD, 1);
    }
    /* Two groups, whose barrier is for both. */
    MPI_Comm half, between;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &between);
    meet(between, MANY);
    MPI_Comm merged;
    MPI_Intercomm_merge(between, rank % 2, &merged);
    meet(merged, MANY);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    meet(MPI_COMM_SELF, MANY);
}

/* A message that is on its way while its sender waits: the other comes only when it is there. */
static void check_progress(void)
{
    enum { BYTES = 32 << 20 };
    char *data = malloc(BYTES);
    for (int turn = 0; turn < 3; turn++) {
        MPI_Request request;
        memset(data, rank ? 0 : 7, BYTES);
        if (rank == 0)
            MPI_Isend(data, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
        if (rank == 1) {
            usleep(20000);
            MPI_Recv(data, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (data[BYTES - 1] != 7)
                fail("a message is wrong");
        }
        meet(MPI_COMM_WORLD, 1);
        if (rank == 0)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        /* A window in which the others work while its owner waits. */
        MPI_Win window;
        long *counts;
        MPI_Win_allocate(64 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &counts, &window);
        memset(counts, 0, 64 * sizeof(long));
        meet(MPI_COMM_WORLD, 1);
        if (rank != 0) {
            long one = 1;
            for (int i = 0; i < 50; i++) {
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
                MPI_Accumulate(&one, 1, MPI_LONG, 0, 3, 1, MPI_LONG, MPI_SUM, window);
                MPI_Win_unlock(0, window);
            }
        }
        meet(MPI_COMM_WORLD, 1);
        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
            if (counts[3] != 50 * (ranks - 1))
                fail("a window is wrong");
            MPI_Win_unlock(0, window);
        }
        MPI_Win_free(&window);
    }
    free(data);
}

static void check_spawned(char *program)
{
    MPI_Comm parent, merged;
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        char *arguments[] = {"spawn", NULL};
        MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &parent, MPI_ERRCODES_IGNORE);
    }
    meet(MPI_COMM_WORLD, MANY);
    MPI_Intercomm_merge(parent, 0, &merged);
    meet(merged, MANY);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&parent);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The times of MPI's own functions and of those that the program calls, in turn: the ratio of each pair, in order. */
static void compare_times(const char *what, int pairs, double seconds)
{
    enum { MOST = 2000 };
    static double ratios[MOST], ours[MOST], theirs[MOST];
    double own = rank, sum;
    int reduces = !strcmp(what, "reduce"), batch = 1;
#define CALL(prefix) \
    (reduces ? prefix##MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD) : prefix##MPI_Barrier(MPI_COMM_WORLD))
    for (int i = 0; i < 2 * MANY; i++)
        CALL();
    double begun = now();
    for (int i = 0; i < 20; i++)
        CALL(P);
    batch = seconds / pairs / 2 / ((now() - begun) / 20);
    batch = batch < 2 ? 2 : batch > 2000 ? 2000 : batch;
    MPI_Bcast(&batch, 1, MPI_INT, 0, MPI_COMM_WORLD);
    pairs = pairs > MOST ? MOST : pairs;
    for (int pair = 0; pair < pairs; pair++) {
        PMPI_Barrier(MPI_COMM_WORLD);
        double start = now();
        for (int i = 0; i < batch; i++)
            CALL(P);
        double middle = now();
        PMPI_Barrier(MPI_COMM_WORLD);
        double again = now();
        for (int i = 0; i < batch; i++)
            CALL();
        double end = now();
        theirs[pair] = (middle - start) / batch * 1e9;
        ours[pair] = (end - again) / batch * 1e9;
        ratios[pair] = ours[pair] / theirs[pair];
    }
    qsort(ratios, pairs, sizeof *ratios, compare);
    qsort(ours, pairs, sizeof *ours, compare);
    qsort(theirs, pairs, sizeof *theirs, compare);
    if (rank == 0)
        printf("%s: ratio %.3f (quartiles %.3f %.3f, n %d), ours %.0f ns, MPI's %.0f ns\n", what, ratios[pairs / 2],
               ratios[pairs / 4], ratios[3 * pairs / 4], pairs, ours[pairs / 2], theirs[pairs / 2]);
}

int main(int argc, char **argv)
{
    const char *act = argc > 1 ? argv[1] : "";
    int wanted = argc > 2 ? atoi(argv[2]) : MPI_THREAD_SINGLE, level;
    MPI_Init_thread(&argc, &argv, wanted, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    meet(MPI_COMM_WORLD, MANY);
    if (!strcmp(act, "all")) {
        check_order(MPI_COMM_WORLD);
        check_reductions();
        check_communicators();
        check_progress();
        meet(MPI_COMM_WORLD, 200);
    } else if (!strcmp(act, "spawn")) {
        check_spawned(argv[0]);
    } else if (!strcmp(act, "time")) {
        compare_times("barrier", argc > 3 ? atoi(argv[3]) : 200, argc > 4 ? atof(argv[4]) : 1);
        compare_times("reduce", argc > 3 ? atoi(argv[3]) : 200, argc > 4 ? atof(argv[4]) : 1);
    } else if (!strcmp(act, "dies")) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        if (rank == ranks - 1) {
            usleep(200000);
            raise(SIGKILL);
        }
        double begun = now();
        int error = MPI_Barrier(MPI_COMM_WORLD);
        int kind;
        MPI_Error_class(error, &kind);
        printf("rank %d: %s after %.0f ms\n", rank, kind == MPI_ERR_OTHER ? "lost" : "no error", 1e3 * (now() - begun - 0.2));
        fflush(stdout);
        _exit(3);
    }
    MPI_Finalize();
    if (rank == 0)
        printf("done: %s at level %d\n", act, level);
    return 0;
}
