/* What one getpid costs: instructions and cycles of user mode and of the kernel, read in user mode.
 *
 *     cc -o counters counters.c $(pkg-config --cflags --libs coho-counters) && ./counters
 */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "coho_counters.h"

static void count(const char *name, uint64_t config, uint32_t mode)
{
    CohoEvent event = {.kind = PERF_TYPE_HARDWARE, .config = config};
    CohoCounter *counter = NULL;
    uint64_t bias, start;
    int64_t events;

    printf("%-22s", name);
    if (coho_counter_open(&event, mode, &counter) != COHO_COUNTERS_STATUS_OK
        || coho_counter_calibrate(counter, &bias) != COHO_COUNTERS_STATUS_OK
        || coho_counter_start(counter, &start) != COHO_COUNTERS_STATUS_OK) {
        printf("not available: %s\n", coho_counters_last_error());
        coho_counter_close(counter);
        return;
    }
    syscall(SYS_getpid);
    if (coho_counter_stop(counter, start, bias, &events) == COHO_COUNTERS_STATUS_OK)
        printf("%" PRId64 " (%" PRIu64 " of reading taken off)\n", events, bias);
    else
        printf("not available: %s\n", coho_counters_last_error());
    coho_counter_close(counter);
}

int main(void)
{
    uint64_t start = coho_clock_now();
    syscall(SYS_getpid);
    printf("%-22s%.0f ns (the clock's step is %.1f ns)\n", "time, cold", coho_clock_ns(coho_clock_now() - start),
           coho_clock_step_ns());
    count("user instructions", PERF_COUNT_HW_INSTRUCTIONS, COHO_MODE_USER);
    count("kernel instructions", PERF_COUNT_HW_INSTRUCTIONS, COHO_MODE_KERNEL);
    count("user cycles", PERF_COUNT_HW_CPU_CYCLES, COHO_MODE_USER);
    count("kernel cycles", PERF_COUNT_HW_CPU_CYCLES, COHO_MODE_KERNEL);
    return 0;
}
