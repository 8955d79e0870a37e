package datamgr

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// prefetch brings h to a node as far as there is room.
func prefetch(g *Registry, h *Handle, to int) { g.Fetch(&FetchRequest{Reads: []*Handle{h}}, to) }

// twoNodes makes a registry with a device of the given capacity, in elements of 8 bytes.
func twoNodes(t *testing.T, elements int64) (*Registry, accel.Memory) {
	t.Helper()
	d, err := sim.New(sim.Options{Capacity: 8 * elements})
	if err != nil {
		t.Fatal(err)
	}
	g := NewRegistry(cpu.New(0).Memory())
	if n := g.AddNode(d); n != 1 {
		t.Fatalf("the device is node %d", n)
	}
	if n := g.AddNode(d); n != 1 {
		t.Fatalf("the same memory is node %d", n)
	}
	return g, d.Memory()
}

// vector registers n elements of v.
func vector(t *testing.T, g *Registry, n int, v float64) (*Handle, []float64) {
	t.Helper()
	x := make([]float64, n)
	for i := range x {
		x[i] = v
	}
	h, err := g.Register(&Spec{Kind: iface.Vector, Elem: iface.F64, Dims: []int{n}, Home: unsafe.Pointer(unsafe.SliceData(x))})
	if err != nil {
		t.Fatal(err)
	}
	return h, x
}

// runOn runs a task on a node that adds by to all elements of h.
func runOn(t *testing.T, node int, by float64, hs ...*Handle) {
	t.Helper()
	var p Placement
	var ops []Operand
	for _, h := range hs {
		ops = append(ops, Operand{Handle: h, Mode: modeRW})
	}
	if err := p.Prepare(node, ops); err != nil {
		t.Error(err)
		return
	}
	for i, h := range hs {
		var b iface.Buffer
		p.Buffer(i, h, &b)
		x := iface.Slice[float64](&b)
		for k := range x {
			x[k] += by
		}
	}
	p.Release()
}

func gathered(t *testing.T, h *Handle, x []float64, want float64) {
	t.Helper()
	if err := managed(h).Gather(); err != nil {
		t.Fatal(err)
	}
	for i, v := range x {
		if v != want {
			t.Fatalf("element %d is %v, want %v", i, v, want)
		}
	}
}

func TestFetchFromTheOnlyCopy(t *testing.T) {
	g, mem := twoNodes(t, 100)
	h, x := vector(t, g, 10, 1)
	runOn(t, 1, 1, h)
	if x[0] != 1 {
		t.Errorf("the task on the device changed main memory to %v", x[0])
	}
	before, _ := copied(g)
	runOn(t, 1, 1, h)
	if now, _ := copied(g); now != before {
		t.Errorf("%d copies of data that is there", now-before)
	}
	runOn(t, 0, 1, h)
	if x[9] != 4 {
		t.Errorf("%v in main memory, want 4", x[9])
	}
	if m := managed(h).Missing(1); m != 80 {
		t.Errorf("%d bytes are missing on the device after a write elsewhere, want 80", m)
	}
	runOn(t, 1, 1, h)
	gathered(t, h, x, 5)
	if n := mem.Allocated() - g.Kept(1); n != 0 {
		t.Errorf("%d bytes on the device after gathering", n)
	}
}

func TestEvictionWritesBack(t *testing.T) {
	g, mem := twoNodes(t, 20)
	a, x := vector(t, g, 10, 0)
	b, y := vector(t, g, 10, 0)
	c, z := vector(t, g, 10, 0)
	runOn(t, 1, 1, a)
	prefetch(g, b, 1) // clean: it goes first, however recent
	runOn(t, 1, 1, c)
	if x[0] != 0 {
		t.Error("dirty data was written back while something clean could go")
	}
	if managed(b).Missing(1) != 80 || managed(a).Missing(1) != 0 {
		t.Error("the clean copy is still there, or the dirty one is not")
	}
	runOn(t, 1, 1, b)
	if x[0] != 1 || z[0] != 0 {
		t.Errorf("least recently used %v, most recently used %v in main memory, want 1 and 0", x[0], z[0])
	}
	managed(a).WontUse()
	managed(c).WontUse()
	runOn(t, 1, 1, a)
	if z[0] != 1 || y[0] != 0 {
		t.Errorf("no more used %v, in use %v in main memory, want 1 and 0", z[0], y[0])
	}
	gathered(t, a, x, 2)
	gathered(t, b, y, 1)
	gathered(t, c, z, 1)
	if p := mem.Peak(); p > 160 {
		t.Errorf("%d bytes of 160 were used", p)
	}
}

// A whole that lies on the device leaves no room for a part of it and something
// else: then it goes, and the part alone comes.
func TestExactBoxesWhereContainersDoNotFit(t *testing.T) {
	g, mem := twoNodes(t, 100)
	h, x := vector(t, g, 90, 0)
	o, y := vector(t, g, 20, 0)
	v, err := g.Partition(h, ViewOptions{}, filter.Blocks(9))
	if err != nil {
		t.Fatal(err)
	}
	runOn(t, 1, 1, h)
	runOn(t, 1, 1, v.Parts[3], o)
	if mem.Allocated() > 8*30 {
		t.Errorf("%d bytes on the device for 30 elements", mem.Allocated())
	}
	runOn(t, 1, 1, v.Parts[3])
	gathered(t, o, y, 1)
	if err := managed(h).Gather(); err != nil {
		t.Fatal(err)
	}
	for i, v := range x {
		want := 1.0
		if i/10 == 3 {
			want = 3
		}
		if v != want {
			t.Fatalf("element %d is %v, want %v", i, v, want)
		}
	}
}

func TestOverlappingOperandsShareMemory(t *testing.T) {
	g, _ := twoNodes(t, 100)
	h, x := vector(t, g, 10, 1)
	halo, err := g.Partition(h, ViewOptions{}, filter.BlocksHalo(2, 1))
	if err != nil {
		t.Fatal(err)
	}
	var p Placement
	ops := []Operand{{Handle: halo.Parts[0], Mode: modeR}, {Handle: halo.Parts[1], Mode: modeRW}}
	if err := p.Prepare(1, ops); err != nil {
		t.Fatal(err)
	}
	var a, b iface.Buffer
	p.Buffer(0, ops[0].Handle, &a)
	p.Buffer(1, ops[1].Handle, &b)
	iface.Slice[float64](&b)[0] = 7
	if got := iface.Slice[float64](&a)[4]; got != 7 {
		t.Errorf("what is written through one operand is %v through the other", got)
	}
	p.Release()
	if err := managed(h).Gather(); err != nil {
		t.Fatal(err)
	}
	if x[4] != 7 || x[3] != 1 {
		t.Errorf("%v at home", x)
	}
}

// Tasks that together need more than there is never wait for each other: each
// gets all or nothing.
func TestTasksNeverWaitForEachOther(t *testing.T) {
	g, mem := twoNodes(t, 30)
	var hs []*Handle
	var xs [][]float64
	for range 6 {
		h, x := vector(t, g, 10, 0)
		hs, xs = append(hs, h), append(xs, x)
	}
	var order [6]sync.Mutex // what the order of accesses does
	var wg sync.WaitGroup
	const rounds = 200
	for w := range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := range rounds {
				i, j := (w+k)%6, (w+k+1+k%4)%6
				order[min(i, j)].Lock()
				order[max(i, j)].Lock()
				node := 1
				if k%5 == 0 {
					node = 0
				}
				runOn(t, node, 1, hs[i], hs[j])
				order[i].Unlock()
				order[j].Unlock()
				prefetch(g, hs[k%6], k%2)
			}
		}()
	}
	wg.Wait()
	sum := 0.0
	for i, h := range hs {
		if err := managed(h).Gather(); err != nil {
			t.Fatal(err)
		}
		for _, v := range xs[i] {
			if v != xs[i][0] {
				t.Fatalf("elements of one vector differ: %v", xs[i])
			}
		}
		sum += xs[i][0]
		managed(h).Free()
	}
	if sum != 2*3*rounds {
		t.Errorf("%v updates, want %d", sum, 2*3*rounds)
	}
	if mem.Peak() > 240 || mem.Allocated() != 0 {
		t.Errorf("%d bytes of 240 were used, %d are left", mem.Peak(), mem.Allocated())
	}
}

func TestFits(t *testing.T) {
	g, _ := twoNodes(t, 20)
	a, _ := vector(t, g, 15, 0)
	b, _ := vector(t, g, 15, 0)
	v, err := g.Partition(b, ViewOptions{}, filter.Blocks(3))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ops  []Operand
		want bool
	}{
		{[]Operand{{Handle: a, Mode: modeR}}, true},
		{[]Operand{{Handle: a, Mode: modeR}, {Handle: a, Mode: modeRW}}, true},
		{[]Operand{{Handle: a, Mode: modeR}, {Handle: v.Parts[0], Mode: modeRW}}, true},
		{[]Operand{{Handle: a, Mode: modeR}, {Handle: b, Mode: modeR}}, false},
		{[]Operand{{Handle: a, Mode: modeR}, {Handle: b, Mode: modeScratch}}, false},
		{[]Operand{{Handle: b, Mode: modeR}, {Handle: v.Parts[2], Mode: modeR}}, true},
	} {
		if got := g.Fits(c.ops, 1); got != c.want {
			t.Errorf("%d bytes fit 160: %v", g.Needs(c.ops, 1), got)
		}
	}
}

// A hint does not bring what a kernel is about to write.
func TestHintsLeaveAloneWhatIsWritten(t *testing.T) {
	g, _ := twoNodes(t, 100)
	h, x := vector(t, g, 4, 1)
	var p Placement
	ops := []Operand{{Handle: h, Mode: modeRW}}
	if err := p.Prepare(0, ops); err != nil {
		t.Fatal(err)
	}
	prefetch(g, h, 1)
	x[0] = 2 // the kernel
	p.Release()
	runOn(t, 1, 1, h)
	if err := managed(h).Gather(); err != nil {
		t.Fatal(err)
	}
	if x[0] != 3 || x[1] != 2 {
		t.Errorf("%v, want 3 2 2 2", x)
	}
}

// A writer waits for copies under way, or what they bring would count as new.
func TestWritersWaitForCopies(t *testing.T) {
	g, _ := twoNodes(t, 100)
	h, _ := vector(t, g, 4, 1)
	d, f := h.d, h.f0
	runOn(t, 1, 1, h)
	runOn(t, 0, 1, h)
	d.mu.Lock()
	var bit uint64
	for k, l := range d.mu.layers {
		for _, in := range l.insts {
			bit = 2 << k
			in.pinLocked()
		}
	}
	f.copies++
	f.arriving |= bit
	d.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runOn(t, 0, 1, h)
	}()
	for range 10000 { // whether the writer has come by then or not, it must come after the copy
		runtime.Gosched()
	}
	d.mu.Lock()
	f.copies--
	f.arriving &^= bit
	f.valid |= bit
	for _, l := range d.mu.layers {
		for _, in := range l.insts {
			in.unpinLocked(true)
		}
	}
	d.mu.wake.Broadcast()
	d.mu.Unlock()
	<-done
	if f.valid != mainBit {
		t.Errorf("valid in %b after a write in main memory", f.valid)
	}
}

// A hint about a part whose view has ended meets a fragment that is larger, and brings the
// one behind it, which is not.
func TestHintAfterItsViewEnded(t *testing.T) {
	g, _ := twoNodes(t, 100)
	h, x := vector(t, g, 10, 1)
	v, err := g.Partition(h, ViewOptions{}, filter.Blocks(2))
	if err != nil {
		t.Fatal(err)
	}
	g.EndView(v, nil)
	sub := g.Lock()
	h.tidy(sub)
	sub.Unlock()
	if _, err := g.Partition(h, ViewOptions{}, filter.BlockSizes([]int{8, 2})); err != nil {
		t.Fatal(err)
	}
	prefetch(g, v.Parts[1], 1)
	if n, bytes := copied(g); n != 1 || bytes != 2*8 {
		t.Errorf("%d copies of %d bytes, want the last two elements", n, bytes)
	}
	runOn(t, 1, 1, h)
	gathered(t, h, x, 2)
}

// TestNearestSource: data comes from where that costs least, and what is predicted
// for it is that.
func TestNearestSource(t *testing.T) {
	for _, peer := range []bool{false, true} {
		g := NewRegistry(cpu.New(0).Memory())
		for i, name := range []string{"a", "b"} {
			d, err := sim.New(sim.Options{Name: name, Capacity: 1 << 10, Peers: map[string]sim.Link{[]string{"b", "a"}[i]: {}}})
			if err != nil {
				t.Fatal(err)
			}
			g.AddNode(d)
		}
		slow, fast := Way{Latency: 1, PerByte: 1}, Way{Latency: 0.5, PerByte: 0.25}
		if !peer {
			slow, fast = fast, slow
		}
		g.SetWay(0, 2, slow)
		g.SetWay(1, 2, fast)
		h, x := vector(t, g, 10, 1)
		prefetch(g, h, 1) // valid in main memory and on node 1
		want := 20.5
		if got := managed(h).TransferTime(2); got != want {
			t.Errorf("%v s to node 2, want %v", got, want)
		}
		if got := managed(h).TransferTime(1); got != 0 {
			t.Errorf("%v s to where it is", got)
		}
		runOn(t, 2, 1, h)
		from := 0
		if peer {
			from = 1
		}
		if n := g.nodes[from].links[2].copies.Load(); n != 1 {
			t.Errorf("%d copies from node %d; traffic %v", n, from, g.Traffic())
		}
		gathered(t, h, x, 2)
	}
}

// TestTransferByWayOfMain: without a direct way both halves are paid.
func TestTransferByWayOfMain(t *testing.T) {
	g, _ := frailNodes(t, 100, 100)
	g.SetWay(1, 0, Way{Latency: 1, PerByte: 0.5})
	g.SetWay(0, 2, Way{Latency: 2, PerByte: 0.25})
	h, _ := vector(t, g, 10, 1)
	runOn(t, 1, 1, h)
	if got, want := managed(h).TransferTime(2), 3+80*0.75; got != want {
		t.Errorf("%v s, want %v", got, want)
	}
}

// counted is memory that counts what is asked of it, and has less than it says.
type counted struct {
	*accel.Heap
	allocs, frees int
	real          int64
}

func (m *counted) Alloc(bytes int64) (unsafe.Pointer, error) {
	m.allocs++
	if m.Allocated()+bytes > m.real {
		return nil, m.Full(bytes)
	}
	return m.Heap.Alloc(bytes)
}

func (m *counted) Free(p unsafe.Pointer, bytes int64) {
	m.frees++
	m.Heap.Free(p, bytes)
}

func newCounted(bytes, real int64) *counted {
	return &counted{Heap: accel.NewHeap("counted", bytes), real: real}
}

func TestBlocksAreKept(t *testing.T) {
	m := newCounted(1000, 1000)
	p := poolOf(m, true)
	alloc := func(bytes int64) unsafe.Pointer {
		t.Helper()
		at, err := p.alloc(bytes)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	first := alloc(100)
	p.free(first, 100)
	for range 10 {
		at := alloc(100)
		if at != first {
			t.Fatal("the block is not used again")
		}
		p.free(at, 100)
	}
	if m.allocs != 1 || m.frees != 0 || p.room() != 1000 || m.Allocated() != 100 {
		t.Errorf("%d allocations, %d frees, room %d, %d bytes allocated", m.allocs, m.frees, p.room(), m.Allocated())
	}
	a, b := alloc(100), alloc(160)
	p.free(a, 100)
	p.free(b, 160) // with that it would be more than a quarter
	if m.Allocated() != 100 || p.keptBytes() != 100 {
		t.Errorf("%d bytes allocated, %d kept", m.Allocated(), p.keptBytes())
	}
	c := alloc(950) // there is room when what is kept goes back
	if m.Allocated() != 950 || p.keptBytes() != 0 || p.room() != 50 {
		t.Errorf("%d bytes allocated, %d kept, room %d", m.Allocated(), p.keptBytes(), p.room())
	}
	var full *accel.NoMemoryError
	if _, err := p.alloc(51); !errors.As(err, &full) {
		t.Errorf("more than there is: %v", err)
	}
	p.free(c, 950)
	p.free(alloc(10), 10)
	if poolOf(m, true) != p {
		t.Error("the memory has two pools")
	}
	p.close()
	if p.keptBytes() != 10 {
		t.Error("given back while somebody has the pool")
	}
	p.close()
	if m.Allocated() != 0 {
		t.Errorf("%d bytes left", m.Allocated())
	}
	if q := poolOf(m, true); q == p {
		t.Error("a pool that was closed is used again")
	} else {
		q.close()
	}
}

// TestKeptBlocksGoBack: where a device has less memory than it says, an allocation
// that fails is tried without what is kept.
func TestKeptBlocksGoBack(t *testing.T) {
	m := newCounted(1000, 300)
	p := poolOf(m, true)
	defer p.close()
	a, err := p.alloc(200)
	if err != nil {
		t.Fatal(err)
	}
	p.free(a, 200)
	b, err := p.alloc(250)
	if err != nil || m.Allocated() != 250 {
		t.Fatalf("%v; %d bytes allocated", err, m.Allocated())
	}
	p.free(b, 250)
}

// copied returns how many copies were made between instances of data, and their bytes.
func copied(g *Registry) (copies, bytes int64) {
	for _, t := range g.Traffic() {
		copies += t.Copies
		bytes += t.Bytes
	}
	return copies, bytes
}
