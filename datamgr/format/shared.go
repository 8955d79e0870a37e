package format

import (
	"bufio"
	"io"
	"io/fs"

	"github.com/starpush/starpush/datamgr/iface"
)

// Shared is an .npy or .bin file that several processes fill together, each with other elements.
type Shared struct {
	name  string
	desc  iface.Desc
	start int64 // of the elements
	file  SharedFile
}

// SharedFile is a file that is written in any order.
type SharedFile = interface {
	io.WriterAt
	io.Closer
}

// temporary is a new file that other processes can open before it is complete, under the name that Temporary returns.
type temporary interface {
	SharedFile
	Temporary() string
}

// opensTemporary is a file system that opens such files of other processes.
type opensTemporary interface {
	OpenTemporary(name string) (SharedFile, error)
}

// CanShare reports whether processes can fill a file together: if InRows is true of its name, fsys has methods Stat and OpenTemporary(string) (SharedFile, error), and
// name is a regular file or none. New files of fsys must have WriteAt and Temporary() string, too.
func CanShare(fsys Creator, name string) bool {
	_, opens := fsys.(opensTemporary)
	files, ok := fsys.(fs.StatFS)
	if !opens || !ok || !InRows(name) {
		return false
	}
	old, err := files.Stat(name)
	return err != nil || old.Mode().IsRegular() // a pipe would wait for its reader
}

// CreateShared begins to save data like d as a file that others fill, too, with OpenShared of the name that is returned. The others
// close it first; the file appears under its name with the Close of this one. A nil file and no error mean that it cannot be shared.
func CreateShared(fsys Creator, name string, d iface.Desc) (s *Shared, temporaryName string, err error) {
	if !CanShare(fsys, name) {
		return nil, "", nil
	}
	f, err := fsys.Create(name)
	if err != nil {
		return nil, "", &Error{File: name, Err: err}
	}
	file, ok := f.(temporary)
	if !ok {
		abort(f)
		return nil, "", nil
	}
	s = newShared(name, d, file)
	if head := s.head(); len(head) > 0 {
		if _, err := file.WriteAt(head, 0); err != nil {
			s.Abort()
			return nil, "", &Error{File: name, Err: err}
		}
	}
	return s, file.Temporary(), nil
}

// OpenShared opens a file that another process has begun with CreateShared, for the same name and data.
func OpenShared(fsys fs.FS, temporaryName, name string, d iface.Desc) (*Shared, error) {
	o, ok := fsys.(opensTemporary)
	if !ok {
		return nil, &Error{File: name, Err: &fs.PathError{Op: "open", Path: temporaryName, Err: fs.ErrInvalid}}
	}
	f, err := o.OpenTemporary(temporaryName)
	if err != nil {
		return nil, &Error{File: name, Err: err}
	}
	return newShared(name, d, f), nil
}

func newShared(name string, d iface.Desc, f SharedFile) *Shared {
	s := &Shared{name: name, desc: d, file: f}
	s.start = int64(len(s.head()))
	return s
}

// head returns what is before the elements.
func (s *Shared) head() []byte {
	if Suffix(s.name) == ".npy" {
		return npyHeader(s.desc.Elem, s.desc.Shape())
	}
	return nil
}

// Write writes the elements of b, which are those of the data from lo on.
func (s *Shared) Write(lo []int, b *iface.Buffer) error {
	size := int64(s.desc.Elem.Size())
	err := s.desc.Runs(lo, b.Shape(), b.Contiguous(), func(first, n, at int) error {
		w := bufio.NewWriterSize(io.NewOffsetWriter(s.file, s.start+int64(first)*size), 16)
		line := iface.Buffer{Desc: iface.Desc{Kind: iface.Vector, Elem: b.Elem, Rank: 1}}
		line.Dim[0], line.Stride[0], line.Ptr = n, 1, b.At(at)
		if err := writeRaw(w, &line); err != nil {
			return err
		}
		return w.Flush()
	})
	return (&Input{name: s.name}).located(err)
}

// Close completes the file if it was begun here, and otherwise only ends what this process writes.
func (s *Shared) Close() error {
	if err := s.file.Close(); err != nil {
		return &Error{File: s.name, Err: err}
	}
	return nil
}

// Abort drops the file if it was begun here; if not it is Close.
func (s *Shared) Abort() {
	if a, ok := s.file.(interface{ Abort() }); ok {
		a.Abort()
		return
	}
	_ = s.file.Close()
}
