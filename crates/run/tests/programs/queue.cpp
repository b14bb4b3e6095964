// Prints where the words of its threads lie, which share a line.
#include <atomic>
#include <cstdio>

class queue {
public:
    std::atomic<long> head{0}; long size = 1;
private: std::atomic<long> tail{0};
public:
    void *at() { return &tail; }
};

namespace a { queue all; }

int main()
{
    std::printf("%p %p %p\n", (void *)&a::all.head, (void *)&a::all.size, a::all.at());
    return a::all.size != 1;
}
