/* Calls a function that is not OpenMP's, although its name begins like one. */
void omp_report(int);

int main(void)
{
    int n = 0;
#pragma omp parallel num_threads(3) reduction(+ : n)
    n++;
    omp_report(n);
    return 0;
}
