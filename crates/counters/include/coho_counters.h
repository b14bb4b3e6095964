/* The C interface of coho-counters: clocks and user-level performance counters. Made from src/ffi by cbindgen. */

#ifndef COHO_COUNTERS_H
#define COHO_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

// The outcome of a call.
typedef enum CohoCountersStatus {
  // Done.
  COHO_COUNTERS_STATUS_OK = 0,
  // The kernel refuses because rights are missing.
  COHO_COUNTERS_STATUS_NOT_PERMITTED = 1,
  // There are no hardware counters here at all.
  COHO_COUNTERS_STATUS_NO_COUNTERS = 2,
  // This machine does not have this event, or not in this mode.
  COHO_COUNTERS_STATUS_NO_SUCH_EVENT = 3,
  // No file descriptor is left.
  COHO_COUNTERS_STATUS_TOO_MANY_FILES = 4,
  // The kernel opened the events but never lets them count: too few counters are free.
  COHO_COUNTERS_STATUS_NOT_SCHEDULED = 5,
  // The events counted for only part of the time.
  COHO_COUNTERS_STATUS_SCALED = 6,
  // User mode may not read this event.
  COHO_COUNTERS_STATUS_NOT_READABLE = 7,
  // The event is not on a hardware counter now.
  COHO_COUNTERS_STATUS_NOT_COUNTING = 8,
  // An argument makes no sense.
  COHO_COUNTERS_STATUS_INVALID = 9,
  // Another refusal of the operating system.
  COHO_COUNTERS_STATUS_SYSTEM = 10,
  // A fault of this library.
  COHO_COUNTERS_STATUS_PANIC = 11,
} CohoCountersStatus;

// In which mode of the CPU events are counted.
typedef enum CohoMode {
  // In user mode only.
  COHO_MODE_USER = 0,
  // In the kernel only; needs perf_event_paranoid below 2 or CAP_PERFMON.
  COHO_MODE_KERNEL = 1,
  // In both; needs the same.
  COHO_MODE_BOTH = 2,
} CohoMode;

// One event of the thread that opened it. Only that thread may use it.
typedef struct CohoCounter CohoCounter;

// Events of the thread that opened them, which count together. Only that thread may use it.
typedef struct CohoGroup CohoGroup;

// An event as perf_event_open takes it.
typedef struct CohoEvent {
  // perf_event_attr.type.
  uint32_t kind;
  // perf_event_attr.config; for breakpoints their type.
  uint64_t config;
  // perf_event_attr.config1; for breakpoints the address.
  uint64_t config1;
} CohoEvent;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The message of this thread's last failing call: what went wrong, and what to do about it.
//
// Valid until the thread's next failing call; empty if none has failed.
const char *coho_counters_last_error(void);

// A status in words; never null, and valid for ever.
const char *coho_counters_message(uint32_t status);

// The time now, in ticks. Earlier loads have completed before it is taken, later ones begin after.
uint64_t coho_clock_now(void);

// A difference of two times in ns.
double coho_clock_ns(uint64_t ticks);

// The smallest step between two times that differ, in ns.
double coho_clock_step_ns(void);

// Opens an event for the calling thread; it counts at once.
//
// # Safety
// `event` must be null or valid for reads, `counter` null or valid for writes.
enum CohoCountersStatus coho_counter_open(const struct CohoEvent *event,
                                          uint32_t mode,
                                          struct CohoCounter **counter);

// Closes a counter; null is ignored.
//
// # Safety
// `counter` must be null or come from `coho_counter_open`, and not be used again.
void coho_counter_close(struct CohoCounter *counter);

// The count, read in user mode: no kernel entry.
//
// # Safety
// `counter` must be null or an open counter of this thread, `count` null or valid for writes.
enum CohoCountersStatus coho_counter_read(const struct CohoCounter *counter, uint64_t *count);

// The count, by read(2).
//
// # Safety
// `counter` must be null or an open counter of this thread, `count` null or valid for writes.
enum CohoCountersStatus coho_counter_read_by_kernel(const struct CohoCounter *counter,
                                                    uint64_t *count);

// Lets a counter count again.
//
// # Safety
// `counter` must be null or an open counter of this thread.
enum CohoCountersStatus coho_counter_enable(const struct CohoCounter *counter);

// Stops a counter; its count stays.
//
// # Safety
// `counter` must be null or an open counter of this thread.
enum CohoCountersStatus coho_counter_disable(const struct CohoCounter *counter);

// What a pair of `coho_counter_start` and `coho_counter_stop` counts with nothing between them: the median of many
// pairs.
//
// # Safety
// `counter` must be null or an open counter of this thread, `bias` null or valid for writes.
enum CohoCountersStatus coho_counter_calibrate(const struct CohoCounter *counter,
                                               uint64_t *bias);

// Begins a count: `*start` is for `coho_counter_stop`.
//
// # Safety
// `counter` must be null or an open counter of this thread, `start` null or valid for writes.
enum CohoCountersStatus coho_counter_start(const struct CohoCounter *counter, uint64_t *start);

// Ends a count: `*events` is the count since `start`, minus `bias`.
//
// # Safety
// `counter` must be null or an open counter of this thread, `events` null or valid for writes.
enum CohoCountersStatus coho_counter_stop(const struct CohoCounter *counter,
                                          uint64_t start,
                                          uint64_t bias,
                                          int64_t *events);

// Opens `n` events for the calling thread; they count at once.
//
// # Safety
// `events` must be null or valid for `n` reads, `group` null or valid for writes.
enum CohoCountersStatus coho_group_open(const struct CohoEvent *events,
                                        size_t n,
                                        uint32_t mode,
                                        struct CohoGroup **group);

// Closes a group; null is ignored.
//
// # Safety
// `group` must be null or come from `coho_group_open`, and not be used again.
void coho_group_close(struct CohoGroup *group);

// The counts of the first `n` events, read in user mode one after another: no kernel entry.
//
// # Safety
// `group` must be null or an open group of this thread, `counts` null or valid for `n` writes.
enum CohoCountersStatus coho_group_read(const struct CohoGroup *group, uint64_t *counts, size_t n);

// The counts of the first `n` events, all by one read(2).
//
// # Safety
// `group` must be null or an open group of this thread, `counts` null or valid for `n` writes.
enum CohoCountersStatus coho_group_read_by_kernel(const struct CohoGroup *group,
                                                  uint64_t *counts,
                                                  size_t n);

// What a `coho_group_read` itself adds to each of the first `n` events: the difference of two reads with nothing
// between them, the median of many.
//
// # Safety
// `group` must be null or an open group of this thread, `biases` null or valid for `n` writes.
enum CohoCountersStatus coho_group_calibrate(const struct CohoGroup *group,
                                             uint64_t *biases,
                                             size_t n);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* COHO_COUNTERS_H */
