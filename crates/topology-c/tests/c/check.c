/* The C interface by its effects, on a CPUID dump of four modules of two cores and on this machine. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coho_topology.h>

#define CHECK(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what, coho_topology_last_error()); \
            exit(1); \
        } \
    } while (0)
#define OK(call) CHECK((call) == COHO_TOPOLOGY_OK)

static void bulldozer(const char *path)
{
    coho_topology *machine = NULL;
    uint64_t words[2] = {~0ull, ~0ull};
    size_t needed = 0, at, of_l1 = 0;
    int32_t level = -1;
    uint32_t distance = 0;
    double ns = 0;
    coho_cache cache;

    OK(coho_topology_load(path, &machine));
    CHECK(coho_topology_count(machine, COHO_LEVEL_CPU) == 8);
    CHECK(coho_topology_count(machine, COHO_LEVEL_MODULE) == 4);
    CHECK(coho_topology_count(machine, COHO_LEVEL_L3) == 1);
    CHECK(coho_topology_count(machine, 99) == 0);
    OK(coho_topology_cpuset(machine, COHO_LEVEL_MODULE, 1, words, 2, &needed));
    CHECK(needed == 1 && words[0] == 0xc && words[1] == 0);
    OK(coho_topology_cpus(machine, words, 2, NULL));
    CHECK(words[0] == 0xff);
    needed = 0;
    OK(coho_topology_cpuset(machine, COHO_LEVEL_L3, 0, NULL, 0, &needed));
    CHECK(needed == 1);
    CHECK(coho_topology_cpuset(machine, COHO_LEVEL_L3, 0, words, 0, NULL) == COHO_TOPOLOGY_INVALID);
    CHECK(coho_topology_cpuset(machine, COHO_LEVEL_L3, 7, words, 2, NULL) == COHO_TOPOLOGY_INVALID);

    OK(coho_topology_shared(machine, 0, 1, &level));
    CHECK(level == COHO_LEVEL_MODULE);
    OK(coho_topology_shared(machine, 1, 2, &level));
    CHECK(level == COHO_LEVEL_L3);
    OK(coho_topology_shared(machine, 3, 3, &level));
    CHECK(level == COHO_LEVEL_CPU);
    CHECK(coho_topology_shared(machine, 0, 8, &level) == COHO_TOPOLOGY_INVALID);

    for (at = 0; at < coho_topology_cache_count(machine); at++) {
        memset(&cache, 0xff, sizeof cache);
        cache.size = sizeof cache;
        OK(coho_topology_cache(machine, at, &cache));
        CHECK(cache.level >= 1 && cache.level <= 3 && cache.bytes >= 1024);
        OK(coho_topology_cache_cpus(machine, at, words, 2, NULL));
        CHECK(words[0] != 0);
        of_l1 += cache.level == 1 && cache.kind == COHO_CACHE_DATA;
    }
    CHECK(of_l1 == 8);
    cache.size = 4;
    CHECK(coho_topology_cache(machine, 0, &cache) == COHO_TOPOLOGY_INVALID);
    CHECK(coho_topology_time_ns(machine, 0, 1, &ns) == COHO_TOPOLOGY_UNKNOWN);
    CHECK(coho_topology_distance(machine, 0, 99, &distance) == COHO_TOPOLOGY_INVALID);
    coho_topology_free(machine);
}

int main(int count, char **arguments)
{
    coho_topology *machine = NULL;

    CHECK(count == 2);
    bulldozer(arguments[1]);
    OK(coho_topology_detect(&machine));
    CHECK(coho_topology_count(machine, COHO_LEVEL_CPU) >= 1);
    CHECK(coho_topology_count(machine, COHO_LEVEL_PACKAGE) >= 1);
    coho_topology_free(machine);
    coho_topology_free(NULL);

    CHECK(coho_topology_load("/nowhere", &machine) == COHO_TOPOLOGY_UNREADABLE);
    CHECK(strstr(coho_topology_last_error(), "/nowhere") != NULL);
    CHECK(coho_topology_load(NULL, &machine) == COHO_TOPOLOGY_INVALID);
    CHECK(coho_topology_detect(NULL) == COHO_TOPOLOGY_INVALID);
    CHECK(coho_topology_count(NULL, COHO_LEVEL_CPU) == 0);
    CHECK(strcmp(coho_topology_status_text(COHO_TOPOLOGY_OK), "done") == 0);
    return 0;
}
