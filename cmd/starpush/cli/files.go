package cli

// Files of scripts: data below load and save, modules below import. Unlike a
// host program, the command lets a script reach what the user can reach.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// osFiles are the files of the operating system; paths count from the working folder.
type osFiles struct{}

// Open opens a file for reading.
func (osFiles) Open(name string) (fs.File, error) { return os.Open(name) }

// HasFolder reports whether name is a folder.
func (osFiles) HasFolder(name string) bool {
	fi, err := os.Stat(name)
	return err == nil && fi.IsDir()
}

// Create starts a new version of a file, written beside it. What is no regular
// file, such as /dev/null or a pipe, is written itself.
func (osFiles) Create(name string) (io.WriteCloser, error) {
	fi, statErr := os.Stat(name)
	if statErr == nil && !fi.Mode().IsRegular() {
		return os.OpenFile(name, os.O_WRONLY, 0)
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target // the link stays
	}
	dir, base := filepath.Split(name)
	for i := range 1000 {
		tmp := fmt.Sprintf("%s.%s.%d.tmp", dir, base, os.Getpid()+i)
		f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, named("create", name, err)
		}
		if statErr == nil {
			err = f.Chmod(fi.Mode().Perm()) // what it replaces keeps its mode
		}
		v := &newVersion{File: f, name: name}
		if err != nil {
			v.Abort()
			return nil, named("create", name, err)
		}
		return v, nil
	}
	return nil, &fs.PathError{Op: "create", Path: name, Err: errors.New("every name for a temporary file beside it is taken")}
}

// named makes an error speak of the file that was asked for.
func named(op, name string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// A newVersion is a file that gets its name when it is complete.
type newVersion struct {
	*os.File
	name string
}

// Close makes the file appear under its name.
func (f *newVersion) Close() error {
	err := f.File.Close()
	if err == nil {
		err = os.Rename(f.File.Name(), f.name)
	}
	if err != nil {
		os.Remove(f.File.Name())
	}
	return err
}

// Abort drops what was written.
func (f *newVersion) Abort() {
	f.File.Close()
	os.Remove(f.File.Name())
}

// writeFile writes a whole file by way of Create.
func writeFile(name string, data []byte) error {
	w, err := osFiles{}.Create(name)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		if v, ok := w.(*newVersion); ok {
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
func (l osLoader) Load(_ context.Context, path, from string) (string, []byte, error) {
	name := importPath(path, from)
	if l.read != nil {
		l.read.note(name)
	}
	src, err := readSource(name, l.max)
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
