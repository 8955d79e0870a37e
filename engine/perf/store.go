package perf

// Stores: folders of files that several processes use at once.

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxFiles bounds the files of one machine; the ones that have not changed for
// longest go.
const maxFiles = 2000

// Store is the files of one machine in a folder. It is safe for concurrent use,
// by several processes too. Nothing is created before the first Update.
type Store struct {
	root    string
	machine string
	wait    time.Duration // for the lock
	lock    func(dir string, wait time.Duration) (unlock func(), err error)
}

// NewStore returns the store of a machine below the folder root. An empty
// machine is this one.
func NewStore(root, machine string) (*Store, error) {
	if root == "" {
		return nil, errors.New("performance models have no folder: name one with STARPUSH_PERF_DIR")
	}
	if machine == "" {
		machine = Machine(os.Getenv)
	}
	return &Store{root: root, machine: slug(machine), wait: lockWait, lock: lockDir}, nil
}

// Root is the folder, with a folder for each machine.
func (s *Store) Root() string { return s.root }

// Machine is the machine whose files these are.
func (s *Store) Machine() string { return s.machine }

// Dir is the folder of the machine.
func (s *Store) Dir() string { return filepath.Join(s.root, s.machine) }

// Machines lists the machines that have a folder, sorted.
func (s *Store) Machines() []string {
	var out []string
	entries, err := os.ReadDir(s.root)
	if err != nil {
		return nil // nothing was ever measured
	}
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

// Root returns the folder for performance models: what STARPUSH_PERF_DIR says, or
// starpush/perf in the user's cache folder. getenv is as os.Getenv.
func Root(getenv func(string) string) (string, error) {
	if dir := getenv("STARPUSH_PERF_DIR"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("performance models have no folder (%w): name one with STARPUSH_PERF_DIR", err)
	}
	return filepath.Join(dir, "starpush", "perf"), nil
}

// Path is the file of a codelet.
func (s *Store) Path(k Key) string {
	sum := sha256.Sum256([]byte(k.Codelet + "\x00" + k.Kernel))
	return filepath.Join(s.Dir(), slug(k.Codelet)+"-"+hex.EncodeToString(sum[:6])+".json")
}

// slug makes a file name of any text: letters, digits, dots, dashes and
// underscores stay.
func slug(text string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A' // some file systems do not tell them apart
		}
		return '-'
	}, text)
	for strings.Contains(out, "--") {
		out = strings.ReplaceAll(out, "--", "-")
	}
	out = strings.Trim(out[:min(len(out), 60)], ".-")
	if out == "" {
		return "x"
	}
	return out
}

// Load reads the file of a codelet. Errors are *FileError; they wrap
// fs.ErrNotExist when there is none, ErrCorrupt or ErrNewer.
func (s *Store) Load(k Key) (*File, error) {
	path := s.Path(k)
	f, err := read(path)
	if err == nil && f.Key != k.written() {
		err = &FileError{path, fmt.Errorf("%w of %q: it is of %q", ErrCorrupt, k.Codelet, f.Codelet), remedyCorrupt}
	}
	if err != nil {
		return nil, err
	}
	f.Key = k
	return f, nil
}

// written is k as it comes back from a file: bytes that are no text, as a hash has them,
// do not. The path tells keys apart that differ only there.
func (k Key) written() Key { return Key{string([]rune(k.Codelet)), string([]rune(k.Kernel))} }

const (
	remedyCorrupt = "delete it, or remove it with `starpush perf reset`, to measure anew"
	remedyNewer   = "use that version, or another folder by STARPUSH_PERF_DIR, or delete the file to measure anew"
	remedyAccess  = "make it readable, or name another folder with STARPUSH_PERF_DIR"
	remedyWrite   = "make the folder writable, or name another with STARPUSH_PERF_DIR"
)

// read reads any file of a store.
func read(path string) (*File, error) {
	// Opening a pipe without a writer would wait for ever.
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return nil, &FileError{path, fmt.Errorf("%w: it is no regular file", ErrCorrupt), remedyCorrupt}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err, remedyAccess)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	switch {
	case err != nil:
		return nil, fileError(path, err, remedyAccess)
	case len(data) > maxFileBytes:
		return nil, &FileError{path, fmt.Errorf("%w: it is larger than %d MiB", ErrCorrupt, maxFileBytes>>20), remedyCorrupt}
	}
	f, err := decode(data)
	switch {
	case errors.Is(err, ErrNewer):
		return nil, &FileError{path, err, remedyNewer}
	case err != nil:
		return nil, &FileError{path, err, remedyCorrupt}
	}
	return f, nil
}

// fileError makes a FileError of what a system call said.
func fileError(path string, err error, remedy string) *FileError {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &FileError{path, err, remedy}
}

// Update changes the file of a codelet while no other process does: change gets
// what is in the file now, an empty File when there is none. A file that cannot
// be read, or whose lock is taken for long, stays as it is and is an error.
func (s *Store) Update(k Key, change func(*File)) error {
	dir, path := s.Dir(), s.Path(k)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fileError(dir, err, remedyWrite)
	}
	unlock, err := s.lock(dir, s.wait)
	if err != nil {
		return err
	}
	defer unlock()
	f, err := s.Load(k)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = &File{Key: k}, nil
		s.prune()
	}
	if err != nil {
		return err
	}
	change(f)
	f.Machine = s.machine
	return s.replace(path, f)
}

// beforeRename is where tests crash.
var beforeRename = func() {}

// replace puts f in the place of a file, all or nothing. The lock is held.
func (s *Store) replace(path string, f *File) (err error) {
	// the umask decides about access by others, so os.CreateTemp will not do
	name := filepath.Join(s.Dir(), fmt.Sprintf(".%d-%x.tmp", os.Getpid(), rand.Uint64()))
	tmp, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fileError(path, err, remedyWrite)
	}
	defer func() {
		if err != nil {
			tmp.Close() // closed already when renaming failed
			os.Remove(tmp.Name())
			err = fileError(path, err, remedyWrite)
		}
	}()
	if err = f.encode(tmp); err != nil {
		return err
	}
	if err = tmp.Sync(); err != nil { // or a crash of the machine could leave an empty file
		return err
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	beforeRename()
	return os.Rename(tmp.Name(), path)
}

// prune removes files left by crashed processes, and the oldest files when there are too
// many. The lock is held, so no process is writing. Files that cannot be removed stay.
func (s *Store) prune() {
	entries, err := os.ReadDir(s.Dir())
	if err != nil {
		return
	}
	type aged struct {
		name string
		time time.Time
	}
	var files []aged
	for _, e := range entries {
		name := filepath.Join(s.Dir(), e.Name())
		if strings.HasSuffix(name, ".tmp") {
			os.Remove(name)
		} else if fi, err := e.Info(); err == nil && strings.HasSuffix(name, ".json") {
			files = append(files, aged{name, fi.ModTime()})
		}
	}
	slices.SortStableFunc(files, func(a, b aged) int { return a.time.Compare(b.time) })
	for len(files) >= maxFiles {
		os.Remove(files[0].name)
		files = files[1:]
	}
}

// List reads all files of the machine, in order of codelet and kernel. Files that
// cannot be read are in the second result, as *FileError.
func (s *Store) List() ([]*File, []error) {
	paths, err := s.paths()
	if err != nil {
		return nil, []error{err}
	}
	var files []*File
	var bad []error
	for _, p := range paths {
		f, err := read(p)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case err != nil:
			bad = append(bad, err)
		default:
			files = append(files, f)
		}
	}
	slices.SortStableFunc(files, func(a, b *File) int {
		return cmp.Or(cmp.Compare(a.Codelet, b.Codelet), cmp.Compare(a.Kernel, b.Kernel))
	})
	return files, bad
}

func (s *Store) paths() ([]string, error) {
	entries, err := os.ReadDir(s.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError(s.Dir(), err, remedyAccess)
	}
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, filepath.Join(s.Dir(), e.Name()))
		}
	}
	return out, nil
}

// Remove removes the files of a codelet, whatever its kernels, or all files for
// "". Files that cannot be read go too, by their names. It returns the paths of
// what it removed. It goes on after a file that it cannot remove.
func (s *Store) Remove(codelet string) ([]string, error) {
	if _, err := os.Stat(s.Dir()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	unlock, err := s.lock(s.Dir(), s.wait)
	if err != nil {
		return nil, err
	}
	defer unlock()
	paths, err := s.paths()
	if err != nil {
		return nil, err
	}
	var removed []string
	var errs []error
	for _, p := range paths {
		if codelet != "" && !s.isOf(p, codelet) {
			continue
		}
		if err := os.Remove(p); err != nil {
			errs = append(errs, fileError(p, err, remedyWrite))
			continue
		}
		removed = append(removed, p)
	}
	return removed, errors.Join(errs...)
}

// isOf reports whether a file is of a codelet.
func (s *Store) isOf(path, codelet string) bool {
	f, err := read(path)
	if err == nil {
		return f.Codelet == codelet
	}
	name := filepath.Base(path)
	i := strings.LastIndexByte(name, '-')
	return i >= 0 && name[:i] == slug(codelet)
}
