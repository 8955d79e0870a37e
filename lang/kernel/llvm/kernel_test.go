//go:build linux && amd64

package llvm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

// compiled returns the machine code of the first codelet of a source.
func compiled(t testing.TB, source string) (*Kernel, *cpu.Program) {
	t.Helper()
	fn := kerneltest.Lowered(t, source, nil)
	k, err := compile(library(t), fn)
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	return k, cpu.Compile(fn)
}

// TestLoops runs bodies of loops on sizes around the number of lanes and the length of a
// strip, and compares the values or the fault with those of strips.
func TestLoops(t *testing.T) {
	bodies := []string{
		"each i in y { y[i] = x[i] * 2.0 + y[i] }",
		"each i in y { y[i] = x[x.n - 1 - i] - 1.5 }",
		"each i in y { y[i] = x[k[i]] }",
		"each i in y { y[i] = x[(i * 3) % x.n] }",
		"each i in y { if x[i] > 0.0 { y[i] = sqrt(x[i]) } else { y[i] -= 1.0 } }",
		"each i in y { let s = 0.0\n for j in 0..i { s += x[j] }\n y[i] = s }",
		"each i in y { y[i] = sum j in x { x[j] * y[i] } }",
		"each i in y { y[i] = min j in 0..n { x[j] - y[i] } }",
		"each i in u { u[i] = int(u[i] // 3 - u[i] % 5 + u[i] ** 3) }",
		"each i in u { u[i] = u[i] // (u[i] - 4) }",
		"each i in y { y[i] = if x[i] > 0.1 then x[k[i]] else 0.0 }",
		"each i in y { let t = array[f64](5)\n for j in 0..t.n { t[j] = x[i] * float(j) }\n t[k[i] % 5] -= y[i]\n y[i] = t[0] + t[k[i] % 3] + sum j in t { t[j] } }",
		"each i in y { let t = array[f32](3, fill = x[i])\n t[k[i]] += 0.5\n y[i] = t[2] }",
		"each i in y { let t = array[u8](64, fill = i)\n for j in 0..k[i] { t[j] *= 3 }\n y[i] = t[k[i] % 64] }",
		"let t = array[f64](9)\n for i in 0..n { t[k[i] % 9] += x[i] }\n each i in y { y[i] = t[i % 9] }",
		"let t = array[i64](9)\n t[n] = 1\n each i in u { let w = array[i32](4)\n w[n % 4] = t[k[i] % 9]\n u[i] = w[i % 4] }",
		"each i in y { let w = array[f64](5)\n for j in 0..5 { let a = x[(i + j) % n]\n let at = j\n while at > 0 and w[at - 1] > a { w[at] = w[at - 1]\n at -= 1 }\n w[at] = a }\n y[i] = w[2] }",
		"for i in 0..n { let t = array[f64](4)\n t[i % 4] = x[i]\n t[1] += 0.5\n y[i] = t[0] + t[1] }",
		"each i, j in A { let t = array[f64](3)\n for l in 0..9 { t[l % 3] += A[i, j] * B[j, l] }\n A[i, j] = t[0] - t[1] * t[2] }",
		"for i in 1..y.n { y[i] = y[i - 1] * 0.5 + x[i] }",
		"for i in 0..y.n { y[k[i]] += x[i] }",
		"for i in 0..y.n { v += x[i] }",
		"each i in y { let s = 0.0\n for j in k[i]..k[i] + 2 { s += x[j] }\n y[i] = s }",
		"each i in y { let s = 0.0\n for j in k[i]..n { s += x[k[j]] }\n y[i] = s }",
		"for i in 0..n { for j in 0..=i { y[i] += x[j] * B[j, i % 9] } }",
		"for i in 0..n { for j in 0..k[i] { y[j] = y[j] * 0.5 + x[i] } }",
		"for i in 0..n { for j in 0..k[i] { y[j + 1] = y[j] * 0.5 + x[i] } }",
		"for i in 0..n { each j in y { y[j] = y[j] * 0.5 + x[i] } }",
		"for i in 0..n { y[i] = x[i] + (sum j in y { y[j] * x[k[i]] }) }",
		"for i in 0..n { y[k[i]] = y[k[i]] * 0.5 + x[k[n - 1 - i]] }",
		"for i in 0..3 { for j in 0..40 * n { v += x[k[j // 40]] } }",
		"for i in 0..n { for j in 0..k[i] % 9 { y[k[j]] += x[k[i]] } }",
		"each i in y { let s = 0.0\n for j in k[i] % 7..=k[i] % 11 { s += x[k[j]] }\n y[i] = s }",
		"each i in y { let s = 0.0\n for j in k[i]..n { s += x[k[j] - 1] }\n y[i] = s }",
		"for i in 0..n { for j in i - 2..=i { y[k[i]] += x[k[max(j, 0)]] } }", // ranges that begin below 0
		"v = sum i in x { x[i] * x[i] }",
		"v = prod i in x { x[i] + 1.0 }",
		"v = max i in x { abs(x[i]) }",
		"v += sum i, j in A { A[i, j] * B[j, i] }",
		"v = sum i in 0..9 { sum j in 0..n { A[i, j] } }",
		"each i, j in A { A[i, j] = A[i, j] + B[j, i] }",
		"each i, j in A { if B[j, i] > 0.2 { A[i, j] -= B[j, i] * 2.0 } }",
		"each i, j in A { A[i, j] = B[j + i // 8, i] }",
		"each j, i in 0..n, 0..9 { A[i, j] = B[j, i] + float(10 // (i + j - 3)) }",
		"each i, j in A { A[i, j] = sum l in 0..n { x[l] * float(j) + B[l, i] } }",
		"each i, j in 1..8, 1..n - 1 { A[i, j] = B[j - 1, i] + B[j + 1, i] }",
		"each i in 0..9 { for j in 1..n { A[i, j] = A[i, j - 1] + B[j, i] } }",
		"each i in y { y[i] = floor(x[i] * 7.0) + ceil(y[i] * 3.0) + round(x[i] * 5.5) + fma(x[i], y[i], 0.1) }",
		"each i in y { y[i] = x[i + n - 3] }",
		"for i in 0..n { y[i] = x[n - 1 - 2 * i] }",
		"each i in y { if x[i] > 0.3 { y[i] = x[k[i] - 1] } }",
	}
	for _, body := range bodies {
		k, p := compiled(t, fmt.Sprintf(kerneltest.LoopCodelet, body))
		for _, n := range []int{1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 511, 512, 513, 1031} {
			var values [2][]float64
			var faults [2]string
			for way := range 2 {
				list, read := kerneltest.LoopData(n)
				task := &kerneltest.Task{Ctx: context.Background(), Bufs: list, Scalars: []iface.Scalar{iface.Int(int64(n))}}
				var err error
				if way == 0 {
					err = p.RunTask(task, nil)
				} else {
					err = k.Run(task)
				}
				if err != nil {
					faults[way] = err.Error()
					var f *cpu.Fault
					if errors.As(err, &f) {
						faults[way] += " " + kerneltest.At(f.Span) + " " + f.Index
					}
				}
				values[way] = read()
			}
			if faults[0] != faults[1] {
				t.Errorf("%s: n = %d: %q, and in strips %q", body, n, faults[1], faults[0])
				continue
			}
			for i, v := range values[0] {
				if faults[0] == "" && math.Float64bits(v) != math.Float64bits(values[1][i]) {
					t.Errorf("%s: n = %d: value %d is %v, and in strips %v", body, n, i, values[1][i], v)
					break
				}
			}
		}
	}
}

// guarded moves the elements of b to memory between two pages without access,
// next to the second if atEnd holds, else to the first.
func guarded(t *testing.T, b *iface.Buffer, atEnd bool) {
	t.Helper()
	last := 0 // the place of the last element
	for axis := range int(b.Rank) {
		if b.Dim[axis] == 0 {
			return
		}
		last += (b.Dim[axis] - 1) * b.Stride[axis]
	}
	bytes := (last + 1) * int(b.Elem.Size())
	const page = 4096
	pages := (bytes + page - 1) / page
	m, err := syscall.Mmap(-1, 0, (pages+2)*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(m) })
	at := page
	if atEnd {
		at = (pages+1)*page - bytes
	}
	copy(m[at:], unsafe.Slice((*byte)(b.Ptr), bytes))
	b.Ptr = unsafe.Pointer(&m[at])
	for _, guard := range [][]byte{m[:page], m[(pages+1)*page:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGuardPages runs random bodies on operands between pages without access: an access
// outside of an operand ends the process.
func TestGuardPages(t *testing.T) {
	l := library(t)
	for seed := range uint64(24) {
		b := kerneltest.NewBody(t, 50_000+seed, false)
		if seed%2 == 1 {
			b = kerneltest.NewLoopsBody(t, 50_000+seed)
		}
		if b == nil {
			continue
		}
		k, err := compile(l, b.Func)
		if err != nil {
			continue
		}
		for _, atEnd := range []bool{false, true} {
			list, _ := b.Buffers()
			for _, buf := range list {
				guarded(t, buf, atEnd)
			}
			var f *cpu.Fault
			if err := k.Run(&kerneltest.Task{Ctx: context.Background(), Bufs: list, Scalars: b.Args}); err != nil && !errors.As(err, &f) {
				t.Fatal(err)
			}
		}
	}
}

// pausing counts the pauses of a run, and cancels it after some.
type pausing struct {
	kerneltest.Task
	pauses atomic.Int64
	limit  int64
	stop   context.CancelCauseFunc
	panic  bool
}

var errEnough = errors.New("enough")

func (p *pausing) GiveWay() {
	if p.pauses.Add(1) == p.limit {
		if p.panic {
			panic(errEnough)
		}
		p.stop(errEnough)
	}
}

// endless are bodies that would run for years.
var endless = []string{
	"for i in 0..1_000_000_000_000_000 { v = v * 0.999 + 1.0 }",
	"each i in y { let s = 0.5\n for j in 0..1_000_000_000_000_000 { s = s * 0.99 + x[0] }\n y[i] = s }",
	"each i in y { let s = 0.5\n for j in i..1_000_000_000_000_000 { s = s * 0.99 + x[0] }\n y[i] = s }",
	"v = sum i, j in 0..1_000_000_000, 0..1_000_000_000 { float(i) * x[j % x.n] }",
	"for i in 0..1_000_000_000 { each j in y { y[j] = y[j] * 0.5 + x[j] } }",
	"for i in 0..100_000_000 { for j in 0..100_000_000 { v = v * 0.999 + 1.0 } }",
}

// TestPauses cancels endless bodies from one of their pauses.
func TestPauses(t *testing.T) {
	for _, body := range endless {
		k, _ := compiled(t, fmt.Sprintf(kerneltest.LoopCodelet, body))
		list, _ := kerneltest.LoopData(100)
		ctx, stop := context.WithCancelCause(context.Background())
		task := &pausing{Task: kerneltest.Task{Ctx: ctx, Bufs: list, Scalars: []iface.Scalar{iface.Int(100)}}, limit: 5, stop: stop}
		if err := k.Run(task); !errors.Is(err, errEnough) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestPanicInPause ends a run by a panic of what runs in a pause.
func TestPanicInPause(t *testing.T) {
	k, _ := compiled(t, fmt.Sprintf(kerneltest.LoopCodelet, endless[0]))
	list, _ := kerneltest.LoopData(100)
	task := &pausing{Task: kerneltest.Task{Ctx: context.Background(), Bufs: list, Scalars: []iface.Scalar{iface.Int(100)}}, limit: 2, panic: true}
	defer func() {
		if r := recover(); r != errEnough {
			t.Errorf("the panic is %v", r)
		}
	}()
	k.Run(task)
}

// TestDeadline runs an endless body under a deadline.
func TestDeadline(t *testing.T) {
	k, _ := compiled(t, fmt.Sprintf(kerneltest.LoopCodelet, endless[1]))
	list, _ := kerneltest.LoopData(100)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err := k.Run(&kerneltest.Task{Ctx: ctx, Bufs: list, Scalars: []iface.Scalar{iface.Int(100)}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// FuzzObject loads damaged object files: an error, or code that is not run.
func FuzzObject(f *testing.F) {
	l, err := Open()
	if err != nil {
		f.Skip(err)
	}
	body, err := NewBody(kerneltest.Lowered(f, fmt.Sprintf(kerneltest.LoopCodelet, "each i in y { y[i] = x[i] * 0.3 + float(i) }"), nil))
	if err != nil {
		f.Fatal(err)
	}
	object, err := l.Compile(body.Text())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(object)
	f.Fuzz(func(t *testing.T, object []byte) { loadCode(object) })
}

// TestCompileErrors gives the library text that it refuses.
// TestLargeArrays: a body whose arrays do not fit in the stack of a thread runs in strips.
func TestLargeArrays(t *testing.T) {
	for n, want := range map[int][2]string{
		2:  {"", ""},
		40: {"no machine code for arrays that take more than 64 KiB", "no kernels for arrays that take more than 8 KiB"},
	} {
		body := "each i in y {\n"
		for k := range n {
			body += fmt.Sprintf("let t%d = array[f64](64, fill = x[i])\nt%[1]d[i %% 64] += 1.0\ny[i] += t%[1]d[k[i] %% 64]\n", k)
		}
		fn := kerneltest.Lowered(t, fmt.Sprintf(kerneltest.LoopCodelet, body+"}"), nil)
		_, err := NewBody(fn)
		_, deviceErr := NewDevice(fn)
		for k, err := range []error{err, deviceErr} {
			if text := fmt.Sprint(err); err != nil && text != want[k] || err == nil && want[k] != "" {
				t.Errorf("%d arrays: %v", n, err)
			}
		}
		list, _ := kerneltest.LoopData(8)
		if err := cpu.Compile(fn).Run(context.Background(), list, []iface.Scalar{iface.Int(8)}); err != nil {
			t.Error(err)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	l := library(t)
	for text, want := range map[string]string{
		"nonsense": "cannot read the module",
		"define i32 @kernel(ptr %words) {\n  ret i64 0\n}\n":                                                            "cannot read the module",
		"declare i32 @other()\ndefine i32 @kernel(ptr %w) {\n  %r = call i32 @other()\n  ret i32 %r\n}\n":               "",
		"define i32 @kernel(ptr %w) {\n  br label %a\na:\n  %x = add i32 %y, 1\n  %y = add i32 1, 1\n  ret i32 %x\n}\n": "refuses the module",
	} {
		object, err := l.Compile(text)
		if want == "" {
			if err != nil {
				t.Errorf("%s\n%v", text, err)
			} else if _, err = loadCode(object); err == nil || !strings.Contains(err.Error(), `needs "other"`) {
				t.Errorf("%s\nloading: %v", text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v", text, err)
		}
	}
}
