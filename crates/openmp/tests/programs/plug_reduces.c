/* A library whose tasks take part in a region's reduction. */
int plug(void)
{
    int value = 0;
#pragma omp parallel for reduction(task, + : value) schedule(dynamic) num_threads(3)
    for (int i = 0; i < 50; i++) {
#pragma omp task in_reduction(+ : value)
        value += i;
    }
    return value;
}
