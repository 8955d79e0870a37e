package engine

// Checkpoints: data of a program in a folder, from which a later run goes on.
//
// A checkpoint is a generation: a folder with a number, in which a file for each datum and the manifest
// lie. It is written beside, under another name, and renamed when everything is on the disk, so a process that is
// killed leaves complete generations only. The manifest has the checksum of every file, and its own.

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// NamedData is data with the name under which a checkpoint has it.
type NamedData struct {
	Name   string
	Handle *datamgr.Handle // a whole datum
}

// ErrNoCheckpoint is the error of OpenCheckpoint for a folder without a usable generation.
var ErrNoCheckpoint = errors.New("engine: there is no usable checkpoint")

// Checkpoint is a generation that OpenCheckpoint has found. It is immutable.
type Checkpoint struct {
	dir   string
	made  manifest
	state []byte
	// Unusable says why newer generations of the folder are not used; nil: this is the newest.
	Unusable []error
}

// manifest describes the files of a generation.
type manifest struct {
	Version int
	State   savedFile
	Data    []savedData
}

type savedFile struct {
	File  string
	Bytes int64
	Sum   string // SHA-256
}

// savedData is one datum. Elements lie row by row, box by box, in the byte order of the machine.
type savedData struct {
	Name string
	Type string // as Desc.String has it, with the capacity
	savedFile
	Packed  bool                    `json:",omitempty"` // a value of a Go type, as its Pack gave it
	Content []int                   `json:",omitempty"` // sizes, of data with a capacity
	Boxes   [][2][iface.MaxRank]int `json:",omitempty"` // that have a value, if not all do
	Part    bool                    `json:",omitempty"` // Boxes is set, or nothing has a value
	Order   string                  // of bytes
}

const (
	manifestName       = "manifest"
	stateName          = "state"
	unfinished         = ".unfinished-" // prefix of generations that are being written
	generationsKept    = 2
	checkpointVersion  = 1
	checkpointBufBytes = 1 << 16
)

// byteOrder is that of this machine.
var byteOrder = func() string {
	if one := uint16(1); *(*byte)(unsafe.Pointer(&one)) == 1 {
		return "little"
	}
	return "big"
}()

// Checkpoint waits for the tasks of j and writes data, and the bytes in state, to a new generation in dir, which is made
// if need be. When it returns nil the generation is on the disk, and the two newest are kept; after an error those
// from before are. Other goroutines and jobs should submit nothing that writes the data meanwhile. Data may have
// any kind; elements without a value stay so. Names must differ.
//
// Errors are those of the files, a *ModeError for data that is no whole datum and for values of Go types that cannot be packed
// (Interface), and a *FailedDataError for data that a failed task has lost.
func (j *Job) Checkpoint(ctx context.Context, dir string, data []NamedData, state []byte) (err error) {
	seen := map[string]bool{}
	for _, d := range data {
		switch {
		case d.Handle == nil || d.Handle.Parent() != nil:
			return &ModeError{Handle: d.Handle, Mode: iface.R, Other: -1, Message: fmt.Sprintf("%s cannot be in a checkpoint: it is a part of data; name the whole", describe(d.Handle))}
		case seen[d.Name]:
			return fmt.Errorf("engine: two data of the checkpoint are called %q; give each a name of its own", d.Name)
		case d.Handle.Desc().Kind != iface.Void:
			if err := j.packable(d.Handle, iface.R); err != nil {
				return err
			}
		}
		seen[d.Name] = true
	}
	if err := j.Wait(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	old, err := generations(dir)
	if err != nil {
		return err
	}
	n := 1
	if len(old) > 0 {
		n = old[0] + 1
	}
	tmp, err := os.MkdirTemp(dir, unfinished)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(tmp) // the error says what happened
		}
	}()
	m := manifest{Version: checkpointVersion}
	if m.State, err = writeSaved(tmp, stateName, func(w io.Writer) error { _, err := w.Write(state); return err }); err != nil {
		return err
	}
	for i, d := range data {
		s, err := j.saveData(ctx, tmp, fmt.Sprintf("data-%d", i), d)
		if err != nil {
			return err
		}
		m.Data = append(m.Data, s)
	}
	text, err := json.Marshal(&m)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	if _, err = writeSaved(tmp, manifestName, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%x\n%s", sum, text)
		return err
	}); err != nil {
		return err
	}
	if err := syncDir(tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, filepath.Join(dir, strconv.Itoa(n))); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("engine: another program writes checkpoints to %s; give each a folder of its own", dir)
		}
		return err
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	removeOld(dir, append([]int{n}, old...))
	return nil
}

// removeOld removes generations that are not kept, and what processes that were killed have left. A folder that cannot be
// removed is left, which does no harm. all are the generations, the newest first.
func removeOld(dir string, all []int) {
	kept := 0
	for _, n := range all {
		path := filepath.Join(dir, strconv.Itoa(n))
		if kept < generationsKept {
			if complete(path) {
				kept++
				continue
			}
		}
		removeGeneration(path)
	}
	left, _ := filepath.Glob(filepath.Join(dir, unfinished+"*"))
	for _, path := range left {
		_ = os.RemoveAll(path)
	}
}

// complete reports whether a generation has all its files, with the lengths that they had: a look at their bytes, as OpenCheckpoint
// takes it, would take as long as writing them.
func complete(path string) bool {
	m, err := readManifest(path)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(append(files(m.Data), m.State), func(f savedFile) bool {
		fi, err := os.Stat(filepath.Join(path, filepath.Base(f.File)))
		return err != nil || fi.Size() != f.Bytes
	})
}

// removeGeneration removes the manifest first: what is left of a generation then is none.
func removeGeneration(path string) {
	_ = os.Remove(filepath.Join(path, manifestName))
	_ = os.RemoveAll(path)
}

// generations lists the generations in dir, the newest first, whether they are usable or not.
func generations(dir string) (all []int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 && e.IsDir() && strconv.Itoa(n) == e.Name() {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all, nil
}

// writeSaved writes a file of a generation, and returns when it is on the disk.
func writeSaved(dir, name string, fill func(io.Writer) error) (s savedFile, err error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return s, err
	}
	sum := &summed{w: f, sum: sha256.New()}
	out := bufio.NewWriterSize(sum, checkpointBufBytes)
	err = fill(out)
	if e := out.Flush(); err == nil {
		err = e
	}
	if e := f.Sync(); err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return savedFile{name, sum.n, hex.EncodeToString(sum.sum.Sum(nil))}, err
}

// summed counts and sums up what is written.
type summed struct {
	w   io.Writer
	n   int64
	sum hash.Hash
}

func (s *summed) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.n += int64(n)
	s.sum.Write(b[:n])
	return n, err
}

// syncDir returns when the names in a folder are on the disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, fs.ErrPermission) {
		err = nil // folders of this system cannot be synced
	}
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}

// saveData writes one datum.
func (j *Job) saveData(ctx context.Context, dir, file string, d NamedData) (s savedData, err error) {
	h := d.Handle
	desc := h.Desc()
	s = savedData{Name: d.Name, Type: desc.String(), Order: byteOrder}
	fill := func(io.Writer) error { return nil }
	switch {
	case desc.Kind == iface.Void:
	case isObjectHandle(h):
		b, err := j.Pack(ctx, h)
		if err != nil {
			return s, err
		}
		s.Packed = true
		fill = func(w io.Writer) error { _, err := w.Write(b); return err }
	default:
		boxes, all := managed(h).Valued()
		if !all && (len(boxes) == 0 || !h.Resizable()) { // else all of the content has a value afterwards
			s.Part, s.Boxes = true, boxes
		}
		if s.Part && len(boxes) == 0 {
			break
		}
		if !s.Part && !h.Resizable() && j.rt.limited && desc.Bytes() > j.rt.device.Memory().Capacity() {
			a, err := j.AcquireWith(ctx, h, iface.R, AcquireOptions{OrderOnly: true})
			if err != nil {
				return s, err
			}
			defer a.Release()
			fill = func(w io.Writer) error { return a.Rows(func(b *iface.Buffer) error { return writeElements(w, b) }) }
			break
		}
		a, err := j.AcquirePartial(ctx, h)
		if err != nil {
			return s, err
		}
		defer a.Release()
		if h.Resizable() {
			s.Content = a.Buffer().Shape()
		}
		fill = func(w io.Writer) error {
			if !s.Part {
				return writeElements(w, a.Buffer())
			}
			for i := range boxes {
				b := *a.Buffer()
				narrow(&b, &boxes[i])
				if err := writeElements(w, &b); err != nil {
					return err
				}
			}
			return nil
		}
	}
	s.savedFile, err = writeSaved(dir, file, fill)
	return s, err
}

// narrow makes b, which is a whole datum, the elements of a box of it.
func narrow(b *iface.Buffer, box *[2][iface.MaxRank]int) {
	for k := range int(b.Rank) {
		hi := min(box[1][k], b.Dim[k])
		lo := min(box[0][k], hi)
		b.Ptr = unsafe.Add(b.Ptr, uintptr(lo*b.Stride[k])*b.Elem.Size())
		b.Dim[k] = hi - lo
	}
}

// eachLine calls fn for the bytes of each line of b.
func eachLine(b *iface.Buffer, fn func([]byte) error) error {
	if b.Len() == 0 {
		return nil
	}
	size := int(b.Elem.Size())
	n := 1
	if b.Rank > 0 {
		n = b.Dim[b.Rank-1]
	}
	for i := range b.Lines() {
		off, rest := 0, i
		for k := int(b.Rank) - 2; k >= 0; k-- {
			off += rest % b.Dim[k] * b.Stride[k]
			rest /= b.Dim[k]
		}
		if b.Rank == 0 || n == 1 || b.Stride[b.Rank-1] == 1 {
			if err := fn(unsafe.Slice((*byte)(unsafe.Add(b.Ptr, off*size)), n*size)); err != nil {
				return err
			}
			continue
		}
		for k := range n {
			if err := fn(unsafe.Slice((*byte)(unsafe.Add(b.Ptr, (off+k*b.Stride[b.Rank-1])*size)), size)); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeElements(w io.Writer, b *iface.Buffer) error {
	return eachLine(b, func(line []byte) error { _, err := w.Write(line); return err })
}

func readElements(r io.Reader, b *iface.Buffer) error {
	return eachLine(b, func(line []byte) error { _, err := io.ReadFull(r, line); return err })
}

// OpenCheckpoint returns the newest generation in dir whose files are all there and unchanged. The error is ErrNoCheckpoint
// if there is none, or dir does not exist, or that of reading the folder.
func OpenCheckpoint(dir string) (*Checkpoint, error) {
	all, err := generations(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s, which does not exist", ErrNoCheckpoint, dir)
	}
	if err != nil {
		return nil, err
	}
	var bad []error
	for _, n := range all {
		path := filepath.Join(dir, strconv.Itoa(n))
		c, err := openGeneration(path)
		if err == nil {
			c.Unusable = bad
			return c, nil
		}
		bad = append(bad, fmt.Errorf("%s: %w", path, err))
	}
	return nil, errors.Join(append([]error{fmt.Errorf("%w in %s", ErrNoCheckpoint, dir)}, bad...)...)
}

func openGeneration(path string) (*Checkpoint, error) {
	m, err := readManifest(path)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{dir: path, made: *m}
	for _, f := range append([]savedFile{m.State}, files(m.Data)...) {
		if err := c.verify(f, io.Discard); err != nil {
			return nil, err
		}
	}
	var state bytes.Buffer
	if err := c.verify(m.State, &state); err != nil {
		return nil, err
	}
	c.state = state.Bytes()
	return c, nil
}

func files(data []savedData) (all []savedFile) {
	for i := range data {
		all = append(all, data[i].savedFile)
	}
	return all
}

// readManifest reads the manifest of a generation.
func readManifest(path string) (*manifest, error) {
	b, err := os.ReadFile(filepath.Join(path, manifestName))
	if err != nil {
		return nil, err
	}
	sum, text, _ := strings.Cut(string(b), "\n")
	if is := sha256.Sum256([]byte(text)); hex.EncodeToString(is[:]) != sum {
		return nil, errors.New("its manifest is damaged")
	}
	m := &manifest{}
	if err := json.Unmarshal([]byte(text), m); err != nil {
		return nil, fmt.Errorf("its manifest is damaged: %w", err)
	}
	if m.Version != checkpointVersion {
		return nil, fmt.Errorf("it was written by another version of starpush: format %d, and this one reads %d", m.Version, checkpointVersion)
	}
	return m, nil
}

// verify copies a file to w, and reports whether it is as it was written.
func (c *Checkpoint) verify(s savedFile, w io.Writer) error {
	f, err := os.Open(filepath.Join(c.dir, filepath.Base(s.File)))
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(sum, w), f)
	if err != nil {
		return err
	}
	if n != s.Bytes || hex.EncodeToString(sum.Sum(nil)) != s.Sum {
		return fmt.Errorf("its file %s is damaged", s.File)
	}
	return nil
}

// Dir returns the folder of the generation.
func (c *Checkpoint) Dir() string { return c.dir }

// State returns the bytes that Job.Checkpoint was given. They are the caller's.
func (c *Checkpoint) State() []byte { return bytes.Clone(c.state) }

// Names lists the data of the checkpoint, in the order that Job.Checkpoint was given.
func (c *Checkpoint) Names() (names []string) {
	for i := range c.made.Data {
		names = append(names, c.made.Data[i].Name)
	}
	return names
}

// Restore gives h, a whole datum, the value that the checkpoint has under a name: its place in the order is that of the
// call, as with Acquire in mode W. Elements that had no value keep the one that they have. Read-only data must have the value
// already, and is left as it is. Errors, after which the data may have lost its value: data with other sizes or another element type, or
// no such name; those of the file and of Acquire.
func (c *Checkpoint) Restore(ctx context.Context, j *Job, name string, h *datamgr.Handle) (err error) {
	i := slices.IndexFunc(c.made.Data, func(d savedData) bool { return d.Name == name })
	if i < 0 {
		return fmt.Errorf("engine: the checkpoint in %s has no data %q; it has %s", c.dir, name, strings.Join(c.Names(), ", "))
	}
	s := &c.made.Data[i]
	if h == nil || h.Parent() != nil {
		return &ModeError{Handle: h, Mode: iface.W, Other: -1, Message: fmt.Sprintf("%s cannot be restored: it is no whole datum", describe(h))}
	}
	desc := h.Desc()
	if t := desc.String(); t != s.Type || s.Order != byteOrder || s.Packed != isObjectHandle(h) {
		return fmt.Errorf("engine: the checkpoint in %s has %q as %s (bytes in %s-endian order), and %s is %s; restore data of the same type on a machine with the same order", c.dir, name, s.Type, s.Order, describe(h), t)
	}
	if desc.Kind == iface.Void || h.ReadOnly() || s.Part && len(s.Boxes) == 0 {
		return nil
	}
	f, err := os.Open(filepath.Join(c.dir, filepath.Base(s.File)))
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, checkpointBufBytes)
	if s.Packed {
		b, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		return j.Unpack(ctx, h, b)
	}
	if !s.Part {
		return j.restorePart(ctx, h, s.Content, in)
	}
	v, err := j.rt.Partition(h, boxesOf(s.Boxes))
	if err != nil {
		return err
	}
	defer j.rt.EndView(v)
	for _, p := range v.Parts {
		if err := j.restorePart(ctx, p, nil, in); err != nil {
			return err
		}
	}
	return nil
}

// restorePart reads the elements of h, which may be a part.
func (j *Job) restorePart(ctx context.Context, h *datamgr.Handle, content []int, in io.Reader) error {
	a, err := j.Acquire(ctx, h, iface.W)
	if err != nil {
		return err
	}
	if content != nil {
		err = a.Resize(content...)
	}
	if err == nil {
		err = readElements(in, a.Buffer())
	}
	if err != nil {
		return errors.Join(err, a.Fail(err))
	}
	return a.Release()
}

// boxesOf is a filter whose parts are these boxes.
type boxesOf [][2][iface.MaxRank]int

func (boxesOf) Name() string { return "boxes of a checkpoint" }

func (f boxesOf) Split(parent iface.Desc) (filter.Split, error) {
	s := filter.Split{Dims: []int{len(f)}}
	for _, b := range f {
		s.Parts = append(s.Parts, filter.Part{Lo: b[0], Hi: b[1], Drop: -1})
	}
	return s, nil
}
