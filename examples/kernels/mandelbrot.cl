// A parameter for memory comes as two: the buffer, and the elements to skip.
kernel void mandelbrot(global int *count, long skip, long ld, long row0, long col0, double x0, double y0, double step, int most) {
	long j = get_global_id(0), i = get_global_id(1);
	double cx = x0 + (double)(col0 + j) * step, cy = y0 + (double)(row0 + i) * step, x = 0, y = 0;
	int n = 0;
	for (; n < most && x * x + y * y <= 4; n++) {
		double t = x * x - y * y + cx;
		y = 2 * x * y + cy;
		x = t;
	}
	count[skip + i * ld + j] = n;
}
