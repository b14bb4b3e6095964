/* coho-sync: barriers near the physical limit, and fork-join teams. Made by cbindgen from src/ffi. */

#ifndef COHO_SYNC_H
#define COHO_SYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 What a function of this library returns.
 */
typedef enum coho_sync_status {
  /*
   Done.
   */
  COHO_SYNC_OK = 0,
  /*
   A null pointer, an unknown constant, or a rank or number out of range.
   */
  COHO_SYNC_INVALID = 1,
  /*
   A wait took longer than its limit.
   */
  COHO_SYNC_TIMED_OUT = 2,
  /*
   The team is running: runs of the same team can be neither nested nor made by two threads at once.
   */
  COHO_SYNC_BUSY = 3,
  /*
   A CPU cannot be used.
   */
  COHO_SYNC_CPU = 4,
  /*
   The operating system refused a thread or memory.
   */
  COHO_SYNC_SYSTEM = 5,
  /*
   The process is a child of `fork`; the team's threads stayed with the parent.
   */
  COHO_SYNC_FORKED = 6,
  /*
   The members of a team have not met the same loops.
   */
  COHO_SYNC_OUT_OF_STEP = 7,
} coho_sync_status;

/*
 How the threads of a barrier learn that all have arrived.
 */
typedef enum coho_algorithm {
  /*
   Chooses by the number of threads.
   */
  COHO_AUTO = 0,
  /*
   FBS, each flag on a line of its own.
   */
  COHO_FBS = 1,
  /*
   FBS, all flags on one line.
   */
  COHO_FBS_ONE_LINE = 2,
  /*
   A counter in a mutex.
   */
  COHO_LOCK = 3,
  /*
   A counter behind a spin lock.
   */
  COHO_SPIN_LOCK = 4,
  /*
   Central, sense-reversing.
   */
  COHO_CENTRAL = 5,
  /*
   Dissemination; the parameter is its radix, 2 or more.
   */
  COHO_DISSEMINATION = 6,
  /*
   A tournament; the parameter is its arity, 2 or more.
   */
  COHO_TOURNAMENT = 7,
  /*
   FBS inside clusters, then between them.
   */
  COHO_GRID = 8,
  /*
   The grid with a round for each level of the machine.
   */
  COHO_HIERARCHICAL = 9,
} coho_algorithm;

/*
 How ranks are laid out on the machine.
 */
typedef enum coho_mapping {
  /*
   Threads are pinned, each module, cache or package filled before the next.
   */
  COHO_SEQUENTIAL = 0,
  /*
   Threads are pinned, spread over packages and caches first.
   */
  COHO_BINARY_TREE = 1,
  /*
   Threads are not pinned.
   */
  COHO_UNPINNED = 2,
} coho_mapping;

/*
 How the iterations of a loop are divided among the members.
 */
typedef enum coho_schedule {
  /*
   One block per member, or chunks dealt out in turn if a chunk size is given.
   */
  COHO_STATIC = 0,
  /*
   Chunks to whichever member asks first.
   */
  COHO_DYNAMIC = 1,
  /*
   Chunks that shrink down to the given size.
   */
  COHO_GUIDED = 2,
} coho_schedule;

/*
 How values are combined.
 */
typedef enum coho_operation {
  /*
   The sum; integers wrap.
   */
  COHO_SUM = 0,
  /*
   The product; integers wrap.
   */
  COHO_PRODUCT = 1,
  /*
   The smallest; for doubles, the smallest that is not NaN.
   */
  COHO_MIN = 2,
  /*
   The largest; for doubles, the largest that is not NaN.
   */
  COHO_MAX = 3,
} coho_operation;

/*
 How threads wait for each other.
 */
typedef enum coho_wait {
  /*
   Spins up to a millisecond while nothing else wants the CPU, and sleeps soon where something does.
   */
  COHO_WAIT_ADAPTIVE = 0,
  /*
   Spins for at most `spin_ns`, otherwise as `COHO_WAIT_ADAPTIVE`.
   */
  COHO_WAIT_SPIN = 1,
  /*
   Spins without end.
   */
  COHO_WAIT_ACTIVE = 2,
  /*
   Sleeps at once.
   */
  COHO_WAIT_PASSIVE = 3,
} coho_wait;

/*
 A barrier for a fixed number of threads, each of which arrives under a rank of its own.

 Every rank must arrive at every barrier. If one stays away, the others wait forever; a rank cannot be removed later.

 A rank may pass from one thread to another between two waits, once the first thread's wait has returned and the second
 thread knows of it, for example after joining the first. If two threads use a rank at once, others may leave too early, but
 no foreign memory is touched.

 Whatever a thread did before it arrived is visible to every thread that has left.
 */
typedef struct coho_barrier coho_barrier;

/*
 A member of a team during a run; valid only in the thread and for the call that it was handed to.
 */
typedef struct coho_member coho_member;

/*
 A team of threads.
 */
typedef struct coho_team coho_team;

/*
 An iteration's turn in an ordered loop; valid only in the thread and for the call that it was handed to.
 */
typedef struct coho_turn coho_turn;

/*
 Receives a report of a wait that has lasted long: the waiting rank, how many nanoseconds it has waited, and the
 `count` ranks that have not arrived, which are valid during the call. It is called from the waiting thread, so
 several threads may call it at once.
 */
typedef void (*coho_report)(void *argument,
                            size_t rank,
                            uint64_t waited_ns,
                            const size_t *missing,
                            size_t count);

/*
 Options of a barrier or a team. Set `size` and leave the rest zero for the defaults, which a null pointer also
 selects: `coho_sync_options options = {sizeof options};`.
 */
typedef struct coho_sync_options {
  /*
   The size of this structure as the program was compiled. Fields that a later version adds count as zero; where
   the library is the older one, fields that it does not know must be zero.
   */
  size_t size;
  /*
   How threads wait: a `coho_wait`.
   */
  int32_t wait;
  /*
   The spinning of `COHO_WAIT_SPIN`, in nanoseconds.
   */
  uint64_t spin_ns;
  /*
   The CPU of each thread, in the order of ranks, or null. A team pins its threads to these CPUs, whatever its
   mapping; the owner of a barrier's threads pins them.
   */
  const uint32_t *cpus;
  /*
   One-way times between the threads in ns, one row per thread, by which `COHO_AUTO` chooses; NaN where not
   known. May be null.
   */
  const double *one_way_ns;
  /*
   What one more remote line costs a thread that reads several, in ns, finite and not below 0; 0 if not known.
   */
  double extra_line_ns;
  /*
   How many nanoseconds a thread waits at a barrier before `report` is called, once per wait; 0 for never.
   */
  uint64_t watchdog_ns;
  /*
   The function to call, or null.
   */
  coho_report report;
  /*
   The argument of `report`.
   */
  void *argument;
  /*
   The size of the stacks of a team's threads in bytes; 0 for the default of 2 MiB. A barrier ignores it.
   */
  size_t stack_bytes;
  /*
   Unless 0, the members of a team may leave a run after meeting different numbers of loops and singles, instead
   of causing `COHO_SYNC_OUT_OF_STEP`. An ordered loop that not all of them meet still waits for ever. A barrier
   ignores it.
   */
  int32_t lenient;
  /*
   0.
   */
  int32_t reserved;
} coho_sync_options;

/*
 Whether there is idle work now.
 */
typedef bool (*coho_idle_is_there)(void *argument);

/*
 Does a piece of idle work, if nobody else has taken it meanwhile. It must not wait at the barrier that it is done at.
 */
typedef void (*coho_idle_do_some)(void *argument);

/*
 What a member does with the iterations from `begin` to before `end`.
 */
typedef void (*coho_loop_body)(void *argument, size_t begin, size_t end);

/*
 What a member does with an iteration of an ordered loop.
 */
typedef void (*coho_ordered_body)(void *argument, size_t index, const struct coho_turn *turn);

/*
 What is done in a critical section or in an iteration's turn.
 */
typedef void (*coho_section)(void *argument);

/*
 What a member does in a run.
 */
typedef void (*coho_body)(void *argument, const struct coho_member *member);

/*
 What a run took, in nanoseconds. Each time includes a reading of the clock.
 */
typedef struct coho_team_times {
  /*
   From the caller's start to the last member's start.
   */
  double fork_ns;
  /*
   From the last member's start to the last member's end.
   */
  double work_ns;
  /*
   From the last member's end to the caller's return.
   */
  double join_ns;
} coho_team_times;

/*
 What a member computes from the iterations from `begin` to before `end`.
 */
typedef double (*coho_reduce_body)(void *argument, size_t begin, size_t end);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 What a status means, in English; never null.
 */
const char *coho_sync_status_text(int32_t status);

/*
 Makes a barrier for `threads` threads. `algorithm` is a `coho_algorithm`; `parameter` is its radix or arity, and
 otherwise ignored. `options` may be null; they are not needed afterwards.

 # Safety
 `out` is null or can be written; `options` is null or can be read, with arrays for as many threads, and any thread
 may call its report.
 */
enum coho_sync_status coho_barrier_create(int32_t algorithm,
                                          size_t parameter,
                                          size_t threads,
                                          const struct coho_sync_options *options,
                                          struct coho_barrier **out);

/*
 Arrives as `rank`, below the number of threads, and waits until all have arrived.

 # Safety
 `barrier` is null or a barrier that is not being destroyed; one thread at a time uses a rank.
 */
enum coho_sync_status coho_barrier_wait(const struct coho_barrier *barrier, size_t rank);

/*
 As `coho_barrier_wait`, but returns `COHO_SYNC_TIMED_OUT` after the given number of nanoseconds. The arrival
 stands: the next wait as this rank continues with the same barrier. The first ranks that have not arrived, at most
 `capacity`, are written to `missing`, and their total number to `count`; both may be null.

 # Safety
 As `coho_barrier_wait`; `missing` is null or has room for `capacity` ranks, `count` is null or can be written.
 */
enum coho_sync_status coho_barrier_wait_timeout(const struct coho_barrier *barrier,
                                                size_t rank,
                                                uint64_t limit_ns,
                                                size_t *missing,
                                                size_t capacity,
                                                size_t *count);

/*
 The barrier's algorithm, a `coho_algorithm`. It is never `COHO_AUTO`, but the one that was chosen; -1 for null.

 # Safety
 `barrier` is null or a live barrier.
 */
int32_t coho_barrier_algorithm(const struct coho_barrier *barrier);

/*
 Destroys a barrier. Null is ignored.

 Make sure first that every wait has returned in every thread, for example by joining the threads: when one
 thread's wait has returned, others may still be reading the barrier. A wait that timed out has returned.

 # Safety
 `barrier` is null or came from `coho_barrier_create`, every wait at it has returned, and nobody will use it.
 */
void coho_barrier_destroy(struct coho_barrier *barrier);

/*
 The member's number in the team, from 0.

 # Safety
 `member` is one that this call of a body was handed.
 */
size_t coho_member_rank(const struct coho_member *member);

/*
 The number of members.

 # Safety
 As `coho_member_rank`.
 */
size_t coho_member_size(const struct coho_member *member);

/*
 Waits until all members have arrived.

 # Safety
 As `coho_member_rank`.
 */
void coho_member_barrier(const struct coho_member *member);

/*
 As `coho_member_barrier`, but does idle work while it waits. Returns `COHO_SYNC_INVALID`, without waiting, if a
 function is null. A member that must not leave before all work is done must arrive only when none is left.

 # Safety
 As `coho_member_rank`. Both functions must be safe to call with `argument` on this thread.
 */
enum coho_sync_status coho_member_barrier_with(const struct coho_member *member,
                                               coho_idle_is_there is_there,
                                               coho_idle_do_some do_some,
                                               void *argument);

/*
 Wakes members that sleep at the team's barrier so that they see new idle work. Call it after publishing the work.

 # Safety
 As `coho_member_rank`.
 */
void coho_member_offer_work(const struct coho_member *member);

/*
 Divides a loop among the members of a run, all of which call this; there is no barrier at the end. Returns
 `COHO_SYNC_INVALID`, before anything is done, for a null body or an unknown schedule.

 # Safety
 As `coho_member_rank`, and as `coho_team_run`.
 */
enum coho_sync_status coho_member_for(const struct coho_member *member,
                                      size_t begin,
                                      size_t end,
                                      int32_t schedule,
                                      size_t chunk,
                                      coho_loop_body body,
                                      void *argument);

/*
 As `coho_member_for`, iteration by iteration. Each may do part of its work in its turn (`coho_turn_take`).

 # Safety
 As `coho_member_for`.
 */
enum coho_sync_status coho_member_for_ordered(const struct coho_member *member,
                                              size_t begin,
                                              size_t end,
                                              int32_t schedule,
                                              size_t chunk,
                                              coho_ordered_body body,
                                              void *argument);

/*
 Calls `section` after the turns of all iterations before this one. Returns `COHO_SYNC_INVALID` for a null section,
 and if the iteration has already had its turn. An iteration that does not take its turn passes it on when it ends.

 # Safety
 `turn` is one that this call of an ordered loop's body was handed.
 */
enum coho_sync_status coho_turn_take(const struct coho_turn *turn,
                                     coho_section section,
                                     void *argument);

/*
 Calls `section` while no other member is in a critical section of this team. Critical sections cannot be nested.

 # Safety
 As `coho_member_rank`.
 */
enum coho_sync_status coho_member_critical(const struct coho_member *member,
                                           coho_section section,
                                           void *argument);

/*
 Whether this member is the first to arrive here and so must do what one member does; the others need not wait for
 it.

 # Safety
 As `coho_member_rank`.
 */
bool coho_member_single(const struct coho_member *member);

/*
 Combines one double of each member by a `coho_operation`, in the order of ranks, and gives all of them the result.
 All members call this with the same operation; it takes one barrier. Returns `COHO_SYNC_INVALID` for an unknown
 operation or a null result, before anything is done, and if another member combines integers meanwhile.

 # Safety
 As `coho_member_rank`; `result` is null or can be written.
 */
enum coho_sync_status coho_member_reduce(const struct coho_member *member,
                                         int32_t operation,
                                         double value,
                                         double *result);

/*
 As `coho_member_reduce`, for integers.

 # Safety
 As `coho_member_reduce`.
 */
enum coho_sync_status coho_member_reduce_int64(const struct coho_member *member,
                                               int32_t operation,
                                               int64_t value,
                                               int64_t *result);

/*
 Starts a team of `size` members. `mapping` is a `coho_mapping`; `algorithm` and `parameter` are as in
 `coho_barrier_create`. `capacity` is the most members that it can be resized to; 0 means as many as there are
 CPUs, or as `options` names. `options` may be null; they are not needed afterwards.

 # Safety
 As `coho_barrier_create`.
 */
enum coho_sync_status coho_team_create(size_t size,
                                       size_t capacity,
                                       int32_t mapping,
                                       int32_t algorithm,
                                       size_t parameter,
                                       const struct coho_sync_options *options,
                                       struct coho_team **out);

/*
 Calls `body` once on each member and returns when all calls have returned. The caller is the member of rank 0.

 # Safety
 `team` is null or a live team; `body` may be called with `argument` on several threads at once.
 */
enum coho_sync_status coho_team_run(const struct coho_team *team,
                                    coho_body body,
                                    void *argument);

/*
 As `coho_team_run`, but also writes to `times` what fork, work and join took, only if it returns `COHO_SYNC_OK`.

 # Safety
 As `coho_team_run`; `times` is null or can be written.
 */
enum coho_sync_status coho_team_run_timed(const struct coho_team *team,
                                          coho_body body,
                                          void *argument,
                                          struct coho_team_times *times);

/*
 Divides the iterations from `begin` to before `end` among the members and calls `body` for each chunk. `schedule`
 is a `coho_schedule`; `chunk` is its number of iterations, or 0.

 # Safety
 As `coho_team_run`.
 */
enum coho_sync_status coho_team_parallel_for(const struct coho_team *team,
                                             size_t begin,
                                             size_t end,
                                             int32_t schedule,
                                             size_t chunk,
                                             coho_loop_body body,
                                             void *argument);

/*
 Combines what `body` returns for each chunk of the iterations from `begin` to before `end`, by a `coho_operation`:
 each member combines its own chunks as they come, then the members' results are combined in the order of ranks.
 With a static schedule the result is the same each time.

 # Safety
 As `coho_team_run`; `result` is null or can be written.
 */
enum coho_sync_status coho_team_parallel_reduce(const struct coho_team *team,
                                                size_t begin,
                                                size_t end,
                                                int32_t schedule,
                                                size_t chunk,
                                                int32_t operation,
                                                coho_reduce_body body,
                                                void *argument,
                                                double *result);

/*
 Changes the number of members, up to the team's capacity. No thread is ended.

 # Safety
 `team` is null or a live team.
 */
enum coho_sync_status coho_team_resize(const struct coho_team *team, size_t size);

/*
 Ends a team's threads; null is ignored.

 # Safety
 `team` is null or came from `coho_team_create`, does not run and will not be used.
 */
void coho_team_destroy(struct coho_team *team);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* COHO_SYNC_H */
