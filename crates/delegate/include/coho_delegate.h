/* coho-delegate: calls that another core executes. Made by cbindgen from src/ffi.rs. */

#ifndef COHO_DELEGATE_H
#define COHO_DELEGATE_H

#include <stddef.h>
#include <stdint.h>

/*
 What a function of this library returns.
 */
typedef enum coho_delegate_status {
  /*
   Done.
   */
  COHO_DELEGATE_OK = 0,
  /*
   A null pointer, a number out of range, or a ticket that the caller has not given.
   */
  COHO_DELEGATE_INVALID = 1,
  /*
   The CPU cannot be used.
   */
  COHO_DELEGATE_CPU = 2,
  /*
   The operating system refused a thread or memory.
   */
  COHO_DELEGATE_SYSTEM = 3,
  /*
   There is no answer yet.
   */
  COHO_DELEGATE_PENDING = 4,
  /*
   The answer is gone: as many requests as there are lines have been posted since.
   */
  COHO_DELEGATE_GONE = 5,
} coho_delegate_status;

/*
 One thread's way to a host. Its requests are executed in the order in which they are posted, by the host or, if that is late,
 by the caller. Drain it before the thread forks: the child has no host.
 */
typedef struct coho_caller coho_caller;

/*
 A thread that executes the requests of its callers.
 */
typedef struct coho_host coho_host;

/*
 Options of a host. Set `size` and leave the rest zero for the defaults. A null pointer selects these, too:
 `coho_host_options options = {sizeof options};`.
 */
typedef struct coho_host_options {
  /*
   The size of this structure as the program was compiled.
   */
  size_t size;
  /*
   Nanoseconds of polling in vain after which the host gives way to others: 0 for 1 ms, `UINT64_MAX` for never.
   */
  uint64_t polling_ns;
} coho_host_options;

/*
 A system call, by its number (`SYS_…`), with arguments as the kernel takes them.
 */
typedef struct coho_request {
  /*
   The number.
   */
  long number;
  /*
   Pointers and numbers alike.
   */
  size_t arguments[6];
} coho_request;

/*
 A function that a host can execute; its result is the answer as it is.
 */
typedef ptrdiff_t (*coho_function)(void *argument);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 What a status means, in English; never null.
 */
const char *coho_delegate_status_text(int32_t status);

/*
 Starts a host on a CPU, or on any for -1. `options` may be null. The new thread has the calling thread's rights and blocks
 all signals.

 # Safety
 `options` is null or can be read; `out` is null or can be written.
 */
enum coho_delegate_status coho_host_create(int32_t cpu,
                                           const struct coho_host_options *options,
                                           struct coho_host **out);

/*
 Requests that a host has begun to execute so far; 0 for null.

 # Safety
 `host` is null or a live host.
 */
uint64_t coho_host_served(const struct coho_host *host);

/*
 Ends a host's thread, once what has been posted is done. Its callers can still be used: from then on they themselves
 execute what they post.

 # Safety
 `host` is null or a live host.
 */
void coho_host_end(const struct coho_host *host);

/*
 Ends a host's thread, as `coho_host_end` does, and destroys the host, but not its callers. Null is ignored.

 # Safety
 `host` is null or came from `coho_host_create`, and nobody will use it.
 */
void coho_host_destroy(struct coho_host *host);

/*
 Makes a caller with `lines` lines, each with a slot of `slot_bytes`. As many requests can be on their way as there are lines;
 their number is rounded up to a power of two, and 0 stands for 8.

 # Safety
 `host` is null or a live host; `out` is null or can be written.
 */
enum coho_delegate_status coho_caller_create(const struct coho_host *host,
                                             size_t lines,
                                             size_t slot_bytes,
                                             struct coho_caller **out);

/*
 Sets for how many nanoseconds a wait looks for the answer before the caller executes what the host has not begun: 10000 by
 default. With `UINT64_MAX`, the host executes every request, until it ends.

 # Safety
 `caller` is null or a live caller, which nobody else uses meanwhile.
 */
enum coho_delegate_status coho_caller_set_patience(struct coho_caller *caller,
                                                   uint64_t patience_ns);

/*
 Has the host execute a system call, and waits for the result, which is the kernel's: an error number is negated, and `errno`
 is not set. Returns -EINVAL for null.

 # Safety
 As `coho_caller_set_patience`; `request` is null or can be read; as the system call with these arguments, executed by another
 thread of the process.
 */
ptrdiff_t coho_caller_call(struct coho_caller *caller,
                           const struct coho_request *request);

/*
 Posts a system call without waiting for it. If no line is free, it waits for the oldest request. `ticket` may be null.

 # Safety
 As `coho_caller_call`, until the request is done: it reads and writes memory meanwhile. `ticket` is null or can be written.
 */
enum coho_delegate_status coho_caller_post(struct coho_caller *caller,
                                           const struct coho_request *request,
                                           uint64_t *ticket);

/*
 As `coho_caller_post`, but posts a function of the program, which the host calls with `argument`.

 # Safety
 As `coho_caller_post`; the function may be called with `argument` on any thread.
 */
enum coho_delegate_status coho_caller_post_function(struct coho_caller *caller,
                                                    coho_function function,
                                                    void *argument,
                                                    uint64_t *ticket);

/*
 The slot of the next request's line, for its payload. Its size is written to `bytes`, which may be null. The slot is the
 program's until the request is posted, and again once that is done. Null if `caller` is null or has no slots.

 # Safety
 As `coho_caller_set_patience`; `bytes` is null or can be written.
 */
void *coho_caller_slot(struct coho_caller *caller,
                       size_t *bytes);

/*
 Waits for a request that was posted, and writes its answer: the kernel's result, or what the function returned. `answer` may
 be null.

 # Safety
 As `coho_caller_set_patience`; `answer` is null or can be written.
 */
enum coho_delegate_status coho_caller_wait(struct coho_caller *caller,
                                           uint64_t ticket,
                                           ptrdiff_t *answer);

/*
 As `coho_caller_wait`, but returns `COHO_DELEGATE_PENDING` if there is no answer yet.

 # Safety
 As `coho_caller_wait`.
 */
enum coho_delegate_status coho_caller_poll(struct coho_caller *caller,
                                           uint64_t ticket,
                                           ptrdiff_t *answer);

/*
 Waits for all that was posted.

 # Safety
 As `coho_caller_set_patience`.
 */
enum coho_delegate_status coho_caller_drain(struct coho_caller *caller);

/*
 Requests that the caller has executed itself because its host was late; 0 for null.

 # Safety
 As `coho_caller_set_patience`.
 */
uint64_t coho_caller_taken_back(const struct coho_caller *caller);

/*
 Waits for all that was posted, and destroys the caller. Null is ignored.

 # Safety
 `caller` is null or came from `coho_caller_create`, and nobody will use it.
 */
void coho_caller_destroy(struct coho_caller *caller);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* COHO_DELEGATE_H */
