/* The C interface, also compiled as C++ and under ThreadSanitizer: what is written without atomics before a barrier, a
 * run's end or in a loop is read after it. */
#include <pthread.h>
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
        CHECK(coho_barrier_create(algorithm, 2, THREADS, &barrier) == COHO_SYNC_OK);
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
    CHECK(coho_barrier_create(COHO_FBS, 0, 3, &barrier) == COHO_SYNC_OK);
    CHECK(coho_barrier_wait_timeout(barrier, 1, 1000, missing, 2, &count) == COHO_SYNC_TIMED_OUT);
    CHECK(count == 2 && missing[0] == 0 && missing[1] == 2);
    CHECK(coho_barrier_wait_timeout(barrier, 1, 1000, NULL, 0, NULL) == COHO_SYNC_TIMED_OUT);
    CHECK(coho_barrier_wait(barrier, 3) == COHO_SYNC_INVALID);
    CHECK(coho_barrier_wait(NULL, 0) == COHO_SYNC_INVALID);
    coho_barrier_destroy(barrier);
    coho_barrier_destroy(NULL);
    CHECK(coho_barrier_create(99, 0, 2, &barrier) == COHO_SYNC_INVALID);
    CHECK(coho_barrier_create(COHO_DISSEMINATION, 1, 2, &barrier) == COHO_SYNC_INVALID);
    CHECK(coho_barrier_create(COHO_FBS, 0, 2, NULL) == COHO_SYNC_INVALID);
}

static coho_team *team;
static int numbers[LENGTH];
static int ranks[8];
static int singles;

static void fill(void *argument, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        numbers[i] += *(int *)argument;
}

static void member(void *argument, const coho_member *member)
{
    size_t rank = coho_member_rank(member), size = coho_member_size(member);
    int add = 1;
    CHECK(argument == ranks);
    ranks[rank]++;
    CHECK(coho_team_run(team, NULL, NULL) == COHO_SYNC_INVALID);
    CHECK(coho_team_resize(team, 1) == COHO_SYNC_BUSY);
    coho_member_barrier(member);
    for (size_t other = 0; other < size; other++)
        CHECK(ranks[other] == ranks[rank]);
    CHECK(coho_member_sum(member, (double)rank) == (double)(size * (size - 1) / 2));
    CHECK(coho_member_for(member, 0, LENGTH, COHO_DYNAMIC, 7, fill, &add) == COHO_SYNC_OK);
    CHECK(coho_member_for(member, 0, LENGTH, 9, 7, fill, &add) == COHO_SYNC_INVALID);
    if (coho_member_single(member))
        singles++;
}

static void teams(void)
{
    CHECK(coho_team_create(THREADS, 4, COHO_SEQUENTIAL, COHO_AUTO, 0, &team) == COHO_SYNC_OK);
    int expected = 0;
    for (int size = 1; size <= 4; size++) {
        CHECK(coho_team_resize(team, (size_t)size) == COHO_SYNC_OK);
        for (int round = 0; round < 20; round++) {
            memset(ranks, 0, sizeof ranks);
            singles = 0;
            CHECK(coho_team_run(team, member, ranks) == COHO_SYNC_OK);
            CHECK(singles == 1 && ranks[size - 1] == 1 && ranks[size] == 0);
            expected++;
            for (int schedule = COHO_STATIC; schedule <= COHO_GUIDED; schedule++) {
                int add = 2;
                CHECK(coho_team_parallel_for(team, 0, LENGTH, schedule, 3, fill, &add) == COHO_SYNC_OK);
                expected += 2;
            }
            for (int i = 0; i < LENGTH; i++)
                CHECK(numbers[i] == expected);
        }
    }
    CHECK(coho_team_resize(team, 5) == COHO_SYNC_INVALID);
    CHECK(coho_team_run(NULL, member, NULL) == COHO_SYNC_INVALID);
    coho_team_destroy(team);
    coho_team_destroy(NULL);
    CHECK(coho_team_create(0, 0, COHO_SEQUENTIAL, COHO_AUTO, 0, &team) == COHO_SYNC_INVALID);
    CHECK(coho_team_create(2, 0, 7, COHO_AUTO, 0, &team) == COHO_SYNC_INVALID);
}

int main(void)
{
    barriers();
    timeouts();
    teams();
    CHECK(strlen(coho_sync_status_text(COHO_SYNC_BUSY)) > 0 && strlen(coho_sync_status_text(-1)) > 0);
    puts("ok");
    return 0;
}
