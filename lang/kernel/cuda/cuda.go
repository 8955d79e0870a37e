//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
	driver "github.com/starpush/starpush/accel/cuda"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/llvm"
)

// Kernels are a body as kernels for NVIDIA devices. They are safe for concurrent use.
type Kernels struct {
	name  string
	body  *llvm.Device
	cache *llvm.Cache

	mu struct {
		sync.Mutex
		made    bool
		ptx     string
		err     error // of making ptx
		devices map[*driver.Device]*module
	}
}

// module are the kernels on a device.
type module struct {
	functions []*driver.Function
	err       error
}

// New returns the kernels of a lowered body, whose PTX c keeps. The error is the reason why the
// body runs on CPU workers only.
func New(fn *ir.Func, c *llvm.Cache) (*Kernels, error) {
	d, err := llvm.NewDevice(fn)
	if err != nil {
		return nil, err
	}
	k := &Kernels{name: fn.Name, body: d, cache: c}
	k.mu.devices = map[*driver.Device]*module{}
	return k, nil
}

// on returns the kernels on a device. The first call compiles them.
func (k *Kernels) on(d *driver.Device) ([]*driver.Function, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if m := k.mu.devices[d]; m != nil {
		return m.functions, m.err
	}
	if !k.mu.made {
		k.mu.ptx, k.mu.err = k.body.PTX(k.cache)
		k.mu.made = true
	}
	m := &module{err: k.mu.err}
	if m.err == nil {
		m.functions, m.err = load(d, k.mu.ptx, k.body.Kernels())
	}
	k.mu.devices[d] = m
	return m.functions, m.err
}

func load(d *driver.Device, ptx string, names []string) ([]*driver.Function, error) {
	m, err := d.Load(ptx)
	if err != nil {
		return nil, err
	}
	var out []*driver.Function
	for _, name := range names {
		f, err := m.Function(name)
		if err != nil {
			return nil, errors.Join(err, m.Unload())
		}
		out = append(out, f)
	}
	return out, nil
}

// Run starts the kernels on the stream's device, in whose memory the buffers of t are. It waits
// for them only if the body may fail: then the error is the fault that a CPU worker reports. An
// *accel.DeclinedError means that nothing was started.
func (k *Kernels) Run(s *driver.Stream, t ir.Task) error {
	declined := func(err error) error {
		var lost *accel.LostError
		if errors.As(err, &lost) {
			return err
		}
		return &accel.DeclinedError{Device: s.Device().Name(), Kernel: k.name, Err: err}
	}
	functions, err := k.on(s.Device())
	if err != nil {
		return declined(err)
	}
	l := &launcher{stream: s, functions: functions}
	err = k.body.Run(t, l)
	if err != nil && !l.begun && t.Context().Err() == nil {
		return declined(err)
	}
	return err
}

// launcher starts the kernels of a task on a stream.
type launcher struct {
	stream    *driver.Stream
	functions []*driver.Function
	begun     bool
}

func (l *launcher) Memory(bytes int64) (uint64, error) {
	p, err := l.stream.Work(bytes)
	return uint64(uintptr(p)), err
}

// Blocks have blockThreads threads. Those of two directions have rows of at most rowThreads, so
// that threads of several rows share elements: in a product of matrices, those of the second.
const (
	blockThreads = 256
	rowThreads   = 32
	blocksPerSM  = 16 // of a grid, if there are enough rounds: threads compute several rounds then
)

// shape returns the grid and the blocks for x rounds in each of y rows, -1 if that is not known.
func shape(x, y int64, processors int) (grid, block [3]int) {
	limit := int64(blocksPerSM * processors)
	if x < 0 { // the grid fits any number, and a small one in reasonable time
		return [3]int{8, max(1, processors/4)}, [3]int{rowThreads, blockThreads / rowThreads}
	}
	bx, by := blockThreads, 1
	for y <= 1 && bx > rowThreads && x/int64(bx) < 2*int64(processors) {
		bx /= 2 // all processors have some
	}
	if y > 1 {
		bx = min(rowThreads, power(x))
		by = min(blockThreads/bx, power(y))
		bx = min(blockThreads/by, power(x))
	}
	gx := max(1, min((x+int64(bx)-1)/int64(bx), limit))
	gy := max(1, min((y+int64(by)-1)/int64(by), limit/gx, 65535))
	if x == 1 && y == 1 {
		bx = 1
	}
	return [3]int{int(gx), int(gy)}, [3]int{bx, by}
}

// power returns the smallest power of two that is not less than n, 256 at most.
func power(n int64) int {
	return 1 << bits.Len64(uint64(min(n, blockThreads)-1))
}

func (l *launcher) Launch(kernel int, x, y int64, params []uint64) error {
	grid, block := shape(x, y, l.stream.Device().Processors())
	l.begun = true
	return l.stream.Launch(l.functions[kernel], driver.Launch{Grid: grid, Block: block}, params...)
}

// ram is the memory that Read copies to.
var ram = accel.NewHeap("ram", 0)

func (l *launcher) Read(from uint64, to []uint64) error {
	c := accel.Copy{Dst: accel.Place{Mem: ram, Ptr: unsafe.Pointer(&to[0])},
		Src:   accel.Place{Mem: l.stream.Device().Memory(), Ptr: *(*unsafe.Pointer)(unsafe.Pointer(&from))},
		Bytes: int64(8 * len(to)), Count: accel.Counts()}
	err := l.stream.Copy(&c)
	if e := l.stream.Sync(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("the record of faults: %w", err)
	}
	return nil
}
