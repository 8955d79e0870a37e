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

// onFiles runs a script on ranks with the given files.
func onFiles(t *testing.T, files []*rankFiles, src string) (errs []error, sent int64) {
	t.Helper()
	errs = make([]error, len(files))
	var group sync.WaitGroup
	for r, end := range cluster.Local(len(files)) {
		group.Go(func() {
			rt, err := engine.New(engine.Options{Workers: 2})
			if err != nil {
				errs[r] = err
				return
			}
			defer rt.Close()
			var report *cluster.Report
			inst, err := compile(t, lang.Config{Files: files[r]}, src).Run(t.Context(), rt, lang.Ranks(end), lang.ObserveRanks(func(c *cluster.Report) { report = c }))
			if inst != nil {
				err = errors.Join(err, inst.Close())
			}
			if errs[r] = err; r == 0 && report != nil {
				for _, traffic := range report.Ranks {
					sent += traffic.Sent.Bytes
				}
			}
		})
	}
	group.Wait()
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
			if together := test.alone < 0; together == (sent > 0) {
				t.Errorf("%d bytes travelled", sent)
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
			}
			if left := lang.Must(os.ReadDir(dir)); len(left) != 1 {
				t.Errorf("%d files are left", len(left))
			}
		})
	}
}

// TestChangedFileOfRanks: a rank that reads its part of a file that was written since says which file, where it is loaded, and what to do.
func TestChangedFileOfRanks(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.npy")
	content := npyBytes("<i4", false, []int{256, 64}, 1)
	if err := os.WriteFile(name, content, 0o666); err != nil {
		t.Fatal(err)
	}
	src := strings.Replace(filesScript, "for k", "touch()\nfor k", 1)
	var once sync.Once
	var loaded sync.WaitGroup // on all ranks
	loaded.Add(2)
	errs := make([]error, 2)
	var group sync.WaitGroup
	for r, end := range cluster.Local(2) {
		group.Go(func() {
			rt, err := engine.New(engine.Options{Workers: 2})
			if err != nil {
				errs[r] = err
				return
			}
			defer rt.Close()
			touch := lang.Must(lang.NewFunc("touch()", func(context.Context, []any) (_ any, err error) {
				loaded.Done()
				loaded.Wait()
				once.Do(func() { err = os.WriteFile(name, content[:len(content)-8], 0o666) })
				return nil, err
			}))
			inst, err := compile(t, lang.Config{Files: lang.Dir(dir), Funcs: []*lang.Func{touch}}, src).Run(t.Context(), rt, lang.Ranks(end))
			if inst != nil {
				err = errors.Join(err, inst.Close())
			}
			errs[r] = err
		})
	}
	group.Wait()
	for r, err := range errs {
		for _, want := range []string{"a.npy", "`A`, registered at", "leave it as it is during the run"} {
			if !strings.Contains(whole(err), want) {
				t.Errorf("rank %d: %s, want %s", r, whole(err), want)
			}
		}
	}
}
