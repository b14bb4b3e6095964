/* Stands in for LLVM's runtime. */
void __kmpc_barrier(void *place, int thread)
{
    (void)place;
    (void)thread;
}
