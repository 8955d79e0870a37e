package format

// NumPy's .npz files: zip archives with an .npy file for each array.

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/starpush/starpush/datamgr/iface"
)

// mostDeflated bounds how many bytes a byte of an archive, or of an image, can unpack to:
// the format allows no more, so that a file that claims to hold more lies.
const mostDeflated = 1032

func openNpz(in *Input) error {
	z, err := in.archive()
	if err != nil {
		return err
	}
	m, err := member(z, in.part)
	if err != nil {
		return err
	}
	start, err := m.DataOffset()
	if err != nil {
		return in.badArchive(err)
	}
	size := int64(m.UncompressedSize64)
	all, err := in.regular()
	if err != nil {
		return err
	}
	if packed := m.CompressedSize64; size < 0 || packed > uint64(all-start) || m.UncompressedSize64/mostDeflated > packed ||
		m.Method == zip.Store && m.UncompressedSize64 != packed {
		return &Error{At: true, Byte: start, Want: fmt.Sprintf("an array that unpacks to %d bytes", m.UncompressedSize64), Got: fmt.Sprintf("%d bytes that cannot", packed)}
	}
	r, err := m.Open()
	if err != nil {
		return in.badArchive(err)
	}
	in.file = &memberFile{File: in.file, member: r}
	err = in.npy(r, func(read, _ int64) (io.Reader, int64) { return r, size - read })
	in.plain = false // it may be compressed, and has a checksum
	return err
}

// memberFile closes a member before its archive.
type memberFile struct {
	fs.File
	member io.Closer
}

func (f *memberFile) Close() error {
	f.member.Close() // what was wrong was found in reading
	return f.File.Close()
}

// archive reads the list of members.
func (in *Input) archive() (*zip.Reader, error) {
	size, err := in.regular()
	if err != nil {
		return nil, err
	}
	var r io.ReaderAt
	if at, ok := in.file.(io.ReaderAt); ok {
		if _, err := at.ReadAt(nil, 0); !errors.Is(err, errors.ErrUnsupported) {
			r = at
		}
	}
	if r == nil {
		all, err := io.ReadAll(io.LimitReader(in.file, size))
		if err != nil {
			return nil, err
		}
		r, size = bytes.NewReader(all), int64(len(all))
	}
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // of paths nothing is written
		return nil, in.badArchive(err)
	}
	return z, nil
}

// regular returns the size of the file, which must have one.
func (in *Input) regular() (int64, error) {
	st, err := in.file.Stat()
	if err != nil {
		return 0, err
	}
	if st.IsDir() {
		if _, err := in.file.Read(make([]byte, 1)); err != nil {
			return 0, err // that of the file system
		}
	}
	if !st.Mode().IsRegular() {
		return 0, &Error{Want: "a regular file, as the format is not read from its beginning to its end", Got: "a pipe or a device"}
	}
	return st.Size(), nil
}

// badArchive words the errors of package zip.
func (in *Input) badArchive(err error) error {
	switch {
	case errors.Is(err, zip.ErrFormat) || endOfFile(err):
		return &Error{Want: "a NumPy archive, which is a zip file", Got: "something else, or a part of one"}
	case errors.Is(err, zip.ErrAlgorithm):
		return &Error{Want: "an array that is stored or deflated", Got: "another compression"}
	}
	return err
}

// member finds an array of an archive.
func member(z *zip.Reader, name string) (*zip.File, error) {
	var names []string
	var found *zip.File
	for _, f := range z.File {
		array, ok := bytes.CutSuffix([]byte(f.Name), []byte(".npy"))
		if !ok {
			continue
		}
		if string(array) == name {
			if found != nil {
				return nil, &Error{Want: "one array " + quote(array), Got: "two"}
			}
			found = f
		}
		names = append(names, string(array))
	}
	switch {
	case found != nil:
		return found, nil
	case len(names) == 0:
		return nil, &Error{Want: "an array " + quote([]byte(name)), Got: "no array"}
	}
	return nil, &Error{Want: "an array " + quote([]byte(name)), Got: "the arrays " + shortList(names)}
}

// saveMember writes an archive with the array that name says, and the other arrays that the
// file has now.
func saveMember(fsys Creator, name string, b *iface.Buffer) error {
	file, part := Split(name)
	in := &Input{name: name}
	old, err := in.others(fsys, file)
	if err != nil {
		return in.located(err)
	}
	defer in.Close()
	return saveFile(fsys, file, name, func(w io.Writer) error {
		z := zip.NewWriter(w)
		for _, f := range old {
			if f.Name == part+".npy" {
				continue
			}
			if err := z.Copy(f); err != nil {
				return in.badArchive(err)
			}
		}
		m, err := z.CreateHeader(&zip.FileHeader{Name: part + ".npy", Method: zip.Store})
		if err != nil {
			return err
		}
		if err := buffered(m, b, writeNpy); err != nil {
			return err
		}
		return z.Close()
	})
}

// others opens the file that a save will replace, and returns what it holds. A pipe
// or a device holds nothing.
func (in *Input) others(fsys Creator, file string) ([]*zip.File, error) {
	readable, ok := fsys.(fs.FS)
	if !ok {
		return nil, errors.New("other arrays of the file would be lost, as the file system cannot be read")
	}
	st, err := fs.Stat(readable, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular() || st.Size() == 0:
		return nil, nil
	}
	if in.file, err = readable.Open(file); err != nil {
		return nil, err
	}
	z, err := in.archive()
	if err != nil {
		in.Close()
		return nil, err
	}
	return z.File, nil
}
