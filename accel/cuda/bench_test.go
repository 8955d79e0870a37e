//go:build cuda

package cuda

// These benchmarks measure the open questions of BENCHMARKS.md. On the fake driver they
// only show that they run.

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cpu/blas"
)

// largest is the size of large copies and matrices: small on the fake.
func largest() int {
	if real {
		return 256 << 20
	}
	return 1 << 20
}

func BenchmarkCopy(b *testing.B) {
	d := open(b)[0]
	s := newStream(b, d)
	n := int64(largest())
	dev, other := alloc(b, d, n), alloc(b, d, n)
	p, err := d.AllocPinned(n)
	ok(b, err)
	defer d.FreePinned(p)
	pinned, heap := accel.Place{Mem: ram, Ptr: p}, place(make([]byte, n))
	for _, c := range []struct {
		name     string
		dst, src accel.Place
	}{
		{"pinned to device", dev, pinned}, {"device to pinned", pinned, dev}, {"heap to device", dev, heap},
		{"device to heap", heap, dev}, {"device to itself", other, dev},
	} {
		for size := int64(4 << 10); size <= n; size *= 64 {
			b.Run(fmt.Sprintf("%s/%s", c.name, accel.Bytes(size)), func(b *testing.B) {
				b.SetBytes(size)
				for range b.N {
					ok(b, s.Copy(row(c.dst, c.src, size)))
				}
				ok(b, s.Sync())
			})
		}
		// rows with gaps of their own size: a tile of a matrix
		for _, bytes := range []int64{8, 256, 8192} {
			b.Run(fmt.Sprintf("%s/rows of %s", c.name, accel.Bytes(bytes)), func(b *testing.B) {
				r := row(c.dst, c.src, bytes)
				r.Count[0], r.DstStep[0], r.SrcStep[0] = min(n/2/bytes, 8192), bytes, 2*bytes
				b.SetBytes(r.Total())
				for range b.N {
					ok(b, s.Copy(r))
				}
				ok(b, s.Sync())
			})
		}
	}
}

// BenchmarkPeer copies between the first two devices.
func BenchmarkPeer(b *testing.B) {
	devs := open(b)
	if len(devs) < 2 || !devs[0].Reaches(devs[1].Memory()) {
		b.Skip("no two devices that reach each other")
	}
	n := int64(largest())
	s, dst, src := newStream(b, devs[0]), alloc(b, devs[1], n), alloc(b, devs[0], n)
	b.SetBytes(n)
	for range b.N {
		ok(b, s.Copy(row(dst, src, n)))
	}
	ok(b, s.Sync())
}

func BenchmarkLaunch(b *testing.B) {
	d := open(b)[0]
	s := newStream(b, d)
	x := Vector(alloc(b, d, 8).Ptr, 1)
	f, err := d.kernel("fill_b64")
	ok(b, err)
	b.Run("begin", func(b *testing.B) {
		for range b.N {
			ok(b, s.Launch(f, Launch{}, 0, 1, 1, addr(x.Ptr), 1))
		}
		b.StopTimer()
		ok(b, s.Sync())
	})
	b.Run("and wait", func(b *testing.B) {
		for range b.N {
			ok(b, s.Launch(f, Launch{}, 0, 1, 1, addr(x.Ptr), 1))
			ok(b, s.Sync())
		}
	})
	b.Run("and poll", func(b *testing.B) {
		for range b.N {
			ok(b, s.Launch(f, Launch{}, 0, 1, 1, addr(x.Ptr), 1))
			e, err := s.Record()
			ok(b, err)
			for done := false; !done; {
				done, err = e.Done()
				ok(b, err)
			}
		}
	})
}

func BenchmarkEvent(b *testing.B) {
	d := open(b)[0]
	s := newStream(b, d)
	b.Run("Record", func(b *testing.B) {
		for range b.N {
			_, err := s.Record()
			ok(b, err)
		}
		b.StopTimer()
		ok(b, s.Sync())
	})
	b.Run("Done of a new one", func(b *testing.B) {
		for range b.N {
			e, err := s.Record()
			ok(b, err)
			_, err = e.Done()
			ok(b, err)
		}
	})
}

func BenchmarkAlloc(b *testing.B) {
	d := open(b)[0]
	for _, n := range []int64{256, 1 << 20, int64(largest())} {
		b.Run(accel.Bytes(n), func(b *testing.B) {
			for range b.N {
				p, err := d.Memory().Alloc(n)
				ok(b, err)
				d.Memory().Free(p, n)
			}
		})
	}
}

// BenchmarkLoad compiles the kernels. Drivers keep what they compiled, but for
// CUDA_CACHE_DISABLE=1.
func BenchmarkLoad(b *testing.B) {
	d := open(b)[0]
	for range b.N {
		m, err := d.Load(builtinPTX)
		ok(b, err)
		ok(b, m.Unload())
	}
}

func BenchmarkGemm(b *testing.B) {
	b.Run("f32", gemmBench[float32])
	b.Run("f64", gemmBench[float64])
}

func gemmBench[T blas.Float](b *testing.B) {
	sizes := []int{16}
	if real {
		sizes = []int{64, 256, 512, 1024, 2048, 4096, 8192}
	}
	for _, way := range []string{"kernels", "libraries"} {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/%d", way, n), func(b *testing.B) {
				d := open(b)[0]
				d.noLibs = way == "kernels"
				if !d.noLibs && d.libs().cublas == nil {
					b.Skip("no cuBLAS")
				}
				s := newStream(b, d)
				bytes := int64(n*n) * int64(unsafe.Sizeof(T(0)))
				var m [3]Matrix
				for i := range m {
					m[i] = Matrix{alloc(b, d, bytes).Ptr, n, n, n}
					ok(b, Uniform[T](s, m[i], 0, n, 1, int64(i), -1, 1))
				}
				run := func() { ok(b, Gemm(s, blas.NoTrans, blas.NoTrans, T(1), m[0], m[1], 0, m[2])) }
				run()
				ok(b, s.Sync())
				b.ResetTimer()
				for range b.N {
					run()
				}
				ok(b, s.Sync())
				b.ReportMetric(2*float64(n)*float64(n)*float64(n)*float64(b.N)/b.Elapsed().Seconds()*1e-9, "GFLOP/s")
			})
		}
	}
}
