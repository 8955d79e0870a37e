package mpi

// Communicators: what can be sent, received and computed together.

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/starpush/starpush/accel/dynlib"
)

// Comm is a communicator: all ranks of the world, with messages of their own, which no
// receive or probe on another communicator sees. Its methods are safe for concurrent use.
//
// Operations start in the order of the calls, and messages of one rank with the same tag
// arrive in that order: a receive that was started first gets the message that was sent first.
// An operation that cannot be started returns a request that has ended with the error.
type Comm struct {
	w *World
	h handle
}

// emptyBuffer is the address that empty messages have.
var emptyBuffer = new(byte)

func address(buf []byte) unsafe.Pointer {
	if len(buf) == 0 {
		return unsafe.Pointer(emptyBuffer)
	}
	return unsafe.Pointer(unsafe.SliceData(buf))
}

// hold pins memory until the operation has ended.
func (r *Request) hold(p unsafe.Pointer) {
	if p != unsafe.Pointer(emptyBuffer) {
		r.pin.Pin(p)
	}
}

// World returns the world of the communicator.
func (c *Comm) World() *World { return c.w }

// checkPeer returns an error for a rank or tag that is out of range.
func (c *Comm) checkPeer(what string, rank, tag int, wild bool) error {
	switch {
	case wild && rank == AnySource, rank >= 0 && rank < c.w.size:
	default:
		return fmt.Errorf("mpi: %s: there is no rank %d, ranks are 0 to %d", what, rank, c.w.size-1)
	}
	switch {
	case wild && tag == AnyTag, tag >= 0 && tag <= c.w.tagUB:
	default:
		return fmt.Errorf("mpi: %s: the tag is %d, tags are 0 to %d in %s", what, tag, c.w.tagUB, c.w.lib.version)
	}
	return nil
}

func (c *Comm) request(name string, kind requestKind, peer int) *Request {
	return &Request{w: c.w, name: name, kind: kind, peer: peer}
}

// Isend sends buf to a rank. It ends when buf may be changed again, which does not mean that
// the message has arrived. buf must not be changed before.
func (c *Comm) Isend(buf []byte, to, tag int) *Request {
	return c.send(c.request("MPI_Isend", sending, to), buf, tag, c.w.lib.isend, c.w.lib.isendC)
}

// Issend is Isend that ends only once the receiver has started to receive the message.
func (c *Comm) Issend(buf []byte, to, tag int) *Request {
	return c.send(c.request("MPI_Issend", sending, to), buf, tag, c.w.lib.issend, c.w.lib.issendC)
}

func (c *Comm) send(r *Request, buf []byte, tag int, plain, large uintptr) *Request {
	if err := c.checkPeer(r.name, r.peer, tag, false); err != nil {
		return c.w.refuse(r, err)
	}
	r.message = message{c: c, p: address(buf), bytes: len(buf), tag: tag, plain: plain, large: large}
	r.hold(r.message.p)
	return c.w.start(r)
}

// IsendFunc is Isend that calls done at the end, as OnDone does, and has no request: it takes no memory. If the operation
// cannot be started, done is called before IsendFunc returns.
func (c *Comm) IsendFunc(buf []byte, to, tag int, done func(error)) {
	r := c.privateRequest("MPI_Isend", sending, to)
	r.sent = done
	c.send(r, buf, tag, c.w.lib.isend, c.w.lib.isendC)
}

// IssendFunc is IsendFunc that ends only once the receiver has started to receive the message.
func (c *Comm) IssendFunc(buf []byte, to, tag int, done func(error)) {
	r := c.privateRequest("MPI_Issend", sending, to)
	r.sent = done
	c.send(r, buf, tag, c.w.lib.issend, c.w.lib.issendC)
}

// privateRequest returns a request that its user does not get.
func (c *Comm) privateRequest(name string, kind requestKind, peer int) *Request {
	r := requests.Get().(*Request)
	r.w, r.name, r.kind, r.peer = c.w, name, kind, peer
	return r
}

// start calls the function of MPI that sends or receives m.
func (m *message) start(r *Request, slot unsafe.Pointer) int32 {
	l := m.c.w.lib
	s, e := m.c.w.span(m.bytes, m.plain, m.large)
	if e != 0 {
		return e
	}
	peer, tag := uintptr(r.peer), uintptr(m.tag)
	if r.kind == receiving {
		peer, tag = l.source(r.peer), l.tag(m.tag)
	}
	e = int32(m.c.w.caller.Call(s.fn, uintptr(m.p), s.count, s.typ, peer, tag, m.c.h, uintptr(slot)))
	s.drop(l)
	return e
}

// Irecv receives a message into buf, which may be longer than the message. A longer message
// ends the request with an error that matches ErrTruncated. source may be AnySource, tag AnyTag.
func (c *Comm) Irecv(buf []byte, source, tag int) *Request {
	return c.receive(c.request("MPI_Irecv", receiving, source), buf, tag)
}

func (c *Comm) receive(r *Request, buf []byte, tag int) *Request {
	if err := c.checkPeer(r.name, r.peer, tag, true); err != nil {
		return c.w.refuse(r, err)
	}
	r.message = message{c: c, p: address(buf), bytes: len(buf), tag: tag, plain: c.w.lib.irecv, large: c.w.lib.irecvC}
	r.hold(r.message.p)
	return c.w.start(r)
}

// IrecvFunc is Irecv that calls done with the length of the message at the end, as OnDone does, and has no request: it takes no memory. If the
// operation cannot be started, done is called before IrecvFunc returns.
func (c *Comm) IrecvFunc(buf []byte, source, tag int, done func(bytes int, err error)) {
	r := c.privateRequest("MPI_Irecv", receiving, source)
	r.got = done
	c.receive(r, buf, tag)
}

func (l *Library) source(rank int) uintptr {
	if rank == AnySource {
		return uintptr(l.anySource)
	}
	return uintptr(rank)
}

func (l *Library) tag(tag int) uintptr {
	if tag == AnyTag {
		return uintptr(l.anyTag)
	}
	return uintptr(tag)
}

// Message is a message that has arrived, or begun to, and that only Irecv of this Message
// receives. Each has to be received: Close waits for its sender.
type Message struct {
	Status
	c *Comm

	// Owned by the holder of the turn.
	h     uint64 // memory of the handle
	taken bool
}

// Irecv receives the message into buf, which must have m.Bytes bytes at least. The first call
// whose memory is large enough takes the message, later calls return an error.
func (m *Message) Irecv(buf []byte) *Request {
	c, l := m.c, m.c.w.lib
	r := c.request("MPI_Imrecv", matched, m.Source)
	if int64(len(buf)) < m.Bytes {
		return c.w.refuse(r, fmt.Errorf("mpi: MPI_Imrecv (rank %d): the message has %d bytes, the memory for it has %d: %w",
			m.Source, m.Bytes, len(buf), ErrTruncated))
	}
	p := address(buf)
	r.hold(p)
	r.post = func(slot unsafe.Pointer) int32 {
		if m.taken {
			r.fail = fmt.Errorf("mpi: MPI_Imrecv (rank %d): the message was received before", m.Source)
			return 0
		}
		m.taken = true
		s, e := c.w.span(int(m.Bytes), l.imrecv, l.imrecvC)
		if e != 0 {
			return e
		}
		defer s.drop(l)
		return int32(dynlib.Call(s.fn, uintptr(p), s.count, s.typ, uintptr(unsafe.Pointer(&m.h)), uintptr(slot)))
	}
	return c.w.start(r)
}

// Iprobe reports whether a message has arrived that Irecv with the same arguments would
// receive. Another goroutine may receive it first: [Comm.Improbe] takes it.
func (c *Comm) Iprobe(source, tag int) (Status, bool, error) {
	var status Status
	found := false
	err := c.checkPeer("MPI_Iprobe", source, tag, true)
	if err == nil {
		err = c.w.run(context.Background(), func() error {
			l := c.w.lib
			var flag int32
			var s [4]uint64
			e := int32(dynlib.Call(l.iprobe, l.source(source), l.tag(tag), c.h, uintptr(unsafe.Pointer(&flag)), uintptr(unsafe.Pointer(&s))))
			if found = e == 0 && flag != 0; found {
				status = l.status(unsafe.Pointer(&s), true)
			}
			return l.error("MPI_Iprobe", source, e)
		})
	}
	if err != nil {
		return Status{}, false, err
	}
	return status, found, nil
}

// Improbe takes a message that has arrived, and returns nil if there is none.
func (c *Comm) Improbe(source, tag int) (*Message, error) {
	var m *Message
	err := c.checkPeer("MPI_Improbe", source, tag, true)
	if err == nil {
		err = c.w.run(context.Background(), func() (err error) {
			m, err = c.improbe(source, tag)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// improbe needs the turn.
func (c *Comm) improbe(source, tag int) (*Message, error) {
	l, b := c.w.lib, &c.w.probed
	e := int32(c.w.caller.Call(l.improbe, l.source(source), l.tag(tag), c.h, uintptr(unsafe.Pointer(&b.flag)),
		uintptr(unsafe.Pointer(&b.message)), uintptr(unsafe.Pointer(&b.status))))
	if e != 0 || b.flag == 0 {
		return nil, l.error("MPI_Improbe", source, e)
	}
	return &Message{Status: l.status(unsafe.Pointer(&b.status), true), c: c, h: b.message}, nil
}

// Mprobe waits for a message and takes it, or returns the error of ctx if that ends before. A function passed to
// OnDone or Listen must not wait: Mprobe returns an error there.
func (c *Comm) Mprobe(ctx context.Context, source, tag int) (*Message, error) {
	if c.w.inDriver() {
		return nil, errWaits("Mprobe", "Listen or Improbe")
	}
	got := make(chan *Message, 1)
	l, err := c.listen(&listener{c: c, source: source, tag: tag, once: true, handle: func(m *Message) { got <- m }})
	if err != nil {
		return nil, err
	}
	select {
	case m := <-got:
		return m, nil
	case <-c.w.failed:
		return nil, c.w.Err()
	case <-l.stopped:
		select {
		case m := <-got:
			return m, nil
		default:
			return nil, ErrClosed
		}
	case <-ctx.Done():
		c.stop(l) // it is not known before whether a message was taken
		select {
		case m := <-got: // a message that was taken must not be lost
			return m, nil
		default:
			return nil, fmt.Errorf("MPI_Improbe: %w", ctx.Err())
		}
	}
}

// Listen calls handle with each message that arrives, from the goroutine that polls:
// handle may start operations, but must not wait for any. It takes messages of any length, and
// usually allocates memory and calls [Message.Irecv]. stop ends it, and returns once no
// call will follow, or when the world has failed. Called from handle or another function that this goroutine runs, stop returns at once: calls
// with messages that were taken before may follow.
func (c *Comm) Listen(source, tag int, handle func(*Message)) (stop func(), err error) {
	l, err := c.listen(&listener{c: c, source: source, tag: tag, handle: handle})
	if err != nil {
		return nil, err
	}
	return func() { c.stop(l) }, nil
}

// stop returns once l is not called any more, or the world has failed. The driving goroutine does not wait for itself.
func (c *Comm) stop(l *listener) {
	_ = c.w.run(context.Background(), func() error { l.dead = true; return nil }) // a world that has ended has stopped it
	if !c.w.inDriver() {
		select {
		case <-l.stopped:
		case <-c.w.failed: // a function of a user, or the library, may not return
		}
	}
}

func (c *Comm) listen(l *listener) (*listener, error) {
	if err := c.checkPeer("MPI_Improbe", l.source, l.tag, true); err != nil {
		return nil, err
	}
	l.stopped = make(chan struct{})
	return l, c.w.run(context.Background(), func() error { c.w.listeners = append(c.w.listeners, l); return nil })
}

// Recv waits for a message of any length and returns it in new memory. If ctx ends first, no
// message is lost.
func (c *Comm) Recv(ctx context.Context, source, tag int) ([]byte, Status, error) {
	m, err := c.Mprobe(ctx, source, tag)
	if err != nil {
		return nil, Status{}, err
	}
	buf := make([]byte, m.Bytes)
	s, err := m.Irecv(buf).Wait(context.WithoutCancel(ctx)) // it is on its way
	return buf, s, err
}

// Op is what Iallreduce computes.
type Op int

// The operations of reductions.
const (
	Sum Op = iota
	Min
	Max
	opCount
)

// Collective operations: every rank has to call the same, in the same order, with memory of the same length.

// Ibarrier ends when all ranks have called it.
func (c *Comm) Ibarrier() *Request {
	r := c.request("MPI_Ibarrier", collective, -1)
	r.post = func(slot unsafe.Pointer) int32 { return int32(dynlib.Call(c.w.lib.ibarrier, c.h, uintptr(slot))) }
	return c.w.start(r)
}

// Ibcast sends buf of the rank root to buf of all others.
func (c *Comm) Ibcast(buf []byte, root int) *Request {
	r := c.request("MPI_Ibcast", collective, root)
	if err := c.checkPeer(r.name, root, 0, false); err != nil {
		return c.w.refuse(r, err)
	}
	p := address(buf)
	r.hold(p)
	r.post = func(slot unsafe.Pointer) int32 {
		l := c.w.lib
		s, e := c.w.span(len(buf), l.ibcast, l.ibcastC)
		if e != 0 {
			return e
		}
		defer s.drop(l)
		return int32(dynlib.Call(s.fn, uintptr(p), s.count, s.typ, uintptr(root), c.h, uintptr(slot)))
	}
	return c.w.start(r)
}

// IallreduceInt64 replaces each element of buf by the result over all ranks.
func (c *Comm) IallreduceInt64(buf []int64, op Op) *Request {
	return c.allreduce(unsafe.Pointer(unsafe.SliceData(buf)), len(buf), c.w.lib.int64s, op)
}

// IallreduceFloat64 replaces each element of buf by the result over all ranks. The order of
// additions is that of the library, which may depend on the number of ranks and of elements.
func (c *Comm) IallreduceFloat64(buf []float64, op Op) *Request {
	return c.allreduce(unsafe.Pointer(unsafe.SliceData(buf)), len(buf), c.w.lib.float64s, op)
}

func (c *Comm) allreduce(p unsafe.Pointer, n int, typ handle, op Op) *Request {
	r := c.request("MPI_Iallreduce", collective, -1)
	switch {
	case op < 0 || op >= opCount:
		return c.w.refuse(r, fmt.Errorf("mpi: MPI_Iallreduce: there is no operation %d: use Sum, Min or Max", op))
	case n > maxCount:
		return c.w.refuse(r, fmt.Errorf("mpi: MPI_Iallreduce: %d elements are more than %d: reduce them in several calls", n, maxCount))
	case n == 0:
		p = unsafe.Pointer(emptyBuffer)
	}
	r.hold(p)
	r.post = func(slot unsafe.Pointer) int32 {
		l := c.w.lib
		return int32(dynlib.Call(l.iallreduce, l.inPlace, uintptr(p), uintptr(n), typ, l.ops[op], c.h, uintptr(slot)))
	}
	return c.w.start(r)
}

// Dup returns a new communicator with the same ranks. It is collective: every rank has to
// call it, in the same order on c as other collective operations. If ctx ends first, the error is that of
// ctx, and c must not be used for collective operations any more.
//
// A communicator cannot be freed before Close, and there cannot be many: about 2000 in MPICH, some ten thousands in
// Open MPI. So a program duplicates one for each of its parts at its start, and none for single messages.
func (c *Comm) Dup(ctx context.Context) (*Comm, error) {
	r := c.request("MPI_Comm_idup", collective, -1)
	made := new(uint64)
	r.hold(unsafe.Pointer(made))
	r.post = func(slot unsafe.Pointer) int32 {
		return int32(dynlib.Call(c.w.lib.commIdup, c.h, uintptr(unsafe.Pointer(made)), uintptr(slot)))
	}
	if _, err := c.w.start(r).Wait(ctx); err != nil {
		return nil, err
	}
	d := &Comm{w: c.w, h: c.w.lib.fetch(unsafe.Pointer(made))}
	if err := c.w.run(ctx, func() error { return c.w.returnErrors(d.h) }); err != nil {
		return nil, err
	}
	return d, nil
}
