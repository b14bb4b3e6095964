/* A member creates many tasks while another waits for a task that a third executes: the waiting member must not defeat
   the queue's bound. */
#include <omp.h>
#include <stdio.h>
#include <sched.h>

#define MADE 20000

int main(void)
{
    int waits = 0, made = 0, done = 0, most = 0, is_begun = 0, is_over = 0;
#pragma omp parallel num_threads(3) shared(waits, made, done, most, is_begun, is_over)
    {
        int rank = omp_get_thread_num(), now;
        if (rank == 0) {
            /* Its child lasts until all are created, on a thread that waits for nothing. */
#pragma omp task shared(is_begun, is_over)
            {
                int over = 0;
#pragma omp atomic write
                is_begun = 1;
                while (!over) {
                    sched_yield();
#pragma omp atomic read
                    over = is_over;
                }
            }
            do {
                sched_yield();
#pragma omp atomic read
                now = is_begun;
            } while (!now);
#pragma omp atomic write
            waits = 1;
#pragma omp taskwait
        } else if (rank == 1) {
            do {
                sched_yield();
#pragma omp atomic read
                now = waits;
            } while (!now);
            for (int i = 0; i < MADE; i++) {
#pragma omp task shared(done)
#pragma omp atomic
                done++;
                made++;
#pragma omp atomic read
                now = done;
                if (made - now > most)
                    most = made - now;
                if (i % 64 == 0)
                    sched_yield();
            }
#pragma omp atomic write
            is_over = 1;
        }
    }
    printf("%d done", done);
    if (most > 500)
        printf(", %d waited", most);
    printf("\n");
    return 0;
}
