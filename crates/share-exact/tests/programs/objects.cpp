// Objects with virtual functions, exceptions and containers, used by threads that the C++ library starts.
#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct shape {
    virtual ~shape() = default;
    virtual long area() const = 0;
};

struct square : shape {
    long side;
    explicit square(long side) : side(side) {}
    long area() const override { return side * side; }
};

static std::atomic<long> all{0};
static std::mutex lock;
static std::map<std::string, long> named;
static thread_local long own;

static void work(long rank)
{
    for (long i = 0; i < 20000; i++) {
        std::unique_ptr<shape> one = std::make_unique<square>(i % 7 + rank);
        all += one->area();
        own += 1;
        try {
            if (i % 100 == 0)
                throw std::runtime_error(std::to_string(i % 3));
        } catch (const std::runtime_error &error) {
            std::lock_guard<std::mutex> held(lock);
            named[error.what()] += 1;
        }
    }
    if (own != 20000)
        all = -1;
}

int main()
{
    std::vector<std::thread> threads;
    for (long rank = 0; rank < 2; rank++)
        threads.emplace_back(work, rank);
    for (auto &thread : threads)
        thread.join();
    std::printf("%ld %ld\n", all.load(), named["0"] + named["1"] + named["2"]);
}
