// Exceptions caught where they were thrown, objects that are copied into tasks, and reductions of classes.
#include <cstdio>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <vector>

struct Sum {
    long value = 0;
    Sum &operator+=(const Sum &other)
    {
        value += other.value;
        return *this;
    }
};
#pragma omp declare reduction(add : Sum : omp_out += omp_in)

int main()
{
    int caught = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : caught)
    for (int i = 0; i < 100; i++) {
        try {
            if (i % 3 == 0)
                throw std::runtime_error("third");
        } catch (const std::exception &) {
            caught++;
        }
    }
    std::printf("caught: %d\n", caught);

    std::vector<std::string> words(20);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 20; i++) {
        std::string word(i, 'x');
#pragma omp task firstprivate(word) shared(words)
        words[i] = word + "!";
    }
    std::size_t length = 0;
    for (const auto &word : words)
        length += word.size();
    std::printf("words: %zu\n", length);

    Sum sum;
#pragma omp parallel for reduction(add : sum) schedule(guided)
    for (int i = 0; i < 1000; i++)
        sum += Sum{i};
    std::printf("sum: %ld\n", sum.value);
}
