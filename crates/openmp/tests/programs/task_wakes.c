/* Fine tasks in a recursion, each of which waits for the two that it makes, and regions between them: how many tasks, how
   often a sleeper was to be woken, and how often there was none. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <omp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>

static atomic_long wakes, in_vain;

/* In place of the C library's, which the runtime calls. */
long syscall(long number, ...)
{
    va_list list;
    long words[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(list, long);
    va_end(list);
    register long r10 __asm__("r10") = words[3];
    register long r8 __asm__("r8") = words[4];
    register long r9 __asm__("r9") = words[5];
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(words[0]), "S"(words[1]), "d"(words[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    if (number == SYS_futex && (words[1] & FUTEX_CMD_MASK) == FUTEX_WAKE) {
        wakes++;
        in_vain += result == 0;
    }
    return result;
}

static long leaves(int depth)
{
    if (depth == 0)
        return 1;
    long left, right;
#pragma omp task shared(left)
    left = leaves(depth - 1);
#pragma omp task shared(right)
    right = leaves(depth - 1);
#pragma omp taskwait
    return left + right;
}

int main(void)
{
    long tasks = 0;
    for (int round = 0; round < 20; round++) {
        long had = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
        had = leaves(10);
        tasks += 2 * (had - 1);
    }
    printf("%ld %ld %ld\n", tasks, (long)wakes, (long)in_vain);
    return 0;
}
