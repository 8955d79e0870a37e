"""The codelets of the scripts in this folder, as a programmer of Numba writes them: loops, without fastmath.

python3 kernels.py TYPE ROW N prints the seconds of the loops alone, without compiling them, and the sum that the
script prints; TYPE is float64 or float32. Sums are float64 where those of the scripts are f64.
"""

import math
import sys
import time

import numpy as np
from numba import njit

TYPE, ROW, N = np.dtype(sys.argv[1]).type, sys.argv[2], int(sys.argv[3])
jit = njit(error_model="numpy", boundscheck=False)


def vector(m, s):
    i = np.arange(m, dtype=np.int64)
    return (i * s % 1009 / 1009.0).astype(TYPE) if s else np.zeros(m, TYPE)


def matrix(rows, cols, s, of=TYPE):
    if s == 0:
        return np.zeros((rows, cols), of)
    i, j = np.ogrid[:rows, :cols]
    return ((i * s + j * 13) % 101).astype(of)


def indices(m):
    return (np.arange(N, dtype=np.int64) * 7919 % m).astype(np.int32)


@jit
def check(y):
    s = 0.0
    for i in range(y.size):
        s += float(y[i]) * float(i % 7 + 1)
    return s


@jit
def check2(y):
    s = 0.0
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            s += float(y[i, j]) * float((i + j) % 7 + 1)
    return s


half, tenth, four, decay, soft = TYPE(0.5), TYPE(0.1), TYPE(4.0), TYPE(0.999), TYPE(0.01)


@jit
def copy(x, y):
    for i in range(y.size):
        y[i] = x[i]


@jit
def axpy(x, y):
    for i in range(y.size):
        y[i] += half * x[i]


@jit
def triad(x, y, z):
    for i in range(z.size):
        z[i] = x[i] + half * y[i]


@jit
def dot(x, y, d):
    s = x[0] - x[0]
    for i in range(x.size):
        s += x[i] * y[i]
    d[0] += s


@jit
def prefix(p):
    for i in range(1, p.size):
        p[i] = p[i] + p[i - 1]


@jit
def scan(p):
    for i in range(1, p.size):
        p[i] = p[i - 1] * decay + p[i]


@jit
def gather(x, k, y):
    for i in range(y.size):
        y[i] = x[k[i]]


@jit
def scatter(x, k, y):
    for i in range(x.size):
        y[k[i]] = x[i]


@jit
def histogram(k, h):
    for i in range(k.size):
        h[k[i]] += 1


@jit
def spmv(ptr, col, a, x, y):
    for i in range(y.size):
        s = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            s += a[k] * x[col[k]]
        y[i] = s


@jit
def nbody(x, y, z, ax):
    for i in range(x.size):
        a = x[0] - x[0]
        for j in range(x.size):
            dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
            r2 = dx * dx + dy * dy + dz * dz + soft
            a += dx / (r2 * math.sqrt(r2))
        ax[i] = a


@jit
def price(s, k, t, c, r, v):
    for i in range(c.size):
        w = v * math.sqrt(t[i])
        d1 = (math.log(s[i] / k[i]) + (r + 0.5 * v * v) * t[i]) / w
        d2 = d1 - w
        c[i] = s[i] * 0.5 * (1.0 + math.erf(d1 * 0.7071067811865476)) - k[i] * math.exp(-r * t[i]) * 0.5 * (
            1.0 + math.erf(d2 * 0.7071067811865476))


@jit
def mandel(img, maxit, side):
    for i in range(img.shape[0]):
        for j in range(img.shape[1]):
            cr, ci = -2.0 + 3.0 * j / side, -1.5 + 3.0 * i / side
            zr, zi, k = 0.0, 0.0, 0
            while k < maxit and zr * zr + zi * zi <= 4.0:
                zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
                k += 1
            img[i, j] = k


@jit
def montecarlo(c):
    for i in range(c.size):
        s, hits = i + 1, 0
        for _ in range(64):
            s = (s * 1103515245 + 12345) % 2147483648
            x = s // 65536
            s = (s * 1103515245 + 12345) % 2147483648
            y = s // 65536
            if x * x + y * y <= 1073741824:
                hits += 1
        c[i] = hits


@jit
def matmul(A, B, C, s):
    for i in range(C.shape[0]):
        s[:] = 0.0
        for k in range(A.shape[1]):
            for j in range(C.shape[1]):
                s[j] += A[i, k] * B[k, j]
        for j in range(C.shape[1]):
            C[i, j] += s[j]


@jit
def transpose(a, b):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] = a[j, i]


@jit
def rowsums(A, y):
    for i in range(y.size):
        s = A[0, 0] - A[0, 0]
        for j in range(A.shape[1]):
            s += A[i, j]
        y[i] = s


@jit
def blur(a, b):
    for i in range(1, b.shape[0] - 1):
        for j in range(1, b.shape[1] - 1):
            b[i, j] = (np.int32(a[i - 1, j - 1]) + 2 * np.int32(a[i - 1, j]) + np.int32(a[i - 1, j + 1]) + 2 * np.int32(a[i, j - 1])
                       + 4 * np.int32(a[i, j]) + 2 * np.int32(a[i, j + 1]) + np.int32(a[i + 1, j - 1]) + 2 * np.int32(a[i + 1, j])
                       + np.int32(a[i + 1, j + 1])) // 16


@jit
def stencil(a, b):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = a[i, j] + tenth * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - four * a[i, j])
        b[i, 0], b[i, -1] = a[i, 0], a[i, -1]


def row():
    """row returns the function of the row, its arguments, its passes, and what is summed up."""
    v, n = vector, N
    if ROW == "copy":
        y = v(n, 0)
        return copy, (v(n, 7), y), 10, y
    if ROW == "axpy":
        y = v(n, 31)
        return axpy, (v(n, 7), y), 10, y
    if ROW == "triad":
        z = v(n, 0)
        return triad, (v(n, 7), v(n, 31), z), 10, z
    if ROW == "dot":
        d = v(1, 0)
        return dot, (v(n, 7), v(n, 31), d), 10, d
    if ROW == "scan":
        p = v(n, 1)
        return scan, (p,), 20, p
    if ROW == "gather":
        y = v(n, 0)
        return gather, (v(n, 7), indices(n), y), 10, y
    if ROW == "scatter":
        y = v(n, 0)
        return scatter, (v(n, 7), indices(n), y), 10, y
    if ROW == "histogram":
        h = np.zeros(256, np.int32)
        return histogram, (indices(256), h), 4, h
    if ROW == "spmv":
        m = n // 8
        i = np.arange(8 * m, dtype=np.int64)
        y = v(m, 0)
        ptr, col = np.arange(0, 8 * m + 1, 8).astype(np.int32), ((i // 8 + i % 8 * 61) % m).astype(np.int32)
        return spmv, (ptr, col, v(8 * m, 7), v(m, 31), y), 10, y
    if ROW == "nbody":
        m = n // 256
        ax = v(m, 0)
        return nbody, (v(m, 7), v(m, 31), v(m, 101), ax), 1, ax
    if ROW == "price":
        i = np.arange(n, dtype=np.int64)
        part = lambda lo, width, s: (lo + width * (i * s % 1009) / 1009.0).astype(TYPE)
        c = v(n, 0)
        return price, (part(50.0, 100.0, 7), part(80.0, 40.0, 31), part(0.25, 2.0, 101), c, 0.02, 0.3), 1, c
    if ROW == "mandel":
        img = np.zeros((n, n), np.int32)
        return mandel, (img, 200, float(n)), 1, img
    if ROW == "montecarlo":
        c = np.zeros(n // 16, np.int32)
        return montecarlo, (c,), 1, c
    if ROW == "matmul":
        C = matrix(n, n, 0)
        return matmul, (matrix(n, n, 3), matrix(n, n, 5), C, np.zeros(n)), 1, C
    if ROW == "transpose":
        b = matrix(n, n, 0)
        return transpose, (matrix(n, n, 7), b), 10, b
    if ROW == "rowsums":
        y = v(n, 0)
        return rowsums, (matrix(n, n, 7), y), 10, y
    if ROW == "blur":
        b = np.zeros((n, n), np.uint8)
        return blur, (matrix(n, n, 7, np.uint8), b), 10, b
    return None


def main():
    if ROW == "prefix":
        p, m = vector(N, 7), N // 8
        prefix(p[:0].copy())
        start = time.perf_counter()
        for _ in range(4):
            for b in range(8):
                prefix(p[b * m:(b + 1) * m])
        seconds, result = time.perf_counter() - start, p
    elif ROW == "stencil":
        a, b = matrix(N + 2, N, 7), matrix(N + 2, N, 7)
        stencil(a[:2].copy(), b[:2].copy())
        start = time.perf_counter()
        for _ in range(50):
            stencil(a, b)
            a, b = b, a
        seconds, result = time.perf_counter() - start, a
    else:
        found = row()
        if found is None:
            sys.exit(f"kernels.py: no row {ROW}")
        f, args, passes, result = found
        small = tuple(a[tuple(slice(0, 1) for _ in a.shape)].copy() if isinstance(a, np.ndarray) else a for a in args)
        if ROW == "spmv":
            small = tuple(a[:2].copy() for a in args[:4]) + (args[4][:0].copy(),)
        f(*small)
        start = time.perf_counter()
        for _ in range(passes):
            f(*args)
        seconds = time.perf_counter() - start
    total = check(result) if result.ndim == 1 else check2(result)
    print(f"{seconds:.9f} {total:.17g}")


main()
