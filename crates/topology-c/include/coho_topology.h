/* coho-topology: what a machine says it is, and how far apart its CPUs were measured to be. Made by cbindgen from src. */

#ifndef COHO_TOPOLOGY_H
#define COHO_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

/*
 What a function of this library returns.
 */
typedef enum coho_topology_status {
  /*
   Done.
   */
  COHO_TOPOLOGY_OK = 0,
  /*
   A null pointer, an unknown constant, an index out of range, or a structure of an impossible size.
   */
  COHO_TOPOLOGY_INVALID = 1,
  /*
   The machine or the file cannot be read as a topology; `coho_topology_last_error` says why.
   */
  COHO_TOPOLOGY_UNREADABLE = 2,
  /*
   Nothing says it: the CPUs share no object, a distance is not claimed, or a time was not measured.
   */
  COHO_TOPOLOGY_UNKNOWN = 3,
  /*
   A fault of this library.
   */
  COHO_TOPOLOGY_FAULT = 4,
} coho_topology_status;

/*
 A level of a topology.
 */
typedef enum coho_level {
  /*
   Single CPUs (hardware threads).
   */
  COHO_LEVEL_CPU = 0,
  /*
   Cores.
   */
  COHO_LEVEL_CORE = 1,
  /*
   Compute units of several cores.
   */
  COHO_LEVEL_MODULE = 2,
  /*
   Level-1 data caches.
   */
  COHO_LEVEL_L1 = 3,
  /*
   Level-2 caches.
   */
  COHO_LEVEL_L2 = 4,
  /*
   Level-3 caches.
   */
  COHO_LEVEL_L3 = 5,
  /*
   Level-4 caches.
   */
  COHO_LEVEL_L4 = 6,
  /*
   NUMA nodes, those without CPUs included.
   */
  COHO_LEVEL_NUMA = 7,
  /*
   Dies, in packages of several.
   */
  COHO_LEVEL_DIE = 8,
  /*
   Packages (sockets).
   */
  COHO_LEVEL_PACKAGE = 9,
  /*
   Kinds of cores, on hybrid processors.
   */
  COHO_LEVEL_KIND = 10,
} coho_level;

/*
 What a cache holds.
 */
typedef enum coho_cache_kind {
  /*
   Data only.
   */
  COHO_CACHE_DATA = 0,
  /*
   Instructions only.
   */
  COHO_CACHE_INSTRUCTION = 1,
  /*
   Both.
   */
  COHO_CACHE_UNIFIED = 2,
} coho_cache_kind;

/*
 A machine's topology. Threads may share it; it does not change.
 */
typedef struct coho_topology coho_topology;

/*
 A cache. Set `size` before the call: `coho_cache cache = {sizeof cache};`.
 */
typedef struct coho_cache {
  /*
   The size of this structure as the program was compiled. Only fields within it are written, and those that the library
   does not know become zero.
   */
  size_t size;
  /*
   1 for L1.
   */
  int32_t level;
  /*
   A `coho_cache_kind`.
   */
  int32_t kind;
  /*
   Capacity in bytes; 0 if the source does not give it.
   */
  uint64_t bytes;
  /*
   The size of a line in bytes; 0 if the source does not give it.
   */
  uint32_t line_bytes;
  /*
   Associativity in ways; 0 means fully associative, `UINT32_MAX` that the source does not give it.
   */
  uint32_t ways;
} coho_cache;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Reads this machine's topology from sysfs and CPUID into `*out`; free it by `coho_topology_free`.

 # Safety
 `out` is null or can be written.
 */
enum coho_topology_status coho_topology_detect(struct coho_topology **out);

/*
 Reads a topology from a file: a profile of coho's, which also has the times between CPUs, hwloc's XML, a CPUID dump, a
 copied sysfs tree, or FreeBSD's `kern.sched.topology_spec`.

 # Safety
 `path` is null or a string, and `out` is null or can be written.
 */
enum coho_topology_status coho_topology_load(const char *path,
                                             struct coho_topology **out);

/*
 Frees a topology; null is allowed.

 # Safety
 `topology` is null, or comes from this library, was not freed, and nobody uses it any more.
 */
void coho_topology_free(struct coho_topology *topology);

/*
 How many caches there are, of all levels and kinds; 0 for null.

 # Safety
 `topology` is null or a topology of this library.
 */
size_t coho_topology_cache_count(const struct coho_topology *topology);

/*
 Describes the `index`-th cache.

 # Safety
 `topology` is null or a topology of this library, and `out` is null or as many bytes as its `size` says, which can be
 written.
 */
enum coho_topology_status coho_topology_cache(const struct coho_topology *topology,
                                              size_t index,
                                              struct coho_cache *out);

/*
 Writes the CPUs that share the `index`-th cache, as `coho_topology_cpuset` does.

 # Safety
 As of `coho_topology_cpuset`.
 */
enum coho_topology_status coho_topology_cache_cpus(const struct coho_topology *topology,
                                                   size_t index,
                                                   uint64_t *words,
                                                   size_t count,
                                                   size_t *needed);

/*
 Writes the distance that is claimed from one NUMA node to another (ACPI's SLIT: 10 within a node) into `*distance`; nodes
 are named by their indices among `COHO_LEVEL_NUMA`. `COHO_TOPOLOGY_UNKNOWN` if the source claims none.

 # Safety
 `topology` is null or a topology of this library, and `distance` is null or can be written.
 */
enum coho_topology_status coho_topology_distance(const struct coho_topology *topology,
                                                 size_t from,
                                                 size_t to,
                                                 uint32_t *distance);

/*
 Writes the time that was measured between two CPUs, the median of handing over a cache line in ns, into `*ns`. All are of
 one method: strict alternation by compare-and-swap where that was measured. Only a topology that was loaded from a profile
 has times; `COHO_TOPOLOGY_UNKNOWN` if it has none of these two.

 # Safety
 `topology` is null or a topology of this library, and `ns` is null or can be written.
 */
enum coho_topology_status coho_topology_time_ns(const struct coho_topology *topology,
                                                uint32_t a,
                                                uint32_t b,
                                                double *ns);

/*
 How many objects of a level (a `coho_level`) there are; 0 for a level that no source tells, for an unknown one and for
 null.

 # Safety
 `topology` is null or a topology of this library.
 */
size_t coho_topology_count(const struct coho_topology *topology,
                           int32_t level);

/*
 Writes the CPUs of the `index`-th object of a level (a `coho_level`), in the order of their first CPUs, into `count`
 words: bit `c % 64` of word `c / 64` is CPU `c`, as in a `cpu_set_t` of a little-endian machine. `*needed`, unless null, is
 the number of words that it takes; with `words` null, nothing else is written.

 # Safety
 `topology` is null or a topology of this library, `words` is null or `count` words, `needed` is null or can be written.
 */
enum coho_topology_status coho_topology_cpuset(const struct coho_topology *topology,
                                               int32_t level,
                                               size_t index,
                                               uint64_t *words,
                                               size_t count,
                                               size_t *needed);

/*
 Writes the online CPUs, as `coho_topology_cpuset` does.

 # Safety
 As of `coho_topology_cpuset`.
 */
enum coho_topology_status coho_topology_cpus(const struct coho_topology *topology,
                                             uint64_t *words,
                                             size_t count,
                                             size_t *needed);

/*
 Writes the level (a `coho_level`) of the smallest object that holds both CPUs into `*level`, by the claims;
 `COHO_TOPOLOGY_UNKNOWN` if none does.

 # Safety
 `topology` is null or a topology of this library, and `level` is null or can be written.
 */
enum coho_topology_status coho_topology_shared(const struct coho_topology *topology,
                                               uint32_t a,
                                               uint32_t b,
                                               int32_t *level);

/*
 The message of this thread's last failing call. Valid until the thread's next failing call; empty if none has failed.
 */
const char *coho_topology_last_error(void);

/*
 What a status means, in English; never null.
 */
const char *coho_topology_status_text(int32_t status);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* COHO_TOPOLOGY_H */
