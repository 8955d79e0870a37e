package opencl

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

const source = `
kernel void scale(global T *x, long x0, long n, T a) {
	long i = get_global_id(0);
	if (i < n) x[x0 + i] *= a;
}

kernel void types(global uchar *out, long out0, char a, uchar b, short c, ushort d, int e, uint f, long g, ulong h, float i) {
	out += out0;
	out[0] = a == -1; out[1] = b == 255; out[2] = c == -2; out[3] = d == 65534; out[4] = e == -3; out[5] = f == 4294967293u;
	out[6] = g == -4; out[7] = h == 18446744073709551612ul; out[8] = i == 1.5f;
}

kernel void turn(global int *x, long x0, local int *tmp) {
	int i = get_local_id(0), n = get_local_size(0);
	tmp[i] = x[x0 + get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	x[x0 + get_global_id(0)] = tmp[n - 1 - i];
}

kernel void grid(global int *x, long x0) {
	int r = get_global_id(2), c = get_global_id(1), b = get_global_id(0);
	x[x0 + (r * get_global_size(1) + c) * get_global_size(0) + b] += 100 * r + 10 * c + b;
}

kernel void next(global int *x, long x0, int want) {
	if (x[x0] == want) x[x0] = want + 1;
}
`

func build(t testing.TB, d *Device, name, source, options string) *Kernel {
	t.Helper()
	p, err := d.Build(source, options)
	must(t, err)
	k, err := p.Kernel(name)
	must(t, err)
	return k
}

func raw[T any](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(x[0])))
}

func TestLaunch(t *testing.T) {
	for _, d := range open(t, Driver{}) {
		s := stream(t, d)
		x := []float32{1, 2, 3, 4, 5}
		m := alloc(t, d, 20)
		put(t, s, m, raw(x))
		k := build(t, d, "scale", source, "-DT=float")
		must(t, s.Launch(k, []int{8}, []int{4}, Buf{unsafe.Add(m.Ptr, 4), 4}, int64(3), float32(-2))) // work-items outside
		must(t, s.Launch(k, []int{0}, nil, Buf{m.Ptr, 4}, int64(3), float32(5)))                      // nothing
		if got := get(t, s, m, 20); !bytes.Equal(got, raw([]float32{1, -4, -6, -8, 5})) {
			t.Errorf("%s: scale: %v", d.Name(), got)
		}
		if d.Info().Doubles {
			y := alloc(t, d, 16)
			put(t, s, y, raw([]float64{1, 2}))
			must(t, s.Launch(build(t, d, "scale", source, "-DT=double"), []int{2}, nil, Buf{y.Ptr, 8}, int64(2), 0.5))
			if got := get(t, s, y, 16); !bytes.Equal(got, raw([]float64{0.5, 1})) {
				t.Errorf("%s: scale of doubles: %v", d.Name(), got)
			}
		}
		must(t, s.Launch(build(t, d, "types", source, "-DT=float"), []int{1}, nil, Buf{m.Ptr, 1},
			int8(-1), uint8(255), int16(-2), uint16(65534), int32(-3), uint32(1<<32-3), int64(-4), uint64(1<<64-4), float32(1.5)))
		if got := get(t, s, m, 9); !bytes.Equal(got, bytes.Repeat([]byte{1}, 9)) {
			t.Errorf("%s: arguments: %v", d.Name(), got)
		}
		put(t, s, m, raw([]int32{1, 2, 3, 4}))
		must(t, s.Launch(build(t, d, "turn", source, "-DT=float"), []int{4}, []int{2}, Buf{m.Ptr, 4}, Local(8)))
		if got := get(t, s, m, 16); !bytes.Equal(got, raw([]int32{2, 1, 4, 3})) {
			t.Errorf("%s: local memory: %v", d.Name(), got)
		}
		g := alloc(t, d, 4*24)
		put(t, s, g, make([]byte, 4*24))
		must(t, s.Launch(build(t, d, "grid", source, "-DT=float"), []int{4, 3, 2}, nil, Buf{g.Ptr, 4}))
		want := make([]int32, 24)
		for i := range want {
			want[i] = int32(100*(i/12) + 10*(i/4%3) + i%4)
		}
		if got := get(t, s, g, 4*24); !bytes.Equal(got, raw(want)) {
			t.Errorf("%s: three axes: %v", d.Name(), got)
		}
	}
}

// TestScratch: what a kernel leaves for the next one of its stream is there, and
// memory of the stream grows.
func TestScratch(t *testing.T) {
	d := first(t)
	const source = `
kernel void keep(global const int *x, long x0, global int *s) { s[get_global_id(0)] = x[x0 + get_global_id(0)]; }
kernel void back(global int *x, long x0, global const int *s, int add) { x[x0 + get_global_id(0)] = s[get_global_id(0)] + add; }`
	keep, back := build(t, d, "keep", source, ""), build(t, d, "back", source, "")
	streams := []*Stream{stream(t, d), stream(t, d)}
	for _, n := range []int{3, 10000, 5} {
		var mem []accel.Place
		for i, s := range streams {
			m := alloc(t, d, 4*n)
			mem = append(mem, m)
			x := make([]int32, n)
			for j := range x {
				x[j] = int32(i*n + j)
			}
			put(t, s, m, raw(x))
			must(t, s.Launch(keep, []int{n}, nil, Buf{m.Ptr, 4}, Scratch(4*n)))
		}
		for i, s := range streams {
			must(t, s.Launch(back, []int{n}, nil, Buf{mem[i].Ptr, 4}, Scratch(4*n), int32(7)))
			want := make([]int32, n)
			for j := range want {
				want[j] = int32(i*n+j) + 7
			}
			if !bytes.Equal(get(t, s, mem[i], 4*n), raw(want)) {
				t.Errorf("%d numbers of stream %d", n, i)
			}
		}
	}
	var bad *ArgError
	m := alloc(t, d, 4)
	if err := streams[0].Launch(keep, []int{1}, nil, Buf{m.Ptr, 4}, Scratch(0)); !errors.As(err, &bad) {
		t.Errorf("no bytes: %v", err)
	}
}

// TestLaunchChecks: what does not fit a kernel is an error, and nothing runs.
func TestLaunchChecks(t *testing.T) {
	devs := open(t, Driver{})
	d := devs[0]
	s := stream(t, d)
	m := alloc(t, d, 64)
	put(t, s, m, make([]byte, 64))
	k := build(t, d, "scale", source, "-DT=float")
	turn := build(t, d, "turn", source, "-DT=float")
	b := Buf{m.Ptr, 4}
	one := []int{1}
	for what, err := range map[string]error{
		"too few":              s.Launch(k, one, nil, b, int64(1)),
		"none":                 s.Launch(k, one, nil),
		"too many":             s.Launch(k, one, nil, b, int64(1), float32(1), int32(3)),
		"int32 for long":       s.Launch(k, one, nil, b, int32(1), float32(1)),
		"float64 for float":    s.Launch(k, one, nil, b, int64(1), 1.0),
		"int for long":         s.Launch(k, one, nil, b, 1, float32(1)),
		"a string":             s.Launch(k, one, nil, b, int64(1), "1"),
		"a number for pointer": s.Launch(k, one, nil, int64(1), int64(1), int64(1), float32(1)),
		"a buffer for number":  s.Launch(k, one, nil, b, b, float32(1)),
		"elements of 8":        s.Launch(k, one, nil, Buf{m.Ptr, 8}, int64(1), float32(1)),
		"elements of 0":        s.Launch(k, one, nil, Buf{m.Ptr, 0}, int64(1), float32(1)),
		"odd address":          s.Launch(k, one, nil, Buf{unsafe.Add(m.Ptr, 2), 4}, int64(1), float32(1)),
		"main memory":          s.Launch(k, one, nil, Buf{unsafe.Pointer(new(float32)), 4}, int64(1), float32(1)),
		"behind the end":       s.Launch(k, one, nil, Buf{unsafe.Add(m.Ptr, 65), 1}, int64(1), float32(1)),
		"local for global":     s.Launch(k, one, nil, Local(4), int64(1), int64(1), float32(1)),
		"global for local":     s.Launch(turn, one, nil, b, b),
		"no local memory":      s.Launch(turn, one, nil, b, Local(0)),
		"no sizes":             s.Launch(k, nil, nil, b, int64(1), float32(1)),
		"four axes":            s.Launch(k, []int{1, 1, 1, 1}, nil, b, int64(1), float32(1)),
		"negative":             s.Launch(k, []int{-1}, nil, b, int64(1), float32(1)),
		"uneven groups":        s.Launch(k, []int{5}, []int{2}, b, int64(1), float32(1)),
		"empty groups":         s.Launch(k, []int{4}, []int{0}, b, int64(1), float32(1)),
		"other axes":           s.Launch(k, []int{4}, []int{2, 2}, b, int64(1), float32(1)),
		"large groups":         s.Launch(k, []int{1 << 20}, []int{1 << 20}, b, int64(1), float32(1)),
	} {
		var bad *ArgError
		if !errors.As(err, &bad) || bad.Kernel == "" || bad.Reason == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(devs) > 1 {
		var bad *ArgError
		if err := stream(t, devs[1]).Launch(k, one, nil, b, int64(1), float32(1)); !errors.As(err, &bad) {
			t.Errorf("a kernel of another device: %v", err)
		}
	}
	must(t, s.Sync())
	if got := get(t, s, m, 64); !bytes.Equal(got, make([]byte, 64)) {
		t.Error("a kernel ran that should not")
	}
	must(t, s.Close())
	if err := s.Launch(k, one, nil, b, int64(1), float32(1)); err != accel.ErrClosed {
		t.Errorf("a closed stream: %v", err)
	}
}

func TestBuild(t *testing.T) {
	d := first(t)
	_, err := d.Build("\n\nkernel void f(global int *x) {\n\tx[0] = nonsense;\n}\n", "")
	var bad *BuildError
	if !errors.As(err, &bad) || !strings.Contains(bad.Log, "nonsense") || !strings.Contains(bad.Log, "4:") || !strings.Contains(err.Error(), d.Name()) {
		t.Fatalf("a mistake in line 4: %v", err)
	}
	p, err := d.Build(source, "-DT=float")
	must(t, err)
	if q, err := d.Build(source, "-DT=float"); err != nil || q != p {
		t.Errorf("built again: %v, %v", q, err)
	}
	if q, err := d.Build(source, "-DT=int"); err != nil || q == p {
		t.Errorf("other options: %v, %v", q, err)
	}
	k, err := p.Kernel("scale")
	must(t, err)
	if l, err := p.Kernel("scale"); err != nil || l != k || k.Name() != "scale" {
		t.Errorf("a kernel again: %v, %v", l, err)
	}
	for _, name := range []string{"nothing", "", "scale\x00"} {
		var bad *ArgError
		if _, err := p.Kernel(name); !errors.As(err, &bad) {
			t.Errorf("kernel %q: %v", name, err)
		}
	}
	if _, err := d.Build(source, "-DT=float\x00"); err == nil {
		t.Error("options with a zero byte")
	}
	must(t, d.Close())
	if _, err := d.Build(source, "-DT=float"); err != accel.ErrClosed {
		t.Errorf("a closed device: %v", err)
	}
	if _, err := p.Kernel("scale"); err != accel.ErrClosed {
		t.Errorf("a program of a closed device: %v", err)
	}
}

// TestManyLaunch: one kernel is used by many goroutines, each with its own
// arguments.
func TestManyLaunch(t *testing.T) {
	d := first(t)
	const goroutines, times = 6, 30
	var all sync.WaitGroup
	errs := make([]error, goroutines)
	for g := range goroutines {
		s, m := stream(t, d), alloc(t, d, 4)
		put(t, s, m, raw([]int32{int32(g)}))
		all.Go(func() {
			errs[g] = func() error {
				p, err := d.Build(source, "-DT=int")
				if err != nil {
					return err
				}
				k, err := p.Kernel("next")
				if err != nil {
					return err
				}
				for i := range times {
					if err := s.Launch(k, []int{1}, nil, Buf{m.Ptr, 4}, int32(g+i)); err != nil {
						return err
					}
				}
				var out [1]int32
				b := raw(out[:])
				if err := s.Copy(flat(host(b), m, 4)); err != nil {
					return err
				}
				if err := s.Sync(); err != nil {
					return err
				}
				if out[0] != int32(g+times) {
					return fmt.Errorf("goroutine %d: %d", g, out[0])
				}
				return nil
			}()
		})
	}
	all.Wait()
	if i := slices.IndexFunc(errs, func(e error) bool { return e != nil }); i >= 0 {
		t.Error(errs[i])
	}
}

// TestKernelsAcrossDevices passes a number from device to device, a kernel after
// each copy, without waiting in between.
func TestKernelsAcrossDevices(t *testing.T) {
	devs := open(t, Driver{})
	if len(devs) < 2 {
		t.Skip("one device only")
	}
	var streams []*Stream
	var mem []accel.Place
	var kernels []*Kernel
	for _, d := range devs[:2] {
		streams, mem = append(streams, stream(t, d)), append(mem, alloc(t, d, 4))
		kernels = append(kernels, build(t, d, "next", source, "-DT=int"))
	}
	x := make([]int32, 1)
	b := raw(x)
	const times = 40
	for i := range times {
		s, o := streams[i%2], streams[1-i%2]
		must(t, s.Copy(flat(mem[i%2], host(b), 4)))
		must(t, s.Launch(kernels[i%2], []int{1}, nil, Buf{mem[i%2].Ptr, 4}, int32(i)))
		must(t, s.Copy(flat(host(b), mem[i%2], 4)))
		e, err := s.Record()
		must(t, err)
		must(t, o.Wait(e))
	}
	must(t, streams[0].Sync())
	must(t, streams[1].Sync())
	if x[0] != times {
		t.Errorf("%d instead of %d", x[0], times)
	}
}
