package engine

// Copies of data: at once, on write, and as bytes.

import (
	"context"
	"fmt"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/datamgr/iface"
)

// CopyOptions are options of the task of Job.Copy. The zero value is a plain copy.
type CopyOptions struct {
	TaskOptions              // Callback runs when the copy is done
	Name        string       // in errors and traces
	Priority    int          // see TaskSpec
	After       []Dependency // see TaskSpec
	Unordered   bool         // see TaskSpec
	Origin      Origin
}

var (
	copies      = []iface.AccessMode{iface.W, iface.R}
	copyCodelet = &Codelet{Name: "copy", Kernel: ownKernel, Modes: copies, Pure: true, CPU: []Impl{func(c *TaskContext) error {
		dst, src := c.Buffer(0), c.Buffer(1)
		if dst.Dim != src.Dim { // one has a capacity
			if err := c.Resize(0, src.Shape()...); err != nil {
				return err
			}
		}
		datamgr.CopyBuffer(dst, src)
		return nil
	}}}
	copyObject = &Codelet{Name: "copy", Kernel: ownKernel, Modes: copies, CPU: []Impl{func(c *TaskContext) error {
		return managed(c.t.operands()[0].Handle).CopyObject(c.Buffer(0), c.Buffer(1))
	}}}
	// copySelf copies data to itself: it has its place in the order, no more.
	copySelf = &Codelet{Name: "copy", Kernel: ownKernel, Modes: []iface.AccessMode{iface.RW}, Pure: true, CPU: []Impl{func(*TaskContext) error { return nil }}}
)

// Copy submits a task that copies the elements of src to dst. Both must have the
// same kind, element type and sizes; they may be parts of one datum and
// overlap: dst gets the values that src had before. If dst has a capacity, it gets the sizes
// of src, and the task fails where they exceed it. Errors are those of Submit,
// and a *ShapeError when they differ or are void. The task fails, and dst is
// lost, when the value of src was lost.
//
// Parts that overlap are copied through a temporary copy, by two tasks; the one
// returned is the second.
func (j *Job) Copy(dst, src *datamgr.Handle, o CopyOptions) (*Task, error) {
	if err := checkCopy(dst, src); err != nil {
		return nil, err
	}
	s := &TaskSpec{Codelet: copyCodelet, Operands: []Operand{{Handle: dst, Mode: iface.W}, {Handle: src, Mode: iface.R}},
		Name: o.Name, Priority: o.Priority, After: o.After, Unordered: o.Unordered, Origin: o.Origin}
	switch {
	case isObjectHandle(dst) && !dst.Same(src):
		s.Codelet = copyObject
	case dst.Same(src):
		s.Codelet, s.Operands = copySelf, []Operand{{Handle: dst, Mode: iface.RW}}
	case dst.Overlaps(src):
		return j.copyThrough(s, o)
	}
	return j.SubmitWith(s, o.TaskOptions)
}

// copyThrough submits s, whose operands overlap, as two copies.
func (j *Job) copyThrough(s *TaskSpec, o CopyOptions) (*Task, error) {
	dst, src := s.Operands[0].Handle, s.Operands[1].Handle
	switch {
	case dst.ReadOnly():
		return nil, &ReadOnlyError{Operand: 0, Handle: dst, Mode: iface.W}
	case o.Repeat != nil:
		return nil, &RepeatError{What: "overlapping data to copy: that takes two tasks"}
	}
	if at, ended, dead := dst.Death(); dead {
		return nil, &DeadHandleError{Operand: 0, Handle: dst, At: at, Ended: ended}
	}
	d := src.Desc()
	like := &DataSpec{Kind: d.Kind, Elem: d.Elem, Dims: d.Shape(), Name: src.Name()}
	if src.Resizable() {
		like.Capacity = like.Dims
	}
	tmp, err := j.rt.reg.Register(like)
	if err != nil {
		return nil, err
	}
	s.Unordered = false // the temporary copy is in order
	first := *s
	first.Operands = []Operand{{Handle: tmp, Mode: iface.W}, {Handle: src, Mode: iface.R, Unordered: o.Unordered}}
	err = j.Submit(&first)
	var t *Task
	if err == nil {
		s.Operands = []Operand{{Handle: dst, Mode: iface.W, Unordered: o.Unordered}, {Handle: tmp, Mode: iface.R}}
		s.After = nil // the first waits for them
		t, err = j.SubmitWith(s, o.TaskOptions)
	}
	if e := j.Unregister(tmp); err == nil {
		err = e
	}
	return t, err
}

// checkCopy checks what needs no lock.
func checkCopy(dst, src *datamgr.Handle) error {
	for i, h := range []*datamgr.Handle{dst, src} {
		if h == nil {
			return &ModeError{Operand: i, Mode: copies[i], Other: -1, Message: "nothing to copy: a handle is nil"}
		}
	}
	a, b := dst.Desc(), src.Desc()
	switch {
	case a.Kind == iface.Void || b.Kind == iface.Void:
		return &ShapeError{Message: "void data has no elements to copy", Operands: []int{0, 1}, Details: []string{a.String(), b.String()},
			Help: "submit a task without a kernel for its place in the order"}
	case objectType(dst) != objectType(src):
		return &ShapeError{Message: fmt.Sprintf("cannot copy %s to %s: they have values of different types", describe(src), describe(dst)), Operands: []int{0, 1},
			Details: []string{describe(dst), describe(src)}}
	case !managed(dst).Layout().Same(managed(src).Layout()):
		return &ShapeError{Message: fmt.Sprintf("cannot copy %s to %s: their arrays have different lengths", describe(src), describe(dst)), Operands: []int{0, 1},
			Details: []string{layoutText(managed(dst).Layout()), layoutText(managed(src).Layout())}}
	case isObjectHandle(dst) && !copyable(dst):
		return &ShapeError{Message: fmt.Sprintf("cannot copy %s: nothing says how to copy such a value", describe(src)), Operands: []int{0, 1},
			Details: []string{describe(dst), describe(src)}, Help: "register it with an Interface that has Copy, or Pack and Unpack, or give its type a method Clone"}
	case a.Kind != b.Kind || a.Elem != b.Elem || a.Dim != b.Dim && !dst.Resizable() && !src.Resizable():
		return &ShapeError{Message: fmt.Sprintf("cannot copy %s to %s: kind, element type and sizes must be the same", describe(src), describe(dst)),
			Operands: []int{0, 1}, Details: []string{a.String(), b.String()}}
	}
	return nil
}

// Bytes for other programs.

// Pack returns the elements of h, which may be a part, as bytes that another program, or another
// machine, can read: an .npy file of NumPy. It has the sizes and the element type in its
// header, and then the elements, little-endian, the last index fastest. Its place in the
// order is that of the call, as with Acquire in mode R, and so are its errors; void data is a *ModeError.
// It waits for the tasks before it that write h, and must not be called in a kernel.
// The bytes are the caller's. Of a Value they are what its Pack returns, without a header; of Arrays they are
// such a file for each array, behind its length as 8 bytes.
func (j *Job) Pack(ctx context.Context, h *datamgr.Handle, at ...*Site) ([]byte, error) {
	if err := j.packable(h, iface.R); err != nil {
		return nil, err
	}
	a, err := j.Acquire(ctx, h, iface.R, at...)
	if err != nil {
		return nil, err
	}
	var b []byte
	switch {
	case isObjectHandle(h):
		b, err = managed(h).PackObject(a.Buffer())
	case managed(h).Layout() != nil:
		b, err = packArrays(h, a.Buffer())
	default:
		b, err = format.Append(nil, a.Buffer())
	}
	if e := a.Release(); err == nil {
		err = e
	}
	return b, err
}

// Unpack writes bytes that Pack made, or NumPy, to the elements of h, which may be a part. Its
// place in the order is that of the call, as with Acquire in mode W, and so are its errors.
// Bytes that are damaged, or of data of another kind, other sizes or another element type
// are an error that wraps a *format.Error; h is as it was then. Sizes and types are
// compared before memory is used. Data with a capacity gets the sizes that the bytes have. data must not change before Unpack returns, and is
// not kept.
func (j *Job) Unpack(ctx context.Context, h *datamgr.Handle, data []byte, at ...*Site) error {
	if err := j.packable(h, iface.W); err != nil {
		return err
	}
	if isObjectHandle(h) {
		return j.unpackObject(ctx, h, data, at)
	}
	if managed(h).Layout() != nil {
		return j.unpackArrays(ctx, h, data, at)
	}
	d := h.Desc()
	want := format.Want{Kind: d.Kind, Elem: d.Elem, Dims: d.Shape()}
	resize := h.Resizable() && h.Parent() == nil
	if resize {
		want.Dims = nil
	}
	in, err := format.Parse(data, want)
	if err != nil {
		return fmt.Errorf("engine: cannot unpack into %s: %w", describe(h), err)
	}
	for k, n := range in.Dims {
		if resize && n > d.Dim[k] {
			return fmt.Errorf("engine: cannot unpack into %s: %d elements along index %d do not fit its capacity, which is %d", describe(h), n, k, d.Dim[k])
		}
	}
	a, err := j.Acquire(ctx, h, iface.W, at...)
	if err != nil {
		return err
	}
	if resize {
		err = a.Resize(in.Dims...)
	}
	if err == nil {
		err = in.Fill(a.Buffer())
	}
	if e := a.Release(); err == nil {
		err = e
	}
	return err
}

// packable says why h cannot be packed or, in mode W, unpacked.
func (j *Job) packable(h *datamgr.Handle, mode iface.AccessMode) error {
	switch {
	case h == nil || h.Desc().Kind == iface.Void:
		return &ModeError{Handle: h, Mode: mode, Other: -1, Message: "there is nothing to pack: " + describe(h) + " has no elements"}
	case j.rt.opt.Plan != nil:
		return &ModeError{Handle: h, Mode: mode, Other: -1, Message: "a plan has no values to pack"}
	case isObjectHandle(h) && managed(h).Object().Pack == nil:
		return &ModeError{Handle: h, Mode: mode, Other: -1,
			Message: fmt.Sprintf("nothing says how to pack %s: register it with an Interface that has Pack and Unpack, or give its type MarshalBinary and UnmarshalBinary", describe(h))}
	}
	return nil
}

// Duplicates: copy on write.

// Duplicate returns read-only data with the value that h has after the tasks submitted so
// far, as if it had been copied there and then. It takes no time and no memory until a
// task writes h, or data that shares elements with it: then another task makes the copy
// first. Errors: *UninitError when some element of h has no value, *DeadHandleError,
// *ModeError for void data, ErrClosed. at is the place of the call, and may be left out.
// It does not wait.
//
// The duplicate is whole data, whatever h is a part of: it can be partitioned, duplicated
// and read, and outlives h. A second duplicate of h before it is written, or a duplicate
// of a duplicate, is the same handle; it ends when it has been unregistered as often as
// it was returned.
func (j *Job) Duplicate(h *datamgr.Handle, at ...*Site) (*datamgr.Handle, error) {
	if h == nil || h.Desc().Kind == iface.Void {
		return nil, &ModeError{Handle: h, Mode: iface.R, Other: -1, Message: "there is nothing to duplicate: " + describe(h) + " has no elements"}
	}
	if h.Resizable() {
		return nil, &ModeError{Handle: h, Mode: iface.R, Other: -1, Message: describe(h) + " has a capacity, and its size may change; copy it, by Job.Copy"}
	}
	if isObjectHandle(h) {
		return nil, &ModeError{Handle: h, Mode: iface.R, Other: -1, Message: describe(h) + " cannot share its value with a duplicate: register another value and copy it, by Job.Copy"}
	}
	rt := j.rt
	u, err := rt.reg.NewDuplicate(h, first(at))
	if err != nil {
		return nil, err
	}
	hd := rt.borrowReleaser()
	defer rt.returnReleaser(hd)
	sub := rt.reg.Lock()
	defer sub.Unlock()
	if err := j.open(sub); err != nil {
		return nil, err
	}
	if err := rt.alive(0, h); err != nil {
		return nil, err
	}
	if old := sub.Duplicated(h); old != nil {
		return old.Handle(), nil
	}
	like := &task{}
	like.setOrigin(&Origin{Site: first(at)})
	if part := managed(h).Shared(sub); part != nil { // of a duplicate that still shares
		rt.unshare(sub, j, part, like)
	}
	ops := []Operand{{Handle: h, Mode: iface.R}}
	sub.Tidy(ops)
	rt.closeGroups(sub, j, ops, like)
	rt.initialise(sub, j, ops, like)
	if _, bad := sub.Merge(ops, datamgr.MergeOptions{}); bad.Kind != datamgr.NoProblem {
		return nil, problem(ops, bad)
	}
	u.Open(sub)
	if u.Busy() { // readers before and after must see the same
		rt.unshare(sub, j, u, like)
	}
	return u.Handle(), nil
}
