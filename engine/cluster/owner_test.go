package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// ownerTests are data of 12 x 12 elements with a view, and the ranks that own it and the parts.
var ownerTests = []struct {
	name    string
	owner   int // as in DataSpec
	filters []filter.Filter
	grid    []int
	within  int           // the parts are those of a view of this part, counted from 1; 0: of the data
	inner   filter.Filter // the view of the part
	size    int
	whole   int // the rank that owns the data
	parts   []int
}{
	{name: "by rule", filters: []filter.Filter{filter.Rows(5, 0)}, size: 3, parts: []int{0, 1, 2, 0, 1}},
	{name: "owner", owner: 3, filters: []filter.Filter{filter.Rows(3, 0)}, size: 4, whole: 2, parts: []int{2, 2, 2}},
	{name: "owner above the ranks", owner: 12, filters: []filter.Filter{filter.Tiles(2, 2, 0)}, size: 3, whole: 2, parts: []int{2, 2, 2, 2}},
	{name: "grid of a row", filters: []filter.Filter{filter.Rows(6, 0)}, grid: []int{4}, size: 5, parts: []int{0, 1, 2, 3, 0, 1}},
	{name: "grid of more than the ranks", filters: []filter.Filter{filter.Rows(6, 0)}, grid: []int{4}, size: 3, parts: []int{0, 1, 2, 0, 0, 1}},
	{name: "grid of tiles", filters: []filter.Filter{filter.Tiles(3, 4, 0)}, grid: []int{2, 3}, size: 6,
		parts: []int{0, 1, 2, 0, 3, 4, 5, 3, 0, 1, 2, 0}},
	{name: "grid of tiles modulo the ranks", filters: []filter.Filter{filter.Tiles(3, 4, 0)}, grid: []int{2, 3}, size: 4,
		parts: []int{0, 1, 2, 0, 3, 0, 1, 3, 0, 1, 2, 0}},
	{name: "a column of ranks", filters: []filter.Filter{filter.Tiles(3, 2, 0)}, grid: []int{3, 1}, size: 4, parts: []int{0, 0, 1, 1, 2, 2}},
	{name: "filters in turn", filters: []filter.Filter{filter.Rows(2, 0), filter.Cols(3, 0)}, grid: []int{2, 2}, size: 4, parts: []int{0, 1, 0, 2, 3, 2}},
	{name: "grid before owner", owner: 2, filters: []filter.Filter{filter.Rows(3, 0)}, grid: []int{3}, size: 3, whole: 1, parts: []int{0, 1, 2}},
	{name: "view of a part of a grid", filters: []filter.Filter{filter.Rows(3, 0)}, grid: []int{3}, within: 3, inner: filter.Cols(2, 0), size: 3, parts: []int{2, 2}},
	{name: "view of a part of an owner", owner: 2, filters: []filter.Filter{filter.Rows(3, 0)}, within: 1, inner: filter.Cols(2, 0), size: 3, whole: 1, parts: []int{1, 1}},
	{name: "view of a part by rule", filters: []filter.Filter{filter.Rows(3, 0)}, within: 3, inner: filter.Cols(2, 0), size: 3, parts: []int{0, 1}},
}

// TestOwners: tasks run where the program says that what they write is owned, and messages go to them from where it was written.
func TestOwners(t *testing.T) {
	for _, test := range ownerTests {
		t.Run(test.name, func(t *testing.T) {
			var mu sync.Mutex
			ran := make([][]int, test.size) // by rank: the tasks that it ran
			sent := 0
			var group sync.WaitGroup
			for r, end := range Local(test.size) {
				group.Go(func() {
					rt, err := engine.New(engine.Options{Workers: 1})
					if err != nil {
						t.Error(err)
						return
					}
					defer rt.Close()
					j := NewJob(context.Background(), rt, end, Options{})
					where, err := submitToOwners(rt, j, test.owner, test.filters, engine.ViewOptions{Grid: test.grid}, test.within, test.inner,
						func(n int) {
							mu.Lock()
							ran[r] = append(ran[r], n)
							mu.Unlock()
						})
					if err == nil {
						err = j.Wait(context.Background())
					}
					if err := errors.Join(err, j.Close()); err != nil {
						t.Error(err)
					}
					if want := append([]int{test.whole}, test.parts...); !slices.Equal(where, want) {
						t.Errorf("rank %d: tasks on ranks %v, want %v", r, where, want)
					}
					mu.Lock()
					sent += int(j.Sent().Messages)
					mu.Unlock()
				})
			}
			group.Wait()
			for r, tasks := range ran {
				var want []int
				for n, at := range append([]int{test.whole}, test.parts...) {
					if at == r {
						want = append(want, n)
					}
				}
				if slices.Sort(tasks); !slices.Equal(tasks, want) {
					t.Errorf("rank %d ran tasks %v, want %v", r, tasks, want)
				}
			}
			// The first task writes all of it; each rank that changes a part and is another one gets that part.
			want := 0
			for _, at := range test.parts {
				if at != test.whole {
					want++
				}
			}
			if sent != want {
				t.Errorf("%d messages, want %d", sent, want)
			}
		})
	}
}

// submitToOwners submits task 0, which writes the whole data, and a task for each part, which changes it. It returns the ranks of the tasks;
// those that run here call ran.
func submitToOwners(rt *engine.Runtime, j *Job, owner int, fs []filter.Filter, o engine.ViewOptions, within int, inner filter.Filter, ran func(n int)) (where []int, err error) {
	h, err := rt.Register(engine.DataSpec{Kind: iface.Matrix, Elem: iface.F64, Dims: []int{12, 12}, Owner: owner})
	if err != nil {
		return nil, err
	}
	v, err := rt.PartitionWith(o, h, fs...)
	if err != nil {
		return nil, err
	}
	if within > 0 {
		if v, err = rt.Partition(v.Parts[within-1], inner); err != nil {
			return nil, err
		}
	}
	c := &engine.Codelet{Name: "note", CPU: []engine.Impl{func(c *engine.TaskContext) error { ran(int(c.Arg(0).Int())); return nil }}}
	for n, x := range append([]*datamgr.Handle{h}, v.Parts...) {
		mode := iface.RW
		if n == 0 {
			mode = iface.W
		}
		task := &Task{TaskSpec: engine.TaskSpec{Codelet: c, Operands: []engine.Operand{{Handle: x, Mode: mode}}, Args: []iface.Scalar{iface.Int(int64(n))}}}
		ticket, err := j.SubmitTask(task, engine.TaskOptions{})
		if err != nil {
			return nil, err
		}
		where = append(where, ticket.Rank())
	}
	return where, nil
}

// TestOwnersInTurn: data with an owner takes its turn, so that an owner changes the owners of no other data.
func TestOwnersInTurn(t *testing.T) {
	for _, err := range onEach(t, 3, func(j *Job, x engine.Operand) error {
		for n, want := range []int{0, 0, 2, 0} {
			ops := []engine.Operand{x}
			if n > 0 {
				h, err := engine.MakeVector[int64](j.rt, 4, []engine.DataOption{engine.OwnedBy(3), nil, nil}[n-1])
				if err != nil {
					return err
				}
				ops = []engine.Operand{{Handle: h.Handle, Mode: iface.W}}
			}
			ticket, err := j.SubmitTask(&Task{TaskSpec: engine.TaskSpec{Codelet: codelet, Operands: ops, Args: []iface.Scalar{iface.Int(1), iface.Int(0)}}}, engine.TaskOptions{})
			if err != nil {
				return err
			}
			if ticket.Rank() != want {
				return fmt.Errorf("data %d is on rank %d, want %d", n, ticket.Rank(), want)
			}
		}
		return j.Wait(context.Background())
	}) {
		if err != nil {
			t.Error(err)
		}
	}
}

// TestOwnersDiverge: ranks that give data to different owners are an error on all.
func TestOwnersDiverge(t *testing.T) {
	for _, err := range onEach(t, 3, func(j *Job, _ engine.Operand) error {
		h, err := engine.MakeVector[int64](j.rt, 4, engine.OwnedBy(j.Rank()/2))
		if err != nil {
			return err
		}
		op := engine.Operand{Handle: h.Handle, Mode: iface.W}
		if err := j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: codelet, Operands: []engine.Operand{op}, Args: []iface.Scalar{iface.Int(1), iface.Int(0)}}}); err != nil {
			return err
		}
		return j.Wait(context.Background())
	}) {
		var d *DivergedError
		if !errors.As(err, &d) || d.Rank != 2 {
			t.Error(err)
		}
	}
}

// TestNoOwner registers data, and declares views, with owners that there cannot be.
func TestNoOwner(t *testing.T) {
	rt, err := engine.New(engine.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	if _, err := rt.Register(engine.DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{1}, Owner: -1}); err == nil || !strings.Contains(err.Error(), "the owner is -1") {
		t.Error(err)
	}
	if _, err := engine.MakeVector[int64](rt, 4, engine.OwnedBy(-3)); err == nil || !strings.Contains(err.Error(), "the owner is -3") {
		t.Error(err)
	}
	h, err := engine.MakeMatrix[int64](rt, 4, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		grid []int
		want string
	}{
		{[]int{2}, "1 numbers of ranks, and the view has 2 indices"},
		{[]int{}, "0 numbers of ranks"},
		{[]int{1, 2, 3}, "3 numbers of ranks"},
		{[]int{2, 0}, "0 ranks along an index"},
		{[]int{-1, 2}, "-1 ranks along an index"},
		{[]int{1 << 20, 1 << 20}, "a grid of 1048576 x 1048576 ranks"},
	} {
		_, err := rt.PartitionWith(engine.ViewOptions{Grid: test.grid}, h.Handle, filter.Tiles(2, 2, 0))
		var bad *datamgr.GridError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v", test.grid, err)
		}
	}
	if _, err := rt.PartitionWith(engine.ViewOptions{Grid: []int{1 << 20, 1 << 10}}, h.Handle, filter.Tiles(2, 2, 0)); err != nil {
		t.Error(err)
	}
}
