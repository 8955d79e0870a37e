package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// Data of each element type and kind comes back as it was, and so do parts without a value, data with a capacity, arrays and
// values of Go types, on another number of workers.
func TestCheckpoint(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "made", "here")
	var specs []DataSpec
	for e := iface.NoElem + 1; e.Size() > 0 && e <= iface.C128; e++ {
		for rank := 0; rank <= iface.MaxRank; rank++ {
			specs = append(specs, DataSpec{Kind: iface.KindOf(rank), Elem: e, Dims: []int{2, 3, 1, 2, 1, 2, 1, 2}[:rank]})
		}
	}
	specs = append(specs, DataSpec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{0}}, DataSpec{Kind: iface.Void},
		DataSpec{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{2, 3}, LD: 5})
	type pair struct{ A, B []int64 }
	begin := func(o Options) (*Runtime, *Job, []NamedData, *datamgr.Handle, Arrays[pair], Value[[]byte]) {
		rt, j := start(t, o)
		var all []NamedData
		for i, s := range specs {
			h, err := rt.Register(s)
			must(t, err)
			all = append(all, NamedData{fmt.Sprint("d", i), h})
		}
		grown, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{0}, Capacity: []int{9}})
		must(t, err)
		arrays, err := MakeArrays(rt, pair{make([]int64, 2), make([]int64, 3)})
		must(t, err)
		value, err := NewValue(rt, []byte("nothing"), Interface[[]byte]{Pack: func(b *[]byte) ([]byte, error) { return slices.Clone(*b), nil },
			Unpack: func(b *[]byte, data []byte) error { *b = slices.Clone(data); return nil }})
		must(t, err)
		part, err := rt.Register(DataSpec{Kind: iface.Matrix, Elem: iface.I64, Dims: []int{4, 4}})
		must(t, err)
		none, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{4}})
		must(t, err)
		return rt, j, append(all, NamedData{"grown", grown}, NamedData{"arrays", arrays.Handle}, NamedData{"value", value.Handle},
			NamedData{"none", none}, NamedData{"part", part}), part, arrays, value
	}
	rt, j, all, part, arrays, value := begin(Options{Workers: 2})
	seed := byte(0)
	fill := kernel("fill", func(c *TaskContext) error {
		b := c.Buffer(0)
		return eachLine(b, func(line []byte) error {
			for i := range line {
				line[i] = seed % 2 // a bool, too
				seed = seed*3 + 1
			}
			return nil
		})
	})
	for _, d := range all[:len(specs)] {
		must(t, j.Submit(&TaskSpec{Codelet: fill, Operands: []Operand{{Handle: d.Handle, Mode: iface.W}}}))
		must(t, j.Wait(ctx))
	}
	grown := all[len(specs)].Handle
	must(t, j.Submit(&TaskSpec{Codelet: kernel("grow", func(c *TaskContext) error {
		if err := c.Resize(0, 3); err != nil {
			return err
		}
		copy(iface.Slice[int64](c.Buffer(0)), []int64{7, 8, 9})
		return nil
	}), Operands: []Operand{{Handle: grown, Mode: iface.W}}}))
	a, err := arrays.Acquire(ctx, j, iface.W)
	must(t, err)
	copy(a.Data().A, []int64{1, 2})
	copy(a.Data().B, []int64{3, 4, 5})
	must(t, a.Release())
	must(t, j.Submit(&TaskSpec{Codelet: kernel("set", func(c *TaskContext) error { *(*[]byte)(c.Buffer(0).Ptr) = []byte("some"); return nil }), Operands: []Operand{{Handle: value.Handle, Mode: iface.W}}}))
	v, err := rt.Partition(part, filter.Tiles(2, 2, 0))
	must(t, err)
	must(t, j.Submit(&TaskSpec{Codelet: fill, Operands: []Operand{{Handle: v.Parts[1], Mode: iface.W}}}))
	must(t, j.Submit(&TaskSpec{Codelet: fill, Operands: []Operand{{Handle: v.Parts[2], Mode: iface.W}}}))
	must(t, j.Checkpoint(ctx, dir, all, []byte("mine")))

	contents := func(j *Job, all []NamedData) (out []string) {
		for _, d := range all {
			desc := d.Handle.Desc()
			switch {
			case desc.Kind == iface.Void:
				continue
			case d.Name == "part" || d.Name == "none":
				boxes, _ := managed(d.Handle).Valued()
				slices.SortFunc(boxes, func(a, b [2][iface.MaxRank]int) int { return slices.Compare(a[0][:], b[0][:]) })
				a, err := j.AcquirePartial(ctx, d.Handle)
				must(t, err)
				text := d.Name
				for i := range boxes {
					b := *a.Buffer()
					narrow(&b, &boxes[i])
					must(t, eachLine(&b, func(line []byte) error { text += fmt.Sprint(boxes[i], line); return nil }))
				}
				must(t, a.Release())
				out = append(out, text)
				continue
			}
			b, err := j.Pack(ctx, d.Handle)
			must(t, err)
			out = append(out, d.Name+" "+string(b))
		}
		return out
	}
	want := contents(j, all)
	for _, o := range []Options{{Workers: 1}, {Sequential: true}, {Workers: 4, Policy: "prio"}} {
		c, err := OpenCheckpoint(dir)
		must(t, err)
		if string(c.State()) != "mine" || len(c.Names()) != len(all) || c.Unusable != nil {
			t.Error(c.State(), c.Names(), c.Unusable)
		}
		_, j, all, _, _, _ := begin(o)
		for _, d := range all {
			must(t, c.Restore(ctx, j, d.Name, d.Handle))
		}
		got := contents(j, all)
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%+v: %q, want %q", o.Workers, got[i], want[i])
			}
		}
	}
}

// Generations that are damaged are never used, two are kept, and what a killed process left is removed.
func TestUnusableGenerations(t *testing.T) {
	ctx := context.Background()
	damages := map[string]func(dir string) error{
		"no manifest": func(dir string) error { return os.Remove(filepath.Join(dir, manifestName)) },
		"no data":     func(dir string) error { return os.Remove(filepath.Join(dir, "data-0")) },
		"short data":  func(dir string) error { return os.Truncate(filepath.Join(dir, "data-0"), 8) },
		"short state": func(dir string) error { return os.Truncate(filepath.Join(dir, stateName), 0) },
		"other data": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "data-0"), []byte("0123456789abcdef"), 0o666)
		},
		"no content":   func(dir string) error { return os.Truncate(filepath.Join(dir, manifestName), 0) },
		"half of that": func(dir string) error { return os.Truncate(filepath.Join(dir, manifestName), 90) },
	}
	for name, damage := range damages {
		rt, j := start(t, Options{Workers: 1})
		dir := t.TempDir()
		x := []int64{1, 2}
		h := ints(t, rt, x)
		data := []NamedData{{"x", h}}
		if _, err := OpenCheckpoint(dir); !errors.Is(err, ErrNoCheckpoint) {
			t.Error(err)
		}
		must(t, os.Mkdir(filepath.Join(dir, unfinished+"1"), 0o777))
		for k := range 4 {
			must(t, j.Checkpoint(ctx, dir, data, []byte{byte(k)}))
			must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW}}}))
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 3 { // two generations, and the lock
			t.Error(left, err)
		}
		must(t, damage(filepath.Join(dir, "4")))
		c, err := OpenCheckpoint(dir)
		must(t, err)
		if c.State()[0] != 2 || len(c.Unusable) != 1 {
			t.Errorf("%s: %v, %v", name, c.State(), c.Unusable)
		}
		must(t, c.Restore(ctx, j, "x", h))
		holds(t, j, h, 3)
		must(t, j.Checkpoint(ctx, dir, data, []byte{9})) // 4 is removed, and 3 is kept
		all, err := generations(dir)
		must(t, err)
		want := []int{5, 3}
		if name == "other data" { // which shows only when it is read
			want = []int{5, 4}
		}
		if !slices.Equal(all, want) {
			t.Errorf("%s: %v", name, all)
		}
		for _, n := range all {
			if n != 4 {
				must(t, damage(filepath.Join(dir, fmt.Sprint(n))))
			}
		}
		var none *UnusableCheckpointsError
		if _, err := OpenCheckpoint(dir); !errors.As(err, &none) || errors.Is(err, ErrNoCheckpoint) || none.Dir != dir || len(none.Reasons) != 2 ||
			!strings.Contains(err.Error(), filepath.Join(dir, "5")+": its file ") || !strings.Contains(err.Error(), "move the folder away") {
			t.Errorf("%s: %v", name, err)
		}
		must(t, j.Unregister(h))
	}
}

// Folders and files of users stay as they are, whatever their names, and are never taken for generations. Leftovers of killed processes are removed.
func TestCheckpointsAmongFiles(t *testing.T) {
	ctx, top := context.Background(), t.TempDir()
	dir := filepath.Join(top, "a[b]") // a pattern that fits ab
	foreign := map[string]string{
		"1/data.txt": "a", "2/manifest": "b", "2/state": "c", "2/data-0": "d", "4": "e", "2024/data-0": "f", "2025/sub/manifest": "g", "9223372036854775807/state": "h",
		".unfinished-1/data.txt": "i", ".unfinished-1/data-0": "j", ".unfinished-notes/data-0": "k", checkpointLockName: "l", "other/state": "m", "../ab/.unfinished-3/data-0": "n",
	}
	for name, text := range foreign {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	must(t, os.Mkdir(filepath.Join(dir, "3"), 0o777)) // an empty one
	rt, j := start(t, Options{Workers: 1})
	h := ints(t, rt, []int64{1, 2})
	data := []NamedData{{"x", h}}
	elsewhere := filepath.Join(top, "elsewhere")
	must(t, j.Checkpoint(ctx, elsewhere, data, nil))
	links := []string{"5", "3000", ".unfinished-4"}
	for _, name := range links {
		if err := os.Symlink(filepath.Join(elsewhere, "1"), filepath.Join(dir, name)); err != nil {
			t.Skip("there are no links: ", err)
		}
	}
	if _, err := OpenCheckpoint(dir); !errors.Is(err, ErrNoCheckpoint) {
		t.Error(err)
	}
	for name, files := range map[string][]string{".unfinished-20": nil, ".unfinished-21": {markName}, ".unfinished-22": {markName, "data-0", "data-1-2"}, ".unfinished-23": {"data-0", stateName}} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o777))
		for _, f := range files {
			must(t, os.WriteFile(filepath.Join(dir, name, f), []byte("part"), 0o666))
		}
	}
	if _, err := OpenCheckpoint(dir); !errors.Is(err, ErrNoCheckpoint) { // a run that was killed before its first checkpoint was whole
		t.Error(err)
	}
	for k := range 2 {
		must(t, j.Checkpoint(ctx, dir, data, []byte{byte(k)}))
	}
	must(t, os.WriteFile(filepath.Join(dir, "6", "notes.txt"), []byte("o"), 0o666))
	foreign["6/notes.txt"] = "o"
	for k := range 3 {
		must(t, j.Checkpoint(ctx, dir, data, []byte{byte(2 + k)}))
	}
	c, err := OpenCheckpoint(dir)
	must(t, err)
	if all, err := generations(dir); err != nil || !slices.Equal(all, []int{10, 9}) || filepath.Base(c.Dir()) != "10" || c.Unusable != nil {
		t.Error(all, c.Dir(), c.Unusable, err)
	}
	for name, text := range foreign {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != text {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	for _, name := range links {
		if fi, err := os.Lstat(filepath.Join(dir, name)); err != nil || fi.Mode().Type() != fs.ModeSymlink {
			t.Error(name, err)
		}
	}
	if c, err := OpenCheckpoint(elsewhere); err != nil || c.Unusable != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	want := []string{checkpointLockName, ".unfinished-1", ".unfinished-4", ".unfinished-notes", "1", "10", "2", "2024", "2025", "3", "3000", "4", "5", "6", "9", "9223372036854775807", "other"}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "6")); err != nil || len(left) != 1 {
		t.Error(left, err)
	}
	must(t, os.Remove(filepath.Join(dir, "10", markName))) // a copy that leaves it out
	if c, err := OpenCheckpoint(dir); err != nil || filepath.Base(c.Dir()) != "10" {
		t.Error(err)
	}
}

// OpenCheckpoint says which folder to name instead of one that has no checkpoints.
func TestOpenCheckpointRefuses(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	rt, j := start(t, Options{Workers: 1})
	must(t, j.Checkpoint(ctx, dir, []NamedData{{"x", ints(t, rt, []int64{1, 2})}}, nil))
	for name, text := range map[string]string{"1": "is a checkpoint itself; name the folder", "1/manifest": "is a file; name the folder", "1/manifest/state": "cannot be read: not a directory; name a folder"} {
		if _, err := OpenCheckpoint(filepath.Join(dir, name)); err == nil || errors.Is(err, ErrNoCheckpoint) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
}

// A checkpoint that cannot be written leaves those before.
func TestRefusedCheckpoints(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	rt, j := start(t, Options{Workers: 1})
	h := ints(t, rt, []int64{1, 2})
	must(t, j.Checkpoint(ctx, dir, []NamedData{{"x", h}}, nil))
	v, err := rt.Partition(h, filter.Blocks(2))
	must(t, err)
	odd, err := NewValue(rt, func() {})
	must(t, err)
	void, err := rt.Register(DataSpec{Kind: iface.Void})
	must(t, err)
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o666))
	gone, end := context.WithCancel(ctx)
	end()
	cases := []struct {
		ctx  context.Context
		dir  string
		data []NamedData
		text string
	}{
		{ctx, dir, []NamedData{{"x", v.Parts[0]}}, "part of data"},
		{ctx, dir, []NamedData{{"x", h}, {"x", void}}, "a name of its own"},
		{ctx, dir, []NamedData{{"x", odd.Handle}}, "Pack"},
		{ctx, file, []NamedData{{"x", h}}, "not a directory"},
		{gone, dir, []NamedData{{"x", h}}, "canceled"},
	}
	for _, c := range cases {
		if err := j.Checkpoint(c.ctx, c.dir, c.data, nil); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v, want %q", err, c.text)
		}
	}
	must(t, j.Submit(&TaskSpec{Codelet: kernel("fails", func(*TaskContext) error { return errWire }), Operands: []Operand{{Handle: h, Mode: iface.RW}}}))
	var lost *FailedDataError
	if err := j.Checkpoint(ctx, dir, []NamedData{{"x", h}}, nil); !errors.As(err, &lost) {
		t.Error(err)
	}
	left, err := os.ReadDir(dir)
	must(t, err)
	if len(left) != 3 { // the generation, the lock, and the file
		t.Error(left)
	}
	c, err := OpenCheckpoint(dir)
	must(t, err)
	other := ints(t, rt, []int64{1, 2, 3})
	for text, err := range map[string]error{"no data \"y\"": c.Restore(ctx, j, "y", h), "same type": c.Restore(ctx, j, "x", other)} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
	must(t, c.Restore(ctx, j, "x", h))
	holds(t, j, h, 1)
	j.Failures()
}

// narrow makes b, which is a whole datum, the elements of a box of it.
func narrow(b *iface.Buffer, box *[2][iface.MaxRank]int) {
	for k := range int(b.Rank) {
		hi := min(box[1][k], b.Dim[k])
		lo := min(box[0][k], hi)
		b.Ptr = unsafe.Add(b.Ptr, uintptr(lo*b.Stride[k])*b.Elem.Size())
		b.Dim[k] = hi - lo
	}
}

// A folder of checkpoints belongs to one job until that is closed.
func TestLockedCheckpoints(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "here")
	rt, j := start(t, Options{Workers: 1})
	data := []NamedData{{"x", ints(t, rt, []int64{1, 2})}}
	must(t, j.Checkpoint(ctx, dir, data, nil))
	other := rt.NewJob(ctx, JobOptions{})
	var inUse *CheckpointInUseError
	if err := other.Checkpoint(ctx, dir, data, nil); !errors.As(err, &inUse) || inUse.Dir != dir || !strings.Contains(inUse.Holder, fmt.Sprintf("process %d", os.Getpid())) {
		t.Error(err)
	}
	if err := other.LockCheckpoints(dir); !errors.As(err, &inUse) {
		t.Error(err)
	}
	must(t, other.Checkpoint(ctx, dir+"2", data, nil))
	must(t, j.Checkpoint(ctx, dir, data, nil))
	must(t, os.RemoveAll(dir)) // a new folder is another one
	must(t, other.Checkpoint(ctx, dir, data, nil))
	if err := j.Checkpoint(ctx, dir, data, nil); !errors.As(err, &inUse) {
		t.Error(err)
	}
	must(t, other.Close())
	must(t, j.Checkpoint(ctx, dir, data, nil))
	c, err := OpenCheckpoint(dir)
	must(t, err)
	if filepath.Base(c.Dir()) != "2" {
		t.Error(c.Dir())
	}
	must(t, os.Remove(filepath.Join(dir, checkpointLockName)))
	must(t, os.Mkdir(filepath.Join(dir, checkpointLockName), 0o777))
	if err := j.Checkpoint(ctx, dir, data, nil); err == nil {
		t.Error("a folder is no file")
	}
}
