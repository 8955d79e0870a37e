package lang_test

// Files whose elements are read when tasks need them: runs with a disk, and main memory smaller
// than the file.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starpush/starpush/accel/disk"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// withDisk returns a runtime with the given main memory, and its disk.
func withDisk(t *testing.T, ram int64) (*engine.Runtime, *disk.Device) {
	t.Helper()
	d := lang.Must(disk.Open(t.TempDir()))
	rt := lang.Must(engine.New(engine.Options{Workers: 2, RAM: ram, Disk: d}))
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
		if n := d.Memory().Allocated(); n != 0 {
			t.Errorf("%d bytes are left on the disk", n)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return rt, d
}

// npyBytes is an .npy file of the given header with n elements of the given size, which are random numbers below 100.
func npyBytes(descr string, fortran bool, dims []int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 19))
	shape := strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", ", ")
	order := map[bool]string{false: "False", true: "True"}[fortran]
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s,), }", descr, order, shape)
	out := []byte("\x93NUMPY\x01\x00")
	out = binary.LittleEndian.AppendUint16(out, uint16(len(head)+1))
	out = append(append(out, head...), '\n')
	n := 1
	for _, d := range dims {
		n *= d
	}
	for range n {
		v := uint64(r.IntN(100))
		switch descr {
		case "<i4":
			out = binary.LittleEndian.AppendUint32(out, uint32(v))
		case ">i4":
			out = binary.BigEndian.AppendUint32(out, uint32(v))
		case "<i8":
			out = binary.LittleEndian.AppendUint64(out, v)
		default:
			panic(descr)
		}
	}
	return out
}

// lazyScript makes a script that loads data of the given kind from in.npy, changes parts of random views of it,
// and saves it in between and at the end, also in the place of the file.
func lazyScript(r *rand.Rand, kind string, suffix string, dims []int) string {
	var b strings.Builder
	rank := len(dims)
	index, loops := "", ""
	for k := range rank {
		loops += fmt.Sprintf("for i%d in 0..a.%s {\n", k, kinds[rank-1].Sizes()[k])
		index += fmt.Sprintf(", i%d", k)
	}
	index = index[2:]
	fmt.Fprintf(&b, "codelet twice(a: RW %s[i32]) {\n%sa[%s] = a[%s] * 2 + 1\n%s}\n", kind, loops, index, index, strings.Repeat("}\n", rank))
	fmt.Fprintf(&b, "codelet last(a: R %s[i32], s: W variable[i32]) {\nlet t = 0\n%st = a[%s]\n%ss = t\n}\n", kind, loops, index, strings.Repeat("}\n", rank))
	sizes := ""
	if suffix == ".bin" {
		sizes = strings.Trim(strings.ReplaceAll(fmt.Sprint(dims), " ", ", "), "[]") + ", "
	}
	fmt.Fprintf(&b, "register A = %s[i32](%sload = \"in%s\")\n", kind, sizes, suffix)
	fmt.Fprint(&b, "register s = variable[i32]()\n")
	for v := range 2 {
		filter, parts := "", 1
		switch {
		case rank == 1:
			parts = 8 + r.IntN(5)
			filter = fmt.Sprintf("blocks(%d)", parts)
		case rank == 2 && r.IntN(2) == 0:
			filter = fmt.Sprintf("cols(%d)", 10)
			parts = 10
		case rank == 2:
			filter, parts = "rows(9)", 9
		default:
			axis := r.IntN(rank)
			parts = dims[axis]
			filter = fmt.Sprintf("axis(%d, %d)", axis, parts)
		}
		fmt.Fprintf(&b, "partition V%d = A by %s\n", v, filter)
		for range 1 + r.IntN(6) {
			verb := "twice(RW V%d[%d])"
			if r.IntN(3) == 0 {
				verb = "last(R V%d[%d], W s)"
			}
			fmt.Fprintf(&b, "insert "+verb+"\n", v, r.IntN(parts))
			if r.IntN(4) == 0 {
				fmt.Fprintf(&b, "save(A, \"%s\")\n", []string{"in" + suffix, "out.npy", "other.bin"}[r.IntN(3)])
			}
		}
	}
	fmt.Fprint(&b, "save(A, \"out.npy\")\nsave(A, \"other.bin\")\n")
	return b.String()
}

var kinds = []iface.Kind{iface.Vector, iface.Matrix, iface.Block, iface.Tensor}

// TestLazyLoad runs random scripts without a disk, where files are loaded as a whole, with
// one and main memory below the size of the file, and on several ranks, where each reads and writes a part: they save the same. Files of another order or
// type than memory are loaded at once, in parts where they lie row by row.
func TestLazyLoad(t *testing.T) {
	files := []struct {
		descr   string
		fortran bool
		lazy    bool
	}{{"<i4", false, true}, {">i4", false, false}, {"<i8", false, false}, {"<i4", true, false}}
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := files[0]
		if seed%3 == 2 {
			f = files[r.IntN(len(files))]
		}
		kind := kinds[seed%4].String()
		dims := [][]int{{16411}, {131, 127}, {11, 37, 41}, {5, 7, 19, 25}}[seed%4]
		suffix := ".npy"
		if f == files[0] && r.IntN(4) == 0 {
			suffix = ".bin"
		}
		script := lazyScript(r, kind, suffix, dims)
		t.Run(fmt.Sprintf("%d/%s/%s", seed, kind, f.descr), func(t *testing.T) {
			content := npyBytes(f.descr, f.fortran, dims, seed)
			if suffix == ".bin" {
				content = content[bytes.IndexByte(content, '\n')+1:]
			}
			ways := []struct {
				name string
				run  func(dir string) error
			}{
				{"at once", func(dir string) error {
					return saveIn(t, lang.Must(engine.New(engine.Options{Workers: 2})), dir, script)
				}},
				{"with a disk", func(dir string) error {
					rt, _ := withDisk(t, 32<<10) // the elements are 64 KiB and more
					return saveIn(t, rt, dir, script)
				}},
				{"on 2 ranks", func(dir string) error {
					_, errs := onRanks(t, 2, dir, script)
					return errors.Join(errs...)
				}},
				{"on 5 ranks", func(dir string) error {
					_, errs := onRanks(t, 5, dir, script)
					return errors.Join(errs...)
				}},
			}
			var want map[string]string
			for _, way := range ways {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "in"+suffix), content, 0o666); err != nil {
					t.Fatal(err)
				}
				if err := way.run(dir); err != nil {
					t.Fatalf("%s: %v\n%s", way.name, err, script)
				}
				got := map[string]string{}
				for _, e := range lang.Must(os.ReadDir(dir)) {
					got[e.Name()] = string(lang.Must(os.ReadFile(filepath.Join(dir, e.Name()))))
				}
				if want == nil {
					want = got
				}
				for _, name := range []string{"in" + suffix, "out.npy", "other.bin"} {
					if text, ok := got[name]; !ok || text != want[name] {
						t.Errorf("%s is different %s\n%s", name, way.name, script)
					}
				}
				if len(got) != 3 {
					t.Errorf("%s leaves %d files", way.name, len(got))
				}
			}
		})
	}
}

// saveIn runs a script with the files in a folder.
func saveIn(t *testing.T, rt *engine.Runtime, dir, script string) error {
	t.Helper()
	t.Cleanup(func() { rt.Close() })
	inst, err := compile(t, lang.Config{Files: lang.Dir(dir)}, script).Run(t.Context(), rt)
	if err != nil {
		return err
	}
	return inst.Close()
}

// TestLazyLoadReadsParts uses one part of 16 of a file: no more than that is read, and nothing is written to the disk.
func TestLazyLoadReadsParts(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.npy"), npyBytes("<i4", false, []int{512, 512}, 1), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, filter := range []string{"rows(16)", "cols(16)", "tiles(4, 4)"} {
		t.Run(filter, func(t *testing.T) {
			rt, d := withDisk(t, 128<<10)
			part := "5"
			if filter == "tiles(4, 4)" {
				part = "2, 1"
			}
			inst, err := compile(t, lang.Config{Files: lang.Dir(dir)}, `codelet sum(a: R matrix[i32], s: W variable[i32]) {
  let t = 0
  for i in 0..a.rows { for j in 0..a.cols { t = t + a[i, j] } }
  s = t
}
register A = matrix[i32](load = "a.npy")
partition P = A by `+filter+`
register s = variable[i32]()
insert sum(R P[`+part+`], W s)
wait
`).Run(t.Context(), rt)
			if err != nil {
				t.Fatal(err)
			}
			defer inst.Close()
			const part16 = 512 * 512 * 4 / 16
			s := rt.Stats()
			if got := s.Nodes[0].Arrived; got != part16 {
				t.Errorf("%d bytes were read, and a part has %d", got, part16)
			}
			if s.PeakBytes > part16+64 {
				t.Errorf("%d bytes of main memory were in use, and a part has %d", s.PeakBytes, part16)
			}
			if n := d.Memory().Peak(); n > 64 {
				t.Errorf("%d bytes of the disk were in use", n)
			}
		})
	}
}

// TestLazyLoadChanged changes a file after its first part was read.
func TestLazyLoadChanged(t *testing.T) {
	const script = `codelet last(a: R matrix[i32], s: W variable[i32]) { s = a[a.rows - 1, a.cols - 1] }
register A = matrix[i32](load = "a.npy")
partition P = A by rows(16)
register s = variable[i32]()
func use(k: int) {
  insert last(R P[k], W s)
  wait
}
use(0)
`
	content := npyBytes("<i4", false, []int{256, 256}, 1)
	start := bytes.IndexByte(content, '\n') + 1
	for _, c := range []struct {
		name   string
		change func(file string) error
		want   []string // parts of the error; nil: there is none
	}{
		{"removed", os.Remove, nil},
		{"replaced", func(file string) error {
			if err := os.Rename(file, file+".old"); err != nil {
				return err
			}
			return os.WriteFile(file, []byte("something else"), 0o666)
		}, nil},
		{"truncated", func(file string) error { return os.Truncate(file, int64(start)+15*16384+100) }, []string{
			fmt.Sprintf("a.npy, byte %d: expected 16284 bytes more", start+15*16384+100), "the end of the file", "`A`, registered at test.spu:2", "replace it by a new file"}},
		{"emptied", func(file string) error { return os.Truncate(file, 0) }, []string{
			fmt.Sprintf("a.npy, byte %d: expected 16384 bytes more", start+15*16384), "`A`, registered at test.spu:2"}},
		{"longer", func(file string) error {
			return os.WriteFile(file, append(bytes.Clone(content), 0), 0o666)
		}, []string{"a.npy, byte " + fmt.Sprint(len(content)) + ": expected", "`A`, registered at test.spu:2"}},
		{"written", func(file string) error {
			fi, err := os.Stat(file)
			if err != nil {
				return err
			}
			return os.Chtimes(file, fi.ModTime(), fi.ModTime().Add(1e9))
		}, []string{fmt.Sprintf("a.npy, byte %d: expected the elements as they were", start), "a file that was written since", "`A`, registered at test.spu:2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "a.npy")
			if err := os.WriteFile(file, content, 0o666); err != nil {
				t.Fatal(err)
			}
			rt, _ := withDisk(t, 64<<10)
			inst, err := compile(t, lang.Config{Files: lang.Dir(dir)}, script).Run(t.Context(), rt)
			if err != nil {
				t.Fatal(err)
			}
			defer inst.Close()
			if err := c.change(file); err != nil {
				t.Fatal(err)
			}
			_, err = inst.Call(t.Context(), "use", 15)
			if c.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantErr(t, err, append(c.want, "test.spu:6")...)
		})
	}
}

// TestSaveInRows saves data that main memory has no room for: no more than a small part of it is there at a time.
func TestSaveInRows(t *testing.T) {
	dir := t.TempDir()
	rt, _ := withDisk(t, 64<<10)
	inst, err := compile(t, lang.Config{Files: lang.Dir(dir)}, `codelet number(a: W vector[i32], from: int) { for i in 0..a.n { a[i] = from + i } }
register x = vector[i32](1000000)
partition P = x by blocks(100)
for k in 0..100 { insert number(W P[k], k * 10000) }
save(x, "x.npy")
save(x, "x.bin")
`).Run(t.Context(), rt)
	if err != nil {
		t.Fatal(err)
	}
	inst.Close()
	raw := lang.Must(os.ReadFile(filepath.Join(dir, "x.bin")))
	if len(raw) != 4000000 {
		t.Fatalf("x.bin has %d bytes", len(raw))
	}
	for i := range 1000000 {
		if got := binary.LittleEndian.Uint32(raw[4*i:]); got != uint32(i) {
			t.Fatalf("element %d is %d", i, got)
		}
	}
	npy := lang.Must(os.ReadFile(filepath.Join(dir, "x.npy")))
	if !bytes.HasSuffix(npy, raw) || !bytes.Contains(npy[:128], []byte("(1000000,)")) {
		t.Error("x.npy does not have the elements of x.bin")
	}
}
