package lang

// What scripts reach of the world: modules through a Loader, data files through
// a FileSystem.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

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

// FileSystem is what load and save reach: an fs.FS that can also create files.
// What is written to the file that Create returns must appear under its name when
// Close returns nil, and not before; when the file has a method Abort, save calls
// that instead of Close after a failure. If it has a method HasFolder(name string) bool,
// a save into a folder that does not exist is refused before its data is waited for.
type FileSystem = interp.FileSystem

// Dir returns the files below path. save writes beside the file and renames.
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

// Open opens a file for reading. Names are relative to the folder; one that
// leads outside is an error.
func (d dirFS) Open(name string) (fs.File, error) {
	r, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f, err := r.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Create starts a new version of the file.
func (d dirFS) Create(name string) (io.WriteCloser, error) {
	r, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, err
	}
	name = filepath.FromSlash(name)
	for i := 0; i < 1000; i++ {
		tmp := fmt.Sprintf("%s.%d.tmp", name, os.Getpid()+i)
		f, err := r.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			return &newFile{File: f, root: r, tmp: tmp, name: name}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			r.Close()
			return nil, err
		}
	}
	r.Close()
	return nil, fmt.Errorf("%s: every name for a temporary file beside it is taken", name)
}

// newFile is a file that gets its name when it is complete.
type newFile struct {
	*os.File
	root      *os.Root
	tmp, name string
}

// Close makes the file appear under its name.
func (f *newFile) Close() error {
	defer f.root.Close()
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
	f.File.Close()
	f.root.Remove(f.tmp)
	f.root.Close()
}
