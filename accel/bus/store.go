package bus

// Stores: folders of tables that several processes use at once.

import (
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
	"sync"
	"time"

	"github.com/starpush/starpush/accel"
)

// maxFileBytes bounds the size of a file.
const maxFileBytes = 4 << 20

// leftover is the age of a temporary file that a crash left.
const leftover = time.Hour

// Store keeps the tables of one machine. It is safe for concurrent use, by several
// processes too: a file is replaced as a whole, and those that measure at the same
// time find the same, or near enough, so the last one wins.
type Store struct {
	dir     string
	machine string
	mu      sync.Mutex // held while something is measured: one at a time
}

// Folder returns the folder for tables: what STARPUSH_BUS_DIR says, or starpush/bus
// in the user's cache folder. getenv is as os.Getenv.
func Folder(getenv func(string) string) (string, error) {
	if dir := getenv("STARPUSH_BUS_DIR"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("measured links have no folder (%w): name one with STARPUSH_BUS_DIR", err)
	}
	return filepath.Join(dir, "starpush", "bus"), nil
}

// NewStore returns the store of a machine in a folder. Nothing is created before
// something was measured.
func NewStore(dir, machine string) (*Store, error) {
	if dir == "" {
		return nil, errors.New("measured links have no folder: name one with STARPUSH_BUS_DIR")
	}
	return &Store{dir: dir, machine: machine}, nil
}

// FileError says what is wrong with a file and what to do about it.
type FileError struct {
	File   string
	Err    error
	Remedy string
}

func (e *FileError) Error() string {
	return fmt.Sprintf("measured links %s: %v; %s", e.File, e.Err, e.Remedy)
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

const (
	remedyAccess  = "make it readable, or name another folder with STARPUSH_BUS_DIR"
	remedyWrite   = "make the folder writable, or name another with STARPUSH_BUS_DIR"
	remedyCorrupt = "delete it to measure anew"
	remedyNewer   = "use that version, or another folder by STARPUSH_BUS_DIR, or delete the file to measure anew"
)

func fileError(path string, err error, remedy string) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &FileError{path, err, remedy}
}

// Path is the file of a set of devices.
func (s *Store) Path(main accel.Memory, devices []accel.Device) string {
	return s.path(main.Name(), describe(devices))
}

func (s *Store) path(main string, devices []Device) string {
	key := fmt.Appendf(nil, "%q %q", s.machine, main)
	for _, d := range devices {
		key = fmt.Appendf(key, " %q %q %q %q", d.Name, d.Arch, d.Model, d.Memory)
	}
	sum := sha256.Sum256(key)
	return filepath.Join(s.dir, slug(s.machine)+"-"+hex.EncodeToString(sum[:8])+".json")
}

// slug makes the beginning of a file name of any text.
func slug(text string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A' // some file systems do not tell them apart
		}
		return '-'
	}, text)
	return "bus-" + out[:min(len(out), 60)]
}

// Get returns the table of devices: from its file, or measured now and kept. There
// may be a table beside an error: it is right as far as it goes, and was not, or not
// all, read or kept.
func (s *Store) Get(main accel.Memory, devices []accel.Device) (*Table, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.Load(main, devices)
	switch {
	case err == nil:
		return t, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrCorrupt): // nothing is lost
		return s.renew(main, devices)
	}
	t, failed := Measure(s.machine, main, devices)
	return t, errors.Join(err, failed)
}

// Renew measures devices again and keeps the table.
func (s *Store) Renew(main accel.Memory, devices []accel.Device) (*Table, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renew(main, devices)
}

func (s *Store) renew(main accel.Memory, devices []accel.Device) (*Table, error) {
	t, err := Measure(s.machine, main, devices)
	if err != nil { // it may do better another time
		return t, err
	}
	return t, s.save(t)
}

// Load reads the table of devices. Errors are *FileError; they wrap fs.ErrNotExist
// when it was never measured, ErrCorrupt or ErrNewer.
func (s *Store) Load(main accel.Memory, devices []accel.Device) (*Table, error) {
	path := s.Path(main, devices)
	// Opening a pipe that has no writer would never return.
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return nil, fileError(path, fmt.Errorf("%w: it is no regular file", ErrCorrupt), remedyCorrupt)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err, remedyAccess)
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, fileError(path, err, remedyAccess)
	}
	if len(b) > maxFileBytes {
		return nil, fileError(path, fmt.Errorf("%w: it is larger than %s", ErrCorrupt, accel.Bytes(maxFileBytes)), remedyCorrupt)
	}
	t, err := decode(b)
	switch {
	case errors.Is(err, ErrNewer):
		return nil, fileError(path, err, remedyNewer)
	case err != nil:
		return nil, fileError(path, err, remedyCorrupt)
	case t.Machine != s.machine || t.Main != main.Name() || !slices.Equal(t.Devices, describe(devices)):
		return nil, fileError(path, fmt.Errorf("%w of these devices: it is of others", ErrCorrupt), remedyCorrupt)
	}
	return t, nil
}

// save puts t in the place of its file, all or nothing.
func (s *Store) save(t *Table) (err error) {
	path := s.path(t.Main, t.Devices)
	defer func() {
		if err != nil {
			err = fileError(path, err, remedyWrite)
		}
	}()
	b, err := encode(t)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return err
	}
	s.tidy()
	// os.CreateTemp will not do: the umask decides about access by others
	name := filepath.Join(s.dir, fmt.Sprintf(".%d-%x.tmp", os.Getpid(), rand.Uint64()))
	tmp, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
	if err == nil {
		err = tmp.Sync() // or a crash of the machine could leave an empty file
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(name, path)
	}
	if err != nil {
		os.Remove(name)
	}
	return err
}

// tidy removes files that crashed processes left, as far as it can.
func (s *Store) tidy() {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if fi, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".tmp") && time.Since(fi.ModTime()) > leftover {
			os.Remove(filepath.Join(s.dir, e.Name()))
		}
	}
}
