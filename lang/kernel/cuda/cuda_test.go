//go:build cuda

package cuda

// Bodies on an NVIDIA device of the machine, compared with strips bit for bit.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/accel"
	driver "github.com/starpush/starpush/accel/cuda"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
	"github.com/starpush/starpush/lang/kernel/llvm"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "the first seed of random bodies")
	countFlag = flag.Int("bodies", 60, "the number of random bodies of each kind")
	soakFlag  = flag.Duration("soak", 0, "the time for random bodies of each kind, instead of their number")
)

// openStream opens a stream of a device, or skips the test.
func openStream(t testing.TB) *driver.Stream {
	t.Helper()
	if _, err := llvm.Open(); err != nil {
		t.Skip(err)
	}
	devices, err := driver.Driver{}.Open()
	var none *accel.UnavailableError
	if errors.As(err, &none) && os.Getenv("STARPUSH_NEED_CUDA") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, d := range devices {
			d.Close()
		}
	})
	s, err := devices[0].NewStream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.(*driver.Stream)
}

// onDevice runs k on copies of the operands in the memory of the device.
func onDevice(s *driver.Stream, k *Kernels, list []*iface.Buffer, args []iface.Scalar) error {
	return kerneltest.OnDevice(s, s.Device().Memory(), list, func(list []*iface.Buffer) error {
		return k.Run(s, &kerneltest.Task{Ctx: context.Background(), Bufs: list, Scalars: args})
	})
}

// faultOf returns the fault that err is, or "".
func faultOf(t *testing.T, err error) string {
	t.Helper()
	var f *cpu.Fault
	if err != nil && !errors.As(err, &f) {
		t.Fatal(err)
	}
	if f == nil {
		return ""
	}
	return f.Error() + " " + kerneltest.At(f.Span) + " " + f.Index
}

// TestRandomBodies runs random bodies on the device and in strips.
func TestRandomBodies(t *testing.T) {
	s := openStream(t)
	for name, generate := range map[string]func(t *testing.T, seed uint64) *kerneltest.Body{
		"bodies": func(t *testing.T, seed uint64) *kerneltest.Body { return kerneltest.NewBody(t, seed, false) },
		"inside": func(t *testing.T, seed uint64) *kerneltest.Body { return kerneltest.NewBody(t, seed, true) },
		"loops":  kerneltest.NewLoopsBody,
	} {
		t.Run(name, func(t *testing.T) {
			ran, faults, bodies := 0, 0, 0
			begin := time.Now()
			for seed := *seedFlag; ; seed++ {
				if *soakFlag > 0 && time.Since(begin) > *soakFlag || *soakFlag == 0 && bodies == *countFlag {
					break
				}
				bodies++
				b := generate(t, seed)
				if b == nil {
					continue
				}
				k, err := New(b.Func, llvm.NewCache(""))
				if err != nil {
					continue
				}
				ran++
				p := cpu.Compile(b.Func)
				list, read := b.Buffers()
				want := faultOf(t, p.RunTask(&kerneltest.Task{Ctx: context.Background(), Bufs: list, Scalars: b.Args}, nil))
				there, readThere := b.Buffers()
				err = onDevice(s, k, there, b.Args)
				var large *llvm.TooLargeError
				if errors.As(err, &large) {
					continue // a CPU worker runs it
				}
				got := faultOf(t, err)
				if (got != "") != (want != "") {
					t.Fatalf("seed %d: the fault is %q, and in strips %q\n%s", seed, got, want, b.Source)
				}
				if want != "" {
					faults++
					continue
				}
				for op := range read {
					cells, cellsThere := read[op](), readThere[op]()
					for i, v := range cells {
						u := cellsThere[i]
						same := v.Int == u.Int && math.Float64bits(v.Float) == math.Float64bits(u.Float) || v.Float != v.Float && u.Float != u.Float
						if !same {
							t.Fatalf("seed %d: cell %d of operand %d is %v, and in strips %v\n%s", seed, i, op, u, v, b.Source)
						}
					}
				}
			}
			t.Logf("%d bodies from seed %d on, %d of them ran, %d faulted", bodies, *seedFlag, ran, faults)
			if ran == 0 {
				t.Error("no body ran on the device")
			}
		})
	}
}

// bodies are bodies with each kind of step; LoopCodelet has their operands.
var bodies = []string{
	"each i in y { y[i] = x[i] * 2.0 + y[i] }",
	"each i in y { y[i] = x[k[i]] }",
	"each i in y { y[i] = sum j in x { x[j] * y[i] } }",
	"each i in y { y[i] = sum j in 0..n { x[j] } }",
	"each i in y { let s = 0.0\n for j in k[i]..k[i] + 2 { s += x[j] }\n y[i] = s }",
	"v = sum i in x { x[i] * x[i] }",
	"v = prod i in x { x[i] + 1.0 }",
	"v = max i in x { abs(x[i]) }",
	"v += sum i, j in A { A[i, j] * B[j, i] }",
	"v = sum i in 0..9 { sum j in 0..n { A[i, j] } }",
	"let a = sum i in x { x[i] }\n let b = a * 2.0 + float(n)\n each i in y { y[i] = y[i] - b }\n v = b",
	"if x[0] > 0.0 { each i in y { y[i] = 1.0 } } else { each i in y { y[i] = -1.0 }\n v = 3.0 }",
	"let c = 0.0\n for l in 0..4 { each j in y { y[j] += c }\n c = c + (sum j in y { y[j] })\n v = c }",
	"for l in 1..9 { if x[l % x.n] > 0.0 { each j in y { y[j] = A[l, j] } }\n v += float(l) }",
	"each i, j in A { A[i, j] = A[i, j] + B[j, i] }",
	"each i, j in A { A[i, j] = sum l in 0..n { x[l] * float(j) + B[l, i] } }",
	"each i in u { u[i] = u[i] // (u[i] - 4) }",
	"each i in y { y[i] = x[i + 5] }",
	"each i in y { y[i] = exp(x[i]) + sin(y[i] * 1.0e6) + round(x[i] * 5.5) + x[i] % 0.3 + 1.0 / x[i] + sqrt(abs(x[i])) }",
	"each i in y { y[i] = log(abs(x[i])) + tanh(y[i]) + erf(x[i]) + cbrt(y[i]) + pow(abs(x[i]), y[i]) + tan(y[i]) + cos(x[i]) + log2(abs(y[i])) }",
}

// TestBodies runs bodies with each kind of step on sizes around those of strips and groups, and
// compares values, faults and the places of faults.
func TestBodies(t *testing.T) {
	s := openStream(t)
	for _, body := range bodies {
		fn := kerneltest.Lowered(t, fmt.Sprintf(kerneltest.LoopCodelet, body), nil)
		k, err := New(fn, llvm.NewCache(""))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		p := cpu.Compile(fn)
		for _, n := range []int{1, 2, 7, 8, 9, 63, 511, 512, 513, 1031, 33001, 262145} {
			if n > 1<<15 && strings.Contains(body, "each") && strings.Contains(body, "sum") {
				continue // takes long in strips
			}
			args := []iface.Scalar{iface.Int(int64(n))}
			list, read := kerneltest.LoopData(n)
			want := faultOf(t, p.RunTask(&kerneltest.Task{Ctx: context.Background(), Bufs: list, Scalars: args}, nil))
			values := read()
			list, read = kerneltest.LoopData(n)
			got := faultOf(t, onDevice(s, k, list, args))
			if got != want {
				t.Errorf("%s: n = %d: the fault is %q, and in strips %q", body, n, got, want)
				continue
			}
			for i, v := range read() {
				if want == "" && math.Float64bits(v) != math.Float64bits(values[i]) && (v == v || values[i] == values[i]) {
					t.Errorf("%s: n = %d: value %d is %v, and in strips %v", body, n, i, v, values[i])
					break
				}
			}
		}
	}
}
