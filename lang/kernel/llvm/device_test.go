//go:build linux && amd64

package llvm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/elementary"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
	"github.com/starpush/starpush/lang/syntax"
)

// loopLauncher runs the kernels of a body on the processor, each with some threads that run one
// after another, in another order each time.
type loopLauncher struct {
	code   *code
	rng    *rand.Rand
	memory []uint64
}

func (l *loopLauncher) Memory(bytes int64) (uint64, error) {
	if n := int(bytes+7) / 8; n > len(l.memory) {
		l.memory = make([]uint64, n)
		for k := range l.memory {
			l.memory[k] = 0x5555_5555_5555_5555
		}
	}
	return uint64(uintptr(unsafe.Pointer(&l.memory[0]))), nil
}

func (l *loopLauncher) Launch(kernel int, x, y int64, params []uint64) error {
	threads := func(rounds int64) uint64 {
		n := []uint64{1, 3, 8, 32}[l.rng.IntN(4)]
		if rounds >= 0 {
			n = min(n, uint64(rounds)+1)
		}
		return n
	}
	nx, ny := threads(x), threads(y)
	if kernel == 0 {
		nx, ny = 1, 1
	}
	all := nx * ny
	words := make([]uint64, loopLaunch, loopWords+len(params))
	words[loopKernel], words[loopNX], words[loopNY], words[loopFirst] = uint64(kernel), nx, ny, l.rng.Uint64N(all)
	for gcd := uint64(0); gcd != 1; { // for all threads to run
		words[loopStep] = all - l.rng.Uint64N(all)
		gcd = all
		for b := words[loopStep]; b > 0; {
			gcd, b = b, gcd%b
		}
	}
	words = append(words, params...)
	l.code.call(unsafe.Pointer(&words[0]))
	runtime.KeepAlive(words)
	return nil
}

func (l *loopLauncher) Read(from uint64, to []uint64) error {
	copy(to, unsafe.Slice((*uint64)(*(*unsafe.Pointer)(unsafe.Pointer(&from))), len(to)))
	return nil
}

// onLoops compiles the kernels of a body for the processor. The function runs them for a task.
func onLoops(l *Library, fn *ir.Func, seed uint64) (func(t ir.Task) error, error) {
	d, err := newDevice(fn, false)
	if err != nil {
		return nil, err
	}
	object, err := l.Compile(d.Text())
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, d.Text())
	}
	c, err := loadCode(object)
	if err != nil {
		return nil, err
	}
	launcher := &loopLauncher{code: c, rng: rand.New(rand.NewPCG(seed, 1))}
	return func(t ir.Task) error {
		defer runtime.KeepAlive(launcher)
		return d.Run(t, launcher)
	}, nil
}

// TestDeviceRandomBodies runs the kernels of random bodies on the processor, and compares the
// values with those of strips, and the fault with that of rounds in order.
func TestDeviceRandomBodies(t *testing.T) {
	l := library(t)
	for name, generate := range map[string]func(t *testing.T, seed uint64) *kerneltest.Body{
		"bodies": func(t *testing.T, seed uint64) *kerneltest.Body { return kerneltest.NewBody(t, seed, false) },
		"inside": func(t *testing.T, seed uint64) *kerneltest.Body { return kerneltest.NewBody(t, seed, true) },
		"loops":  kerneltest.NewLoopsBody,
	} {
		t.Run(name, func(t *testing.T) {
			ran, faults, bodies, refused := 0, 0, 0, map[string]int{}
			begin := time.Now()
			for seed := *seedFlag; ; seed++ {
				if *soakFlag > 0 && time.Since(begin) > *soakFlag || *soakFlag == 0 && bodies == *countFlag/3 { // compiling takes most of the time
					break
				}
				bodies++
				b := generate(t, seed)
				if b == nil {
					continue
				}
				run, err := onLoops(l, b.Func, seed)
				if err != nil {
					if strings.Contains(err.Error(), "LLVM") {
						t.Fatalf("seed %d: %v\n%s", seed, err, b.Source)
					}
					refused[err.Error()]++
					continue
				}
				ran++
				p, inOrder := cpu.Compile(b.Func), cpu.CompileInOrder(b.Func)
				want := outcomeOf(t, b, func(task *kerneltest.Task) error { return p.RunTask(task, nil) })
				if want.fault != "" {
					want = outcomeOf(t, b, func(task *kerneltest.Task) error { return inOrder.RunTask(task, nil) })
				}
				var large *TooLargeError
				got := outcomeOf(t, b, func(task *kerneltest.Task) error {
					if err := run(task); !errors.As(err, &large) {
						return err
					}
					return nil
				})
				if large != nil {
					continue // a CPU worker runs it
				}
				if want.fault != "" {
					faults++
				}
				if got.fault != want.fault || got.where != want.where {
					t.Fatalf("seed %d: the fault is %q at %v, and in order %q at %v\n%s", seed, got.fault, got.where, want.fault, want.where, b.Source)
				}
				for i := range want.cells {
					if want.fault == "" && got.cells[i] != want.cells[i] {
						t.Fatalf("seed %d: cell %d is %x, and in strips %x\n%s", seed, i/2, got.cells[i], want.cells[i], b.Source)
					}
				}
			}
			t.Logf("%d bodies from seed %d on, %d of them ran, %d faulted; refused: %v", bodies, *seedFlag, ran, faults, refused)
		})
	}
}

// TestDeviceBodies runs bodies with each kind of step on sizes around those of strips and groups,
// as TestDeviceRandomBodies does.
func TestDeviceBodies(t *testing.T) {
	l := library(t)
	for _, body := range kerneltest.DeviceBodies {
		fn := kerneltest.Lowered(t, fmt.Sprintf(kerneltest.LoopCodelet, body), nil)
		run, err := onLoops(l, fn, 1)
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		p, inOrder := cpu.Compile(fn), cpu.CompileInOrder(fn)
		for _, n := range []int{1, 2, 7, 8, 9, 63, 511, 512, 513, 1031} {
			var values [][]float64
			var faults []string
			for _, f := range []func(t ir.Task) error{
				func(t ir.Task) error { return p.RunTask(t, nil) }, func(t ir.Task) error { return inOrder.RunTask(t, nil) }, run,
			} {
				list, read := kerneltest.LoopData(n)
				err := f(&kerneltest.Task{Ctx: context.Background(), Bufs: list, Scalars: []iface.Scalar{iface.Int(int64(n))}})
				faults = append(faults, faultText(t, err))
				values = append(values, read())
			}
			if faults[2] != faults[1] {
				t.Errorf("%s: n = %d: %q, and in order %q", body, n, faults[2], faults[1])
				continue
			}
			for i, v := range values[0] {
				if faults[1] == "" && math.Float64bits(v) != math.Float64bits(values[2][i]) {
					t.Errorf("%s: n = %d: value %d is %v, and in strips %v", body, n, i, values[2][i], v)
					break
				}
			}
		}
	}
}

// TestModuleBodies runs the bodies of codelets of the standard modules on the processor, as kernels
// for devices and in strips. TestModuleBodies of package tests compares strips with the codelets.
func TestModuleBodies(t *testing.T) {
	l := library(t)
	files, err := filepath.Glob("../../../stdlib/bodies/*.spu")
	if err != nil || len(files) == 0 {
		t.Fatal("no bodies: ", err)
	}
	ran := 0
	for _, file := range files {
		if filepath.Base(file) == "sparse.spu" {
			continue // for CPU workers
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, list := kerneltest.Codelets(t, file, string(source))
		for _, c := range list {
			for _, e := range []iface.Elem{iface.F32, iface.F64, iface.I8, iface.U64} {
				var run func(t ir.Task) error
				var p *cpu.Program
				for _, size := range [][2]int{{0, 0}, {1, 1}, {3, 0}, {7, 5}, {13, 79}, {2, 1031}} {
					var tasks [2]*kerneltest.Task
					for k := range tasks {
						tasks[k] = moduleTask(c, e, size[0], size[1])
					}
					if run == nil {
						fn := kerneltest.LoweredFor(t, string(source), []string{c.Name.Name}, tasks[0].Bufs)
						if fn == nil {
							break // not for these elements
						}
						if run, err = onLoops(l, fn, 1); err != nil {
							t.Fatalf("%s of %v: %v", c.Name.Name, e, err)
						}
						p = cpu.Compile(fn)
						ran++
					}
					if size[0]*size[1] == 0 && strings.HasPrefix(c.Name.Name, "argmax") {
						continue // refused at submission
					}
					want, got := p.RunTask(tasks[0], nil), run(tasks[1])
					if want != nil || got != nil {
						t.Fatalf("%s of %v, %v: %v, and in strips %v", c.Name.Name, e, size, got, want)
					}
					for k, b := range tasks[0].Bufs {
						if !slices.Equal(elements(b), elements(tasks[1].Bufs[k])) {
							t.Fatalf("%s of %v, %v: operand %d differs from that of strips", c.Name.Name, e, size, k)
						}
					}
				}
			}
		}
	}
	if ran < 30 {
		t.Errorf("only %d bodies ran", ran)
	}
}

// moduleTask returns a task for a codelet with elements e, whose matrices have m rows, and whose
// vectors m * n elements.
func moduleTask(c *syntax.Codelet, e iface.Elem, m, n int) *kerneltest.Task {
	task := &kerneltest.Task{Ctx: context.Background()}
	scalars := map[string]iface.Scalar{"base": iface.Int(1000), "row": iface.Int(int64(3 * n)), "col": iface.Int(2),
		"seed": iface.Int(-77), "mean": iface.Float(0.5), "sd": iface.Float(2), "value": iface.Float(3)}
	for _, p := range kerneltest.Signature(c).Params {
		if p.Mode == iface.NoMode {
			task.Scalars = append(task.Scalars, scalars[p.Name])
			continue
		}
		b := &iface.Buffer{Desc: iface.Desc{Kind: p.Type.Data(), Elem: p.Type.Elem}}
		if p.Type.Param != 0 {
			b.Elem = e
		}
		room := 1
		switch b.Kind {
		case iface.Vector:
			b.Rank, b.Dim[0], b.Stride[0] = 1, m*n, 1
			room = m * n
		case iface.Matrix:
			b.Rank, b.Dim[0], b.Dim[1], b.Stride[0], b.Stride[1] = 2, m, n, n+3, 1
			room = m * (n + 3)
		}
		words := make([]uint64, room+1)
		b.Ptr = unsafe.Pointer(&words[0])
		for i := range room {
			v := float64(i*7%23-9) / 8
			at := unsafe.Add(b.Ptr, uintptr(i)*b.Elem.Size())
			switch b.Elem {
			case iface.F32:
				*(*float32)(at) = float32(v)
			case iface.F64:
				*(*float64)(at) = v
			case iface.I8:
				*(*int8)(at) = int8(v * 8)
			default:
				*(*uint64)(at) = uint64(int64(v * 8))
			}
		}
		task.Bufs = append(task.Bufs, b)
	}
	return task
}

// elements returns the memory of a buffer from its first element to the last.
func elements(b *iface.Buffer) []byte {
	if b.Kind != iface.Variable && b.Len() == 0 {
		return nil
	}
	n := 1
	for axis := range b.Rank {
		n += (b.Dim[axis] - 1) * b.Stride[axis]
	}
	return unsafe.Slice((*byte)(b.Ptr), n*int(b.Elem.Size()))
}

// faultText returns the fault that err is, with its place, or "".
func faultText(t *testing.T, err error) string {
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

// TestPTX makes PTX of bodies, which must not contract operations nor round them in another way,
// and assembles it where NVIDIA's assembler is.
func TestPTX(t *testing.T) {
	l := library(t)
	ptxas, _ := exec.LookPath("ptxas")
	for k, body := range kerneltest.DeviceBodies {
		d, err := NewDevice(kerneltest.Lowered(t, fmt.Sprintf(kerneltest.LoopCodelet, body), nil))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		text, err := l.PTX(d.Text())
		if err != nil {
			t.Fatalf("%s: %v\n%s", body, err, d.Text())
		}
		for _, name := range d.Kernels() {
			if !strings.Contains(text, ".entry "+name+"(") {
				t.Errorf("%s: no entry %s", body, name)
			}
		}
		for _, bad := range []string{"add.f64", "mul.f64", "sub.f64", "div.approx", "sqrt.approx", "div.full", ".ftz", ".extern"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: the code has %s", body, bad)
			}
		}
		calls := false // of functions that fuse operations
		for _, name := range regexp.MustCompile(`[a-z0-9]+`).FindAllString(body, -1) {
			calls = calls || elementary.Lookup(name, 64) != nil
		}
		if strings.Contains(text, "fma.") && !calls {
			t.Errorf("%s: the code contracts operations", body)
		}
		if dir := os.Getenv("STARPUSH_PTX_DIR"); dir != "" {
			os.WriteFile(filepath.Join(dir, fmt.Sprintf("body%d.ptx", k)), []byte(text), 0o644)
		}
		if ptxas == "" {
			continue
		}
		file := filepath.Join(t.TempDir(), "body.ptx")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(ptxas, "-arch=sm_80", "-o", os.DevNull, file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", body, err, out)
		}
	}
}
