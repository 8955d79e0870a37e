package cluster

// An oracle of messages. It knows nothing of boxes and pieces: for each single element it keeps the ranks that have the
// value, and counts what a call must send because a rank lacks it.

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// elements is what a handle has of its data.
type elements struct {
	data   int // the number of the whole
	handle int // the number of the handle
	owner  int
	at     []int // the numbers of the elements in the whole, ascending
	bytes  int   // of an element; 0: that depends on its value

	sizes *elements // a value of its own, of data with a capacity
	whole bool
}

// call is one call of a program, and what one rank sent in it.
type call struct {
	task  bool // else the program itself uses the data, on all ranks
	ends  bool // the data is unregistered
	rank  int  // that runs the task
	ops   []elements
	modes []iface.AccessMode
	keep  bool  // see submission
	after []int // likewise
	sent  Traffic
}

// counted is a runner that notes its calls.
type counted struct {
	several
	seen  *record
	known map[*datamgr.Handle]elements
}

// record is what one rank sees of a program.
type record struct {
	calls  []call
	shape  [][]int // of the whole data
	valued []bool  // the same data has a value from the start
}

func (c *counted) elements(h *datamgr.Handle) (elements, error) {
	if e, ok := c.known[h]; ok {
		return e, nil
	}
	root := h.Root()
	e := elements{data: len(c.seen.shape), handle: len(c.known)}
	if h == root {
		d := h.Desc()
		c.seen.shape = append(c.seen.shape, slices.Clone(d.Dim[:d.Rank]))
		c.seen.valued = append(c.seen.valued, h.Initialised())
	} else {
		whole, err := c.elements(root)
		if err != nil {
			return e, err
		}
		e.data, e.handle = whole.data, len(c.known)
	}
	e.bytes, e.whole = int(h.Desc().Elem.Size()), h == root
	switch {
	case !h.Resizable():
	case e.whole:
		e.bytes, e.sizes = 0, &elements{data: len(c.seen.shape), handle: -1, at: []int{0}, bytes: 8 * int(h.Desc().Rank)}
		c.seen.shape, c.seen.valued = append(c.seen.shape, []int{1}), append(c.seen.valued, true)
	default:
		e.bytes, e.sizes = 0, c.known[root].sizes
	}
	p, err := c.j.place(h)
	if err != nil {
		return e, err
	}
	e.owner = p.Owner()
	d := h.Desc()
	base, step := d.Number()
	for i := range d.Len() {
		at := base
		for axis, rest := int(d.Rank)-1, i; axis >= 0; axis-- {
			at += rest % d.Dim[axis] * step[axis]
			rest /= d.Dim[axis]
		}
		e.at = append(e.at, at)
	}
	slices.Sort(e.at)
	c.known[h] = e
	return e, nil
}

// note adds a call that uses data, which fn makes.
func (c *counted) note(k call, ops []engine.Operand, fn func(*call) error) error {
	for _, op := range ops {
		e, err := c.elements(op.Handle)
		if err != nil {
			return err
		}
		k.ops, k.modes = append(k.ops, e), append(k.modes, op.Mode)
	}
	decided := func() (sum Traffic) { // without the bytes of bags, which are known later
		for pair, t := range c.j.figures.pairs {
			if pair[0] == c.j.rank {
				sum.add(t)
			}
		}
		return sum
	}
	before := decided()
	err := fn(&k)
	after := decided()
	k.sent = Traffic{after.Messages - before.Messages, after.Bytes - before.Bytes}
	c.seen.calls = append(c.seen.calls, k)
	return err
}

func (c *counted) submit(n *submission) error {
	return c.note(call{task: true, keep: n.keep, after: n.after}, n.ops, func(k *call) error {
		ticket, err := c.keep(n)
		if err == nil {
			k.rank = ticket.Rank()
		}
		return err
	})
}

func (c *counted) acquire(h *datamgr.Handle, mode iface.AccessMode) (a *engine.Access, err error) {
	err = c.note(call{}, []engine.Operand{{Handle: h, Mode: mode}}, func(*call) (err error) {
		a, err = c.several.acquire(h, mode)
		return err
	})
	return a, err
}

func (c *counted) unregister(h *datamgr.Handle) error {
	return c.note(call{ends: true}, []engine.Operand{{Handle: h}}, func(*call) error { return c.several.unregister(h) })
}

func (c *counted) wait() error {
	return c.note(call{}, nil, func(*call) error { return c.several.wait() })
}

// value is what an element has: the ranks in the order in which they got it, and the number of the write.
type value struct {
	ranks []int
	write int
}

// sum is contributions that were not added up.
type sum struct {
	to           elements
	home         int
	contributors []int
}

// messages is the oracle. least and most are how many messages the calls may have sent so far, and bytes is how much.
type messages struct {
	size        int
	shape       [][]int
	values      [][]value // of each whole, by element
	sums        []sum
	ends        [][]int // of the tasks that were kept: the ranks that know of their end
	writes      int
	least, most int64
	bytes       int64
}

func newMessages(size int, of *record) *messages {
	m := &messages{size: size, shape: of.shape}
	for i, shape := range of.shape {
		n := 1
		for _, d := range shape {
			n *= d
		}
		v := make([]value, n)
		for k := range v {
			if of.valued[i] {
				v[k].ranks = Everywhere(size)
			}
		}
		m.values = append(m.values, v)
	}
	return m
}

// bring gives a rank the elements that it lacks. Elements that one rank has and that were written together are one message, if they
// are a box.
func (m *messages) bring(e elements, rank int) {
	type source struct{ rank, write int }
	lacks := map[source][]int{}
	for _, at := range e.at {
		v := &m.values[e.data][at]
		if n := len(v.ranks); n > 0 && !slices.Contains(v.ranks, rank) {
			back := 1
			for back*2 <= n {
				back *= 2
			}
			from := source{v.ranks[n-back], v.write}
			lacks[from] = append(lacks[from], at)
			v.ranks = append(slices.Clip(v.ranks), rank)
		}
	}
	for _, at := range lacks {
		m.bytes += int64(e.bytes * len(at))
		m.least++
		if m.isBox(e.data, at) {
			m.most++
		} else {
			m.most += int64(len(at))
		}
	}
}

// isBox reports whether elements are all of a range of indices along each axis.
func (m *messages) isBox(data int, at []int) bool {
	n := 1
	step := 1
	for k := len(m.shape[data]) - 1; k >= 0; k-- {
		lo, hi := m.shape[data][k], 0
		for _, a := range at {
			i := a / step % m.shape[data][k]
			lo, hi = min(lo, i), max(hi, i+1)
		}
		n *= hi - lo
		step *= m.shape[data][k]
	}
	return n == len(at)
}

func (m *messages) write(e elements, ranks ...int) {
	m.writes++
	for _, at := range e.at {
		m.values[e.data][at] = value{ranks, m.writes}
	}
}

// add adds up what was contributed to elements of e, but not to e itself if except is set.
func (m *messages) add(e elements, except bool) {
	var left, ended []sum
	for _, s := range m.sums {
		touches := s.to.data == e.data && slices.ContainsFunc(s.to.at, func(a int) bool { return slices.Contains(e.at, a) })
		if touches && !(except && s.to.handle == e.handle) {
			ended = append(ended, s)
		} else {
			left = append(left, s)
		}
	}
	m.sums = left
	for _, s := range ended {
		for _, r := range s.contributors {
			if r != s.home {
				m.least++
				m.most++
				m.bytes += int64(s.to.bytes * len(s.to.at))
			}
		}
		m.write(s.to, s.home)
	}
}

// contribute lets a rank add to e. The value stays where it is, if it can.
func (m *messages) contribute(e elements, rank int) {
	i := slices.IndexFunc(m.sums, func(s sum) bool { return s.to.handle == e.handle })
	if i < 0 {
		i = len(m.sums)
		home := rank
		for _, at := range e.at {
			if v := m.values[e.data][at]; len(v.ranks) > 0 && !slices.Contains(v.ranks, rank) {
				home = e.owner
				if v := m.values[e.data][e.at[0]]; len(v.ranks) > 0 {
					home = v.ranks[0]
				}
				break
			}
		}
		m.bring(e, home)
		for _, at := range e.at {
			if v := &m.values[e.data][at]; len(v.ranks) == 0 {
				v.ranks = []int{home}
			}
		}
		m.sums = append(m.sums, sum{to: e, home: home})
	}
	if s := &m.sums[i]; !slices.Contains(s.contributors, rank) {
		s.contributors = append(s.contributors, rank)
	}
}

func (m *messages) step(c *call) {
	for _, k := range c.after {
		if !slices.Contains(m.ends[k], c.rank) {
			m.ends[k] = append(m.ends[k], c.rank)
			m.least++
			m.most++
		}
	}
	if c.keep {
		m.ends = append(m.ends, []int{c.rank})
	}
	for i, e := range c.ops {
		mode := c.modes[i]
		if e.sizes != nil && !c.ends {
			for r := range m.size {
				if !c.task || r == c.rank {
					m.bring(*e.sizes, r)
				}
			}
		}
		m.add(e, c.task && mode == iface.Redux)
		switch {
		case c.ends:
		case mode == iface.Redux:
			m.contribute(e, c.rank)
		case mode.Reads() && c.task:
			m.bring(e, c.rank)
		case mode.Reads():
			for r := range m.size {
				m.bring(e, r)
			}
		}
	}
	for i, e := range c.ops {
		if mode := c.modes[i]; e.sizes != nil && e.whole && !c.ends && mode.Writes() {
			if c.task {
				m.write(*e.sizes, c.rank)
			} else {
				m.write(*e.sizes, Everywhere(m.size)...)
			}
		}
		switch mode := c.modes[i]; {
		case c.ends || !mode.Writes() || mode == iface.Redux:
		case c.task:
			m.write(e, c.rank)
		default:
			m.write(e, Everywhere(m.size)...)
		}
	}
}

// records runs p on ranks and returns what each saw.
func (p program) records(t *testing.T, size int) []record {
	t.Helper()
	all := make([]record, size)
	one := func(end Comm) error {
		rt, err := engine.New(engine.Options{Workers: 1})
		if err != nil {
			return err
		}
		j := NewJob(context.Background(), rt, end, Options{})
		c := &counted{several{j, &[]*Ticket{}}, &all[end.Rank()], map[*datamgr.Handle]elements{}}
		if _, err := p.run(rt, c); err != nil {
			return err
		}
		if err := j.Close(); err != nil {
			return err
		}
		return rt.Close()
	}
	var group sync.WaitGroup
	for _, end := range Local(size) {
		group.Go(func() {
			if err := one(end); err != nil {
				t.Errorf("seed %d, rank %d of %d: %v", p.seed, end.Rank(), size, err)
			}
		})
	}
	group.Wait()
	return all
}

// TestFewestMessages: in each call of random programs the ranks send what one of them lacks, and nothing else: each value goes to a
// rank once before it is written again, and what was written together and is on one rank travels together.
func TestFewestMessages(t *testing.T) {
	n, end := *seed, time.Now().Add(*soak)
	var sent, least, calls int64
	for more := true; more && !t.Failed(); n++ {
		size := []int{2, 3, 4, 7}[n%4]
		p := program{seed: n, steps: 20 + int(n%80)}
		s, l, c := p.checkMessages(t, size)
		sent, least, calls = sent+s, least+l, calls+c
		more = n < *seed+60 || time.Now().Before(end)
	}
	t.Logf("%d programs, %d calls: %d messages, and %d are the fewest possible", n-*seed, calls, sent, least)
	if float64(sent) > 1.1*float64(least) {
		t.Errorf("%d messages, where %d are the fewest possible", sent, least)
	}
}

func (p program) checkMessages(t *testing.T, size int) (sent, least, calls int64) {
	all := p.records(t, size)
	if t.Failed() {
		return 0, 0, 0
	}
	m := newMessages(size, &all[0])
	for i := range all[0].calls {
		var got Traffic
		for r := range all {
			got.Messages += all[r].calls[i].sent.Messages
			got.Bytes += all[r].calls[i].sent.Bytes
		}
		c := &all[0].calls[i]
		before := *m
		m.step(c)
		atLeast, atMost, bytes := m.least-before.least, m.most-before.most, m.bytes-before.bytes
		if got.Messages < atLeast || got.Messages > atMost || got.Bytes != bytes {
			t.Errorf("seed %d, %d ranks, call %d (%s): %d messages with %d bytes, want %d to %d with %d",
				p.seed, size, i, c, got.Messages, got.Bytes, atLeast, atMost, bytes)
			return 0, 0, 0
		}
		sent, least, calls = sent+got.Messages, least+atLeast, calls+1
	}
	return sent, least, calls
}

func (c *call) String() string {
	s := "the program"
	if c.task {
		s = fmt.Sprintf("a task on rank %d", c.rank)
	}
	for i, e := range c.ops {
		s += fmt.Sprintf(", %v %d elements of data %d (handle %d)", c.modes[i], len(e.at), e.data, e.handle)
	}
	return s
}

// watched notes the first byte of the memory for each message with data, as it is when the receive starts.
type watched struct {
	Comm
	mu struct {
		sync.Mutex
		found []byte
	}
}

func (w *watched) Recv(from, tag int, into []byte, done func(int, error)) {
	if tag < tags {
		w.mu.Lock()
		w.mu.found = append(w.mu.found, into[0])
		w.mu.Unlock()
	}
	w.Comm.Recv(from, tag, into, done)
}

// TestReceiveIntoValue expects that a message is written over the last value, without clearing its memory first, and that the program
// itself finds zeros in what it acquires to write.
func TestReceiveIntoValue(t *testing.T) {
	ends := Local(2)
	receiver := &watched{Comm: ends[1]}
	ends[1] = receiver
	set := func(v byte) engine.Impl {
		return func(c *engine.TaskContext) error {
			for i := range iface.Slice[uint8](c.Buffer(0)) {
				iface.Slice[uint8](c.Buffer(0))[i] = v
			}
			return nil
		}
	}
	var wg sync.WaitGroup
	for r := range ends {
		wg.Go(func() {
			rt, err := engine.New(engine.Options{Workers: 1})
			if err != nil {
				t.Error(err)
				return
			}
			defer rt.Close()
			j := NewJob(context.Background(), rt, ends[r], Options{})
			defer j.Close()
			fail := func(err error) {
				if err != nil {
					t.Error(err)
				}
			}
			h, err := rt.RegisterFilled(engine.DataSpec{Kind: iface.Vector, Elem: iface.U8, Dims: []int{100}}, func(b *iface.Buffer) error {
				iface.Slice[uint8](b)[0] = 3
				return nil
			})
			fail(err)
			for _, v := range []byte{5, 7} {
				w := &engine.Codelet{Name: "set", Modes: []iface.AccessMode{iface.W}, CPU: []engine.Impl{set(v)}}
				fail(j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: w, Operands: []engine.Operand{{Handle: h, Mode: iface.W}}}, On: 1}))
				a, err := j.Acquire(context.Background(), h, iface.R, engine.AcquireOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				if got := iface.Slice[uint8](a.Buffer()); got[0] != v || got[99] != v {
					t.Errorf("rank %d reads %d and %d, want %d", r, got[0], got[99], v)
				}
				fail(a.Release())
			}
			a, err := j.Acquire(context.Background(), h, iface.W, engine.AcquireOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			if got := iface.Slice[uint8](a.Buffer())[0]; got != 0 {
				t.Errorf("rank %d acquires %d to write, want 0", r, got)
			}
			fail(a.Release())
			fail(j.Wait(context.Background()))
		})
	}
	wg.Wait()
	if want := []byte{3, 5}; !slices.Equal(receiver.mu.found, want) {
		t.Errorf("messages arrive in memory with %d, want %d", receiver.mu.found, want)
	}
}
