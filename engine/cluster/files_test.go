package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// squares is the file of data whose element at is first + at*at.
type squares struct {
	first  int64
	read   atomic.Int64 // bytes
	closed atomic.Int64 // calls of Close
	bad    error        // of ReadAt
	stale  error        // of Changed
}

func newSquares(first int64) *squares { return &squares{first: first} }

func (s *squares) ReadAt(b []byte, off int64) (int, error) {
	if s.bad != nil {
		return 0, s.bad
	}
	if off%8 != 0 || len(b)%8 != 0 || s.closed.Load() > 0 {
		return 0, io.ErrUnexpectedEOF
	}
	for i := 0; i < len(b); i += 8 {
		at := (off + int64(i)) / 8
		binary.NativeEndian.PutUint64(b[i:], uint64(s.first+at*at))
	}
	s.read.Add(int64(len(b)))
	return len(b), nil
}

func (s *squares) Changed() error { return s.stale }

func (s *squares) Close() error {
	s.closed.Add(1)
	return nil
}

var squareMatrix = engine.DataSpec{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{12, 12}, Name: "a"}

// plus adds 1 to all elements of its operand, and what is in the others.
var plus = &engine.Codelet{Name: "plus", CPU: []engine.Impl{func(c *engine.TaskContext) error {
	sum := int64(1)
	for i := 1; i < c.NumBuffers(); i++ {
		each(c.Buffer(i), func(_ int, x *int64) { sum += *x })
	}
	each(c.Buffer(0), func(_ int, x *int64) { *x += sum })
	return nil
}}}

// TestFilesByNeed: a rank reads from a file what its tasks read, once, and no value travels that all ranks can read.
func TestFilesByNeed(t *testing.T) {
	for _, size := range []int{1, 2, 3, 4} {
		t.Run(fmt.Sprint(size, " ranks"), func(t *testing.T) {
			var sources [4]*squares
			var messages atomic.Int64
			for r, err := range onEach(t, size, func(j *Job, _ engine.Operand) error {
				src := newSquares(0)
				sources[j.Rank()] = src
				a, err := j.RegisterFrom(squareMatrix, src)
				if err != nil {
					return err
				}
				if src.read.Load() != 0 || !j.HasValue(a) {
					return fmt.Errorf("after the registration %d bytes were read, and HasValue is %v", src.read.Load(), j.HasValue(a))
				}
				rows, err := j.rt.Partition(a, filter.Rows(4, 0))
				if err != nil {
					return err
				}
				for _, part := range rows.Parts[:3] { // the rows of part 3 are not used
					for range 2 {
						if err := j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: plus, Operands: []engine.Operand{{Handle: part, Mode: iface.RW}}}}); err != nil {
							return err
						}
					}
				}
				if err := j.Wait(context.Background()); err != nil {
					return err
				}
				messages.Add(int64(j.Sent().Messages))
				want := int64(0)
				for k := range 3 {
					if k%size == j.Rank() {
						want += 3 * 12 * 8
					}
				}
				if got := src.read.Load(); got != want {
					return fmt.Errorf("%d bytes were read, want %d", got, want)
				}
				acc, err := j.Acquire(context.Background(), a, iface.R, engine.AcquireOptions{})
				if err != nil {
					return err
				}
				each(acc.Buffer(), func(at int, x *int64) {
					if want := int64(at*at) + int64(2*min(1, max(0, 9-at/12))); *x != want {
						err = fmt.Errorf("element %d is %d, want %d", at, *x, want)
					}
				})
				if got, all := src.read.Load(), want+3*12*8; got != all {
					return fmt.Errorf("%d bytes were read in the end, want %d", got, all)
				}
				if src.closed.Load() != 1 && size == 1 {
					return errors.New("the source is open, and all of it was read")
				}
				return errors.Join(err, acc.Release())
			}) {
				if err != nil {
					t.Errorf("rank %d: %v", r, err)
				}
			}
			if messages.Load() != 0 {
				t.Errorf("%d messages", messages.Load())
			}
			for r, s := range sources[:size] {
				if s.closed.Load() != 1 {
					t.Errorf("the source of rank %d was closed %d times", r, s.closed.Load())
				}
			}
		})
	}
}

// fileUses are programs on data from a file, with the bytes that two ranks read of it together.
var fileUses = []struct {
	name string
	read int64
	run  func(j *Job, a *datamgr.Handle) error
}{
	{"nothing", 0, func(j *Job, a *datamgr.Handle) error { return nil }},
	{"unregistered", 0, func(j *Job, a *datamgr.Handle) error { return j.Unregister(a) }},
	{"overwritten", 0, func(j *Job, a *datamgr.Handle) error {
		_, err := valueAfter(j, a, iface.W, a)
		return err
	}},
	{"invalidated", 0, func(j *Job, a *datamgr.Handle) error {
		err := j.Invalidate(a)
		_, none := j.Acquire(context.Background(), a, iface.R, engine.AcquireOptions{})
		if !errors.As(none, new(*engine.UninitError)) {
			return fmt.Errorf("after Invalidate: %v", none)
		}
		return err
	}},
	{"part overwritten", 2 * 8 * (144 - 36), func(j *Job, a *datamgr.Handle) error {
		v, err := j.rt.Partition(a, filter.Tiles(2, 2, 0))
		if err != nil {
			return err
		}
		got, err := valueAfter(j, v.Parts[3], iface.W, a)
		if err == nil && (got[143] != 0 || got[1] != 1 || got[5*12+5] != 65*65) {
			err = fmt.Errorf("the value is %v", got)
		}
		return err
	}},
	{"contributions", 8 * 144, func(j *Job, a *datamgr.Handle) error { return errors.Join(contributed(j, a), fourMore(j, a)) }},
	{"contributions and a checkpoint", 8 * 144, func(j *Job, a *datamgr.Handle) error {
		if err := contributed(j, a); err != nil {
			return err
		}
		dir, err := os.MkdirTemp("", "starpush-cluster")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		return errors.Join(j.Checkpoint(context.Background(), dir, []engine.NamedData{{Name: "a", Handle: a}}, nil), fourMore(j, a))
	}},
	{"contributions and all of it", 8 * 144, func(j *Job, a *datamgr.Handle) error {
		if err := contributed(j, a); err != nil {
			return err
		}
		return errors.Join(j.ReadFiles(context.Background(), func(accel.Source) bool { return true }), fourMore(j, a))
	}},
	{"a task elsewhere", 8 * 144, func(j *Job, a *datamgr.Handle) error {
		t := &Task{TaskSpec: engine.TaskSpec{Codelet: plus, Operands: []engine.Operand{{Handle: a, Mode: iface.RW}}}, On: 2}
		return j.Submit(t)
	}},
	{"commuting tasks", 8 * 144, func(j *Job, a *datamgr.Handle) error {
		t := &Task{TaskSpec: engine.TaskSpec{Codelet: plus, Operands: []engine.Operand{{Handle: a, Mode: iface.Commute}}}}
		return errors.Join(j.Submit(t), j.Submit(t))
	}},
	{"all of it", 2 * 8 * 144, func(j *Job, a *datamgr.Handle) error {
		return j.ReadFiles(context.Background(), func(src accel.Source) bool { return src != nil })
	}},
	{"another file", 0, func(j *Job, a *datamgr.Handle) error {
		return j.ReadFiles(context.Background(), func(src accel.Source) bool { return src == nil })
	}},
	{"each its own", 8 * 144, func(j *Job, a *datamgr.Handle) error {
		v, err := j.rt.Partition(a, filter.Rows(4, 0))
		if err != nil {
			return err
		}
		for _, part := range v.Parts[:2] {
			if err := j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: plus, Operands: []engine.Operand{{Handle: part, Mode: iface.RW}}}}); err != nil {
				return err
			}
		}
		var seen []int
		err = j.EachOwn(context.Background(), a, engine.AcquireOptions{}, func(lo []int, b *iface.Buffer) (err error) {
			if lo[0]*12+lo[1] != b.Base {
				return fmt.Errorf("elements from %v on have the number %d", lo, b.Base)
			}
			each(b, func(at int, x *int64) {
				seen = append(seen, at)
				if want := int64(at * at); *x != want && *x != want+1 {
					err = fmt.Errorf("element %d is %d", at, *x)
				}
			})
			return err
		})
		if err != nil {
			return err
		}
		all, err := j.Gather(context.Background(), []byte(strings.Trim(fmt.Sprint(seen), "[]")))
		if err != nil {
			return err
		}
		var got []int
		for r, b := range all {
			if len(b) == 0 {
				return fmt.Errorf("rank %d has no elements of its own", r)
			}
			for _, f := range strings.Fields(string(b)) {
				n := 0
				fmt.Sscan(f, &n)
				got = append(got, n)
			}
		}
		slices.Sort(got)
		for i := range 144 {
			if len(got) != 144 || got[i] != i {
				return fmt.Errorf("the elements of all ranks are %v", got)
			}
		}
		return nil
	}},
}

// contributed submits four tasks that add 1 to all elements, in turn on rank 1, where the value is then, and on rank 0.
func contributed(j *Job, a *datamgr.Handle) error {
	if err := j.rt.SetReduction(a, datamgr.SumReduction()); err != nil {
		return err
	}
	for k := range 4 {
		t := &Task{TaskSpec: engine.TaskSpec{Codelet: plus, Operands: []engine.Operand{{Handle: a, Mode: iface.Redux}}}, On: 2 - k%2}
		if err := j.Submit(t); err != nil {
			return err
		}
	}
	return nil
}

// fourMore returns an error unless each element is 4 more than in the file.
func fourMore(j *Job, a *datamgr.Handle) error {
	got, err := valueOf(j, a)
	for at, x := range got {
		if want := int64(at*at) + 4; x != want {
			return fmt.Errorf("element %d is %d, want %d", at, x, want)
		}
	}
	return err
}

// valueAfter returns the value of whole after a task that uses h.
func valueAfter(j *Job, h *datamgr.Handle, mode iface.AccessMode, whole *datamgr.Handle) ([]int64, error) {
	zero := &engine.Codelet{Name: "zero", CPU: []engine.Impl{func(c *engine.TaskContext) error {
		each(c.Buffer(0), func(_ int, x *int64) { *x = 0 })
		return nil
	}}}
	if err := j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: zero, Operands: []engine.Operand{{Handle: h, Mode: mode}}}}); err != nil {
		return nil, err
	}
	return valueOf(j, whole)
}

func valueOf(j *Job, h *datamgr.Handle) (v []int64, err error) {
	acc, err := j.Acquire(context.Background(), h, iface.R, engine.AcquireOptions{})
	if err != nil {
		return nil, err
	}
	each(acc.Buffer(), func(_ int, x *int64) { v = append(v, *x) })
	return v, acc.Release()
}

// TestFileUses runs programs on data from a file on two ranks, and counts what they read.
func TestFileUses(t *testing.T) {
	for _, test := range fileUses {
		t.Run(test.name, func(t *testing.T) {
			sources := []*squares{newSquares(0), newSquares(0)}
			for r, err := range onEach(t, 2, func(j *Job, _ engine.Operand) error {
				a, err := j.RegisterFrom(squareMatrix, sources[j.Rank()])
				if err != nil {
					return err
				}
				return errors.Join(test.run(j, a), j.Wait(context.Background()))
			}) {
				if err != nil {
					t.Errorf("rank %d: %v", r, err)
				}
			}
			if got := sources[0].read.Load() + sources[1].read.Load(); got != test.read {
				t.Errorf("%d bytes were read, want %d", got, test.read)
			}
			for r, s := range sources {
				if s.closed.Load() != 1 {
					t.Errorf("the source of rank %d was closed %d times", r, s.closed.Load())
				}
			}
		})
	}
}

// TestBadFiles: elements that cannot be read are lost on all ranks, with the reason, and so are those of a file that has changed.
func TestBadFiles(t *testing.T) {
	for name, spoil := range map[string]func(*squares, error){
		"unreadable": func(s *squares, err error) { s.bad = err },
		"changed":    func(s *squares, err error) { s.stale = err },
	} {
		t.Run(name, func(t *testing.T) {
			for r, err := range onEach(t, 2, func(j *Job, _ engine.Operand) error {
				src := newSquares(0)
				if j.Rank() == 1 {
					spoil(src, errors.New("out of order"))
				}
				a, err := j.RegisterFrom(squareMatrix, src)
				if err != nil {
					return err
				}
				task := &Task{TaskSpec: engine.TaskSpec{Codelet: plus, Operands: []engine.Operand{{Handle: a, Mode: iface.RW}}}, On: 2}
				if err := j.Submit(task); err != nil {
					return err
				}
				_, err = valueOf(j, a)
				if err == nil || !strings.Contains(err.Error(), "out of order") {
					return fmt.Errorf("the value: %v", err)
				}
				return nil
			}) {
				if err != nil {
					t.Errorf("rank %d: %v", r, err)
				}
			}
		})
	}
}

// TestManyFiles: a job does not keep any number of files open.
func TestManyFiles(t *testing.T) {
	var sources []*squares
	for r, err := range onEach(t, 1, func(j *Job, _ engine.Operand) error {
		for k := range 3 * maxSources / 2 {
			src := newSquares(int64(k))
			sources = append(sources, src)
			h, err := j.RegisterFrom(squareMatrix, src)
			if err != nil {
				return err
			}
			if k%10 != 0 {
				continue
			}
			if v, err := valueOf(j, h); err != nil || v[2] != int64(k+4) {
				return fmt.Errorf("file %d: %v, %v", k, v, err)
			}
		}
		open := 0
		for _, s := range sources {
			open += 1 - int(s.closed.Load())
		}
		if open == 0 || open > maxSources {
			return fmt.Errorf("%d files are open", open)
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// TestAcquireOn: one rank gets the value, from those that have it, and the others nothing.
func TestAcquireOn(t *testing.T) {
	var bytes atomic.Int64
	for r, err := range onEach(t, 3, func(j *Job, _ engine.Operand) error {
		ctx := context.Background()
		if _, err := j.AcquireOn(ctx, 3, nil, engine.AcquireOptions{}); !errors.As(err, new(*RankError)) {
			return fmt.Errorf("on rank 3: %v", err)
		}
		a, err := j.rt.Register(squareMatrix)
		if err != nil {
			return err
		}
		if _, err := j.AcquireOn(ctx, 1, a, engine.AcquireOptions{}); !errors.As(err, new(*engine.UninitError)) {
			return fmt.Errorf("without a value: %v", err)
		}
		rows, err := j.rt.Partition(a, filter.Rows(3, 0))
		if err != nil {
			return err
		}
		for _, part := range rows.Parts {
			t := &Task{TaskSpec: engine.TaskSpec{Codelet: codelet, Operands: []engine.Operand{{Handle: part, Mode: iface.W}}, Args: []iface.Scalar{iface.Int(3), iface.Int(0)}}}
			if err := j.Submit(t); err != nil {
				return err
			}
		}
		acc, err := j.AcquireOn(ctx, 1, a, engine.AcquireOptions{})
		switch {
		case err != nil:
			return err
		case (acc != nil) != (j.Rank() == 1):
			return fmt.Errorf("the access is %v", acc)
		case acc != nil:
			each(acc.Buffer(), func(at int, x *int64) {
				if *x != 3+int64(at*7) {
					err = fmt.Errorf("element %d is %d", at, *x)
				}
			})
			err = errors.Join(err, acc.Release())
		}
		bytes.Add(int64(j.Sent().Bytes))
		all, allErr := valueOf(j, a)
		if allErr == nil && all[143] != 3+143*7 {
			allErr = fmt.Errorf("all ranks get %v", all)
		}
		return errors.Join(err, allErr)
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
	if want := int64(2 * 4 * 12 * 8); bytes.Load() != want {
		t.Errorf("%d bytes were sent, want %d", bytes.Load(), want)
	}
}

// TestFileSpecs: data of all kinds comes from files, read-only data too.
func TestFileSpecs(t *testing.T) {
	for name, spec := range map[string]engine.DataSpec{
		"capacity":  {Kind: iface.Vector, Elem: iface.I64, Dims: []int{6}, Capacity: []int{12}},
		"read-only": {Kind: iface.Vector, Elem: iface.I64, Dims: []int{6}, ReadOnly: true},
		"variable":  {Kind: iface.Variable, Elem: iface.I64},
		"empty":     {Kind: iface.Matrix, Elem: iface.I64, Dims: []int{0, 5}},
		"tensor":    {Kind: iface.Tensor, Elem: iface.I64, Dims: []int{3, 4, 5, 6}},
	} {
		t.Run(name, func(t *testing.T) {
			for r, err := range onEach(t, 3, func(j *Job, _ engine.Operand) error {
				a, err := j.RegisterFrom(spec, newSquares(0))
				if err != nil {
					return err
				}
				parts := []*datamgr.Handle{a}
				if spec.Kind == iface.Tensor {
					v, err := j.rt.Partition(a, filter.Axis(1, 2, 0), filter.Axis(3, 3, 0))
					if err != nil {
						return err
					}
					parts = v.Parts
				}
				added := int64(0)
				if !spec.ReadOnly {
					added = 1
					for k, p := range parts {
						if err := j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: plus, Operands: []engine.Operand{{Handle: p, Mode: iface.RW}}}, On: 1 + (k+1)%3}); err != nil {
							return err
						}
					}
				}
				got, err := valueOf(j, a)
				for at, x := range got {
					if want := int64(at*at) + added; x != want {
						return fmt.Errorf("element %d is %d, want %d", at, x, want)
					}
				}
				return err
			}) {
				if err != nil {
					t.Errorf("rank %d: %v", r, err)
				}
			}
		})
	}
}

// TestFilesPlanned: a plan of ranks reads no file, and counts no message for what all ranks can read or write.
func TestFilesPlanned(t *testing.T) {
	rt, err := engine.Machine{Workers: 1}.Planner(func(*engine.PlannedTask) {})
	if err != nil {
		t.Fatal(err)
	}
	j := NewPlan(t.Context(), rt, 3, Options{})
	src := newSquares(0)
	a, err := j.RegisterFrom(squareMatrix, src)
	if err != nil {
		t.Fatal(err)
	}
	v, err := rt.Partition(a, filter.Rows(3, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range v.Parts {
		if err := j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: plus, Operands: []engine.Operand{{Handle: p, Mode: iface.RW}}}}); err != nil {
			t.Error(err)
		}
	}
	err = j.EachOwn(t.Context(), a, engine.AcquireOptions{}, nil)
	report, reportErr := j.Report(t.Context())
	if err := errors.Join(err, reportErr, j.Wait(t.Context()), j.Close(), rt.Close()); err != nil {
		t.Fatal(err)
	}
	if src.read.Load() != 0 || src.closed.Load() != 1 {
		t.Errorf("%d bytes were read, and the source was closed %d times", src.read.Load(), src.closed.Load())
	}
	for _, r := range report.Ranks {
		if r.Tasks != 1 || r.Sent.Messages != 0 {
			t.Errorf("rank %d: %d tasks, %d messages", r.Rank, r.Tasks, r.Sent.Messages)
		}
	}
}
