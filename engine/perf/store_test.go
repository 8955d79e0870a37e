package perf

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain lets the test binary be a second process.
func TestMain(m *testing.M) {
	if dir := os.Getenv("PERF_TEST_CHILD"); dir != "" {
		child(dir)
		return
	}
	lockStale = 100 * time.Hour // longer than any test
	os.Exit(m.Run())
}

// child adds measurements one update at a time, or crashes before a rename.
func child(dir string) {
	s, err := NewStore(dir, "m")
	if err != nil {
		panic(err)
	}
	s.wait = time.Hour
	n, _ := strconv.Atoi(os.Getenv("PERF_TEST_UPDATES"))
	if n == 0 {
		beforeRename = func() { os.Exit(7) }
		n = 1
	}
	for range n {
		if err := s.Update(key, func(f *File) { f.Merge(measured(1, 1)) }); err != nil {
			panic(err)
		}
	}
}

func start(t *testing.T, dir string, updates int) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "PERF_TEST_CHILD="+dir, "PERF_TEST_UPDATES="+strconv.Itoa(updates))
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

var key = Key{Codelet: "gemm", Kernel: "v1"}

// measured is a file with n measurements for a footprint.
func measured(fp Footprint, n int) *File {
	f := &File{Key: key}
	e := &Sized{Footprint: fp, What: "vector[f32] of 8", Size: 32, Last: 1}
	for range n {
		e.Add(1e-3)
	}
	g := f.group(groupKey{arch: "cpu"})
	g.Entries = append(g.Entries, e)
	return f
}

func newStore(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := NewStore(dir, "m")
	if err != nil {
		t.Fatal(err)
	}
	s.wait = time.Hour // a slow machine is no failure
	return s
}

func TestFilesComeBackAsWritten(t *testing.T) {
	s := newStore(t, t.TempDir())
	if _, err := s.Load(key); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("an empty store: %v", err)
	}
	want := measured(1, 12)
	want.group(groupKey{"cpu", 1, "native", 3}).Entries = []*Sized{{Footprint: math.MaxUint64, What: "<&> \"x\"", Size: 3, Params: []float64{1, 2.5},
		Entry: Entry{Moments: Moments{5, 3, 2, 2, 9}, Recent: []float64{2, 9, 2.5}}}}
	err := s.Update(key, func(f *File) {
		f.Kind, f.SizeUnit, f.ParamNames, f.Terms = Multiple, "flop", []string{"p", "q"}, [][]float64{{0, 0}, {1, 0.5}}
		f.Merge(want)
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Load(key)
	if err != nil {
		t.Fatal(err)
	}
	if got.Key != key || got.Kind != Multiple || got.SizeUnit != "flop" || got.Terms[1][1] != 0.5 || got.Machine != "m" {
		t.Errorf("%+v", got)
	}
	e := got.Groups[0].Entries[0]
	if e.N != 12 || e.Mean != 1e-3 || e.What != "vector[f32] of 8" || e.Size != 32 {
		t.Errorf("%+v", e)
	}
	if e := got.Groups[1].Entries[0]; e.Footprint != math.MaxUint64 || e.What != "<&> \"x\"" || e.Params[1] != 2.5 ||
		!slices.Equal(e.Recent, []float64{2, 9, 2.5}) || e.Max != 9 || e.Samples() != 5 {
		t.Errorf("%+v", e)
	}
}

// Files of version 1 are read: their typical measurements are predicted from until there
// are recent ones.
func TestVersion1(t *testing.T) {
	f, err := decode([]byte(`{"starpush_perf": 1, "codelet": "gemm", "kind": "history", "groups": [{"arch": "cpu", "entries": [
		{"footprint": "1", "n": 20, "mean": 2, "m2": 0.5, "min": 1.5, "max": 3, "outliers": {"n": 15, "mean": 9, "m2": 0, "min": 9, "max": 9}, "odd": 2}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	e := &f.Groups[0].Entries[0].Entry
	if e.Median() != 2 || e.N != 20 || len(e.Recent) != 0 || e.Scattered() {
		t.Errorf("%+v", e)
	}
	for range 4 {
		e.Add(5)
	}
	if m := e.Median(); m < 2 || m > 3 {
		t.Errorf("after four more: %g", m)
	}
	if e.Add(5); e.Median() != 5 {
		t.Errorf("after five more: %g", e.Median())
	}
}

func TestNotANumberComesBack(t *testing.T) {
	s := newStore(t, t.TempDir())
	f := measured(1, 1)
	f.Groups[0].Entries[0].Mean = math.NaN()
	f.Groups[0].Entries[0].Max = math.Inf(1)
	f.Groups[0].Entries[0].Min = math.Inf(-1)
	if err := s.Update(key, func(old *File) { old.Merge(f) }); err != nil {
		t.Fatal(err)
	}
	got, err := s.Load(key)
	if err != nil {
		t.Fatal(err)
	}
	if e := got.Groups[0].Entries[0]; !math.IsNaN(e.Mean) || !math.IsInf(e.Max, 1) || !math.IsInf(e.Min, -1) || e.N != 1 {
		t.Errorf("%+v", e)
	}
}

// Locks lists both ways of locking, where the system has two.
var locks = map[string]func(string, time.Duration) (func(), error){"system": lockDir, "file": lockByFile}

func TestManyStoresLoseNothing(t *testing.T) {
	for name, lock := range locks {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var group sync.WaitGroup
			for i := range 8 {
				s := newStore(t, dir)
				s.lock = lock
				group.Go(func() {
					for range 5 {
						err := s.Update(key, func(f *File) {
							f.Merge(measured(1, 3))
							f.Merge(measured(Footprint(2+i), 1))
						})
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			group.Wait()
			f, err := newStore(t, dir).Load(key)
			if err != nil {
				t.Fatal(err)
			}
			if f.Samples() != 8*5*4 || len(f.Groups[0].Entries) != 9 {
				t.Errorf("%d samples of %d footprints", f.Samples(), len(f.Groups[0].Entries))
			}
		})
	}
}

func TestManyProcessesLoseNothing(t *testing.T) {
	dir := t.TempDir()
	var all []*exec.Cmd
	for range 4 {
		all = append(all, start(t, dir, 10))
	}
	for _, c := range all {
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	f, err := newStore(t, dir).Load(key)
	if err != nil || f.Samples() != 40 {
		t.Errorf("%v: %d samples instead of 40", err, f.Samples())
	}
}

func TestCrashBeforeRename(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, dir)
	if err := s.Update(key, func(f *File) { f.Merge(measured(1, 5)) }); err != nil {
		t.Fatal(err)
	}
	c := start(t, dir, 0)
	if err := c.Wait(); c.ProcessState.ExitCode() != 7 {
		t.Fatalf("the other process did not crash where it should: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir(), ".*.tmp")); len(left) != 1 {
		t.Fatalf("the crash left %v", left)
	}
	if f, err := s.Load(key); err != nil || f.Samples() != 5 {
		t.Fatalf("after the crash: %v, %+v", err, f)
	}
	if err := s.Update(key, func(f *File) { f.Merge(measured(1, 1)) }); err != nil {
		t.Fatalf("the crashed process kept the lock: %v", err)
	}
	if f, err := s.Load(key); err != nil || f.Samples() != 6 {
		t.Errorf("%v, %+v", err, f)
	}
	if err := s.Update(Key{Codelet: "other"}, func(*File) {}); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir(), ".*.tmp")); len(left) != 0 {
		t.Errorf("%v is still there", left)
	}
}

// TestBadFilesStay: files that cannot be understood are reported with a remedy and stay
// as they are.
func TestBadFilesStay(t *testing.T) {
	for _, c := range []struct {
		name, content string
		want          error
		says          string
	}{
		{"empty", "", ErrCorrupt, "perf reset"},
		{"text", "hello", ErrCorrupt, "perf reset"},
		{"cut off", `{"starpush_perf": 1, "codelet": "ge`, ErrCorrupt, "perf reset"},
		{"no version", `{"codelet": "gemm"}`, ErrCorrupt, "no version"},
		{"version 0", `{"starpush_perf": 0, "codelet": "gemm"}`, ErrCorrupt, "no version"},
		{"newer", `{"starpush_perf": 5, "codelet": "gemm", "groups": "other"}`, ErrNewer, "STARPUSH_PERF_DIR"},
		{"two", `{"starpush_perf": 1, "codelet": "gemm", "kind": "history"} {}`, ErrCorrupt, "follows"},
		{"of another", `{"starpush_perf": 1, "codelet": "x", "kind": "history"}`, ErrCorrupt, `it is of "x"`},
		{"kind", `{"starpush_perf": 1, "codelet": "gemm", "kind": "magic"}`, ErrCorrupt, "magic"},
		{"term", `{"starpush_perf": 1, "codelet": "gemm", "kind": "multiple", "params": ["p"], "terms": [[1, 2]]}`, ErrCorrupt, "exponents"},
		{"footprint", `{"starpush_perf": 1, "codelet": "gemm", "kind": "history", "groups": [{"arch": "cpu", "entries": [{"footprint": "xyz"}]}]}`, ErrCorrupt, "footprint"},
		{"null", `{"starpush_perf": 1, "codelet": "gemm", "kind": "history", "groups": [null, {"entries": [null]}]}`, ErrCorrupt, "footprint"},
		{"negative", `{"starpush_perf": 1, "codelet": "gemm", "kind": "history", "groups": [{"entries": [{"footprint": "1", "n": -1}]}]}`, ErrCorrupt, "-1"},
		{"number", `{"starpush_perf": 1, "codelet": "gemm", "kind": "history", "groups": [{"entries": [{"footprint": "1", "mean": "many"}]}]}`, ErrCorrupt, "many"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t, t.TempDir())
			if err := os.MkdirAll(s.Dir(), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(s.Path(key), []byte(c.content), 0o666); err != nil {
				t.Fatal(err)
			}
			_, err := s.Load(key)
			changed := false
			for _, err := range []error{err, s.Update(key, func(*File) { changed = true })} {
				var fe *FileError
				if !errors.Is(err, c.want) || !errors.As(err, &fe) || fe.File != s.Path(key) ||
					!strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), s.Path(key)) {
					t.Errorf("%v", err)
				}
			}
			if now, err := os.ReadFile(s.Path(key)); err != nil || string(now) != c.content || changed {
				t.Errorf("the file is %q now, %v; changed: %v", now, err, changed)
			}
		})
	}
}

func TestUpdateWaitsAtMostSoLong(t *testing.T) {
	for name, lock := range locks {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, t.TempDir())
			s.lock, s.wait = lock, time.Millisecond
			if err := os.MkdirAll(s.Dir(), 0o777); err != nil {
				t.Fatal(err)
			}
			unlock, err := lock(s.Dir(), time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			var fe *FileError
			if err := s.Update(key, func(*File) {}); !errors.As(err, &fe) || !errors.Is(err, errLocked) || fe.Remedy == "" {
				t.Errorf("with the lock taken: %v", err)
			}
			unlock()
			s.wait = time.Hour
			if err := s.Update(key, func(*File) {}); err != nil {
				t.Errorf("with the lock free: %v", err)
			}
		})
	}
}

// A lock file that a crash left is taken away.
func TestStaleLockFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := lockByFile(dir, time.Hour); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * lockStale)
	if err := os.Chtimes(filepath.Join(dir, ".lock-file"), old, old); err != nil {
		t.Fatal(err)
	}
	unlock, err := lockByFile(dir, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestMergeIsBounded(t *testing.T) {
	f := &File{Key: key}
	for i := range maxEntries + 10 {
		m := measured(Footprint(i), 1)
		m.Groups[0].Entries[0].Last = int64(i)
		f.Merge(m)
	}
	if n := len(f.Groups[0].Entries); n != maxEntries {
		t.Errorf("%d entries", n)
	}
	for _, e := range f.Groups[0].Entries {
		if e.Last < 10 {
			t.Errorf("the entry of time %d is still there", e.Last)
		}
	}
	for i := range maxGroups + 5 {
		f.group(groupKey{arch: "arch", impl: i})
	}
	if len(f.Groups) != maxGroups {
		t.Errorf("%d groups", len(f.Groups))
	}
}

func TestListAndRemove(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, dir)
	keys := []Key{{"b/../x", ""}, {"gemm", "v1"}, {"gemm", "v2"}, {"gemm-2", ""}, {"ÄÖ ☃", ""}}
	for _, k := range keys {
		if err := s.Update(k, func(*File) {}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.Dir(), "gemm-0123.json"), []byte("?"), 0o666); err != nil {
		t.Fatal(err)
	}
	files, bad := s.List()
	if len(files) != len(keys) || len(bad) != 1 || !errors.Is(bad[0], ErrCorrupt) {
		t.Fatalf("%v, %v", files, bad)
	}
	for i, f := range files {
		if f.Key != keys[i] {
			t.Errorf("file %d is of %v instead of %v", i, f.Key, keys[i])
		}
		if filepath.Dir(s.Path(f.Key)) != s.Dir() {
			t.Errorf("%v lies outside: %s", f.Key, s.Path(f.Key))
		}
	}
	gone, err := s.Remove("gemm")
	if err != nil || len(gone) != 3 { // v1, v2 and the one that cannot be read
		t.Errorf("removed %v, %v", gone, err)
	}
	if gone, err = s.Remove("nothing"); err != nil || len(gone) != 0 {
		t.Errorf("removed %v, %v", gone, err)
	}
	if gone, err = s.Remove(""); err != nil || len(gone) != 3 {
		t.Errorf("removed %v, %v", gone, err)
	}
	if m := s.Machines(); len(m) != 1 || m[0] != "m" {
		t.Errorf("machines %v", m)
	}
	if gone, err = newStore(t, filepath.Join(dir, "nowhere")).Remove(""); err != nil || gone != nil {
		t.Errorf("an empty store: %v, %v", gone, err)
	}
}

// TestFoldersNamedLikeFiles: a folder where a file should be is reported, and does not
// prevent the removal of the other files.
func TestFoldersNamedLikeFiles(t *testing.T) {
	s := newStore(t, t.TempDir())
	for _, k := range []Key{{"a", ""}, {"z", ""}} {
		if err := s.Update(k, func(*File) {}); err != nil {
			t.Fatal(err)
		}
	}
	in := s.Path(Key{"gemm", ""})
	if err := os.MkdirAll(filepath.Join(in, "full"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(Key{"gemm", ""}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("%v", err)
	}
	gone, err := s.Remove("")
	var fe *FileError
	if len(gone) != 2 || !errors.As(err, &fe) || fe.File != in {
		t.Errorf("removed %v, %v", gone, err)
	}
}

func TestFolderThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	var fe *FileError
	if err := newStore(t, file).Update(key, func(*File) {}); !errors.As(err, &fe) || !strings.Contains(err.Error(), "STARPUSH_PERF_DIR") {
		t.Errorf("%v", err)
	}
	if _, err := NewStore("", ""); err == nil || !strings.Contains(err.Error(), "STARPUSH_PERF_DIR") {
		t.Errorf("no folder: %v", err)
	}
	root, err := Root(func(k string) string { return map[string]string{"STARPUSH_PERF_DIR": "/p"}[k] })
	if err != nil || root != "/p" {
		t.Errorf("%q, %v", root, err)
	}
	if m := Machine(func(string) string { return "My Box" }); m != "my-box" {
		t.Errorf("machine %q", m)
	}
}
