package engine

// Checkpoints: data of a program in a folder, from which a later run goes on.
//
// A checkpoint is a generation: a folder with a number, in which a file for each datum and the manifest
// lie, and a mark, which no folder of a user has. It is written beside, under another name, and renamed when everything is on the disk, so a process that is
// killed leaves complete generations only. The manifest has the checksum of every file, and its own.
//
// The ranks of one program write a generation together, into one folder that all see. Each writes files of its own, and
// rank 0 the manifest, once all have synced theirs.

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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

// ErrNoCheckpoint is the error of OpenCheckpoint for a folder without a generation: nothing was written there, or nothing was finished.
var ErrNoCheckpoint = errors.New("engine: there is no checkpoint")

// UnusableCheckpointsError is the error of OpenCheckpoint for a folder whose generations are all damaged. A program that starts from the
// beginning instead, and writes checkpoints there, removes them.
type UnusableCheckpointsError struct {
	Dir     string
	Reasons []error // of each generation, the newest first
}

func (e *UnusableCheckpointsError) Error() string {
	const most = 3
	var text strings.Builder
	fmt.Fprintf(&text, "engine: %s has checkpoints, and none can be used", e.Dir)
	for i, r := range e.Reasons {
		if i == most {
			fmt.Fprintf(&text, "; and %d more", len(e.Reasons)-most)
			break
		}
		fmt.Fprintf(&text, "%c %v", ":;"[min(i, 1)], r)
	}
	return text.String() + "; put back a copy of them, or move the folder away and start from the beginning"
}

func (e *UnusableCheckpointsError) Unwrap() []error { return e.Reasons }

// Checkpoint is a generation that OpenCheckpoint has found. It is immutable.
type Checkpoint struct {
	dir   string
	made  manifest
	state []byte
	// Unusable says why newer generations of the folder are not used; nil: this is the newest.
	Unusable []error
}

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
// any kind; elements without a value stay so. Names must differ. The folder belongs to j until it is closed.
//
// Errors are those of the files, a *ModeError for data that is no whole datum and for values of Go types that cannot be packed
// (Interface), a *FailedDataError for data that a failed task has lost, and a *CheckpointInUseError for the folder of another job.
func (j *Job) Checkpoint(ctx context.Context, dir string, data []NamedData, state []byte) error {
	return j.CheckpointGroup(ctx, dir, data, state, CheckpointGroup{Size: 1, Gather: func(_ context.Context, mine []byte) ([][]byte, error) { return [][]byte{mine}, nil }})
}

// CheckpointGroup is how the ranks of one program write a checkpoint together. Package engine/cluster has one.
type CheckpointGroup struct {
	Rank, Size int
	// Gather gives all ranks the bytes that each passes, in the order of the ranks.
	Gather func(ctx context.Context, mine []byte) ([][]byte, error)
	// Share returns the boxes of whole data that this rank writes, and the number that the ranks have given to it, from 1; 0: they have
	// given it none, and rank 0 writes what it has of it. nil: that holds for all data.
	Share func(h *datamgr.Handle) (boxes [][2][iface.MaxRank]int, number int)
	// Numbers is how many numbers they have given to data.
	Numbers int
}

// CheckpointError says that a rank could not write its part of a checkpoint. All ranks return the same.
type CheckpointError struct {
	Rank int
	Err  error // on other ranks its text alone
}

func (e *CheckpointError) Error() string {
	return fmt.Sprintf("on rank %d: %s", e.Rank, strings.TrimPrefix(e.Err.Error(), "engine: "))
}

func (e *CheckpointError) Unwrap() error { return e.Err }

// together calls fn and returns what it returned on each rank, or a *CheckpointError of the first rank where it failed.
func together[T any](ctx context.Context, g *CheckpointGroup, fn func() (T, error)) ([]T, error) {
	type outcome struct {
		Value  T
		Failed string
	}
	v, failed := fn()
	if g.Size == 1 {
		return []T{v}, failed
	}
	mine := outcome{Value: v}
	if failed != nil {
		mine = outcome{Failed: strings.TrimPrefix(failed.Error(), "engine: ")}
		var pe *fs.PathError
		if errors.As(failed, &pe) { // the name of a folder that is being written says nothing
			mine.Failed = fmt.Sprintf("%s %s: %v", pe.Op, filepath.Base(pe.Path), pe.Err)
		}
	}
	b, err := json.Marshal(&mine)
	if err != nil {
		return nil, err
	}
	all, err := g.Gather(ctx, b)
	if err != nil {
		return nil, err
	}
	values := make([]T, len(all))
	for r, b := range all {
		var o outcome
		if err := json.Unmarshal(b, &o); err != nil {
			return nil, &CheckpointError{r, err}
		}
		if o.Failed != "" {
			e := &CheckpointError{r, errors.New(o.Failed)}
			if r == g.Rank {
				e.Err = &textError{o.Failed, failed}
			}
			return nil, e
		}
		values[r] = o.Value
	}
	return values, nil
}

// textError is an error with another text.
type textError struct {
	text string
	err  error
}

func (e *textError) Error() string { return e.text }

func (e *textError) Unwrap() error { return e.err }

// CheckpointGroup is Checkpoint of a program on several ranks, which all call it, with the same data in the same order. The state is that of rank 0.
// Each rank writes what Share returns there to the folder of rank 0, which it has to see; the generation becomes valid when all have. If one cannot, all
// return the same *CheckpointError. Errors about data are the same on all ranks. Nothing is waited for that other ranks do.
func (j *Job) CheckpointGroup(ctx context.Context, dir string, data []NamedData, state []byte, g CheckpointGroup) error {
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
	var old []int
	made, err := together(ctx, &g, func() (tmp string, err error) {
		if err := j.Wait(ctx); err != nil || g.Rank > 0 {
			return "", err
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return "", err
		}
		if err := j.LockCheckpoints(dir); err != nil {
			return "", err
		}
		if old, err = generations(dir); err != nil {
			return "", err
		}
		return beginGeneration(dir)
	})
	if err != nil {
		return err
	}
	tmp := made[0]
	done := false
	if g.Rank == 0 {
		defer func() {
			if !done {
				removeGeneration(tmp) // the error says what happened
			}
		}()
	}
	saved, err := together(ctx, &g, func() ([]savedData, error) { return j.saveShare(ctx, tmp, data, &g) })
	if err != nil {
		return err
	}
	_, err = together(ctx, &g, func() (none struct{}, err error) {
		if g.Rank > 0 {
			return none, nil
		}
		m := manifest{Version: checkpointVersion, Ranks: g.Size, Numbers: g.Numbers, Data: slices.Concat(saved...)}
		if err := writeManifest(tmp, &m, state); err != nil {
			return none, err
		}
		newest := slices.Max(append([]int{0}, old...))
		now, err := generations(dir)
		if err != nil {
			return none, err
		}
		if len(now) > 0 && now[0] > newest { // on a system without locks
			return none, &CheckpointInUseError{Dir: dir}
		}
		n, err := nextGeneration(dir, newest)
		if err != nil {
			return none, err
		}
		if err := os.Rename(tmp, filepath.Join(dir, strconv.Itoa(n))); err != nil {
			if errors.Is(err, fs.ErrExist) {
				return none, &CheckpointInUseError{Dir: dir}
			}
			return none, err
		}
		done = true
		if err := syncDir(dir); err != nil {
			return none, err
		}
		removeOld(dir, append([]int{n}, old...))
		return none, nil
	})
	return err
}

// saveShare writes the files of this rank, and returns when they are on the disk.
func (j *Job) saveShare(ctx context.Context, tmp string, data []NamedData, g *CheckpointGroup) (all []savedData, err error) {
	if _, err := os.Stat(tmp); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("it does not see the folder %s, which rank 0 has made; all ranks need one file system, and the same working folder", tmp)
	}
	for i, d := range data {
		var boxes [][2][iface.MaxRank]int
		var number int
		if g.Share != nil {
			boxes, number = g.Share(d.Handle)
		}
		if g.Rank > 0 && (number == 0 || len(boxes) == 0) {
			continue
		}
		file := fmt.Sprintf("data-%d", i)
		if g.Rank > 0 {
			file += fmt.Sprintf("-%d", g.Rank)
		}
		s := savedData{Name: d.Name, Rank: g.Rank, Number: number}
		if number == 0 {
			var all bool
			boxes, all = managed(d.Handle).Valued()
			if s.Part = !all && (len(boxes) == 0 || !d.Handle.Resizable()); s.Part { // else all of the content has a value afterwards
				s.Boxes = boxes
			}
		} else if s.Part = len(boxes) != 1 || boxes[0] != wholeBox(d.Handle); s.Part {
			s.Boxes = boxes
		}
		if err := j.saveData(ctx, tmp, file, d.Handle, &s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, syncDir(tmp)
}

// wholeBox is all elements of h, which is a whole datum.
func wholeBox(h *datamgr.Handle) (box [2][iface.MaxRank]int) {
	d := h.Desc()
	copy(box[1][:d.Rank], d.Dim[:d.Rank])
	return box
}

// saveData writes one datum, or the boxes of it in s.
func (j *Job) saveData(ctx context.Context, dir, file string, h *datamgr.Handle, s *savedData) (err error) {
	desc := h.Desc()
	s.Type, s.Order, s.Packed = desc.String(), byteOrder, isObjectHandle(h)
	fill := func(io.Writer) error { return nil }
	switch {
	case desc.Kind == iface.Void || s.Part && len(s.Boxes) == 0:
	case isObjectHandle(h):
		b, err := j.Pack(ctx, h)
		if err != nil {
			return err
		}
		fill = func(w io.Writer) error { _, err := w.Write(b); return err }
	case s.Part:
		v, err := j.rt.Partition(h, boxesOf(s.Boxes))
		if err != nil {
			return err
		}
		defer j.rt.EndView(v)
		fill = func(w io.Writer) error {
			for _, p := range v.Parts {
				a, err := j.Acquire(ctx, p, iface.R)
				if err != nil {
					return err
				}
				err = writeElements(w, a.Buffer())
				if e := a.Release(); err == nil {
					err = e
				}
				if err != nil {
					return err
				}
			}
			return nil
		}
	case !h.Resizable() && j.rt.limited && desc.Bytes() > j.rt.device.Memory().Capacity():
		a, err := j.AcquireWith(ctx, h, iface.R, AcquireOptions{OrderOnly: true})
		if err != nil {
			return err
		}
		defer a.Release()
		fill = func(w io.Writer) error { return a.Rows(func(b *iface.Buffer) error { return writeElements(w, b) }) }
	default:
		a, err := j.AcquirePartial(ctx, h)
		if err != nil {
			return err
		}
		defer a.Release()
		if h.Resizable() {
			s.Content = a.Buffer().Shape()
		}
		fill = func(w io.Writer) error { return writeElements(w, a.Buffer()) }
	}
	s.savedFile, err = writeSaved(dir, file, fill)
	return err
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
// if there is no generation, or dir does not exist; a *UnusableCheckpointsError if all are damaged; or that of reading the folder.
func OpenCheckpoint(dir string) (*Checkpoint, error) {
	all, err := generations(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s, which does not exist", ErrNoCheckpoint, dir)
	}
	if err != nil {
		if fi, e := os.Stat(dir); e == nil && !fi.IsDir() {
			return nil, fmt.Errorf("engine: %s is a file; name the folder with the checkpoints", dir)
		}
		if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fmt.Errorf("engine: the checkpoints in %s cannot be read: %w; name a folder that this user may read", dir, err)
	}
	if len(all) == 0 && made(dir) {
		return nil, fmt.Errorf("engine: %s is a checkpoint itself; name the folder that it lies in", dir)
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
	if len(bad) > 0 {
		return nil, &UnusableCheckpointsError{dir, bad}
	}
	return nil, fmt.Errorf("%w in %s", ErrNoCheckpoint, dir)
}

func openGeneration(path string) (*Checkpoint, error) {
	c, err := OpenGeneration(path)
	if err != nil {
		return nil, err
	}
	for _, f := range files(c.made.Data) {
		if err := c.verify(f, io.Discard); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// OpenGeneration returns the generation in the folder that Checkpoint.Dir has returned, without a look at the bytes of its data: for ranks other than
// the one that has called OpenCheckpoint.
func OpenGeneration(path string) (*Checkpoint, error) {
	m, err := readManifest(path)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{dir: path, made: *m}
	var state bytes.Buffer
	if err := c.verify(m.State, &state); err != nil {
		return nil, err
	}
	c.state = state.Bytes()
	return c, nil
}

// verify copies a file to w, and reports whether it is as it was written.
func (c *Checkpoint) verify(s savedFile, w io.Writer) error {
	f, err := os.Open(filepath.Join(c.dir, filepath.Base(s.File)))
	if err != nil {
		return unreadable(err)
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(sum, w), f)
	if err != nil {
		return unreadable(err)
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
		if c.made.Data[i].Rank == 0 { // which has written something of all
			names = append(names, c.made.Data[i].Name)
		}
	}
	return names
}

// Sum returns a hash of the generation: two with the same have the same data and state.
func (c *Checkpoint) Sum() string { return c.made.sum }

// Ranks returns how many ranks wrote the checkpoint: 1 for a program alone.
func (c *Checkpoint) Ranks() int { return c.made.Ranks }

// Numbers returns how many numbers the ranks had given to data, and Number that of one, 0 for none. See CheckpointGroup.
func (c *Checkpoint) Numbers() int { return c.made.Numbers }

// Number is described at Numbers.
func (c *Checkpoint) Number(name string) int {
	for i := range c.made.Data {
		if s := &c.made.Data[i]; s.Name == name && s.Number > 0 {
			return s.Number
		}
	}
	return 0
}

// SavedBox is elements Box[0] ≤ i < Box[1] of data, which a rank wrote.
type SavedBox struct {
	Box  [2][iface.MaxRank]int
	Rank int
}

// Boxes lists the elements that have a value in the checkpoint, of data h with a name, without overlap.
func (c *Checkpoint) Boxes(name string, h *datamgr.Handle) (all []SavedBox) {
	for i := range c.made.Data {
		switch s := &c.made.Data[i]; {
		case s.Name != name:
		case !s.Part:
			all = append(all, SavedBox{wholeBox(h), s.Rank})
		default:
			for _, b := range s.Boxes {
				all = append(all, SavedBox{b, s.Rank})
			}
		}
	}
	return all
}

// Restore gives h, a whole datum, the value that the checkpoint has under a name: its place in the order is that of the
// call, as with Acquire in mode W. Elements that had no value keep the one that they have. Read-only data must have the value
// already, and is left as it is. Errors, after which the data may have lost its value: data with other sizes or another element type, or
// no such name; those of the file and of Acquire.
func (c *Checkpoint) Restore(ctx context.Context, j *Job, name string, h *datamgr.Handle) error {
	return c.restore(ctx, j, name, h, nil, true)
}

// RestoreBoxes is Restore for some elements of arrays of numbers: those boxes, which do not overlap.
func (c *Checkpoint) RestoreBoxes(ctx context.Context, j *Job, name string, h *datamgr.Handle, boxes [][2][iface.MaxRank]int) error {
	return c.restore(ctx, j, name, h, boxes, false)
}

func (c *Checkpoint) restore(ctx context.Context, j *Job, name string, h *datamgr.Handle, boxes [][2][iface.MaxRank]int, all bool) error {
	if !slices.ContainsFunc(c.made.Data, func(d savedData) bool { return d.Name == name }) {
		return fmt.Errorf("engine: the checkpoint in %s has no data %q; it has %s", c.dir, name, strings.Join(c.Names(), ", "))
	}
	if h == nil || h.Parent() != nil {
		return &ModeError{Handle: h, Mode: iface.W, Other: -1, Message: fmt.Sprintf("%s cannot be restored: it is no whole datum", describe(h))}
	}
	for i := range c.made.Data {
		s := &c.made.Data[i]
		if s.Name != name {
			continue
		}
		desc := h.Desc()
		if t := desc.String(); t != s.Type || s.Order != byteOrder || s.Packed != isObjectHandle(h) {
			return fmt.Errorf("engine: the checkpoint in %s has %q as %s (bytes in %s-endian order), and %s is %s; restore data of the same type on a machine with the same order", c.dir, name, s.Type, s.Order, describe(h), t)
		}
		if desc.Kind == iface.Void || h.ReadOnly() || s.Part && len(s.Boxes) == 0 || !all && len(boxes) == 0 {
			continue
		}
		if err := c.restoreSaved(ctx, j, s, h, boxes, all); err != nil {
			return err
		}
	}
	return nil
}

// restoreSaved reads what one rank has written.
func (c *Checkpoint) restoreSaved(ctx context.Context, j *Job, s *savedData, h *datamgr.Handle, boxes [][2][iface.MaxRank]int, all bool) error {
	f, err := os.Open(filepath.Join(c.dir, filepath.Base(s.File)))
	if err != nil {
		return err
	}
	defer f.Close()
	in := &boxReader{f: f, in: bufio.NewReaderSize(f, checkpointBufBytes)}
	if s.Packed {
		b, err := io.ReadAll(in.in)
		if err != nil {
			return err
		}
		return j.Unpack(ctx, h, b)
	}
	whole := wholeBox(h)
	if !s.Part && (all || len(boxes) == 1 && boxes[0] == whole) {
		return j.restorePart(ctx, h, s.Content, in.in)
	}
	saved := s.Boxes
	if !s.Part {
		saved = [][2][iface.MaxRank]int{whole}
	}
	desc := h.Desc()
	var parts boxesOf
	var sources []boxRuns
	start := int64(0) // of a box in the file
	for i := range saved {
		if all {
			boxes = saved[i : i+1]
		}
		for k := range boxes {
			if part, ok := cutBox(&boxes[k], &saved[i], int(desc.Rank)); ok {
				parts, sources = append(parts, part), append(sources, runsOf(&part, &saved[i], &desc, start))
			}
		}
		start += int64(boxElements(&saved[i], int(desc.Rank))) * int64(desc.Elem.Size())
	}
	if len(parts) == 0 {
		return nil
	}
	v, err := j.rt.Partition(h, parts)
	if err != nil {
		return err
	}
	defer j.rt.EndView(v)
	for i, p := range v.Parts {
		in.runs = sources[i]
		if err := j.restorePart(ctx, p, nil, in); err != nil {
			return err
		}
	}
	return nil
}

// cutBox returns the elements of a in b, and whether there are any.
func cutBox(a, b *[2][iface.MaxRank]int, rank int) (in [2][iface.MaxRank]int, ok bool) {
	for k := range rank {
		in[0][k], in[1][k] = max(a[0][k], b[0][k]), min(a[1][k], b[1][k])
		if in[0][k] >= in[1][k] {
			return in, false
		}
	}
	return in, true
}

func boxElements(b *[2][iface.MaxRank]int, rank int) int {
	n := 1
	for k := range rank {
		n *= b[1][k] - b[0][k]
	}
	return n
}

// boxRuns are the bytes of a box in a file, which has a larger one: runs of the same length.
type boxRuns struct {
	start, run int64
	dims       []int   // how many runs there are along each axis
	steps      []int64 // bytes from one to the next
	next, left int64   // the run that is read, and what is left of it
}

// runsOf returns the bytes of part in a file that has the elements of a box from start on, row by row.
func runsOf(part, box *[2][iface.MaxRank]int, desc *iface.Desc, start int64) boxRuns {
	step := int64(desc.Elem.Size())
	r := boxRuns{start: start, run: step}
	together := true // all axes so far are in a run
	for k := int(desc.Rank) - 1; k >= 0; k-- {
		n := part[1][k] - part[0][k]
		if r.start += int64(part[0][k]-box[0][k]) * step; together {
			r.run *= int64(n)
			together = n == box[1][k]-box[0][k]
		} else {
			r.dims, r.steps = append(r.dims, n), append(r.steps, step)
		}
		step *= int64(box[1][k] - box[0][k])
	}
	return r
}

// boxReader reads the elements of boxes in a file.
type boxReader struct {
	f    *os.File
	in   *bufio.Reader
	at   int64 // where in is
	runs boxRuns
}

// Read implements io.Reader for the box in runs.
func (r *boxReader) Read(b []byte) (n int, err error) {
	s := &r.runs
	if s.left == 0 {
		at, rest := s.start, s.next
		for k, dim := range s.dims { // the last axis first
			at += rest % int64(dim) * s.steps[k]
			rest /= int64(dim)
		}
		if rest > 0 && s.next > 0 {
			return 0, io.EOF
		}
		s.next++
		s.left = s.run
		if skip := at - r.at; skip >= 0 && skip <= int64(r.in.Buffered()) {
			_, err = r.in.Discard(int(skip))
		} else if _, err = r.f.Seek(at, io.SeekStart); err == nil {
			r.in.Reset(r.f)
		}
		if err != nil {
			return 0, err
		}
		r.at = at
	}
	n, err = r.in.Read(b[:min(int64(len(b)), s.left)])
	r.at += int64(n)
	s.left -= int64(n)
	return n, err
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
