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
		if os.Getenv("STARPUSH_NEED_LLVM") != "" {
			t.Fatal(err)
		}
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

// TestRandomBodies runs random bodies on the device, and compares values with those of strips
// and faults with those of rounds in order.
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
				list, read := b.Buffers()
				want := faultOf(t, cpu.Compile(b.Func).RunTask(&kerneltest.Task{Ctx: context.Background(), Bufs: list, Scalars: b.Args}, nil))
				if want != "" {
					again, _ := b.Buffers()
					want = faultOf(t, cpu.CompileInOrder(b.Func).RunTask(&kerneltest.Task{Ctx: context.Background(), Bufs: again, Scalars: b.Args}, nil))
				}
				there, readThere := b.Buffers()
				err = onDevice(s, k, there, b.Args)
				var large *llvm.TooLargeError
				if errors.As(err, &large) {
					continue // a CPU worker runs it
				}
				got := faultOf(t, err)
				if got != want {
					t.Fatalf("seed %d: the fault is %q, and in order %q\n%s", seed, got, want, b.Source)
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

// TestBodies runs bodies with each kind of step on sizes around those of strips and groups. It
// compares values with those of strips, and faults with those of rounds in order.
func TestBodies(t *testing.T) {
	s := openStream(t)
	for _, body := range kerneltest.DeviceBodies {
		fn := kerneltest.Lowered(t, fmt.Sprintf(kerneltest.LoopCodelet, body), nil)
		k, err := New(fn, llvm.NewCache(""))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		p, inOrder := cpu.Compile(fn), cpu.CompileInOrder(fn)
		for _, n := range []int{1, 2, 7, 8, 9, 63, 511, 512, 513, 1031, 33001, 262145} {
			if n > 1<<15 && strings.Contains(body, "each") && strings.Contains(body, "sum") {
				continue // takes long in strips
			}
			args := []iface.Scalar{iface.Int(int64(n))}
			list, read := kerneltest.LoopData(n)
			want := faultOf(t, p.RunTask(&kerneltest.Task{Ctx: context.Background(), Bufs: list, Scalars: args}, nil))
			values := read()
			if want != "" {
				list, _ = kerneltest.LoopData(n)
				want = faultOf(t, inOrder.RunTask(&kerneltest.Task{Ctx: context.Background(), Bufs: list, Scalars: args}, nil))
			}
			list, read = kerneltest.LoopData(n)
			got := faultOf(t, onDevice(s, k, list, args))
			if got != want {
				t.Errorf("%s: n = %d: the fault is %q, and in order %q", body, n, got, want)
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
