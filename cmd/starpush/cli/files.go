package cli

// Files of scripts: data below load and save, modules below import. Unlike a
// host program, the command lets a script reach what the user can reach.

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/lang"
)

// osFiles are the files of the operating system; paths count from the working folder.
type osFiles struct{}

// Open opens a file for reading.
func (o osFiles) Open(name string) (fs.File, error) { return o.OpenContext(context.Background(), name) }

// OpenContext is Open that waits for the writer of a pipe until ctx ends.
func (osFiles) OpenContext(ctx context.Context, name string) (fs.File, error) {
	f, err := openFile(ctx, name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func openFile(ctx context.Context, name string) (*os.File, error) {
	if isPipe(name) {
		return format.OpenPipe(ctx, os.OpenFile, name, os.O_RDONLY)
	}
	return os.Open(name)
}

func isPipe(name string) bool {
	fi, err := os.Stat(name)
	return err == nil && fi.Mode()&fs.ModeNamedPipe != 0
}

// HasFolder reports whether name is a folder.
func (osFiles) HasFolder(name string) bool {
	fi, err := os.Stat(name)
	return err == nil && fi.IsDir()
}

// Create starts a new version of a file, written beside it. What is no regular
// file, such as /dev/null or a pipe, is written itself.
func (o osFiles) Create(name string) (io.WriteCloser, error) {
	return o.CreateContext(context.Background(), name)
}

// CreateContext is Create that waits for the reader of a pipe until ctx ends.
func (osFiles) CreateContext(ctx context.Context, name string) (io.WriteCloser, error) {
	if isPipe(name) {
		return format.OpenPipe(ctx, os.OpenFile, name, os.O_WRONLY)
	}
	if fi, err := os.Stat(name); err == nil && !fi.Mode().IsRegular() {
		return os.OpenFile(name, os.O_WRONLY, 0)
	}
	at := name
	if target, err := filepath.EvalSymlinks(name); err == nil {
		at = target // the link stays
	}
	dir, base := filepath.Split(at)
	f, err := lang.Dir(filepath.Clean(dir)).Create(base)
	if err != nil {
		return nil, named("create", name, err)
	}
	return f, nil
}

// named makes an error speak of the file that was asked for.
func named(op, name string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// writeFile writes a whole file, without a context: files that are no pipes.
func writeFile(name string, data []byte) error {
	return writeFileWithin(context.Background(), name, data)
}

// writeFileWithin writes a whole file by way of Create. A pipe is waited for until ctx ends,
// and written after that only if it has a reader; other files do not wait.
func writeFileWithin(ctx context.Context, name string, data []byte) error {
	create := osFiles{}.Create
	switch {
	case isPipe(name) && ctx.Err() != nil:
		create = impatientFiles{}.Create
	case isPipe(name):
		create = format.Within(ctx, osFiles{}).Create
	}
	return writeBy(create, name, data)
}

// writeFileNow writes a whole file. A pipe must have a reader, which is waited for until ctx ends.
func writeFileNow(ctx context.Context, name string, data []byte) error {
	create := osFiles{}.Create
	if isPipe(name) {
		create = format.Within(ctx, impatientFiles{}).Create
	}
	return writeBy(create, name, data)
}

// impatientFiles are osFiles that do not wait for the reader of a pipe.
type impatientFiles struct{ osFiles }

// Create is osFiles.Create, with the error ENXIO for a pipe without a reader.
func (f impatientFiles) Create(name string) (io.WriteCloser, error) {
	if isPipe(name) {
		return os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	}
	return f.osFiles.Create(name)
}

// CreateContext is Create.
func (f impatientFiles) CreateContext(_ context.Context, name string) (io.WriteCloser, error) {
	return f.Create(name)
}

func writeBy(create func(name string) (io.WriteCloser, error), name string, data []byte) error {
	w, err := create(name)
	switch {
	case errors.Is(err, syscall.ENXIO):
		return named("open", name, errors.New("it is a pipe that has no reader; start one first"))
	case err != nil:
		return err
	}
	if _, err := w.Write(data); err != nil {
		if v, ok := w.(interface{ Abort() }); ok {
			v.Abort()
		} else {
			w.Close()
		}
		return named("write", name, err)
	}
	return w.Close()
}

// osLoader finds modules; paths count from the importing file.
type osLoader struct {
	read *readFiles
	max  int64 // bytes of a module; 0: as many as scripts may have
}

// Load implements lang.Loader.
func (l osLoader) Load(ctx context.Context, path, from string) (string, []byte, error) {
	name := importPath(path, from)
	if l.read != nil {
		l.read.note(name)
	}
	src, err := readSource(ctx, name, l.max)
	return name, src, err
}

// Near lists the scripts in the folder where path was looked for.
func (osLoader) Near(path, from string) []string {
	found, err := filepath.Glob(filepath.Join(filepath.Dir(importPath(path, from)), "*.spu"))
	if err != nil {
		return nil
	}
	for i, f := range found {
		found[i] = filepath.ToSlash(filepath.Join(filepath.Dir(filepath.FromSlash(path)), filepath.Base(f)))
	}
	return found
}

func importPath(path, from string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(from), path)
}
