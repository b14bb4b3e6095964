// Objects of every kind of `new` and `delete`; two of them counted in by two threads.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <new>
#include <thread>
#include <vector>

struct alignas(256) Wide {
    char bytes[300];
};

static double cpu_time() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void counts(long *counter) {
    for (double begun = cpu_time(); cpu_time() - begun < 0.2;) {
        for (int i = 0; i < 100000; i++) __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
    }
}

__attribute__((noinline)) static long *make() {
    long *made = new long;
    *made = 0;
    return made;
}

int main() {
    long wrong = 0;
    for (int turn = 0; turn < 20000; turn++) {
        char *one = new char, *more = new char[turn % 500], *quiet = new (std::nothrow) char[turn % 90];
        Wide *wide = new Wide, *wides = new Wide[turn % 4 + 1], *quietly = new (std::nothrow) Wide;
        wrong += (uintptr_t)wide % 256 + (uintptr_t)wides % 256 + (uintptr_t)quietly % 256;
        delete one;
        delete[] more;
        delete[] quiet;
        delete wide;
        delete[] wides;
        delete quietly;
    }
    try {
        volatile size_t most = PTRDIFF_MAX;
        char *volatile kept = new char[most];
        wrong += kept != nullptr;
    } catch (const std::bad_alloc &) {
        wrong -= 1000;
    }
    long *one = make(), *two = make();
    std::printf("%p %p %p %ld\n", (void *)one, (void *)two, (void *)make, wrong + 1000);
    std::vector<std::thread> threads;
    threads.emplace_back(counts, one);
    threads.emplace_back(counts, two);
    for (auto &thread : threads) thread.join();
    delete one;
    delete two;
}
