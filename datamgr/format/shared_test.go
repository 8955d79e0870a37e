package format

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// sharing is a folder whose new files other processes can open.
type sharing struct {
	fs.StatFS
	dir string
}

func newSharing(t *testing.T) sharing {
	dir := t.TempDir()
	return sharing{os.DirFS(dir).(fs.StatFS), dir}
}

type sharingFile struct {
	*os.File
	name string
}

func (f sharingFile) Temporary() string { return filepath.Base(f.File.Name()) }

func (f sharingFile) Close() error {
	if err := f.File.Close(); err != nil {
		return err
	}
	return os.Rename(f.File.Name(), f.name)
}

func (f sharingFile) Abort() {
	f.File.Close()
	os.Remove(f.File.Name())
}

func (s sharing) Create(name string) (io.WriteCloser, error) {
	f, err := os.CreateTemp(s.dir, "new")
	return sharingFile{f, filepath.Join(s.dir, name)}, err
}

func (s sharing) OpenTemporary(name string) (SharedFile, error) {
	return os.OpenFile(filepath.Join(s.dir, name), os.O_WRONLY, 0)
}

// TestShared: data that is written in boxes, by two writers and in any order, is the file that Save makes.
func TestShared(t *testing.T) {
	const n0, n1, n2 = 4, 5, 6
	mem := make([]float64, n0*n1*n2)
	for i := range mem {
		mem[i] = float64(i) / 3
	}
	whole := iface.Buffer{Desc: iface.Desc{Kind: iface.Block, Elem: iface.F64, Rank: 3, Dim: [iface.MaxRank]int{n0, n1, n2}}, Ptr: unsafe.Pointer(&mem[0])}
	whole.Stride = [iface.MaxRank]int{n1 * n2, n2, 1}
	boxes := [][2][3]int{ // lo and sizes
		{{2, 0, 0}, {2, n1, n2}}, {{0, 3, 0}, {2, 2, n2}}, {{0, 0, 4}, {2, 3, 2}}, {{1, 0, 0}, {1, 3, 4}}, {{0, 0, 0}, {1, 3, 4}},
	}
	for _, name := range []string{"a.npy", "a.bin"} {
		fsys := newSharing(t)
		if err := Save(fsys, "whole"+name, &whole); err != nil {
			t.Fatal(err)
		}
		first, temporary, err := CreateShared(fsys, name, whole.Desc)
		if err != nil || first == nil {
			t.Fatal(first, err)
		}
		second, err := OpenShared(fsys, temporary, name, whole.Desc)
		if err != nil {
			t.Fatal(err)
		}
		for k, box := range boxes {
			b := whole
			b.Ptr = unsafe.Pointer(&mem[(box[0][0]*n1+box[0][1])*n2+box[0][2]])
			copy(b.Dim[:], box[1][:])
			if err := []*Shared{first, second}[k%2].Write(box[0][:], &b); err != nil {
				t.Error(err)
			}
		}
		if _, err := fsys.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s before Close: %v", name, err)
		}
		if err := errors.Join(second.Close(), first.Close()); err != nil {
			t.Error(err)
		}
		got, err := fs.ReadFile(fsys, name)
		want, wantErr := fs.ReadFile(fsys, "whole"+name)
		if err != nil || wantErr != nil || string(got) != string(want) {
			t.Errorf("%s: %d bytes, want %d that are those of Save; %v, %v", name, len(got), len(want), err, wantErr)
		}
	}
}

// TestCannotShare: files of other formats, in file systems without the methods, and pipes are not shared; an aborted file is gone.
func TestCannotShare(t *testing.T) {
	d := iface.Desc{Kind: iface.Vector, Elem: iface.F64, Rank: 1, Dim: [iface.MaxRank]int{3}}
	fsys := newSharing(t)
	if err := os.Mkdir(filepath.Join(fsys.dir, "folder.npy"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fsys Creator
		name string
	}{{fsys, "a.csv"}, {fsys, "a.npz:x"}, {fsys, "folder.npy"}, {&memFS{}, "a.npy"}, {creatorOnly{&memFS{}}, "a.npy"}} {
		s, _, err := CreateShared(c.fsys, c.name, d)
		if s != nil || err != nil || CanShare(c.fsys, c.name) {
			t.Errorf("%s in %T: %v, %v", c.name, c.fsys, s, err)
		}
	}
	s, temporary, err := CreateShared(fsys, "a.npy", d)
	if err != nil || s == nil {
		t.Fatal(s, err)
	}
	s.Abort()
	if _, err := OpenShared(fsys, temporary, "a.npy", d); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Abort: %v", err)
	}
	var e *Error
	if _, err := OpenShared(os.DirFS(fsys.dir), temporary, "a.npy", d); !errors.As(err, &e) || e.File != "a.npy" {
		t.Errorf("of another file system: %v", err)
	}
	if left, _ := os.ReadDir(fsys.dir); len(left) != 1 {
		t.Errorf("%d files are left", len(left))
	}
}
