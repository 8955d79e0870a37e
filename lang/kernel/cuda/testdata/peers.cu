// The bodies of bench_test.go in CUDA C, a thread for each round, as one would write them first.
//
//	nvcc -O3 -arch=native -fmad=false -o peers peers.cu && ./peers     operations as written
//	nvcc -O3 -arch=native -o peers peers.cu && ./peers                 fused multiply-add
#include <chrono>
#include <cstdio>
#include <vector>

typedef long long ll;

__global__ void triad(ll n, const double *x, const double *y, double *z) {
	ll i = blockIdx.x * (ll)blockDim.x + threadIdx.x;
	if (i < n) z[i] = x[i] * 2.5 + y[i];
}
__global__ void gather(ll n, const double *x, const ll *k, double *z) {
	ll i = blockIdx.x * (ll)blockDim.x + threadIdx.x;
	if (i < n) z[i] = x[k[i]];
}
__global__ void stencil(ll n, const double *u, double *v) {
	ll j = blockIdx.x * (ll)blockDim.x + threadIdx.x + 1, i = blockIdx.y * (ll)blockDim.y + threadIdx.y + 1;
	if (i < n - 1 && j < n - 1)
		v[i * n + j] = u[i * n + j] + 0.1 * (u[(i - 1) * n + j] + u[(i + 1) * n + j] + u[i * n + j - 1] + u[i * n + j + 1] - 4.0 * u[i * n + j]);
}
__global__ void matmul(ll n, const double *a, const double *b, double *c) {
	ll j = blockIdx.x * (ll)blockDim.x + threadIdx.x, i = blockIdx.y * (ll)blockDim.y + threadIdx.y;
	if (i >= n || j >= n) return;
	double s = 0;
	for (ll k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
	c[i * n + j] += s;
}
__global__ void nbody(ll n, const double *x, const double *y, const double *z, double *ax) {
	ll i = blockIdx.x * (ll)blockDim.x + threadIdx.x;
	if (i >= n) return;
	double a = 0;
	for (ll j = 0; j < n; j++) {
		double dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i], r2 = dx * dx + dy * dy + dz * dz + 0.01;
		a += dx / (r2 * sqrt(r2));
	}
	ax[i] = a;
}
__global__ void price(ll n, const double *s, const double *k, const double *t, double *c, double r, double v) {
	ll i = blockIdx.x * (ll)blockDim.x + threadIdx.x;
	if (i >= n) return;
	double w = v * sqrt(t[i]), d1 = (log(s[i] / k[i]) + (r + 0.5 * v * v) * t[i]) / w, d2 = d1 - w;
	c[i] = s[i] * 0.5 * (1.0 + erf(d1 * 0.7071067811865476)) - k[i] * exp(-r * t[i]) * 0.5 * (1.0 + erf(d2 * 0.7071067811865476));
}
__global__ void mandel(ll n, int *img, ll maxit) {
	ll j = blockIdx.x * (ll)blockDim.x + threadIdx.x, i = blockIdx.y * (ll)blockDim.y + threadIdx.y;
	if (i >= n || j >= n) return;
	double cr = -2.0 + 3.0 * (double)j / (double)n, ci = -1.5 + 3.0 * (double)i / (double)n, zr = 0, zi = 0;
	ll k = 0;
	for (ll t = 0; t < maxit; t++)
		if (zr * zr + zi * zi <= 4.0) {
			double nr = zr * zr - zi * zi + cr;
			zi = 2.0 * zr * zi + ci;
			zr = nr;
			k++;
		}
	img[i * n + j] = (int)k;
}
// Two kernels: sums of blocks, and their sum.
__global__ void sum1(ll n, const double *x, double *part) {
	__shared__ double s[256];
	double a = 0;
	for (ll i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) a += x[i] * x[i];
	s[threadIdx.x] = a;
	for (int h = 128; h > 0; h /= 2) {
		__syncthreads();
		if (threadIdx.x < h) s[threadIdx.x] += s[threadIdx.x + h];
	}
	if (threadIdx.x == 0) part[blockIdx.x] = s[0];
}
__global__ void sum2(int n, const double *part, double *v) {
	double a = 0;
	for (int i = 0; i < n; i++) a += part[i];
	*v = a;
}

template <class F> static void timed(const char *name, F f) {
	f();
	cudaDeviceSynchronize();
	double best = 1e9;
	for (int r = 0; r < 5; r++) {
		auto t = std::chrono::steady_clock::now();
		for (int k = 0; k < 10; k++) f();
		cudaDeviceSynchronize();
		double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - t).count() / 10;
		if (us < best) best = us;
	}
	printf("%s %.1f us %s\n", name, best, cudaGetErrorString(cudaGetLastError()));
}

int main() {
	const ll n = 1 << 25, m = 4096, q = 2048, p = 16384, opt = 4 << 20;
	double *x, *y, *z;
	ll *k;
	cudaMalloc(&x, n * 8), cudaMalloc(&y, n * 8), cudaMalloc(&z, n * 8), cudaMalloc(&k, n * 8);
	std::vector<double> h(n);
	std::vector<ll> hk(n);
	for (ll i = 0; i < n; i++) h[i] = 1 + (double)((i * 7) % 1009) / 1009.0, hk[i] = (i * 40503) % n;
	cudaMemcpy(x, h.data(), n * 8, cudaMemcpyHostToDevice), cudaMemcpy(y, h.data(), n * 8, cudaMemcpyHostToDevice);
	cudaMemcpy(z, h.data(), n * 8, cudaMemcpyHostToDevice), cudaMemcpy(k, hk.data(), n * 8, cudaMemcpyHostToDevice);
	dim3 block(32, 8), grid4k(m / 32, m / 8), grid2k(q / 32, q / 8);
	timed("triad", [&] { triad<<<n / 256, 256>>>(n, x, y, z); });
	timed("gather", [&] { gather<<<n / 256, 256>>>(n, x, k, z); });
	timed("stencil", [&] { stencil<<<grid4k, block>>>(m, x, z); });
	timed("sum", [&] { sum1<<<1024, 256>>>(n, x, z), sum2<<<1, 1>>>(1024, z, y); });
	timed("matmul", [&] { matmul<<<grid2k, block>>>(q, x, y, z); });
	timed("nbody", [&] { nbody<<<p / 256, 256>>>(p, x, y, x + p, z); });
	timed("price", [&] { price<<<opt / 256, 256>>>(opt, x, y, x + opt, z, 0.02, 0.3); });
	timed("mandel", [&] { mandel<<<grid4k, block>>>(m, (int *)z, 200); });
}
