package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// checkpointed is the data of TestCheckpoint on one rank: whole data, in parts that differ between runs.
type checkpointed struct {
	all   []engine.NamedData
	parts []*datamgr.Handle // of the matrix that is written in part
}

func register(j *Job, tiles ...int) (c checkpointed, err error) {
	add := func(name string, kind iface.Kind, filled bool, dims ...int) *datamgr.Handle {
		spec := engine.DataSpec{Kind: kind, Elem: iface.I64, Dims: dims}
		if kind == iface.Void {
			spec.Elem = iface.NoElem
		}
		var h *datamgr.Handle
		var e error
		if filled {
			h, e = several{j: j}.filled(j.rt, spec, 0)
		} else {
			h, e = j.rt.Register(spec)
		}
		err = errors.Join(err, e)
		c.all = append(c.all, engine.NamedData{Name: name, Handle: h})
		return h
	}
	add("filled", iface.Matrix, true, 7, 5)
	some := add("some", iface.Matrix, false, 6, 10)
	add("unused", iface.Vector, true, 4)
	add("empty", iface.Vector, true, 0)
	add("void", iface.Void, false)
	sum := add("sum", iface.Variable, true)
	if err != nil {
		return c, err
	}
	if err := j.rt.SetReduction(sum, datamgr.SumReduction()); err != nil {
		return c, err
	}
	value, err := engine.NewValue(j.rt, bag{[]int64{1}})
	if err != nil {
		return c, err
	}
	arrays, err := engine.NewArrays(j.rt, lanes{make([]int64, 2), make([]int32, 2), make([]uint8, 8)})
	if err != nil {
		return c, err
	}
	grows, err := j.rt.Register(engine.DataSpec{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{1, 2}, Capacity: []int{9, 4}, Owner: 2})
	if err != nil {
		return c, err
	}
	c.all = append(c.all, engine.NamedData{Name: "value", Handle: value.Handle}, engine.NamedData{Name: "arrays", Handle: arrays.Handle}, engine.NamedData{Name: "grows", Handle: grows})
	v, err := j.rt.Partition(some, filter.TilesN(tiles, 0))
	if err == nil {
		c.parts = v.Parts
	}
	return c, err
}

// contents returns what all ranks see of the data, with "?" for elements without a value.
func (c *checkpointed) contents(j *Job) (text string, err error) {
	for _, d := range c.all {
		if d.Handle.Desc().Kind == iface.Void {
			continue
		}
		a, err := j.Acquire(context.Background(), d.Handle, iface.R, engine.AcquireOptions{Partial: true})
		if err != nil {
			return "", err
		}
		known := map[int]bool{}
		desc := d.Handle.Desc()
		for at := range desc.Len() {
			var box [2][iface.MaxRank]int
			rest := at
			for k := int(desc.Rank) - 1; k >= 0; k-- {
				box[0][k] = rest % desc.Dim[k]
				box[1][k] = box[0][k] + 1
				rest /= desc.Dim[k]
			}
			known[at] = j.data[d.Handle] == nil || j.hasBox(d.Handle, box)
		}
		text += d.Name
		each(a.Buffer(), func(at int, x *int64) {
			if known[at] || d.Name == "value" || d.Name == "grows" {
				text += fmt.Sprint(" ", *x)
			} else {
				text += " ?"
			}
		})
		text += "\n"
		if err := a.Release(); err != nil {
			return "", err
		}
	}
	return text, nil
}

func (j *Job) hasBox(h *datamgr.Handle, box [2][iface.MaxRank]int) bool {
	b := boxOf(h)
	d := h.Desc()
	for k := range int(d.Rank) {
		b.Lo[k], b.Hi[k] = box[0][k], box[1][k]
	}
	p := j.data[h].data.Place(b, 0)
	return p.HasValue()
}

// TestCheckpoint: a checkpoint of any number of ranks has the data of the program, with contributions that were not added up and elements without a value, and
// any number of ranks goes on from it.
func TestCheckpoint(t *testing.T) {
	ctx := context.Background()
	task := func(j *Job, on int, n int64, ops ...engine.Operand) error {
		return j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: codelet, Operands: ops, Args: []iface.Scalar{iface.Int(n), iface.Int(0)}}, On: on})
	}
	after := func(j *Job, c *checkpointed) error { // tasks after the checkpoint
		for k, p := range c.parts[:6] {
			if !j.HasValue(p) {
				continue
			}
			if err := task(j, 0, int64(k), engine.Operand{Handle: p, Mode: iface.RW}, engine.Operand{Handle: c.all[0].Handle, Mode: iface.R}); err != nil {
				return err
			}
		}
		return task(j, 1, 3, engine.Operand{Handle: c.all[0].Handle, Mode: iface.RW}, engine.Operand{Handle: c.all[5].Handle, Mode: iface.R},
			engine.Operand{Handle: c.all[6].Handle, Mode: iface.RW}, engine.Operand{Handle: c.all[7].Handle, Mode: iface.RW},
			engine.Operand{Handle: c.all[8].Handle, Mode: iface.RW})
	}
	want := ""
	for _, wrote := range []int{1, 2, 3, 5} {
		dir := t.TempDir()
		seen := make([]string, wrote)
		for r, err := range onEach(t, wrote, func(j *Job, _ engine.Operand) error {
			c, err := register(j, 2, 3)
			if err != nil {
				return err
			}
			for k, p := range c.parts {
				if k == 4 {
					continue
				}
				if err := task(j, 1+k*7%wrote, int64(k), engine.Operand{Handle: p, Mode: iface.W}); err != nil {
					return err
				}
				if err := task(j, 1+k%wrote, int64(k), engine.Operand{Handle: c.all[5].Handle, Mode: iface.Redux}); err != nil {
					return err
				}
			}
			if err := task(j, 0, 1, engine.Operand{Handle: c.all[4].Handle, Mode: iface.RW}, engine.Operand{Handle: c.all[3].Handle, Mode: iface.RW}); err != nil {
				return err
			}
			for _, d := range c.all[6:] {
				if err := task(j, wrote, 44, engine.Operand{Handle: d.Handle, Mode: iface.W}); err != nil {
					return err
				}
			}
			if err := j.Checkpoint(ctx, dir, c.all, []byte("state")); err != nil {
				return err
			}
			seen[j.rank], err = c.contents(j)
			return err
		}) {
			if err != nil {
				t.Fatalf("rank %d of %d: %v", r, wrote, err)
			}
		}
		if want == "" {
			want = seen[0]
		}
		if !strings.Contains(want, "?") || slices.ContainsFunc(seen, func(s string) bool { return s != want }) {
			t.Fatalf("%d ranks see %q, want %q", wrote, seen, want)
		}
		next := ""
		for _, reads := range []int{1, 2, 3, 4, 5} {
			seen, then := make([]string, reads), make([]string, reads)
			for r, err := range onEach(t, reads, func(j *Job, _ engine.Operand) error {
				g, err := engine.OpenCheckpoint(dir)
				if err != nil {
					return err
				}
				if string(g.State()) != "state" || g.Ranks() != wrote || len(g.Names()) != 9 {
					return fmt.Errorf("%q of %d ranks, %v", g.State(), g.Ranks(), g.Names())
				}
				c, err := register(j, 2, 3)
				if err != nil {
					return err
				}
				if _, err := j.rt.Partition(c.all[0].Handle, filter.TilesN([]int{3, 2}, 0)); err != nil {
					return err
				}
				if err := j.Restore(ctx, g, c.all); err != nil {
					return err
				}
				if seen[j.rank], err = c.contents(j); err != nil {
					return err
				}
				if err := after(j, &c); err != nil {
					return err
				}
				then[j.rank], err = c.contents(j)
				return errors.Join(err, j.Wait(ctx))
			}) {
				if err != nil {
					t.Fatalf("%d ranks wrote it, rank %d of %d: %v", wrote, r, reads, err)
				}
			}
			if next == "" {
				next = then[0]
			}
			for r := range reads {
				if seen[r] != want || then[r] != next {
					t.Errorf("%d ranks wrote it, rank %d of %d sees\n%s, want\n%s, and then\n%s, want\n%s", wrote, r, reads, seen[r], want, then[r], next)
				}
			}
		}
	}
}

// TestCheckpointAmongFolders: folders of users stay as they are, and files of all ranks that a killed run left are removed.
func TestCheckpointAmongFolders(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	write := func(name string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777), os.WriteFile(filepath.Join(dir, name), []byte(name), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	foreign := []string{"2/data-0-1", "5/data.txt"}
	for _, name := range append(foreign, ".unfinished-1/data-0", ".unfinished-1/data-0-2") {
		write(name)
	}
	for r, err := range onEach(t, 3, func(j *Job, x engine.Operand) error {
		if err := j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: codelet, Operands: []engine.Operand{x}, Args: []iface.Scalar{iface.Int(1), iface.Int(0)}}, On: 2}); err != nil {
			return err
		}
		for range 4 {
			if err := j.Checkpoint(ctx, dir, []engine.NamedData{{Name: "x", Handle: x.Handle}}, nil); err != nil {
				return err
			}
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "[0-9]*"))
	if unfinished, _ := filepath.Glob(filepath.Join(dir, ".unfinished-*")); err != nil || len(left) != 4 || filepath.Base(left[3]) != "6" || len(unfinished) > 0 {
		t.Error(left, unfinished, err)
	}
	for _, name := range foreign {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != name {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

// TestCheckpointFails: if one rank cannot write or read, all return the same error, which names it, and the generation from before is the last one.
func TestCheckpointFails(t *testing.T) {
	ctx := context.Background()
	bad := &engine.Codelet{Name: "fails", CPU: []engine.Impl{func(*engine.TaskContext) error { return errors.New("bad") }}}
	for _, test := range []struct {
		name, text string
		fails      func(j *Job, dir string, x engine.NamedData) error
	}{
		{"data that was lost", "bad", func(j *Job, dir string, x engine.NamedData) error {
			if err := j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: bad, Operands: []engine.Operand{{Handle: x.Handle, Mode: iface.RW}}}, On: 2}); err != nil {
				return err
			}
			return j.Checkpoint(ctx, dir, []engine.NamedData{x}, nil)
		}},
		{"a file system of its own", "it does not see the folder", func(j *Job, dir string, x engine.NamedData) error {
			return j.job.CheckpointGroup(ctx, dir, []engine.NamedData{x}, nil, engine.CheckpointGroup{Rank: j.rank, Size: j.size, Share: j.share,
				Gather: func(ctx context.Context, mine []byte) ([][]byte, error) {
					all, err := j.Gather(ctx, mine)
					if err == nil && j.rank == 1 && strings.Contains(string(all[0]), "unfinished") { // this rank has no such folder
						all[0] = []byte(strings.Replace(string(all[0]), "unfinished", "elsewhere", 1))
					}
					return all, err
				}})
		}},
		{"data that does not fit", "same type", func(j *Job, dir string, x engine.NamedData) error {
			g, err := engine.OpenCheckpoint(dir)
			if err != nil {
				return err
			}
			if j.rank == 1 {
				other, err := j.rt.Register(engine.DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{9}})
				if err != nil {
					return err
				}
				x.Handle = other
			}
			return j.Restore(ctx, g, []engine.NamedData{x})
		}},
		{"a file that was removed", "no such file", func(j *Job, dir string, x engine.NamedData) error {
			g, err := engine.OpenCheckpoint(dir)
			if err == nil {
				err = j.Agree(ctx, nil)
			}
			if err != nil {
				return err
			}
			if j.rank == 0 {
				err = os.Remove(filepath.Join(g.Dir(), "data-0-1"))
			}
			if err = j.Agree(ctx, err); err != nil {
				return err
			}
			return j.Restore(ctx, g, []engine.NamedData{x})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			errs := onEach(t, 3, func(j *Job, x engine.Operand) error {
				named := engine.NamedData{Name: "x", Handle: x.Handle}
				if err := j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: codelet, Operands: []engine.Operand{x}, Args: []iface.Scalar{iface.Int(1), iface.Int(0)}}, On: 2}); err != nil {
					return err
				}
				if err := j.Checkpoint(ctx, dir, []engine.NamedData{named}, nil); err != nil {
					return err
				}
				return test.fails(j, dir, named)
			})
			for r, err := range errs {
				var e *engine.CheckpointError
				if !errors.As(err, &e) || e.Rank != 1 || !strings.Contains(err.Error(), test.text) || err.Error() != errs[0].Error() {
					t.Errorf("rank %d: %v, and rank 0 %v; want %q on rank 1", r, err, errs[0], test.text)
				}
			}
			left, err := filepath.Glob(filepath.Join(dir, "[0-9]*"))
			if unfinished, _ := filepath.Glob(filepath.Join(dir, ".unfinished-*")); err != nil || len(left) != 1 || len(unfinished) > 0 {
				t.Error(left, unfinished, err)
			}
		})
	}
}
