/* The C interface, also compiled as C++ and under ThreadSanitizer: what is written without atomics before a barrier, a
 * run's end or in a loop is read after it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for sched_getcpu */
#endif
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coho_sync.h"

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

enum { THREADS = 3, ROUNDS = 200, LENGTH = 1000 };

struct visit {
    coho_barrier *barrier;
    size_t rank;
    int *counts;
};

static void *visit(void *argument)
{
    struct visit *visit = (struct visit *)argument;
    for (int round = 1; round <= ROUNDS; round++) {
        visit->counts[visit->rank] = round;
        CHECK(coho_barrier_wait(visit->barrier, visit->rank) == COHO_SYNC_OK);
        for (int other = 0; other < THREADS; other++)
            CHECK(visit->counts[other] == round);
        CHECK(coho_barrier_wait(visit->barrier, visit->rank) == COHO_SYNC_OK);
    }
    return NULL;
}

static void barriers(void)
{
    for (int algorithm = COHO_AUTO; algorithm <= COHO_HIERARCHICAL; algorithm++) {
        int counts[THREADS] = {0};
        struct visit visits[THREADS];
        pthread_t threads[THREADS];
        coho_barrier *barrier;
        CHECK(coho_barrier_create(algorithm, 2, THREADS, NULL, &barrier) == COHO_SYNC_OK);
        CHECK(coho_barrier_algorithm(barrier) == algorithm || algorithm == COHO_AUTO);
        for (int rank = 0; rank < THREADS; rank++) {
            visits[rank].barrier = barrier;
            visits[rank].rank = (size_t)rank;
            visits[rank].counts = counts;
            CHECK(pthread_create(&threads[rank], NULL, visit, &visits[rank]) == 0);
        }
        for (int rank = 0; rank < THREADS; rank++)
            pthread_join(threads[rank], NULL);
        coho_barrier_destroy(barrier);
    }
}

static void timeouts(void)
{
    coho_barrier *barrier;
    size_t missing[2] = {99, 99}, count = 0;
    CHECK(coho_barrier_create(COHO_FBS, 0, 3, NULL, &barrier) == COHO_SYNC_OK);
    CHECK(coho_barrier_wait_timeout(barrier, 1, 1000, missing, 2, &count) == COHO_SYNC_TIMED_OUT);
    CHECK(count == 2 && missing[0] == 0 && missing[1] == 2);
    CHECK(coho_barrier_wait_timeout(barrier, 1, 1000, NULL, 0, NULL) == COHO_SYNC_TIMED_OUT);
    CHECK(coho_barrier_wait(barrier, 3) == COHO_SYNC_INVALID);
    CHECK(coho_barrier_wait(NULL, 0) == COHO_SYNC_INVALID);
    coho_barrier_destroy(barrier);
    coho_barrier_destroy(NULL);
    CHECK(coho_barrier_create(99, 0, 2, NULL, &barrier) == COHO_SYNC_INVALID);
    CHECK(coho_barrier_create(COHO_DISSEMINATION, 1, 2, NULL, &barrier) == COHO_SYNC_INVALID);
    CHECK(coho_barrier_create(COHO_FBS, 0, 2, NULL, NULL) == COHO_SYNC_INVALID);
}

static coho_team *team;

/* Options of a later version of the library. */
struct later {
    coho_sync_options known;
    size_t more;
};

static void options(void)
{
    coho_barrier *barrier;
    struct later later;
    uint32_t cpus[2] = {(uint32_t)sched_getcpu(), (uint32_t)sched_getcpu()};
    memset(&later, 0, sizeof later);
    CHECK(coho_barrier_create(COHO_AUTO, 0, 2, &later.known, &barrier) == COHO_SYNC_INVALID);
    later.known.size = 8;
    CHECK(coho_barrier_create(COHO_AUTO, 0, 2, &later.known, &barrier) == COHO_SYNC_INVALID);
    later.known.size = sizeof later;
    later.more = 1;
    CHECK(coho_barrier_create(COHO_AUTO, 0, 2, &later.known, &barrier) == COHO_SYNC_INVALID);
    later.more = 0;
    /* Two threads on one CPU do not spin. */
    later.known.cpus = cpus;
    CHECK(coho_barrier_create(COHO_AUTO, 0, 2, &later.known, &barrier) == COHO_SYNC_OK);
    CHECK(coho_barrier_algorithm(barrier) == COHO_CENTRAL);
    coho_barrier_destroy(barrier);
    cpus[1] = 4000000000;
    CHECK(coho_barrier_create(COHO_AUTO, 0, 2, &later.known, &barrier) == COHO_SYNC_CPU);
    CHECK(coho_team_create(2, 0, COHO_SEQUENTIAL, COHO_AUTO, 0, &later.known, &team) == COHO_SYNC_CPU);
    later.known.cpus = NULL;
    static const double wrong[] = {NAN, INFINITY, -1};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        later.known.extra_line_ns = wrong[i];
        CHECK(coho_barrier_create(COHO_AUTO, 0, 2, &later.known, &barrier) == COHO_SYNC_INVALID);
    }
    later.known.extra_line_ns = 0;
    double one_way_ns[4] = {0, 50, -1, 0};
    later.known.one_way_ns = one_way_ns;
    CHECK(coho_barrier_create(COHO_AUTO, 0, 2, &later.known, &barrier) == COHO_SYNC_INVALID);
    one_way_ns[2] = 50;
    CHECK(coho_barrier_create(COHO_AUTO, 0, 2, &later.known, &barrier) == COHO_SYNC_OK);
    CHECK(coho_barrier_algorithm(barrier) > COHO_AUTO && coho_barrier_algorithm(NULL) == -1);
    coho_barrier_destroy(barrier);
    later.known.wait = 9;
    CHECK(coho_barrier_create(COHO_AUTO, 0, 2, &later.known, &barrier) == COHO_SYNC_INVALID);
    CHECK(coho_barrier_create(COHO_AUTO, 0, SIZE_MAX, &later.known, &barrier) == COHO_SYNC_INVALID);
}

struct late {
    pthread_mutex_t lock;
    size_t rank, missing;
    int told;
};

static void note(void *argument, size_t rank, uint64_t waited_ns, const size_t *missing, size_t count)
{
    struct late *late = (struct late *)argument;
    CHECK(waited_ns >= 1000000 && count == 1);
    pthread_mutex_lock(&late->lock);
    late->rank = rank;
    late->missing = missing[0];
    late->told++;
    pthread_mutex_unlock(&late->lock);
}

static void *arrive(void *barrier)
{
    CHECK(coho_barrier_wait((coho_barrier *)barrier, 1) == COHO_SYNC_OK);
    return NULL;
}

static void watchdog(void)
{
    for (int wait = COHO_WAIT_ADAPTIVE; wait <= COHO_WAIT_PASSIVE; wait++) {
        struct late late = {PTHREAD_MUTEX_INITIALIZER, 99, 99, 0};
        coho_sync_options options;
        coho_barrier *barrier;
        pthread_t thread;
        memset(&options, 0, sizeof options);
        options.size = sizeof options;
        options.wait = wait;
        options.spin_ns = 1000;
        options.watchdog_ns = 1000000;
        options.report = note;
        options.argument = &late;
        CHECK(coho_barrier_create(COHO_CENTRAL, 0, 2, &options, &barrier) == COHO_SYNC_OK);
        CHECK(pthread_create(&thread, NULL, arrive, barrier) == 0);
        for (int told = 0; !told;) {
            sched_yield();
            pthread_mutex_lock(&late.lock);
            told = late.told;
            pthread_mutex_unlock(&late.lock);
        }
        CHECK(coho_barrier_wait(barrier, 0) == COHO_SYNC_OK);
        pthread_join(thread, NULL);
        CHECK(late.told == 1 && late.rank == 1 && late.missing == 0);
        coho_barrier_destroy(barrier);
    }
}

static int numbers[LENGTH];
static int ranks[8];
static int singles;
static int criticals;
static size_t numbers_in_order[LENGTH];
static size_t ordered;

static void fill(void *argument, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        numbers[i] += *(int *)argument;
}

static double sum(void *argument, size_t begin, size_t end)
{
    double sum = 0;
    for (size_t i = begin; i < end; i++)
        sum += (double)i;
    return argument ? 0 : sum;
}

static void count(void *number)
{
    ++*(int *)number;
}

static void append(void *index)
{
    numbers_in_order[ordered++] = *(size_t *)index;
}

static void in_turn(void *argument, size_t index, const coho_turn *turn)
{
    CHECK(argument == NULL);
    /* Every third passes its turn on. */
    if (index % 3 == 0)
        return;
    CHECK(coho_turn_take(turn, append, &index) == COHO_SYNC_OK);
    CHECK(coho_turn_take(turn, append, &index) == COHO_SYNC_INVALID);
}

static void nested(void *argument, const coho_member *member)
{
    (void)argument;
    (void)member;
    CHECK(!"a run of the same team in a run");
}

static void reductions(const coho_member *member)
{
    size_t rank = coho_member_rank(member), size = coho_member_size(member);
    double result = 0;
    int64_t integer = 0;
    CHECK(coho_member_reduce(member, COHO_SUM, (double)rank, &result) == COHO_SYNC_OK);
    CHECK(result == (double)(size * (size - 1) / 2));
    CHECK(coho_member_reduce(member, COHO_MAX, -(double)rank, &result) == COHO_SYNC_OK && result == 0);
    CHECK(coho_member_reduce_int64(member, COHO_MIN, (int64_t)rank - 7, &integer) == COHO_SYNC_OK);
    CHECK(integer == -7);
    CHECK(coho_member_reduce_int64(member, COHO_PRODUCT, 3, &integer) == COHO_SYNC_OK);
    CHECK(integer == (size == 1 ? 3 : size == 2 ? 9 : size == 3 ? 27 : 81));
    CHECK(coho_member_reduce(member, 9, 1, &result) == COHO_SYNC_INVALID);
    CHECK(coho_member_reduce(member, COHO_SUM, 1, NULL) == COHO_SYNC_INVALID);
}

static void member(void *argument, const coho_member *member)
{
    size_t rank = coho_member_rank(member), size = coho_member_size(member);
    int add = 1;
    CHECK(argument == ranks);
    ranks[rank]++;
    CHECK(coho_team_run(team, NULL, NULL) == COHO_SYNC_INVALID);
    CHECK(coho_team_run(team, nested, NULL) == COHO_SYNC_BUSY);
    CHECK(coho_team_resize(team, 1) == COHO_SYNC_BUSY);
    coho_member_barrier(member);
    for (size_t other = 0; other < size; other++)
        CHECK(ranks[other] == ranks[rank]);
    reductions(member);
    CHECK(coho_member_critical(member, count, &criticals) == COHO_SYNC_OK);
    CHECK(coho_member_critical(member, NULL, NULL) == COHO_SYNC_INVALID);
    CHECK(coho_member_for_ordered(member, 5, LENGTH, COHO_DYNAMIC, 3, in_turn, NULL) == COHO_SYNC_OK);
    CHECK(coho_member_for_ordered(member, 5, LENGTH, COHO_DYNAMIC, 3, NULL, NULL) == COHO_SYNC_INVALID);
    CHECK(coho_member_for(member, 0, LENGTH, COHO_DYNAMIC, 7, fill, &add) == COHO_SYNC_OK);
    CHECK(coho_member_for(member, 0, LENGTH, 9, 7, fill, &add) == COHO_SYNC_INVALID);
    if (coho_member_single(member))
        singles++;
}

/* Work that members do while they wait. */
static struct tasks {
    pthread_mutex_t lock;
    int left, done;
} tasks = {PTHREAD_MUTEX_INITIALIZER, 0, 0};

static int take(int *from, int to_add)
{
    pthread_mutex_lock(&tasks.lock);
    int value = *from;
    *from += to_add;
    pthread_mutex_unlock(&tasks.lock);
    return value;
}

static bool is_there(void *argument)
{
    CHECK(argument == &tasks);
    return take(&tasks.left, 0) > 0;
}

static void do_some(void *argument)
{
    CHECK(argument == &tasks);
    pthread_mutex_lock(&tasks.lock);
    int taken = tasks.left > 0;
    tasks.left -= taken;
    tasks.done += taken;
    pthread_mutex_unlock(&tasks.lock);
}

/* The first leaves the work to the others and does not arrive before they have done it. */
static void with_work(void *argument, const coho_member *member)
{
    int before = take(&tasks.done, 0);
    (void)argument;
    coho_member_barrier(member);
    if (coho_member_rank(member) == 0) {
        take(&tasks.left, 10);
        coho_member_offer_work(member);
        while (take(&tasks.done, 0) < before + 10)
            sched_yield();
    }
    CHECK(coho_member_barrier_with(member, NULL, do_some, &tasks) == COHO_SYNC_INVALID);
    CHECK(coho_member_barrier_with(member, is_there, do_some, &tasks) == COHO_SYNC_OK);
    if (coho_member_rank(member) == 1)
        coho_member_single(member);
}

static void tasks_and_leniency(void)
{
    coho_sync_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.stack_bytes = 1 << 20;
    for (int lenient = 1; lenient >= 0; lenient--) {
        options.lenient = lenient;
        CHECK(coho_team_create(2, 0, COHO_SEQUENTIAL, COHO_AUTO, 0, &options, &team) == COHO_SYNC_OK);
        for (int round = 0; round < 20; round++)
            CHECK(coho_team_run(team, with_work, NULL) == (lenient ? COHO_SYNC_OK : COHO_SYNC_OUT_OF_STEP));
        coho_team_destroy(team);
    }
    CHECK(tasks.done == 400 && tasks.left == 0);
}

/* Long enough for its time to stand out. */
static void work(void *argument, const coho_member *member)
{
    volatile long turns = 0;
    CHECK(argument == ranks);
    while (turns < 2000000)
        turns = turns + 1;
    coho_member_barrier(member);
}

static void teams(void)
{
    CHECK(coho_team_create(THREADS, 4, COHO_SEQUENTIAL, COHO_AUTO, 0, NULL, &team) == COHO_SYNC_OK);
    int expected = 0;
    for (int size = 1; size <= 4; size++) {
        CHECK(coho_team_resize(team, (size_t)size) == COHO_SYNC_OK);
        for (int round = 0; round < 20; round++) {
            memset(ranks, 0, sizeof ranks);
            singles = criticals = 0;
            ordered = 0;
            CHECK(coho_team_run(team, member, ranks) == COHO_SYNC_OK);
            CHECK(criticals == size && ordered == 2 * (LENGTH - 1) / 3 - 3);
            /* Two of three, without 1, 2 and 4. */
            for (size_t i = 1; i < ordered; i++)
                CHECK(numbers_in_order[i - 1] < numbers_in_order[i]);
            CHECK(singles == 1 && ranks[size - 1] == 1 && ranks[size] == 0);
            expected++;
            for (int schedule = COHO_STATIC; schedule <= COHO_GUIDED; schedule++) {
                int add = 2;
                CHECK(coho_team_parallel_for(team, 0, LENGTH, schedule, 3, fill, &add) == COHO_SYNC_OK);
                expected += 2;
                double total = 0;
                CHECK(coho_team_parallel_reduce(team, 0, LENGTH, schedule, 0, COHO_SUM, sum, NULL, &total) ==
                      COHO_SYNC_OK);
                CHECK(total == LENGTH * (LENGTH - 1) / 2);
            }
            for (int i = 0; i < LENGTH; i++)
                CHECK(numbers[i] == expected);
        }
    }
    coho_team_times times = {-1, -1, -1};
    CHECK(coho_team_run_timed(team, NULL, NULL, &times) == COHO_SYNC_INVALID);
    CHECK(coho_team_run_timed(team, work, ranks, NULL) == COHO_SYNC_INVALID && times.join_ns == -1);
    CHECK(coho_team_run_timed(team, work, ranks, &times) == COHO_SYNC_OK);
    CHECK(times.fork_ns > 0 && times.work_ns > 1e5 && times.join_ns >= 0);
    CHECK(coho_team_resize(team, 5) == COHO_SYNC_INVALID);
    CHECK(coho_team_parallel_reduce(team, 0, 1, COHO_STATIC, 0, 9, sum, NULL, NULL) == COHO_SYNC_INVALID);
    CHECK(coho_team_run(NULL, member, NULL) == COHO_SYNC_INVALID);
    coho_team_destroy(team);
    coho_team_destroy(NULL);
    CHECK(coho_team_create(0, 0, COHO_SEQUENTIAL, COHO_AUTO, 0, NULL, &team) == COHO_SYNC_INVALID);
    CHECK(coho_team_create(2, 0, 7, COHO_AUTO, 0, NULL, &team) == COHO_SYNC_INVALID);
}

int main(void)
{
    barriers();
    timeouts();
    options();
    watchdog();
    teams();
    tasks_and_leniency();
    CHECK(strlen(coho_sync_status_text(COHO_SYNC_BUSY)) > 0 && strlen(coho_sync_status_text(-1)) > 0);
    puts("ok");
    return 0;
}
