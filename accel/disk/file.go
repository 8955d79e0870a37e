package disk

// The file: made, locked, and removed.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/starpush/starpush/accel"
)

// pattern is that of the names of our files.
const pattern = "starpush-*.disk"

// slab is a file that is ours as long as it is open.
type slab struct {
	f    *os.File
	name string // "" when it has none any more
}

// create makes a file in a folder.
func create(dir string) (*slab, error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, cannot(dir, err)
	}
	s := &slab{f: f, name: f.Name()}
	if err := lock(f); err != nil {
		s.close()
		return nil, cannot(dir, err)
	}
	if nameless && os.Remove(s.name) == nil {
		s.name = ""
	}
	return s, nil
}

// cannot says why there is no file in a folder.
func cannot(dir string, err error) error {
	e := &accel.UnavailableError{Driver: "disk", Err: err, Remedy: "name another folder"}
	var path *fs.PathError
	why := err
	if errors.As(err, &path) {
		why = path.Err
	}
	info, statErr := os.Stat(dir)
	switch {
	case errors.Is(statErr, fs.ErrNotExist):
		e.Reason, e.Remedy = fmt.Sprintf("there is no folder %s", dir), "make it, or name another one"
	case statErr == nil && !info.IsDir():
		e.Reason = fmt.Sprintf("%s is no folder", dir)
	default:
		e.Reason = fmt.Sprintf("no file can be made in %s: %v", dir, why)
	}
	return e
}

// close removes the file.
func (s *slab) close() error {
	var err error
	if s.name != "" && nameless {
		err = os.Remove(s.name)
	}
	err = errors.Join(err, s.f.Close())
	if s.name != "" && !nameless { // not while it is open
		err = errors.Join(err, os.Remove(s.name))
	}
	return err
}

// punch gives space back.
func (s *slab) punch(at, bytes int64) { punch(s.f, at, bytes) }

// sweep removes the files in a folder whose processes have ended, as far as it can. A
// file that is left does no harm.
func sweep(dir string) {
	names, err := filepath.Glob(filepath.Join(escape(dir), pattern))
	if err != nil {
		return
	}
	for _, name := range names {
		abandoned(name)
	}
}

// escape makes a folder a pattern that it alone matches.
func escape(dir string) string {
	var out []rune
	for _, r := range dir {
		switch {
		case r == '*' || r == '?' || r == '[':
			out = append(out, '[', r, ']')
		default:
			out = append(out, r)
		}
	}
	return string(out)
}
