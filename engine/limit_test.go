package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/disk"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/sched"
)

// onDisk bounds the main memory of o to the given bytes, with a disk for the rest.
func onDisk(t *testing.T, o Options, bytes int64, more ...disk.Options) Options {
	t.Helper()
	d, err := disk.Open(t.TempDir(), more...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if n := d.Memory().Allocated(); n != 0 {
			t.Errorf("%d bytes are left on the disk", n)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	o.RAM, o.Disk = bytes, d
	return o
}

// unregister ends data at the end of a test.
func unregister(t *testing.T, j *Job, hs ...*datamgr.Handle) {
	t.Helper()
	for _, h := range hs {
		if err := j.Unregister(h); err != nil {
			t.Error(err)
		}
	}
	if err := j.Wait(context.Background()); err != nil {
		t.Error(err)
	}
}

// within checks that main memory never had more than its limit, and that something
// went to the disk and came back.
func within(t *testing.T, rt *Runtime) {
	t.Helper()
	s := rt.Stats()
	limit := rt.opt.RAM
	if s.PeakBytes > limit || s.PeakBytes < limit/2 {
		t.Errorf("%s of main memory were in use, of %s", accel.Bytes(s.PeakBytes), accel.Bytes(limit))
	}
	way := map[string]int64{}
	for _, b := range s.Buses {
		way[b.From+" to "+b.To] += b.Bytes
	}
	if way["ram to disk"] == 0 || way["disk to ram"] == 0 {
		t.Errorf("copied: %v", way)
	}
	if n := s.Nodes[0]; n.Evictions == 0 || n.Evicted == 0 {
		t.Errorf("main memory: %+v", n)
	}
}

const (
	tileSize = 16
	tileRow  = 6 // tiles
)

// tiles declares a matrix of the runtime, in tiles.
func tiles(t *testing.T, rt *Runtime, name string) (*datamgr.Handle, *datamgr.View) {
	t.Helper()
	n := tileSize * tileRow
	h, err := rt.Register(DataSpec{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{n, n}, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	v, err := rt.Partition(h, filter.Tiles(tileRow, tileRow, 0))
	if err != nil {
		t.Fatal(err)
	}
	return h, v
}

// numberTile gives the elements of a tile values that follow from their place and a
// factor.
var numberTile = kernel("number", func(c *TaskContext) error {
	b := c.Buffer(0)
	for i := range b.Dim[0] {
		row := iface.Row[int64](b, i)
		for k := range row {
			row[k] = valueAt(b.Off[0]+i, b.Off[1]+k) * c.Arg(0).Int()
		}
	}
	return nil
})

func valueAt(i, k int) int64 { return int64((i*7+k*3)%11 - 4) }

// addProduct is C += A·B of tiles.
var addProduct = kernel("gemm", func(c *TaskContext) error {
	for i := range tileSize {
		row, a := iface.Row[int64](c.Buffer(0), i), iface.Row[int64](c.Buffer(1), i)
		for l, x := range a {
			for k, y := range iface.Row[int64](c.Buffer(2), l) {
				row[k] += x * y
			}
		}
	}
	return nil
})

// product computes C = A·B of matrices of the runtime, and checks it tile by tile.
func product(t *testing.T, rt *Runtime, j *Job) {
	t.Helper()
	submit := func(s TaskSpec) {
		t.Helper()
		if err := j.Submit(&s); err != nil {
			t.Fatal(err)
		}
	}
	var hs []*datamgr.Handle
	var vs []*datamgr.View
	for i, name := range []string{"A", "B", "C"} {
		h, v := tiles(t, rt, name)
		hs, vs = append(hs, h), append(vs, v)
		for _, p := range v.Parts {
			submit(TaskSpec{Codelet: numberTile, Operands: []Operand{{Handle: p, Mode: iface.W}}, Args: []iface.Scalar{iface.Int(int64(2-i) * int64(1+i))}})
		}
	}
	for i := range tileRow {
		for k := range tileRow {
			for l := range tileRow {
				submit(TaskSpec{Codelet: addProduct, Operands: []Operand{
					{Handle: vs[2].Parts[i*tileRow+k], Mode: iface.RW}, {Handle: vs[0].Parts[i*tileRow+l], Mode: iface.R}, {Handle: vs[1].Parts[l*tileRow+k], Mode: iface.R}}})
			}
		}
	}
	for _, p := range vs[2].Parts {
		a, err := j.Acquire(context.Background(), p, iface.R)
		if err != nil {
			t.Fatal(err)
		}
		b := a.Buffer()
		for i := range b.Dim[0] {
			for k, got := range iface.Row[int64](b, i) {
				want := int64(0)
				for l := range tileSize * tileRow {
					want += 2 * valueAt(b.Off[0]+i, l) * 2 * valueAt(l, b.Off[1]+k)
				}
				if got != want {
					t.Fatalf("C[%d, %d] is %d, want %d", b.Off[0]+i, b.Off[1]+k, got, want)
				}
			}
		}
		a.Release()
	}
	unregister(t, j, hs...)
}

// aboutQuarter is a fourth of what product uses.
const aboutQuarter = 3 * tileSize * tileRow * tileSize * tileRow * 8 / 4

// TestBeyondMainMemory: a program with four times the data that fits.
func TestBeyondMainMemory(t *testing.T) {
	for _, policy := range sched.Names() {
		t.Run(policy, func(t *testing.T) {
			rt, j := start(t, onDisk(t, Options{Workers: 3, Policy: policy}, aboutQuarter))
			product(t, rt, j)
			within(t, rt)
		})
	}
	t.Run("tight", func(t *testing.T) { // three tiles fit: one task
		rt, j := start(t, onDisk(t, Options{Workers: 3}, 3*tileSize*tileSize*8))
		product(t, rt, j)
		within(t, rt)
	})
	t.Run("devices", func(t *testing.T) {
		rt, j := start(t, onDisk(t, Options{Workers: 1, Devices: late(8*tileSize*tileSize*8, 2, 4)}, aboutQuarter))
		product(t, rt, j)
		if s := rt.Stats(); s.PeakBytes > aboutQuarter {
			t.Errorf("%d bytes of main memory, of %d", s.PeakBytes, aboutQuarter)
		}
	})
	t.Run("deviceOnly", func(t *testing.T) { // what it evicts goes to the disk, by way of main memory
		rt, j := start(t, onDisk(t, Options{Workers: 1, Devices: simulated(8*tileSize*tileSize*8, 2)}, 3*tileSize*tileSize*8))
		h, v := tiles(t, rt, "A")
		for round := range 2 {
			for _, p := range v.Parts {
				_, err := j.SubmitWith(&TaskSpec{Codelet: numberTile, Operands: []Operand{{Handle: p, Mode: iface.W}}, Args: []iface.Scalar{iface.Int(int64(round))}}, TaskOptions{Kinds: []string{"sim"}})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		a, err := j.Acquire(context.Background(), h, iface.R)
		if err != nil {
			t.Fatal(err)
		}
		for i := range tileSize * tileRow {
			for k, got := range iface.Row[int64](a.Buffer(), i) {
				if got != valueAt(i, k) {
					t.Fatalf("[%d, %d] is %d, want %d", i, k, got, valueAt(i, k))
				}
			}
		}
		a.Release()
		unregister(t, j, h)
	})
}

// vector declares data of the runtime.
func vector(t *testing.T, rt *Runtime, n int, r *datamgr.Reduction) *datamgr.Handle {
	t.Helper()
	h, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{n}, Reduce: r})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestLimitOptions(t *testing.T) {
	d, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for want, o := range map[string]Options{
		"needs a disk":       {RAM: 1 << 20},
		"Options.RAM":        {Disk: d},
		"the number":         {RAM: -1, Disk: d},
		"Sequential":         {RAM: 1 << 20, Disk: d, Sequential: true},
		"cannot be the disk": {RAM: 1 << 20, Disk: simulatedRAM{d}},
	} {
		rt, err := New(o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err == nil {
			rt.Close()
		}
	}
}

// simulatedRAM is a device whose memory is main memory.
type simulatedRAM struct{ accel.Device }

func (simulatedRAM) Memory() accel.Memory { return accel.NewHeap("ram", 1) }

// TestTooLargeForMainMemory: a task that can never have its memory is an error of its
// submission, and what it needs counts no memory of the program.
func TestTooLargeForMainMemory(t *testing.T) {
	rt, j := start(t, onDisk(t, Options{Workers: 2}, 100*8))
	a, b := vector(t, rt, 60, nil), vector(t, rt, 60, datamgr.SumReduction())
	own := ints(t, rt, make([]int64, 1000))
	err := j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: a, Mode: iface.W}, {Handle: b, Mode: iface.W}}})
	var large *TooLargeError
	want := "a task of inc needs 960 bytes at once, and ram has 800 bytes: let it run on other workers, or work on smaller parts"
	if !errors.As(err, &large) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	err = j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: b, Mode: iface.Redux}}})
	if !errors.As(err, &large) || large.Bytes != 960 { // two contributions are combined at a time
		t.Errorf("a contribution: %v", err)
	}
	if err := j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: a, Mode: iface.W}, {Handle: own, Mode: iface.RW}}}); err != nil {
		t.Error(err)
	}
	unregister(t, j, a, b, own)
	if p := rt.Stats().PeakBytes; p != 60*8 {
		t.Errorf("%d bytes of main memory", p)
	}
}

// TestProgramHoldsMoreThanFits: what the program holds does not count, and tasks go on
// meanwhile.
func TestProgramHoldsMoreThanFits(t *testing.T) {
	rt, j := start(t, onDisk(t, Options{Workers: 2}, 64*8))
	h, err := rt.RegisterFilled(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{256}}, func(b *iface.Buffer) error {
		for i := range iface.Slice[int64](b) {
			iface.Slice[int64](b)[i] = int64(i)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := rt.Partition(h, filter.Blocks(8))
	if err != nil {
		t.Fatal(err)
	}
	other := vector(t, rt, 60, nil)
	for round := range 3 {
		a, err := j.Acquire(context.Background(), h, iface.RW)
		if err != nil {
			t.Fatal(err)
		}
		for i := range iface.Slice[int64](a.Buffer()) {
			if got, want := iface.Slice[int64](a.Buffer())[i], int64(i+11*round); got != want {
				t.Fatalf("round %d: [%d] is %d, want %d", round, i, got, want)
			}
			iface.Slice[int64](a.Buffer())[i] += 10
		}
		task, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: other, Mode: iface.W}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Wait(context.Background()); err != nil || task.Err() != nil {
			t.Fatal(err, task.Err())
		}
		a.Release()
		for _, p := range v.Parts {
			if err := j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: p, Mode: iface.RW}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, err := j.Acquire(context.Background(), v.Parts[7], iface.W)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range iface.Slice[int64](a.Buffer()) {
		if x != 0 {
			t.Fatalf("acquired to write, [%d] is %d", i, x)
		}
	}
	a.Release()
	unregister(t, j, h, other)
	if p := rt.Stats().PeakBytes; p > 64*8 {
		t.Errorf("%d bytes of main memory", p)
	}
}

// TestContributionsBeyondMainMemory: many workers add to data when only three copies fit.
func TestContributionsBeyondMainMemory(t *testing.T) {
	for _, deterministic := range []bool{false, true} {
		t.Run(fmt.Sprint("deterministic ", deterministic), func(t *testing.T) {
			rt, j := start(t, onDisk(t, Options{Workers: 8, Deterministic: deterministic}, 3*100*8))
			var hs []*datamgr.Handle
			for range 3 {
				hs = append(hs, vector(t, rt, 100, datamgr.SumReduction()))
			}
			add := kernel("add", func(c *TaskContext) error {
				for i := range iface.Slice[int64](c.Buffer(0)) {
					iface.Slice[int64](c.Buffer(0))[i] += c.Arg(0).Int() + int64(i)
				}
				return nil
			})
			const n = 40
			for round := range 2 { // first without a value, then with one
				for k := range n {
					for _, h := range hs {
						if err := j.Submit(&TaskSpec{Codelet: add, Operands: []Operand{{Handle: h, Mode: iface.Redux}}, Args: []iface.Scalar{iface.Int(int64(k))}}); err != nil {
							t.Fatal(err)
						}
					}
				}
				for _, h := range hs {
					a, err := j.Acquire(context.Background(), h, iface.R)
					if err != nil {
						t.Fatal(err)
					}
					for i, got := range iface.Slice[int64](a.Buffer()) {
						if want := int64(1+round) * (n*(n-1)/2 + n*int64(i)); got != want {
							t.Fatalf("round %d: [%d] is %d, want %d", round, i, got, want)
						}
					}
					a.Release()
				}
			}
			unregister(t, j, hs...)
			within(t, rt)
		})
	}
}

// TestScratchIsCounted: SCRATCH memory of tasks, and of each rank, is main memory.
func TestScratchIsCounted(t *testing.T) {
	rt, j := start(t, onDisk(t, Options{Workers: 4}, 400*8))
	s := vector(t, rt, 100, nil)
	var ran atomic.Int32
	one := kernel("one", func(c *TaskContext) error {
		b := iface.Slice[int64](c.Buffer(0))
		for i := range b {
			b[i] = int64(c.Rank())
		}
		for _, x := range b {
			if x != int64(c.Rank()) {
				t.Errorf("rank %d sees %d", c.Rank(), x)
			}
		}
		ran.Add(1)
		return nil
	})
	for range 20 {
		if err := j.Submit(&TaskSpec{Codelet: one, Operands: []Operand{{Handle: s, Mode: iface.Scratch}}}); err != nil {
			t.Fatal(err)
		}
	}
	many := &Codelet{Name: "many", CPU: one.CPU, Traits: &Traits{Parallel: SPMD}}
	for range 5 {
		if _, err := j.SubmitWith(&TaskSpec{Codelet: many, Operands: []Operand{{Handle: s, Mode: iface.Scratch}}}, TaskOptions{Size: 4}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := ran.Load(); n != 40 || len(j.Failures()) > 0 {
		t.Errorf("%d kernels ran; %v", n, j.Failures())
	}
	if p := rt.Stats().PeakBytes; p != 400*8 {
		t.Errorf("%d bytes of main memory", p)
	}
	unregister(t, j, s)
}

// TestDuplicateBeyondMainMemory: the copy of a duplicate needs no main memory.
func TestDuplicateBeyondMainMemory(t *testing.T) {
	rt, j := start(t, onDisk(t, Options{Workers: 2}, 40*8))
	h := vector(t, rt, 100, nil)
	v, err := rt.Partition(h, filter.Blocks(5))
	if err != nil {
		t.Fatal(err)
	}
	number := kernel("number", func(c *TaskContext) error {
		b := c.Buffer(0)
		for i := range iface.Slice[int64](b) {
			iface.Slice[int64](b)[i] = int64(b.Off[0]+i) * c.Arg(0).Int()
		}
		return nil
	})
	write := func(k int64) {
		for _, p := range v.Parts {
			if err := j.Submit(&TaskSpec{Codelet: number, Operands: []Operand{{Handle: p, Mode: iface.W}}, Args: []iface.Scalar{iface.Int(k)}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(1)
	u, err := j.Duplicate(h)
	if err != nil {
		t.Fatal(err)
	}
	write(2)
	for k, x := range []*datamgr.Handle{u, h} {
		a, err := j.Acquire(context.Background(), x, iface.R)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range iface.Slice[int64](a.Buffer()) {
			if want := int64(i * (k + 1)); got != want {
				t.Fatalf("%d: [%d] is %d, want %d", k, i, got, want)
			}
		}
		a.Release()
	}
	unregister(t, j, u, h)
	if p := rt.Stats().PeakBytes; p > 40*8 {
		t.Errorf("%d bytes of main memory", p)
	}
}

// brokenDisk is a file to which nothing can be written while it is full, and from
// which nothing can be read while it is unreadable.
type brokenDisk struct {
	disk.File
	full, unreadable *atomic.Bool
}

func (f brokenDisk) WriteAt(b []byte, at int64) (int, error) {
	if f.full.Load() {
		n, _ := f.File.WriteAt(b[:len(b)/2], at)
		return n, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	return f.File.WriteAt(b, at)
}

func (f brokenDisk) ReadAt(b []byte, at int64) (int, error) {
	if f.unreadable.Load() {
		return 0, &os.PathError{Op: "read", Path: "x", Err: syscall.EIO}
	}
	return f.File.ReadAt(b, at)
}

// TestDiskFails: tasks that need a disk that fails fail, and no value is lost.
func TestDiskFails(t *testing.T) {
	var full, unreadable atomic.Bool
	o := onDisk(t, Options{Workers: 1}, 3*10*8, disk.Options{Wrap: func(f disk.File) disk.File { return brokenDisk{f, &full, &unreadable} }})
	rt, j := start(t, o)
	var hs []*datamgr.Handle
	inc := func(h *datamgr.Handle, m iface.AccessMode) error {
		t.Helper()
		task, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: m}}})
		if err != nil {
			t.Fatal(err)
		}
		_ = task.Wait(context.Background())
		j.Failures() // told here
		return task.Err()
	}
	zero := kernel("zero", func(c *TaskContext) error { clear(iface.Slice[int64](c.Buffer(0))); return nil })
	for range 6 {
		h := vector(t, rt, 10, nil)
		hs = append(hs, h)
		if err := j.Submit(&TaskSpec{Codelet: zero, Operands: []Operand{{Handle: h, Mode: iface.W}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Wait(context.Background()); err != nil { // 0 to 2 are on the disk now
		t.Fatal(err)
	}
	full.Store(true)
	more := vector(t, rt, 10, nil)
	err := inc(more, iface.W)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "no space left on device") || !strings.Contains(err.Error(), "240 bytes of ram") {
		t.Errorf("with a full disk: %v", err)
	}
	if err := inc(hs[5], iface.RW); err != nil { // it is in main memory
		t.Errorf("with a full disk, of data that is there: %v", err)
	}
	full.Store(false)
	if err := inc(more, iface.W); err != nil {
		t.Errorf("with room again: %v", err)
	}
	unreadable.Store(true)
	if err := inc(hs[0], iface.RW); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "input/output error") {
		t.Errorf("with an unreadable disk: %v", err)
	}
	_, err = j.Acquire(context.Background(), hs[1], iface.R)
	if !errors.Is(err, syscall.EIO) {
		t.Errorf("an access with an unreadable disk: %v", err)
	}
	unreadable.Store(false)
	for i, h := range hs {
		if i == 0 {
			continue // its task failed
		}
		a, err := j.Acquire(context.Background(), h, iface.R)
		if err != nil {
			t.Fatal(err)
		}
		for k, got := range iface.Slice[int64](a.Buffer()) {
			if want := map[bool]int64{true: 1}[i == 5]; got != want {
				t.Errorf("data %d [%d] is %d, want %d", i, k, got, want)
			}
		}
		a.Release()
	}
	full.Store(true)
	a, err := j.Acquire(context.Background(), hs[1], iface.RW) // comes back to a full disk
	if err != nil {
		t.Fatal(err)
	}
	for i := range iface.Slice[int64](a.Buffer()) {
		iface.Slice[int64](a.Buffer())[i] = 77
	}
	a.Release()
	full.Store(false)
	if a, err = j.Acquire(context.Background(), hs[1], iface.R); err != nil {
		t.Fatal(err)
	}
	for i, got := range iface.Slice[int64](a.Buffer()) {
		if got != 77 {
			t.Errorf("[%d] is %d, want 77", i, got)
		}
	}
	a.Release()
	unregister(t, j, append(hs, more)...)
}

// TestPartIsUnreadable: data with a part that cannot be read is refused, also when the
// rest comes from elsewhere after that.
func TestPartIsUnreadable(t *testing.T) {
	var full, unreadable atomic.Bool
	o := onDisk(t, Options{Workers: 1}, 10*8, disk.Options{Wrap: func(f disk.File) disk.File { return brokenDisk{f, &full, &unreadable} }})
	rt, j := start(t, o)
	h := vector(t, rt, 20, nil)
	v, err := rt.Partition(h, filter.Blocks(2))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range v.Parts { // the first goes to the disk
		if err := j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: p, Mode: iface.W}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	unreadable.Store(true)
	a, err := j.Acquire(context.Background(), h, iface.R)
	if !errors.Is(err, syscall.EIO) {
		t.Errorf("with half of the data unreadable: %v", err)
	}
	if err == nil {
		a.Release()
	}
	unreadable.Store(false)
	if a, err = j.Acquire(context.Background(), h, iface.R); err != nil {
		t.Fatal(err)
	}
	a.Release()
	unregister(t, j, h)
}

// TestDiskIsFull: data that fits neither main memory nor what the disk may have.
func TestDiskIsFull(t *testing.T) {
	rt, j := start(t, onDisk(t, Options{Workers: 1}, 100*8, disk.Options{Capacity: 50 * 8}))
	a, b := vector(t, rt, 40, nil), vector(t, rt, 40, nil)
	for k, h := range []*datamgr.Handle{a, b} {
		task, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.W}}})
		if err != nil {
			t.Fatal(err)
		}
		_ = task.Wait(context.Background())
		var none *accel.NoMemoryError
		if err := task.Err(); (k == 1) != errors.As(err, &none) || k == 1 && none.Node != "disk" {
			t.Errorf("data %d: %v", k, err)
		}
	}
	j.Failures()
	_, err := rt.RegisterFilled(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{20}}, func(*iface.Buffer) error { return nil })
	var none *accel.NoMemoryError
	if !errors.As(err, &none) {
		t.Errorf("filled data: %v", err)
	}
	unregister(t, j, a, b)
}

// TestDiskNode: where data is, and what hints do with the disk.
func TestDiskNode(t *testing.T) {
	rt, j := start(t, onDisk(t, Options{Workers: 1}, 100*8))
	if ns := rt.Nodes(); len(ns) != 2 || ns[0].Capacity != 800 || ns[1].Name != "disk" {
		t.Fatalf("nodes %+v", ns)
	}
	h, own := vector(t, rt, 10, nil), ints(t, rt, make([]int64, 10))
	for _, x := range []*datamgr.Handle{h, own} {
		if err := j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: x, Mode: iface.W}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	valid := func(h *datamgr.Handle) [2]int64 {
		t.Helper()
		p, err := j.Where(h)
		if err != nil || len(p) != 2 {
			t.Fatal(p, err)
		}
		return [2]int64{p[0].Valid, p[1].Valid}
	}
	expect := func(h *datamgr.Handle, want [2]int64, what string) {
		t.Helper()
		if got := valid(h); got != want {
			t.Errorf("%s: valid bytes in main memory and on the disk: %v, want %v", what, got, want)
		}
	}
	expect(h, [2]int64{80, 0}, "written")
	expect(own, [2]int64{80, 0}, "the program's")
	if err := j.Prefetch(h, 1, true); err != nil {
		t.Fatal(err)
	}
	if err := j.Prefetch(own, 1, true); err != nil {
		t.Fatal(err)
	}
	expect(h, [2]int64{80, 80}, "brought to the disk")
	expect(own, [2]int64{80, 0}, "the program's has no place there")
	if n, err := j.Evict(h, 0); n != 80 || err != nil {
		t.Errorf("evicted %d, %v", n, err)
	}
	if n, err := j.Evict(own, 0); n != 0 || err != nil {
		t.Errorf("evicted %d, %v", n, err)
	}
	expect(h, [2]int64{0, 80}, "evicted")
	if err := j.Prefetch(h, 0, true); err != nil {
		t.Fatal(err)
	}
	expect(h, [2]int64{80, 80}, "brought back")
	var mode *ModeError
	if _, err := j.Evict(h, 1); !errors.As(err, &mode) {
		t.Errorf("evicting from the disk: %v", err)
	}
	if _, err := j.AcquireWith(context.Background(), h, iface.R, AcquireOptions{Node: 1}); !errors.As(err, &mode) {
		t.Errorf("acquiring on the disk: %v", err)
	}
	unregister(t, j, h, own)
}

// TestFilledInParts: data that does not fit is filled some rows at a time.
func TestFilledInParts(t *testing.T) {
	rt, j := start(t, onDisk(t, Options{Workers: 1}, 1<<20))
	const rows, cols = 700, 601 // 3.2 MiB
	calls, most := 0, 0
	h, err := rt.RegisterFilled(DataSpec{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{rows, cols}, LD: cols + 5, InParts: true}, func(b *iface.Buffer) error {
		calls++
		most = max(most, b.Len()*8)
		for i := range b.Dim[0] {
			for k := range iface.Row[int64](b, i) {
				iface.Row[int64](b, i)[k] = valueAt(b.Off[0]+i, k)
			}
		}
		*b = iface.Buffer{}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if calls < 4 || most > 1<<20 {
		t.Errorf("filled in %d calls, of %d bytes at most", calls, most)
	}
	a, err := j.Acquire(context.Background(), h, iface.R)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		for k, got := range iface.Row[int64](a.Buffer(), i) {
			if got != valueAt(i, k) {
				t.Fatalf("[%d, %d] is %d, want %d", i, k, got, valueAt(i, k))
			}
		}
	}
	a.Release()
	unregister(t, j, h)
	oops := errors.New("oops")
	if _, err := rt.RegisterFilled(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{1 << 20}, InParts: true}, func(*iface.Buffer) error { return oops }); !errors.Is(err, oops) {
		t.Error(err)
	}
}

// TestRows reads data in rows: some at a time where main memory has no room for all of them,
// wherever they are, and else all at once.
func TestRows(t *testing.T) {
	const rows, cols = 700, 601 // 3.2 MiB
	write := func(j *Job, p *datamgr.Handle, plus int64) error {
		return j.Submit(&TaskSpec{Codelet: numberTile, Operands: []Operand{{Handle: p, Mode: iface.W}}, Args: []iface.Scalar{iface.Int(plus)}})
	}
	for _, ram := range []int64{1 << 20, 8 << 20} {
		rt, j := start(t, onDisk(t, Options{Workers: 2}, ram))
		h, err := rt.Register(DataSpec{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{rows, cols}})
		if err != nil {
			t.Fatal(err)
		}
		v, err := rt.Partition(h, filter.Tiles(3, 7, 0))
		if err != nil {
			t.Fatal(err)
		}
		var none *UninitError
		read := func(fn func(*iface.Buffer) error) error {
			a, err := j.AcquireWith(context.Background(), h, iface.R, AcquireOptions{OrderOnly: true})
			if err != nil {
				return err
			}
			defer a.Release()
			return a.Rows(fn)
		}
		if err := read(func(*iface.Buffer) error { return nil }); !errors.As(err, &none) {
			t.Errorf("data without a value: %v", err)
		}
		for k, p := range v.Parts {
			if err := write(j, p, int64(k%3)); err != nil {
				t.Fatal(err)
			}
		}
		at, calls := 0, 0
		sum := int64(0)
		err = read(func(b *iface.Buffer) error {
			if b.Off[0] != at || b.Dim[1] != cols {
				t.Errorf("rows from %d on: %v", at, b.Desc)
			}
			at, calls = at+b.Dim[0], calls+1
			for i := range b.Dim[0] {
				for _, x := range iface.Row[int64](b, i) {
					sum += x
				}
			}
			return nil
		})
		if err != nil || at != rows || (calls > 1) != (ram < rows*cols*8) {
			t.Errorf("with %d bytes of main memory: %d rows in %d calls: %v", ram, at, calls, err)
		}
		a, err := j.Acquire(context.Background(), h, iface.R)
		if err != nil {
			t.Fatal(err)
		}
		want := int64(0)
		for i := range rows {
			for _, x := range iface.Row[int64](a.Buffer(), i) {
				want += x
			}
		}
		a.Release()
		if sum != want {
			t.Errorf("with %d bytes of main memory: the sum of the rows is %d, want %d", ram, sum, want)
		}
		oops := errors.New("oops")
		calls = 0
		if err := read(func(*iface.Buffer) error { calls++; return oops }); err != oops || calls != 1 {
			t.Errorf("an error of the function: %v after %d calls", err, calls)
		}
		if err := j.Submit(&TaskSpec{Codelet: bad, Operands: []Operand{{Handle: v.Parts[1], Mode: iface.RW}}}); err != nil {
			t.Fatal(err)
		}
		var failed *FailedDataError
		if err := read(func(*iface.Buffer) error { return nil }); !errors.As(err, &failed) {
			t.Errorf("data of a task that failed: %v", err)
		}
		j.Failures()
		unregister(t, j, h)
	}
}
