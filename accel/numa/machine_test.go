package numa

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/acceltest"
	"github.com/starpush/starpush/accel/cpu"
)

// pretend returns the topology of a machine with two nodes, with memory on this one: the
// second node need not exist.
func pretend(t testing.TB) *Topology {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("memory of NUMA nodes is for Linux only")
	}
	topo, err := Read(two.files(), Limits{Bytes: 64 << 30})
	if err != nil {
		t.Fatal(err)
	}
	return topo
}

// TestDevice holds the second node to what any device must do.
func TestDevice(t *testing.T) {
	topo := pretend(t)
	for i := range topo.Nodes {
		topo.Nodes[i].Memory = 1 << 24
	}
	acceltest.Run(t, func() ([]accel.Device, error) { return topo.Open(0).Devices, nil }, acceltest.Options{Endless: true})
}

// TestMemory allocates blocks of many sizes, which do not overlap and keep what they hold.
func TestMemory(t *testing.T) {
	d := pretend(t).Open(0).Devices[0]
	m := d.Memory()
	type block struct {
		p unsafe.Pointer
		n int64
	}
	var all []block
	fill := func(b block, with byte) {
		for i := range unsafe.Slice((*byte)(b.p), b.n) {
			unsafe.Slice((*byte)(b.p), b.n)[i] = with
		}
	}
	sum := int64(0)
	for round := range 3 {
		for i, n := range []int64{0, 1, 64, 65, 1000, 4096, largestSmall, largestSmall + 1, hugeEnough, 3, 3, 3} {
			p, err := m.Alloc(n)
			if err != nil {
				t.Fatal(err)
			}
			if uintptr(p)%align != 0 {
				t.Errorf("%d bytes at %p", n, p)
			}
			b := block{p, n}
			fill(b, byte(len(all)+1))
			all = append(all, b)
			sum += n
			if round == 1 && i%2 == 0 { // free one in between, for another one of its size
				m.Free(p, n)
				all = all[:len(all)-1]
				sum -= n
			}
		}
	}
	if m.Allocated() != sum {
		t.Errorf("%d bytes in use, want %d", m.Allocated(), sum)
	}
	for i, b := range all {
		for _, x := range unsafe.Slice((*byte)(b.p), b.n) {
			if x != byte(i+1) {
				t.Fatalf("block %d of %d bytes holds %d", i, b.n, x)
			}
		}
		m.Free(b.p, b.n)
	}
	if m.Allocated() != 0 || !m.Host() || m.Capacity() != 32<<30 {
		t.Error(m.Allocated(), m.Host(), m.Capacity())
	}
	var full *accel.NoMemoryError
	if _, err := m.Alloc(33 << 30); !errors.As(err, &full) || full.Node != "numa 1" {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := m.Alloc(8); !errors.Is(err, accel.ErrClosed) || m.Allocated() != 0 {
		t.Errorf("memory of a closed device: %v", err)
	}
}

const hugeEnough = 3 << 20

// TestMachine looks at the devices of a topology, their names, processors and links.
func TestMachine(t *testing.T) {
	topo := pretend(t)
	m := topo.Open(6)
	if m.Workers != 3 || !slices.Equal(m.Processors, []int{0, 1, 4, 5}) || len(m.Devices) != 1 {
		t.Fatalf("%+v", m)
	}
	d := m.Devices[0].(accel.CPUs)
	number, ok := d.NUMA()
	if number != 1 || !ok || d.Name() != "numa 1" || d.Units() != 3 || d.Arch() != "cpu" || !slices.Equal(d.Processors(), []int{2, 3, 6, 7}) {
		t.Errorf("%s: %d units, node %d", d.Name(), d.Units(), number)
	}
	if !d.Reaches(d.Memory()) || !d.Reaches(accel.NewHeap("ram", 1)) {
		t.Error("a node does not reach main memory, or itself")
	}
	text := m.Devices[0].(*Device).Model()
	if !strings.HasPrefix(text, "processors 2-3,6-7") {
		t.Error(text)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}

	far, err := Read(machine{online: "0-1", cpus: []string{"0", "1", ""}, gib: []int{1, 1, 1},
		dist: words("10 21 42", "21 10 42", "42 42 10")}.files(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	m = far.Open(0)
	if u := m.Devices[1].Units(); u != 0 {
		t.Errorf("a node without processors has %d units", u)
	}
	bus := m.Bus()
	if len(bus.Links) != 6 {
		t.Fatalf("%+v", bus)
	}
	for _, c := range []struct {
		from, to string
		far      float64
	}{{"ram", "numa 1", 1}, {"numa 1", "ram", 1}, {"numa 2", "numa 1", 2}, {"ram", "numa 2", 2}} {
		l, ok := bus.Link(c.from, c.to)
		if want := usualBandwidth / c.far; !ok || l.Bandwidth != want || float64(l.Latency) != float64(usualLatency)*c.far {
			t.Errorf("from %s to %s: %+v, %v", c.from, c.to, l, ok)
		}
	}
}

// TestLocal opens the nodes of this machine, with all processors that the process may use.
func TestLocal(t *testing.T) {
	processors, err := cpu.Processors()
	if err != nil {
		if _, err := Open(0); err == nil {
			t.Error("nodes can be opened where threads cannot be bound")
		}
		t.Skip(err)
	}
	m, err := Open(0)
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Sorted(slices.Values(m.Topology.Processors()))
	if !slices.Equal(all, processors) {
		t.Errorf("the nodes have the processors %v, and the process %v", all, processors)
	}
	workers := m.Workers
	for _, d := range m.Devices {
		workers += d.Units()
		p, err := d.Memory().Alloc(1 << 20)
		if err != nil {
			t.Error(err)
			continue
		}
		d.Memory().Free(p, 1<<20)
	}
	if workers != min(len(processors), runtime.GOMAXPROCS(0)) {
		t.Errorf("%d workers on %v", workers, processors)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	// Pages of a node that is there can be bound to it, unless the system forbids it.
	n := m.Topology.Nodes[0]
	mem := newMemory("x", n.Number, 1<<20)
	t.Log(mem.unbound())
	mem = newMemory("x", 900, 1<<20)
	if err := mem.unbound(); err == nil {
		t.Error("pages were bound to a node that is not there")
	}
}

func TestListText(t *testing.T) {
	for _, c := range []struct {
		all  []int
		want string
	}{{nil, ""}, {[]int{3}, "3"}, {[]int{0, 4, 1, 5, 2}, "0-2,4-5"}} {
		if got := ListText(c.all); got != c.want {
			t.Errorf("%v: %s, want %s", c.all, got, c.want)
		}
	}
}

func Example() {
	m, err := Open(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	fmt.Println(len(m.Topology.Nodes) == 1+len(m.Devices))
	// Output: true
}
