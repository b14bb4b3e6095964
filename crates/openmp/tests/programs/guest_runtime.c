/* A runtime that only one library uses. */
int omp_get_max_threads(void)
{
    return 7;
}

int omp_get_thread_num(void)
{
    return 5;
}

void __kmpc_barrier(void *place, int thread)
{
    (void)place;
    (void)thread;
}
