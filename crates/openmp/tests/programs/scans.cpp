// Scans and conditional `lastprivate` of classes and templates.
#include <cstdio>
#include <omp.h>
#include <vector>

struct Sum {
    long value = 0, terms = 0;
    Sum() = default;
    explicit Sum(long value) : value(value), terms(1) {}
    Sum(const Sum &) = default;
    Sum &operator=(const Sum &) = default;
    ~Sum() { value = terms = -77777; }
    Sum &operator+=(const Sum &other)
    {
        value += other.value;
        terms += other.terms;
        return *this;
    }
};
#pragma omp declare reduction(add : Sum : omp_out += omp_in)

template <class T> static T last_of(const std::vector<T> &from, T limit)
{
    T last = -1;
#pragma omp parallel for schedule(dynamic, 2) lastprivate(conditional : last)
    for (std::size_t i = 0; i < from.size(); i++)
        if (from[i] < limit)
            last = from[i];
    return last;
}

static double shared_last;

template <class T> static void orphaned(const std::vector<T> &from, T limit)
{
#pragma omp for schedule(guided) lastprivate(conditional : shared_last)
    for (std::size_t i = 0; i < from.size(); i++)
        if (from[i] < limit)
            shared_last = from[i];
}

template <class T> static bool scans(const std::vector<long> &from)
{
    std::vector<long> inclusive(from.size()), exclusive(from.size());
    // GCC 12 loses vectors within scans.
    const long *terms = from.data();
    long *in = inclusive.data(), *ex = exclusive.data(), size = from.size();
    T sum(1), other(1);
#pragma omp parallel for reduction(inscan, add : sum)
    for (long i = 0; i < size; i++) {
        sum += T(terms[i]);
#pragma omp scan inclusive(sum)
        in[i] = sum.value * 3 + sum.terms;
    }
#pragma omp parallel
#pragma omp for reduction(inscan, add : other)
    for (long i = 0; i < size; i++) {
        ex[i] = other.value * 3 + other.terms;
#pragma omp scan exclusive(other)
        other += T(terms[i]);
    }
    T expected(1);
    bool right = true;
    for (long i = 0; i < size; i++) {
        right &= exclusive[i] == expected.value * 3 + expected.terms;
        expected += T(terms[i]);
        right &= inclusive[i] == expected.value * 3 + expected.terms;
    }
    return right && sum.value == expected.value && other.terms == expected.terms;
}

int main()
{
    int wrong = 0;
    for (int size : {0, 1, 3, 17, 400, 3000}) {
        std::vector<long> longs;
        std::vector<double> doubles;
        for (int i = 0; i < size; i++) {
            longs.push_back(i * 37L % 101);
            doubles.push_back(i * 41 % 103 + 0.5);
        }
        for (int round = 0; round < 50; round++)
            wrong += !scans<Sum>(longs);
        shared_last = -1;
#pragma omp parallel
        orphaned(doubles, 9.0);
        std::printf("%d: %ld %.1f %.1f\n", size, last_of(longs, 10L), last_of(doubles, 7.0), shared_last);
    }
    std::printf("%d wrong\n", wrong);
    return wrong > 0;
}
