/* The C interface by its effects: a breakpoint counts calls exactly, with or without a PMU. */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coho_counters.h>

#define CHECK(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what, coho_counters_last_error()); \
            exit(1); \
        } \
    } while (0)
#define OK(call) CHECK((call) == COHO_COUNTERS_STATUS_OK)

__attribute__((noinline)) static int called(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

static void refusals(void)
{
    CohoEvent none = {.kind = 0x7fffffff};
    CohoEvent faults = {.kind = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS};
    CohoCounter *counter = NULL;
    CohoGroup *group = NULL;
    uint64_t count;

    CHECK(coho_counter_open(NULL, COHO_MODE_USER, &counter) == COHO_COUNTERS_STATUS_INVALID);
    CHECK(coho_counter_open(&none, COHO_MODE_USER, NULL) != COHO_COUNTERS_STATUS_OK);
    CHECK(coho_counter_open(&faults, 7, &counter) == COHO_COUNTERS_STATUS_INVALID);
    CHECK(coho_counter_open(&none, COHO_MODE_USER, &counter) != COHO_COUNTERS_STATUS_OK);
    CHECK(strlen(coho_counters_last_error()) > 0);
    CHECK(coho_counter_read(NULL, &count) == COHO_COUNTERS_STATUS_INVALID);
    CHECK(coho_group_open(NULL, 1, COHO_MODE_USER, &group) == COHO_COUNTERS_STATUS_INVALID);
    CHECK(coho_group_open(&faults, 0, COHO_MODE_USER, &group) == COHO_COUNTERS_STATUS_INVALID);
    CHECK(counter == NULL && group == NULL);
    coho_counter_close(NULL);
    coho_group_close(NULL);
    for (int status = 0; status < 14; status++)
        CHECK(strlen(coho_counters_message(status)) > 0);
}

static void counters(void)
{
    CohoEvent calls = {
        .kind = PERF_TYPE_BREAKPOINT, .config = HW_BREAKPOINT_X, .config1 = (uint64_t)(uintptr_t)called};
    CohoEvent faults = {.kind = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS};
    CohoEvent both[2] = {calls, faults};
    CohoCounter *counter = NULL;
    CohoGroup *group = NULL;
    CohoCountersStatus opened = coho_counter_open(&calls, COHO_MODE_USER, &counter);
    uint64_t before, after, counts[3];

    if (opened == COHO_COUNTERS_STATUS_NOT_PERMITTED || opened == COHO_COUNTERS_STATUS_NO_SUCH_EVENT
        || opened == COHO_COUNTERS_STATUS_NOT_SCHEDULED || opened == COHO_COUNTERS_STATUS_SYSTEM) {
        fprintf(stderr, "skipped: %s\n", coho_counters_last_error());
        return;
    }
    OK(opened);
    OK(coho_counter_read_by_kernel(counter, &before));
    for (int i = 0; i < 9; i++)
        called(i);
    OK(coho_counter_disable(counter));
    called(9);
    OK(coho_counter_read_by_kernel(counter, &after));
    CHECK(after - before == 9);
    /* What user mode cannot read is refused, not read in some other way. */
    CHECK(coho_counter_read(counter, &after) == COHO_COUNTERS_STATUS_NOT_READABLE);
    CHECK(coho_counter_calibrate(counter, &after) == COHO_COUNTERS_STATUS_NOT_READABLE);
    coho_counter_close(counter);

    OK(coho_group_open(both, 2, COHO_MODE_USER, &group));
    called(1);
    OK(coho_group_read_by_kernel(group, counts, 2));
    CHECK(counts[0] == 1);
    CHECK(coho_group_read(group, counts, 2) == COHO_COUNTERS_STATUS_NOT_READABLE);
    CHECK(coho_group_calibrate(group, counts, 2) == COHO_COUNTERS_STATUS_NOT_READABLE);
    CHECK(coho_group_read_by_kernel(group, counts, 3) == COHO_COUNTERS_STATUS_INVALID);
    CHECK(coho_group_calibrate(group, counts, (size_t)-1) == COHO_COUNTERS_STATUS_INVALID);
    coho_group_close(group);
}

static void hardware(void)
{
    CohoEvent cycles = {.kind = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES};
    CohoCounter *counter = NULL;
    uint64_t bias, start;
    int64_t events;

    if (coho_counter_open(&cycles, COHO_MODE_USER, &counter) != COHO_COUNTERS_STATUS_OK) {
        fprintf(stderr, "skipped: %s\n", coho_counters_last_error());
        return;
    }
    if (coho_counter_calibrate(counter, &bias) == COHO_COUNTERS_STATUS_OK) {
        OK(coho_counter_start(counter, &start));
        for (volatile int i = 0; i < 100000; i++)
            ;
        OK(coho_counter_stop(counter, start, bias, &events));
        CHECK(events > 10000);
    }
    coho_counter_close(counter);
}

int main(void)
{
    uint64_t start = coho_clock_now();

    CHECK(coho_clock_step_ns() > 0);
    CHECK(coho_clock_ns(coho_clock_now() - start) > 0);
    refusals();
    counters();
    hardware();
    return 0;
}
