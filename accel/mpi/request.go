package mpi

// Requests, their results, and how bytes are counted.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel/dynlib"
)

// AnySource and AnyTag match messages of all ranks, and with all tags.
const (
	AnySource = -1
	AnyTag    = -1
)

// Errors of requests and worlds.
var (
	// ErrCancelled is the error of a receive that Cancel or Close withdrew.
	ErrCancelled = errors.New("mpi: the receive was cancelled")
	// ErrClosed is the error of calls after Close.
	ErrClosed = errors.New("mpi: the world is closed")
	// ErrTruncated matches the error of a receive whose message was longer than its memory.
	ErrTruncated = errors.New("mpi: the message is longer than the memory for it")
)

// Error is an error that the MPI library returned.
type Error struct {
	Call  string // "MPI_Irecv"
	Peer  int    // the rank at the other end, -1 if there is none or any
	Code  int    // what MPI returned
	Class int    // the MPI_ERR_… of the library that Code belongs to
	Text  string // of MPI_Error_string

	truncated bool
}

func (e *Error) Error() string {
	where := ""
	if e.Peer >= 0 {
		where = fmt.Sprintf(" (rank %d)", e.Peer)
	}
	return fmt.Sprintf("%s%s: %s", e.Call, where, e.Text)
}

// Is reports whether target is ErrTruncated and a message was too long.
func (e *Error) Is(target error) bool { return target == ErrTruncated && e.truncated }

// LostError says that a rank does not answer any more, which may be this one. Nothing that needs it can
// complete: the program has to end with [World.Abort].
type LostError struct {
	Rank   int
	Size   int    // of the world
	Reason string // "its process 4711 has ended"
}

func (e *LostError) Error() string {
	return fmt.Sprintf("mpi: rank %d of %d is lost: %s", e.Rank, e.Size, e.Reason)
}

// Status describes a message.
type Status struct {
	Source int   // the rank that sent it
	Tag    int   // the one it was sent with
	Bytes  int64 // its length
}

// Request is an operation under way. It ends by itself: Wait, Done and OnDone say when. Its
// methods are safe for concurrent use. All memory that was passed to the operation belongs
// to MPI until then, and is pinned and kept alive.
type Request struct {
	w     *World
	name  string // "MPI_Irecv"
	peer  int
	kind  requestKind
	inner bool // of the world itself

	pin     runtime.Pinner
	message message
	post    func(slot unsafe.Pointer) int32 // starts it, nil: message says what that is; the handle goes to slot
	fail    error                           // why it was not started

	cancelled bool // owned by the holder of the turn

	// Of IsendFunc and IrecvFunc: users do not get the request, which is used again.
	sent func(error)
	got  func(int, error)

	mu struct {
		sync.Mutex
		done   bool
		status Status
		err    error
		ch     chan struct{}
		then   []func(Status, error)
	}
}

// message is the arguments of a send or a receive.
type message struct {
	c            *Comm
	p            unsafe.Pointer
	bytes        int
	tag          int
	plain, large uintptr // the function of MPI; see span
}

// requests are those of IsendFunc and IrecvFunc that have ended.
var requests = sync.Pool{New: func() any { return new(Request) }}

type requestKind uint8

const (
	sending requestKind = iota
	receiving
	matched // a receive of a message that a probe has matched
	collective
)

// Done returns a channel that is closed when the operation has ended.
func (r *Request) Done() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.ch == nil {
		r.mu.ch = make(chan struct{})
		if r.mu.done {
			close(r.mu.ch)
		}
	}
	return r.mu.ch
}

// Result returns how the operation ended, and false while it is under way. The status is that
// of the message for a receive, and zero for other operations.
func (r *Request) Result() (Status, error, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.status, r.mu.err, r.mu.done
}

// Wait waits until the operation has ended and returns its result, or the error of ctx if that
// ends before. The operation then goes on, and its memory still belongs to MPI: use Cancel to
// withdraw a receive, and wait again. A function passed to OnDone or Listen must not wait: Wait returns an error
// there if the operation is under way.
func (r *Request) Wait(ctx context.Context) (Status, error) {
	if s, err, ok := r.Result(); ok {
		return s, err
	}
	if r.w.inDriver() {
		return Status{}, errWaits("Wait", "OnDone")
	}
	select {
	case <-r.Done():
		s, err, _ := r.Result()
		return s, err
	case <-ctx.Done():
		return Status{}, fmt.Errorf("%s: %w", r.name, ctx.Err())
	}
}

// errWaits is the error of a call that would wait in the goroutine that drives MPI.
func errWaits(call, instead string) error {
	return fmt.Errorf("mpi: %s: a function passed to OnDone or Listen must not wait, because nothing arrives meanwhile: use %s", call, instead)
}

// OnDone calls fn once, when the operation has ended: at once if it has, otherwise from the
// goroutine that polls, which does nothing else meanwhile. fn may start, cancel and probe, but
// must not wait for an operation. Several functions are called in the order in which they were passed.
func (r *Request) OnDone(fn func(Status, error)) {
	r.mu.Lock()
	if !r.mu.done {
		r.mu.then = append(r.mu.then, fn)
		r.mu.Unlock()
		return
	}
	s, err := r.mu.status, r.mu.err
	r.mu.Unlock()
	fn(s, err)
}

// Cancel withdraws a receive. The request ends with ErrCancelled, or as usual if a message was
// matched before; either way its memory is free only then. Other operations cannot be
// cancelled: MPI has no way to take back what may be under way, and Cancel returns an error. A function passed to OnDone
// or Listen may call Cancel; the request ends after it has returned.
func (r *Request) Cancel() error {
	if r.kind != receiving {
		return fmt.Errorf("mpi: %s cannot be cancelled, only receives that have no message can", r.name)
	}
	if _, _, done := r.Result(); done {
		return nil
	}
	return r.w.run(context.Background(), func() error { return r.w.cancel(r) })
}

// finish ends the operation. The caller must not use r any more.
func (r *Request) finish(s Status, err error) {
	r.pin.Unpin()
	r.message = message{}
	private := r.sent != nil || r.got != nil
	r.end(s, err)
	if private {
		*r = Request{}
		requests.Put(r)
	}
}

// end is finish without giving the memory back.
func (r *Request) end(s Status, err error) {
	switch {
	case r.sent != nil:
		r.sent(err)
		return
	case r.got != nil:
		r.got(int(s.Bytes), err)
		return
	}
	r.mu.Lock()
	r.mu.done, r.mu.status, r.mu.err = true, s, err
	if r.mu.ch != nil {
		close(r.mu.ch)
	}
	then := r.mu.then
	r.mu.then = nil
	r.mu.Unlock()
	for _, fn := range then {
		fn(s, err)
	}
}

// Counts of MPI are ints of C.
const (
	maxCount = math.MaxInt32
	block    = 1 << 30 // bytes of an element of the types that describe more
)

// split describes bytes as blocks and a rest.
func split(bytes, block int64) (blocks, rest int64) { return bytes / block, bytes % block }

// span describes bytes to MPI: a function, a count and a type.
type span struct {
	fn    uintptr
	count uintptr
	typ   handle
	made  bool // typ is to be freed
}

// span describes bytes for the function plain, or for its variant large, which counts in
// 64 bits and is 0 in libraries before MPI 4. Either way they are one message.
func (w *World) span(bytes int, plain, large uintptr) (span, int32) {
	l := w.lib
	switch {
	case bytes <= w.maxCount:
		return span{fn: plain, count: uintptr(bytes), typ: l.bytes}, 0
	case large != 0 && !w.noLarge:
		return span{fn: large, count: uintptr(bytes), typ: l.bytes}, 0
	}
	blocks, rest := split(int64(bytes), int64(w.block))
	if blocks > maxCount {
		return span{}, 0 // more bytes than an address space has
	}
	one, r := l.newType(func(to unsafe.Pointer) int32 {
		return int32(dynlib.Call(l.contiguous, uintptr(w.block), l.bytes, uintptr(to)))
	})
	if r != 0 {
		return span{}, r
	}
	lengths := [2]int32{int32(blocks), int32(rest)}
	places := [2]int{0, int(blocks) * w.block}
	types := make([]byte, 2*l.handleBytes)
	l.store(unsafe.Pointer(&types[0]), one)
	l.store(unsafe.Pointer(&types[l.handleBytes]), l.bytes)
	all, r := l.newType(func(to unsafe.Pointer) int32 {
		return int32(dynlib.Call(l.structure, 2, uintptr(unsafe.Pointer(&lengths[0])), uintptr(unsafe.Pointer(&places[0])),
			uintptr(unsafe.Pointer(&types[0])), uintptr(to)))
	})
	l.freeType(one)
	if r != 0 {
		return span{}, r
	}
	var cell uint64
	l.store(unsafe.Pointer(&cell), all)
	if r := int32(dynlib.Call(l.commit, uintptr(unsafe.Pointer(&cell)))); r != 0 {
		return span{}, r
	}
	return span{fn: plain, count: 1, typ: all, made: true}, 0
}

// drop frees the type, which MPI keeps as long as operations use it.
func (s span) drop(l *Library) {
	if s.made {
		l.freeType(s.typ)
	}
}

func (l *Library) newType(create func(to unsafe.Pointer) int32) (handle, int32) {
	cell := new(uint64)
	r := create(unsafe.Pointer(cell))
	return l.fetch(unsafe.Pointer(cell)), r
}

func (l *Library) freeType(t handle) {
	var cell uint64
	l.store(unsafe.Pointer(&cell), t)
	dynlib.Call(l.typeFree, uintptr(unsafe.Pointer(&cell)))
}

// fetch and store read and write a handle in memory. A handle of MPICH is a signed int, as calling conventions
// that extend arguments have to know.
func (l *Library) fetch(p unsafe.Pointer) handle {
	if l.handleBytes == 4 {
		return handle(*(*int32)(p))
	}
	return *(*handle)(p)
}

func (l *Library) store(p unsafe.Pointer, h handle) {
	if l.handleBytes == 4 {
		*(*uint32)(p) = uint32(h)
		return
	}
	*(*handle)(p) = h
}

// error returns the error of a call, nil for MPI_SUCCESS.
func (l *Library) error(name string, peer int, code int32) error {
	if code == 0 {
		return nil
	}
	text := make([]byte, 1024) // more than MPI_MAX_ERROR_STRING of both
	var n, class int32
	e := &Error{Call: name, Peer: peer, Code: int(code)}
	if dynlib.Call(l.errorString, uintptr(code), uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(&n))) == 0 {
		e.Text = strings.TrimRight(string(text[:min(max(int(n), 0), len(text))]), "\x00\n ")
	}
	if e.Text == "" {
		e.Text = fmt.Sprintf("error %d", code)
	}
	if dynlib.Call(l.errorClass, uintptr(code), uintptr(unsafe.Pointer(&class))) == 0 {
		e.Class = int(class)
	}
	e.truncated = e.Class == l.errTruncate
	return e
}

// status reads an MPI_Status. The length is that of receives and probes, which count bytes: MPI_Get_elements_x would only return what it
// finds there, too, and takes as long as a poll.
func (l *Library) status(p unsafe.Pointer, count bool) Status {
	s := Status{Source: int(*(*int32)(unsafe.Add(p, l.sourceAt))), Tag: int(*(*int32)(unsafe.Add(p, l.tagAt)))}
	switch {
	case !count:
	case l.family == mpich: // the lower half, and the upper one above a bit that tells of MPI_Cancel
		words := (*[2]uint32)(p)
		s.Bytes = int64(words[1]>>1)<<32 | int64(words[0])
	default:
		s.Bytes = *(*int64)(unsafe.Add(p, 16))
	}
	return s
}
