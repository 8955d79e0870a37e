package lang

// Modules, through a Loader, and data files, through a FileSystem.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/lang/interp"
)

// Loader finds modules. path is the text of the import, from the name of the
// importing file as the Loader or Compile gave it. The returned name identifies
// the module: two imports with one name are one module. An error that wraps
// fs.ErrNotExist says that there is no such file.
type Loader interface {
	Load(ctx context.Context, path, from string) (name string, src []byte, err error)
}

// FSLoader serves modules from any fs.FS, such as an embed.FS. Paths count from
// the importing file.
func FSLoader(fsys fs.FS) Loader { return fsLoader{fsys} }

type fsLoader struct{ fsys fs.FS }

// Load reads the file that p names, seen from the file from.
func (l fsLoader) Load(_ context.Context, p, from string) (string, []byte, error) {
	name := path.Join(path.Dir(filepath.ToSlash(from)), p)
	if !fs.ValidPath(name) {
		return "", nil, fmt.Errorf("%q lies outside the files that imports can reach", p)
	}
	src, err := fs.ReadFile(l.fsys, name)
	return name, src, err
}

// Near lists the scripts in the folder where p was looked for, for "did you mean".
func (l fsLoader) Near(p, from string) []string {
	name := path.Join(path.Dir(filepath.ToSlash(from)), p)
	found, err := fs.Glob(l.fsys, path.Join(path.Dir(name), "*.spu"))
	if err != nil {
		return nil
	}
	for i, f := range found {
		found[i] = path.Join(path.Dir(p), path.Base(f))
	}
	return found
}

// FileSystem is the file system of load and save: an fs.FS that can also create files.
// The content of a file from Create must appear under its name when Close returns nil,
// and not before. If the file has a method Abort, save calls that instead of Close after
// a failure. If it has a method HasFolder(name string) bool, a save into a folder that
// does not exist is refused before its data is waited for. If it has
// OpenContext(context.Context, string) (fs.File, error) and
// CreateContext(context.Context, string) (io.WriteCloser, error), load and save call
// those with the context of the run, for files whose opening may wait. If it has
// OpenTemporary(string) (interface{ io.WriterAt; io.Closer }, error), and files from Create have
// WriteAt and Temporary() string, then the ranks of a program write an .npy or .bin file together: each opens
// under that name what rank 0 has created, and closes it before that one does.
type FileSystem = interp.FileSystem

// Dir returns the files below path. save writes beside the file and renames; what it
// replaces keeps its mode, a link stays, and what is no regular file, such as a pipe, is
// written itself. The file beside it, .NAME.N.tmp, is locked while it is written: what a
// process leaves that was killed meanwhile, a later save of that name removes, on systems
// with flock.
func Dir(path string) FileSystem { return dirFS{path} }

type dirFS struct{ dir string }

// HasFolder reports whether name is a folder below the folder. Of names that lead
// outside Create tells more.
func (d dirFS) HasFolder(name string) bool {
	if !fs.ValidPath(name) {
		return true
	}
	r, err := os.OpenRoot(d.dir)
	if err != nil {
		return false
	}
	defer r.Close()
	fi, err := r.Stat(filepath.FromSlash(name))
	return err == nil && fi.IsDir()
}

// Stat says what a file is.
func (d dirFS) Stat(name string) (fs.FileInfo, error) {
	r, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Stat(filepath.FromSlash(name))
}

// Open opens a file for reading. Names are relative to the folder; one that
// leads outside is an error.
func (d dirFS) Open(name string) (fs.File, error) { return d.OpenContext(context.Background(), name) }

// OpenContext is Open that waits for the writer of a pipe until ctx ends.
func (d dirFS) OpenContext(ctx context.Context, name string) (fs.File, error) {
	r, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	name = filepath.FromSlash(name)
	var f *os.File
	if fi, e := r.Stat(name); e == nil && fi.Mode()&fs.ModeNamedPipe != 0 {
		f, err = format.OpenPipe(ctx, r.OpenFile, name, os.O_RDONLY)
	} else {
		f, err = r.Open(name)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Create starts a new version of the file.
func (d dirFS) Create(name string) (io.WriteCloser, error) {
	return d.CreateContext(context.Background(), name)
}

// CreateContext is Create that waits for the reader of a pipe until ctx ends.
func (d dirFS) CreateContext(ctx context.Context, name string) (io.WriteCloser, error) {
	r, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, err
	}
	f, err := create(ctx, r, filepath.FromSlash(name))
	if f == nil || f.tmp == "" {
		r.Close()
	}
	switch {
	case err != nil:
		return nil, err
	case f.tmp == "":
		return f.File, nil
	}
	return f, nil
}

// OpenTemporary opens a file that another process has from Create, and has not closed.
func (d dirFS) OpenTemporary(name string) (format.SharedFile, error) {
	r, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	below, err := filepath.Rel(d.dir, name)
	if err != nil {
		return nil, err
	}
	f, err := r.OpenFile(below, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// create starts a new version of a file below r; what is no regular file has no
// temporary name.
func create(ctx context.Context, r *os.Root, name string) (*newFile, error) {
	old, err := r.Stat(name)
	switch {
	case err != nil:
		old = nil
	case old.Mode()&fs.ModeNamedPipe != 0:
		f, err := format.OpenPipe(ctx, r.OpenFile, name, os.O_WRONLY)
		return &newFile{File: f}, err
	case !old.Mode().IsRegular():
		f, err := r.OpenFile(name, os.O_WRONLY, 0)
		return &newFile{File: f}, err
	default:
		name = linked(r, name)
	}
	sweep(r, name)
	dir, base := filepath.Split(name)
	for range 1000 {
		tmp := fmt.Sprintf("%s.%s.%d.tmp", dir, base, rand.Uint64())
		f, err := r.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		v := &newFile{File: f, root: r, tmp: tmp, name: name}
		if v.unlock, err = lockFile(f); err == nil && old != nil {
			err = f.Chmod(old.Mode().Perm())
		}
		if err != nil {
			v.drop()
			return nil, err
		}
		if _, err := r.Lstat(tmp); errors.Is(err, fs.ErrNotExist) {
			v.drop() // swept before it was locked
			continue
		}
		return v, nil
	}
	return nil, fmt.Errorf("%s: every name for a temporary file beside it is taken", name)
}

// sweep removes new versions of a file left by processes that were killed: files with a
// name as from create that are not locked. Files that cannot be removed stay.
func sweep(r *os.Root, name string) {
	dir, base := filepath.Split(name)
	folder, err := r.Open(filepath.Clean(filepath.Join(".", dir)))
	if err != nil {
		return
	}
	defer folder.Close()
	entries, _ := folder.ReadDir(-1)
	for _, e := range entries {
		n, ok := strings.CutPrefix(e.Name(), "."+base+".")
		if n, ok = cutSuffix(n, ".tmp", ok); !ok || !e.Type().IsRegular() {
			continue
		}
		if _, err := strconv.ParseUint(n, 10, 64); err == nil {
			removeUnlocked(r, dir+e.Name())
		}
	}
}

func cutSuffix(s, suffix string, ok bool) (string, bool) {
	s, found := strings.CutSuffix(s, suffix)
	return s, ok && found
}

// linked is the name of the file that name, which exists, leads to by links. Nothing is
// taken out of it: what a `..` leads to behind a linked folder only r can tell.
func linked(r *os.Root, name string) string {
	for {
		to, err := r.Readlink(name)
		if err != nil {
			return name
		}
		dir, _ := filepath.Split(name)
		name = dir + to
	}
}

// newFile is a file that gets its name when it is complete.
type newFile struct {
	*os.File
	root      *os.Root
	tmp, name string
	unlock    func() // call it after closing; until then tmp must not look left behind
}

// Temporary returns the name under which the file can be opened now.
func (f *newFile) Temporary() string { return filepath.Join(f.root.Name(), f.tmp) }

// Close makes the file appear under its name.
func (f *newFile) Close() error {
	defer f.root.Close()
	defer f.unlock()
	if err := f.File.Close(); err != nil {
		return errors.Join(err, f.root.Remove(f.tmp))
	}
	if err := f.root.Rename(f.tmp, f.name); err != nil {
		return errors.Join(err, f.root.Remove(f.tmp))
	}
	return nil
}

// Abort removes what was written.
func (f *newFile) Abort() {
	f.drop()
	f.root.Close()
}

// drop is Abort that leaves the folder open.
func (f *newFile) drop() {
	f.File.Close()
	f.root.Remove(f.tmp)
	if f.unlock != nil {
		f.unlock()
	}
}
