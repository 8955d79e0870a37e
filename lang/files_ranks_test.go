package lang_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/lang"
)

// rankFiles are the files of one rank: those of a folder, with faults.
type rankFiles struct {
	lang.FileSystem
	mu struct {
		sync.Mutex
		read, written int64 // bytes of elements, roughly
	}
	alone   bool  // the ranks have no folder in common
	noSpace error // of all that is written
}

type readsAt struct {
	fs.File
	of *rankFiles
}

func (f readsAt) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.of.count(&f.of.mu.read, n)
	return n, err
}

func (f readsAt) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.File.(io.ReaderAt).ReadAt(b, at)
	f.of.count(&f.of.mu.read, n)
	return n, err
}

func (r *rankFiles) count(where *int64, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*where += int64(n)
}

func (r *rankFiles) Open(name string) (fs.File, error) {
	f, err := r.FileSystem.Open(name)
	if err != nil {
		return nil, err
	}
	return readsAt{f, r}, nil
}

func (r *rankFiles) Stat(name string) (fs.FileInfo, error) { return fs.Stat(r.FileSystem, name) }

// newRankFile is a file from Create.
type newRankFile struct {
	io.WriteCloser
	of *rankFiles
}

type sharedFile interface {
	io.WriterAt
	io.Closer
}

func (f newRankFile) Write(b []byte) (int, error) {
	f.of.count(&f.of.mu.written, len(b))
	if f.of.noSpace != nil {
		return 0, f.of.noSpace
	}
	return f.WriteCloser.Write(b)
}

func (f newRankFile) WriteAt(b []byte, at int64) (int, error) {
	return rankFile{f.WriteCloser.(sharedFile), f.of}.WriteAt(b, at)
}

func (f newRankFile) Temporary() string {
	return f.WriteCloser.(interface{ Temporary() string }).Temporary()
}

func (f newRankFile) Abort() { f.WriteCloser.(interface{ Abort() }).Abort() }

// rankFile is a file from OpenTemporary.
type rankFile struct {
	sharedFile
	of *rankFiles
}

func (f rankFile) WriteAt(b []byte, at int64) (int, error) {
	f.of.count(&f.of.mu.written, len(b))
	if f.of.noSpace != nil {
		return 0, f.of.noSpace
	}
	return f.sharedFile.WriteAt(b, at)
}

func (r *rankFiles) Create(name string) (io.WriteCloser, error) {
	f, err := r.FileSystem.Create(name)
	if err != nil {
		return nil, err
	}
	return newRankFile{f, r}, nil
}

func (r *rankFiles) OpenTemporary(name string) (interface {
	io.WriterAt
	io.Closer
}, error) {
	if r.alone {
		return nil, fs.ErrNotExist
	}
	f, err := r.FileSystem.(interface {
		OpenTemporary(string) (interface {
			io.WriterAt
			io.Closer
		}, error)
	}).OpenTemporary(name)
	if err != nil {
		return nil, err
	}
	return rankFile{f, r}, nil
}

// onRanksOf runs a script on n ranks, with a configuration and an option for each.
func onRanksOf(t *testing.T, n int, src string, config func(rank int) lang.Config, option func(rank int) lang.Option) (errs []error) {
	t.Helper()
	errs = make([]error, n)
	var group sync.WaitGroup
	for r, end := range cluster.Local(n) {
		group.Go(func() {
			rt, err := engine.New(engine.Options{Workers: 2})
			if err != nil {
				errs[r] = err
				return
			}
			defer rt.Close()
			inst, err := compile(t, config(r), src).Run(t.Context(), rt, lang.Ranks(end), option(r))
			if inst != nil {
				err = errors.Join(err, inst.Close())
			}
			errs[r] = err
		})
	}
	group.Wait()
	return errs
}

// onFiles runs a script on ranks with the given files, and returns the bytes of values that were sent.
func onFiles(t *testing.T, files []*rankFiles, src string) (errs []error, sent int64) {
	t.Helper()
	reports := make([]*cluster.Report, len(files))
	errs = onRanksOf(t, len(files), src, func(r int) lang.Config { return lang.Config{Files: files[r]} },
		func(r int) lang.Option { return lang.ObserveRanks(func(c *cluster.Report) { reports[r] = c }) })
	if reports[0] != nil {
		for _, r := range reports[0].Ranks {
			sent += r.Sent.Bytes
		}
	}
	return errs, sent
}

const filesScript = `codelet twice(a: RW matrix[i32]) { each i, j in a { a[i, j] *= 2 } }
register A = matrix[i32](load = "a.npy")
partition P = A by rows(8)
for k in 0..8 { insert twice(RW P[k]) }
save(A, "b.npy")
`

// TestFilesOfRanks: each rank reads and writes its part of the files that all of them reach, and no value travels. Where they do not, or cannot write at once,
// rank 0 writes.
func TestFilesOfRanks(t *testing.T) {
	const elements = 256 * 64 * 4 // bytes of them
	content := npyBytes("<i4", false, []int{256, 64}, 1)
	want := bytes.Clone(content)
	for i := len(content) - elements; i < len(content); i += 4 {
		want[i] *= 2 // they are below 100
	}
	for _, test := range []struct {
		name    string
		alone   int // the rank that does not reach the folder of the others
		written int64
	}{
		{"together", -1, elements / 4},
		{"rank 2 alone", 2, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a.npy"), content, 0o666); err != nil {
				t.Fatal(err)
			}
			files := make([]*rankFiles, 4)
			for r := range files {
				files[r] = &rankFiles{FileSystem: lang.Dir(dir), alone: r == test.alone}
			}
			errs, sent := onFiles(t, files, filesScript)
			for r, err := range errs {
				if err != nil {
					t.Fatalf("rank %d: %v", r, err)
				}
				f := files[r]
				if n := f.mu.read; n < elements/4 || n > elements/4+1024 {
					t.Errorf("rank %d read %d bytes, and its part has %d", r, n, elements/4)
				}
				if n := f.mu.written - test.written; r > 0 && n != 0 {
					t.Errorf("rank %d wrote %d bytes, want %d", r, f.mu.written, test.written)
				}
			}
			if want := int64(3 * elements / 4); sent != want && test.alone >= 0 || sent != 0 && test.alone < 0 {
				t.Errorf("%d bytes travelled, want %d if rank 0 writes all", sent, want)
			}
			got, err := os.ReadFile(filepath.Join(dir, "b.npy"))
			if err != nil || !bytes.Equal(got[len(got)-elements:], want[len(want)-elements:]) {
				t.Errorf("the file is wrong: %v", err)
			}
			if left := lang.Must(os.ReadDir(dir)); len(left) != 2 {
				t.Errorf("%d files are left", len(left))
			}
		})
	}
}

// TestBadFilesOfRanks: when a rank cannot write its part, or has lost it, all ranks say the same, and there is no file.
func TestBadFilesOfRanks(t *testing.T) {
	for _, test := range []struct {
		name, src string
		full      int // the rank whose disk is full
		want      []string
	}{
		{"no space on rank 1", filesScript, 1, []string{"cannot save", "no space left"}},
		{"no space on rank 0", filesScript, 0, []string{"cannot save", "no space left"}},
		{"a part lost", strings.Replace(filesScript, "save(", "codelet bad(a: RW matrix[i32]) { a[0, 0] = 1 // (a[0, 0] - a[0, 0]) }\ninsert bad(RW P[5])\nsave(", 1), -1,
			[]string{"on rank 2: task `bad` failed"}},
		{"a part lost of a text", strings.Replace(filesScript, "save(A, \"b.npy\")", "codelet bad(a: RW matrix[i32]) { a[0, 0] = 1 // (a[0, 0] - a[0, 0]) }\ninsert bad(RW P[5])\nsave(A, \"b.csv\")", 1), -1,
			[]string{"on rank 2: task `bad` failed"}},
		{"no value", strings.Replace(filesScript, "save(", "register c = variable[i32](fill = 1)\nif value(c) == 1 { invalidate A }\nsave(", 1), -1, []string{"E0402"}},
		{"no folder", strings.Replace(filesScript, "b.npy", "no/b.npy", 1), -1, []string{"E0902", "cannot save `no/b.npy`", "no such file"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a.npy"), npyBytes("<i4", false, []int{256, 64}, 1), 0o666); err != nil {
				t.Fatal(err)
			}
			files := make([]*rankFiles, 3)
			for r := range files {
				files[r] = &rankFiles{FileSystem: lang.Dir(dir)}
				if r == test.full {
					files[r].noSpace = errors.New("no space left")
				}
			}
			errs, _ := onFiles(t, files, test.src)
			for r, err := range errs {
				for _, want := range test.want {
					if !strings.Contains(whole(err), want) {
						t.Errorf("rank %d: %s, want %s", r, whole(err), want)
					}
				}
				if a, b := whole(err), whole(errs[0]); a != b && test.full < 0 {
					t.Errorf("rank %d: %s\nand rank 0\n%s", r, a, b)
				}
			}
			if left := lang.Must(os.ReadDir(dir)); len(left) != 1 {
				t.Errorf("%d files are left", len(left))
			}
		})
	}
}

// onRanksWith runs a script on ranks with the files of a folder that has a.npy. In the script touch() calls fn.
func onRanksWith(t *testing.T, n int, src string, fn func(dir string, rank int) error) (dir string, errs []error) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.npy"), npyBytes("<i4", false, []int{256, 64}, 1), 0o666); err != nil {
		t.Fatal(err)
	}
	errs = onRanksOf(t, n, src, func(r int) lang.Config {
		touch := lang.Must(lang.NewFunc("touch()", func(context.Context, []any) (any, error) { return nil, fn(dir, r) }))
		return lang.Config{Files: lang.Dir(dir), Funcs: []*lang.Func{touch}}
	}, func(int) lang.Option { return lang.Stdout(io.Discard) })
	return dir, errs
}

// TestChangedFileOfRanks: a rank that reads its part of a file that was written since says which file, where it is loaded, and what to do.
func TestChangedFileOfRanks(t *testing.T) {
	var once sync.Once
	var loaded sync.WaitGroup // on all ranks
	loaded.Add(2)
	_, errs := onRanksWith(t, 2, strings.Replace(filesScript, "for k", "touch()\nfor k", 1), func(dir string, _ int) (err error) {
		loaded.Done()
		loaded.Wait()
		once.Do(func() { err = os.Truncate(filepath.Join(dir, "a.npy"), 1000) })
		return err
	})
	for r, err := range errs {
		for _, want := range []string{"a.npy", "`A`, registered at", "leave it as it is during the run"} {
			if !strings.Contains(whole(err), want) {
				t.Errorf("rank %d: %s, want %s", r, whole(err), want)
			}
		}
	}
}

// TestReplacedFileOfRanks: a save in the place of a file that is loaded changes nothing of what was loaded before, however late a rank is, and waits for no
// task but those that read the file.
func TestReplacedFileOfRanks(t *testing.T) {
	const data = `codelet twice(a: RW matrix[i32]) { each i, j in a { a[i, j] *= 2 } }
codelet add(x: R vector[i32], a: RW matrix[i32]) { each i, j in a { a[i, j] += x[0] } }
register x = vector[i32](1, fill = 1)
register B = matrix[i32](512, 64, fill = 3)
partition B by rows(2)
touch()
`
	for name, script := range map[string]string{
		"whole": "register A = matrix[i32](load = \"a.npy\")\npartition A by rows(2)\nsave(B, \"a.npy\")\nfor k in 0..2 { insert twice(RW A[k]) }\n",
		"part":  "register A = matrix[i32](load = \"a.npy\")\npartition A by rows(2)\nsave(B[0], \"a.npy\")\nfor k in 0..2 { insert twice(RW A[k]) }\n",
		"contributions": "register A = matrix[i32](load = \"a.npy\", reduce = sum)\ninsert add(R x, REDUX A) with rank = 1\ninsert add(R x, REDUX A) with rank = 0\n" +
			"save(B, \"a.npy\")\n",
		"behind a gate": "register A = matrix[i32](load = \"a.npy\")\npartition A by rows(3)\nlet g = gate()\ninsert twice(RW A[1]) with after = [g]\nsave(B, \"a.npy\")\nopen(g)\n",
	} {
		t.Run(name, func(t *testing.T) {
			var want string
			for _, n := range []int{1, 3} {
				dir, errs := onRanksWith(t, n, data+script+"save(A, \"c.csv\")\n", func(_ string, rank int) error {
					if rank == 1 {
						time.Sleep(100 * time.Millisecond)
					}
					return nil
				})
				if err := errors.Join(errs...); err != nil {
					t.Fatalf("%d ranks: %v", n, err)
				}
				got := string(lang.Must(os.ReadFile(filepath.Join(dir, "c.csv"))))
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%d ranks save something else", n)
				}
			}
		})
	}
}

// TestNoFileLeftByRanks: when a rank ends the run before another one has saved, no file is left.
func TestNoFileLeftByRanks(t *testing.T) {
	for bad := range 3 {
		dir, errs := onRanksWith(t, 3, "register C = matrix[i32](256, 64, fill = 3)\ntouch()\nsave(C, \"c.npy\")\n", func(_ string, rank int) error {
			if rank == bad {
				time.Sleep(50 * time.Millisecond)
				return errors.New("it is late")
			}
			return nil
		})
		for r, err := range errs {
			if err == nil || !strings.Contains(whole(err), "it is late") {
				t.Errorf("rank %d: %v", r, err)
			}
		}
		for _, e := range lang.Must(os.ReadDir(dir)) {
			if e.Name() != "a.npy" {
				t.Errorf("rank %d fails, and %s is left", bad, e.Name())
			}
		}
	}
}

// TestSavesOfRanks: data of all kinds that several ranks save is that of one.
func TestSavesOfRanks(t *testing.T) {
	const script = `
struct Body { mass: f64; owner: i32 }
codelet more(A: RW csr[f64]) { each k in A.val { A.val[k] += 1.5 } }
codelet heavy(b: RW vector[Body], k: int) { each i in b { b[i].mass += float(k + i) } }
codelet add(x: RW vector[f64], k: int) { each i in x { x[i] += float(k) } }
codelet image(x: RW matrix[u8], k: int) { each i, j in x { x[i, j] += k } }
codelet cut(x: RW vector[f64]) { x.n = 3 }
register A = csr[f64](4, 4, ptr = [0, 1, 2, 4, 4], col = [0, 1, 0, 3], val = [1.0, 2.0, 3.0, 4.0])
register B = vector[Body](6, mass = 1, owner = 7)
register x = vector[f64](24, fill = 1)
register g = matrix[u8](6, 6, fill = 9)
register s = variable[f64](fill = 3)
register w = vector[f64](8, capacity = 9, fill = 2)
partition A by rows(2)
partition B by blocks(3)
partition x by blocks(5)
partition g by tiles(2, 3)
for k in 0..3 { insert heavy(RW B[k], k) }
for k in 0..2 { insert more(RW A[k]) }
for k in 0..5 { insert add(RW x[k], k) }
for i, j in grid(2, 3) { insert image(RW g[i, j], i + j) }
insert cut(RW w) with rank = 1
save(A, "a.mtx")
save(A[1], "part.mtx")
save(B, "b.csv")
save(B.mass, "mass.npy")
save(x, "x.csv")
save(x, "x.npz:x")
save(x, "x.npy")
save(x[3], "part.npy")
save(x[3], "part.csv")
save(g, "g.png")
save(g, "g.bin")
save(s, "s.npy")
save(w, "w.npy")
save(w, "w.csv")
for k in 0..5 { insert add(RW x[k], 1) }
acquire RW x as h { h[2] = 77.0 }
for k in 0..5 { insert add(RW x[k], 1) }
save(x, "y.csv")
`
	var want map[string]string
	for _, n := range []int{1, 2, 3, 5} {
		dir := t.TempDir()
		_, errs := onRanks(t, n, dir, script)
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("%d ranks: %v", n, err)
		}
		got := map[string]string{}
		for _, e := range lang.Must(os.ReadDir(dir)) {
			got[e.Name()] = string(lang.Must(os.ReadFile(filepath.Join(dir, e.Name()))))
		}
		if want == nil {
			want = got
		}
		for name, text := range want {
			if got[name] != text {
				t.Errorf("%d ranks: %s differs", n, name)
			}
		}
		if len(got) != len(want) || len(got) < 13 {
			t.Errorf("%d ranks: %d files, want %d", n, len(got), len(want))
		}
	}
}
