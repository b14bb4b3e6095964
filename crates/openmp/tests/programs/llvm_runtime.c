/* Stands in for LLVM's runtime. */
void __kmpc_omp_target_task_alloc(void *place, int thread)
{
    (void)place;
    (void)thread;
}
