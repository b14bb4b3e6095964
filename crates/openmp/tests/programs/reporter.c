/* Calls a function that is not OpenMP's, though its name begins so. */
void omp_report(int);

int main(void)
{
    int n = 0;
#pragma omp parallel num_threads(3) reduction(+ : n)
    n++;
    omp_report(n);
    return 0;
}
