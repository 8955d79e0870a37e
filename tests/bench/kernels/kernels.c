/* The codelets of the scripts in this folder, as a C programmer writes them, for elements of type REAL.
   Sums are double where those of the scripts are f64.

   kernels ROW N [PARTS PASSES] prints the seconds of the loops alone and the sum that the script prints.
   Build: gcc -O3 -march=native -ffp-contract=off -DREAL=double kernels.c -lm, or with -ffast-math.
   Without -ffp-contract=off gcc joins products and sums, and the bits differ. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

typedef REAL real;

static int n, parts = 1, passes = 10;

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }

/* Memory in huge pages, as that of starpush, which are touched before the clock starts: of malloc and memset
   gcc makes calloc, which leaves that to the loops. */
static void *room(size_t bytes) {
    void *p;
    if (posix_memalign(&p, 1 << 21, bytes)) abort();
    madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 0, bytes);
    return p;
}

static real *vector(long m, int s) {
    real *p = room(sizeof(real) * m);
    for (long i = 0; s && i < m; i++) p[i] = (i * s % 1009) / 1009.0;
    return p;
}
static int32_t *indices(int m) {
    int32_t *k = room(4L * n);
    for (long i = 0; i < n; i++) k[i] = i * 7919 % m;
    return k;
}

/* The sums of the scripts, in their order, whatever the flags. */
#define STRICT __attribute__((optimize("no-fast-math"), noinline))
STRICT static double check(const real *y, long m) { double s = 0; for (long i = 0; i < m; i++) s += (double)y[i] * (double)(i % 7 + 1); return s; }
STRICT static double check2(const real *y, int rows, int cols) {
    double s = 0;
    for (int i = 0; i < rows; i++) for (int j = 0; j < cols; j++) s += (double)y[(long)i * cols + j] * (double)((i + j) % 7 + 1);
    return s;
}
static void say(double seconds, double sum) { printf("%.9f %.17g\n", seconds, sum); }

static void copy(void) {
    real *x = vector(n, 7), *y = vector(n, 0);
    double t = now();
    for (int k = 0; k < 10; k++) {
        for (int i = 0; i < n; i++) y[i] = x[i];
        __asm__ volatile("" : : "r"(y) : "memory"); /* ten passes, not one */
    }
    say(now() - t, check(y, n));
}
__attribute__((noinline)) static void axpy_part(int m, const real *x, real *y) { for (int i = 0; i < m; i++) y[i] += (real)0.5 * x[i]; }
static void axpy(void) {
    real *x = vector(n, 7), *y = vector(n, 31);
    int m = n / parts;
    double t = now();
    for (int k = 0; k < passes; k++) for (int b = 0; b < parts; b++) axpy_part(m, x + (long)b * m, y + (long)b * m);
    say(now() - t, check(y, n));
}
static void triad(void) {
    real *x = vector(n, 7), *y = vector(n, 31), *z = vector(n, 0);
    double t = now();
    for (int k = 0; k < 10; k++) {
        for (int i = 0; i < n; i++) z[i] = x[i] + (real)0.5 * y[i];
        __asm__ volatile("" : : "r"(z) : "memory");
    }
    say(now() - t, check(z, n));
}
static void dot(void) {
    real *x = vector(n, 7), *y = vector(n, 31), d[1] = {0};
    double t = now();
    for (int k = 0; k < 10; k++) {
        real s = 0;
        for (int i = 0; i < n; i++) s += x[i] * y[i];
        d[0] += s;
        __asm__ volatile("" : : "r"(x) : "memory");
    }
    say(now() - t, check(d, 1));
}
static void prefix(void) {
    real *p = vector(n, 7);
    int m = n / 8;
    double t = now();
    for (int k = 0; k < 4; k++) for (int b = 0; b < 8; b++) { real *q = p + (long)b * m; for (int i = 1; i < m; i++) q[i] += q[i - 1]; }
    say(now() - t, check(p, n));
}
static void scan(void) {
    real *p = vector(n, 1);
    double t = now();
    for (int k = 0; k < 20; k++) for (int i = 1; i < n; i++) p[i] = p[i - 1] * (real)0.999 + p[i];
    say(now() - t, check(p, n));
}
static void gather(void) {
    real *x = vector(n, 7), *y = vector(n, 0); int32_t *k = indices(n);
    double t = now();
    for (int r = 0; r < 10; r++) {
        for (int i = 0; i < n; i++) y[i] = x[k[i]];
        __asm__ volatile("" : : "r"(y) : "memory");
    }
    say(now() - t, check(y, n));
}
static void scatter(void) {
    real *x = vector(n, 7), *y = vector(n, 0); int32_t *k = indices(n);
    double t = now();
    for (int r = 0; r < 10; r++) for (int i = 0; i < n; i++) y[k[i]] = x[i];
    say(now() - t, check(y, n));
}
static void histogram(void) {
    int32_t *k = indices(256), h[256] = {0};
    double t = now(), s = 0;
    for (int r = 0; r < 4; r++) for (int i = 0; i < n; i++) h[k[i]]++;
    t = now() - t;
    for (int i = 0; i < 256; i++) s += (double)h[i] * (i % 7 + 1);
    say(t, s);
}
static void montecarlo(void) {
    int m = n / 16; int32_t *c = room(4L * m);
    double t = now(), sum = 0;
    for (int i = 0; i < m; i++) {
        int64_t s = i + 1; int hits = 0;
        for (int k = 0; k < 64; k++) {
            s = (s * 1103515245 + 12345) % 2147483648;
            int64_t x = s / 65536;
            s = (s * 1103515245 + 12345) % 2147483648;
            int64_t y = s / 65536;
            if (x * x + y * y <= 1073741824) hits++;
        }
        c[i] = hits;
    }
    t = now() - t;
    for (int i = 0; i < m; i++) sum += (double)c[i] * (i % 7 + 1);
    say(t, sum);
}
static void spmv(void) {
    int m = n / 8; int32_t *ptr = room(4L * (m + 1)), *col = room(32L * m);
    real *a = vector(8L * m, 7), *x = vector(m, 31), *y = vector(m, 0);
    for (int i = 0; i <= m; i++) ptr[i] = 8 * i;
    for (int i = 0; i < 8 * m; i++) col[i] = (i / 8 + i % 8 * 61) % m;
    double t = now();
    for (int r = 0; r < 10; r++) {
        for (int i = 0; i < m; i++) { double s = 0; for (int k = ptr[i]; k < ptr[i + 1]; k++) s += a[k] * x[col[k]]; y[i] = s; }
        __asm__ volatile("" : : "r"(y) : "memory");
    }
    say(now() - t, check(y, m));
}
static void nbody(void) {
    int m = n / 256; real *x = vector(m, 7), *y = vector(m, 31), *z = vector(m, 101), *ax = vector(m, 0);
    double t = now();
    for (int i = 0; i < m; i++) {
        real a = 0;
        for (int j = 0; j < m; j++) { real dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i], r2 = dx * dx + dy * dy + dz * dz + (real)0.01; a += dx / (r2 * sqrt(r2)); }
        ax[i] = a;
    }
    say(now() - t, check(ax, m));
}
static void price(void) {
    real *s = vector(n, 0), *k = vector(n, 0), *u = vector(n, 0), *c = vector(n, 0); double r = 0.02, v = 0.3;
    for (long i = 0; i < n; i++) { s[i] = 50.0 + 100.0 * (i * 7 % 1009) / 1009.0; k[i] = 80.0 + 40.0 * (i * 31 % 1009) / 1009.0; u[i] = 0.25 + 2.0 * (i * 101 % 1009) / 1009.0; }
    double t = now();
    for (int i = 0; i < n; i++) {
        double w = v * sqrt(u[i]), d1 = (log(s[i] / k[i]) + (r + 0.5 * v * v) * u[i]) / w, d2 = d1 - w;
        c[i] = s[i] * 0.5 * (1.0 + erf(d1 * 0.7071067811865476)) - k[i] * exp(-r * u[i]) * 0.5 * (1.0 + erf(d2 * 0.7071067811865476));
    }
    say(now() - t, check(c, n));
}
static void mandel(void) {
    int32_t *img = room(4L * n * n); double side = n, sum = 0, t = now();
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
        double cr = -2.0 + 3.0 * j / side, ci = -1.5 + 3.0 * i / side, zr = 0, zi = 0; int k = 0;
        for (int r = 0; r < 200 && zr * zr + zi * zi <= 4.0; r++) { double nr = zr * zr - zi * zi + cr; zi = 2.0 * zr * zi + ci; zr = nr; k++; }
        img[(long)i * n + j] = k;
    }
    t = now() - t;
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) sum += (double)img[(long)i * n + j] * ((i + j) % 7 + 1);
    say(t, sum);
}
static real *matrix(int rows, int cols, int s) {
    real *p = room(sizeof(real) * rows * cols);
    for (int i = 0; s && i < rows; i++) for (int j = 0; j < cols; j++) p[(long)i * cols + j] = (i * s + j * 13) % 101;
    return p;
}
static void matmul(void) {
    real *A = matrix(n, n, 3), *B = matrix(n, n, 5), *C = matrix(n, n, 0); double *s = room(8L * n);
    double t = now();
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) s[j] = 0;
        for (int k = 0; k < n; k++) for (int j = 0; j < n; j++) s[j] += A[i * n + k] * B[k * n + j];
        for (int j = 0; j < n; j++) C[i * n + j] += s[j];
    }
    say(now() - t, check2(C, n, n));
}
static void transpose(void) {
    real *a = matrix(n, n, 7), *b = matrix(n, n, 0);
    double t = now();
    for (int k = 0; k < 10; k++) {
        for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) b[i * n + j] = a[j * n + i];
        __asm__ volatile("" : : "r"(b) : "memory");
    }
    say(now() - t, check2(b, n, n));
}
static void rowsums(void) {
    real *A = matrix(n, n, 7), *y = vector(n, 0);
    double t = now();
    for (int k = 0; k < 10; k++) {
        for (int i = 0; i < n; i++) { real s = 0; for (int j = 0; j < n; j++) s += A[i * n + j]; y[i] = s; }
        __asm__ volatile("" : : "r"(y) : "memory");
    }
    say(now() - t, check(y, n));
}
static void blur(void) {
    uint8_t *a = room((long)n * n), *b = room((long)n * n); double s = 0;
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i * n + j] = (i * 7 + j * 13) % 101;
    double t = now();
    for (int k = 0; k < 10; k++) {
        for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) {
            const uint8_t *p = a + i * n + j;
            b[i * n + j] = (p[-n - 1] + 2 * p[-n] + p[-n + 1] + 2 * p[-1] + 4 * p[0] + 2 * p[1] + p[n - 1] + 2 * p[n] + p[n + 1]) / 16;
        }
        __asm__ volatile("" : : "r"(b) : "memory");
    }
    t = now() - t;
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) s += (double)b[i * n + j] * ((i + j) % 7 + 1);
    say(t, s);
}
static void stencil(void) {
    real *a = matrix(n + 2, n, 7), *b = matrix(n + 2, n, 7);
    double t = now();
    for (int k = 0; k < 50; k++) {
        for (int i = 1; i <= n; i++) {
            for (int j = 1; j < n - 1; j++) b[i * n + j] = a[i * n + j] + (real)0.1 * (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1] - (real)4.0 * a[i * n + j]);
            b[i * n] = a[i * n]; b[i * n + n - 1] = a[i * n + n - 1];
        }
        real *c = a; a = b; b = c;
    }
    say(now() - t, check2(a, n + 2, n));
}

int main(int argc, char **argv) {
    struct { const char *name; void (*run)(void); } all[] = {
        {"axpy", axpy}, {"blur", blur}, {"copy", copy}, {"dot", dot}, {"gather", gather}, {"histogram", histogram}, {"mandel", mandel},
        {"matmul", matmul}, {"montecarlo", montecarlo}, {"nbody", nbody}, {"prefix", prefix}, {"price", price}, {"rowsums", rowsums},
        {"scan", scan}, {"scatter", scatter}, {"spmv", spmv}, {"stencil", stencil}, {"transpose", transpose}, {"triad", triad},
    };
    if (argc > 2) n = atoi(argv[2]);
    if (argc > 4) parts = atoi(argv[3]), passes = atoi(argv[4]);
    for (unsigned i = 0; n > 0 && i < sizeof all / sizeof *all; i++) if (!strcmp(argv[1], all[i].name)) { all[i].run(); return 0; }
    fputs("usage: kernels ROW N [PARTS PASSES]\n", stderr);
    return 2;
}
