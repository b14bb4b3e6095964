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
   A null pointer, an unknown constant, a rank or a number that is out of range.
   */
  COHO_SYNC_INVALID = 1,
  /*
   A wait took longer than its limit.
   */
  COHO_SYNC_TIMED_OUT = 2,
  /*
   The team is running: runs of the same team cannot be nested, nor made by two threads at a time.
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
   What suits the number of threads.
   */
  COHO_AUTO = 0,
  /*
   FBS, each flag on a line of its own.
   */
  COHO_FBS = 1,
  /*
   FBS, all flags in one line.
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
 How the iterations of a loop are shared out.
 */
typedef enum coho_schedule {
  /*
   One block for each member, or chunks dealt out in turn where a chunk is given.
   */
  COHO_STATIC = 0,
  /*
   Chunks to whoever comes first.
   */
  COHO_DYNAMIC = 1,
  /*
   Chunks that shrink down to the given one.
   */
  COHO_GUIDED = 2,
} coho_schedule;

/*
 A barrier.
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
 What a member does in a run.
 */
typedef void (*coho_body)(void *argument, const struct coho_member *member);

/*
 What a member does with the iterations from `begin` to before `end`.
 */
typedef void (*coho_loop_body)(void *argument, size_t begin, size_t end);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 What a status means, in English; never null.
 */
const char *coho_sync_status_text(int32_t status);

/*
 Makes a barrier for so many threads. `algorithm` is a `coho_algorithm`; `parameter` is its radix or arity, else
 ignored.

 # Safety
 `out` is null or can be written.
 */
enum coho_sync_status coho_barrier_create(int32_t algorithm,
                                          size_t parameter,
                                          size_t threads,
                                          struct coho_barrier **out);

/*
 Arrives as `rank`, below the number of threads, and waits until all have arrived.

 # Safety
 `barrier` is null or a barrier that is not being destroyed; one thread at a time uses a rank.
 */
enum coho_sync_status coho_barrier_wait(const struct coho_barrier *barrier, size_t rank);

/*
 As `coho_barrier_wait`, but returns `COHO_SYNC_TIMED_OUT` after so many nanoseconds. The arrival stands: the next
 wait as this rank goes on with the same barrier. The first ranks that have not arrived, `capacity` at most, are
 written to `missing`, and how many there are in all to `count`; both may be null.

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
 Destroys a barrier; null is ignored.

 # Safety
 `barrier` is null or came from `coho_barrier_create`, and no thread waits at it or will use it.
 */
void coho_barrier_destroy(struct coho_barrier *barrier);

/*
 Starts a team of so many members. `mapping` is a `coho_mapping`, `algorithm` with `parameter` as in
 `coho_barrier_create`. `capacity` is the most members that it can be resized to; 0 means as many as there are CPUs.

 # Safety
 `out` is null or can be written.
 */
enum coho_sync_status coho_team_create(size_t size,
                                       size_t capacity,
                                       int32_t mapping,
                                       int32_t algorithm,
                                       size_t parameter,
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
 Shares out the iterations from `begin` to before `end` and calls `body` for each chunk. `schedule` is a
 `coho_schedule`, `chunk` its number of iterations or 0.

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
 Shares out a loop among the members of a run, all of which call this; no barrier at the end. Returns
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
 The sum of a value of each member, added in the order of ranks; all members call this.

 # Safety
 As `coho_member_rank`.
 */
double coho_member_sum(const struct coho_member *member, double value);

/*
 Whether this member is the first to come here, and so has to do what one member does.

 # Safety
 As `coho_member_rank`.
 */
bool coho_member_single(const struct coho_member *member);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* COHO_SYNC_H */
