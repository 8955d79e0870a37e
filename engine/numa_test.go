package engine

// NUMA nodes as memory nodes, and workers bound to their processors.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/accel/numa"
	"github.com/starpush/starpush/datamgr/iface"
)

// threeNodes is a machine with processors of this one on two NUMA nodes, 0 and 2, and memory alone on
// a third, 3. Its memory is that of this machine, whose pages need not be there.
func threeNodes(t testing.TB, workers int) *numa.Machine {
	t.Helper()
	all, err := cpu.Processors()
	if err != nil {
		t.Skip(err)
	}
	first, second := all[:(len(all)+1)/2], all[len(all)/2:] // of one processor both have it
	sys := fstest.MapFS{}
	for name, text := range map[string]string{
		"cpu/online": numa.ListText(all), "node/online": "0,2-3",
		"node/node0/cpulist": numa.ListText(first), "node/node2/cpulist": numa.ListText(second), "node/node3/cpulist": "",
		"node/node0/meminfo": "Node 0 MemTotal: 1048576 kB", "node/node2/meminfo": "Node 2 MemTotal: 1024 kB", "node/node3/meminfo": "Node 3 MemTotal: 2048 kB",
		"node/node0/distance": "10 21 31", "node/node2/distance": "21 10 31", "node/node3/distance": "31 31 10",
	} {
		sys["devices/system/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	topology, err := numa.Read(sys, numa.Limits{})
	must(t, err)
	m := topology.Open(workers)
	t.Cleanup(func() { must(t, m.Close()) })
	return m
}

// TestNUMANodes: tasks run on all NUMA nodes, in their memory and on their processors, and data moves
// between them.
func TestNUMANodes(t *testing.T) {
	m := threeNodes(t, 4)
	rt, j := start(t, Options{Workers: m.Workers, Processors: m.Processors, Devices: m.Devices, Bus: m.Bus(), Policy: "eager"})
	var names []string
	for w := range rt.Workers() {
		i := got(rt.Worker(w))(t)
		names = append(names, fmt.Sprintf("%s: %s %s %d", i.Name, i.Kind, i.Arch, i.Node))
	}
	if s := strings.Join(names, ", "); s != "cpu 0: cpu cpu 0, cpu 1: cpu cpu 0, cpu 2: cpu cpu 1, cpu 3: cpu cpu 1" {
		t.Error(s)
	}
	names = nil
	for _, n := range rt.Nodes() {
		names = append(names, n.Name)
	}
	if !slices.Equal(names, []string{"ram", "numa 2", "numa 3"}) {
		t.Error(names)
	}

	h := ints(t, rt, []int64{1, 2, 3})
	var mu sync.Mutex
	wrong := map[int][]int{}
	look := kernel("look", func(c *TaskContext) error {
		i := got(rt.Worker(c.Worker()))(t)
		want := m.Processors[c.Worker()%len(m.Processors)]
		if i.Node == 1 {
			p := m.Devices[0].(accel.CPUs).Processors()
			want = p[(c.Worker()-m.Workers)%len(p)]
		}
		mu.Lock()
		defer mu.Unlock()
		if now, err := cpu.Processors(); err != nil || !slices.Equal(now, []int{want}) || c.Node(0) != i.Node {
			wrong[c.Worker()] = now
		}
		for k := range iface.Slice[int64](c.Buffer(0)) {
			iface.Slice[int64](c.Buffer(0))[k]++
		}
		return nil
	})
	leave := kernel("leave", func(*TaskContext) error { runtime.Goexit(); return nil })
	for range 3 {
		for w := range rt.Workers() {
			must(t, j.Submit(&TaskSpec{Codelet: leave, Workers: []int{w}}))
			must(t, j.Submit(&TaskSpec{Codelet: look, Workers: []int{w}, Operands: []Operand{{Handle: h, Mode: iface.RW}}}))
		}
	}
	must(t, j.Wait(context.Background()))
	if len(wrong) > 0 {
		t.Errorf("workers ran on %v", wrong)
	}
	must(t, j.Prefetch(h, 2, true))
	if at := got(j.Where(h))(t); at[2].Valid != 24 || at[1].Valid != 24 {
		t.Errorf("%+v", at)
	}
	a := got(j.AcquireWith(context.Background(), h, iface.RW, AcquireOptions{Node: 2}))(t)
	if v := iface.Slice[int64](a.Buffer()); !slices.Equal(v, []int64{13, 14, 15}) {
		t.Error(v)
	} else {
		v[0] = 100 // CPUs can follow the pointer
	}
	must(t, a.Release())
	must(t, j.Unregister(h))

	for number, node := range map[int]int{0: 0, 2: 1, 3: 2} {
		if k, err := rt.NodeOfNUMA(number); err != nil || k != node {
			t.Errorf("NUMA node %d is memory node %d, %v", number, k, err)
		}
		if k, err := rt.NUMAOfNode(node); err != nil || k != number {
			t.Errorf("memory node %d is NUMA node %d, %v", node, k, err)
		}
	}
	var none *NoNUMAError
	if _, err := rt.NodeOfNUMA(1); !errors.As(err, &none) || err.Error() != "there is no memory node for NUMA node 1; there is 0 (NUMA node 0), 1 (NUMA node 2), 2 (NUMA node 3)" {
		t.Error(err)
	}
	if _, err := rt.NUMAOfNode(3); !errors.As(err, &none) || !strings.HasPrefix(err.Error(), "memory node 3 is no NUMA node; there is 0 (NUMA node 0), ") {
		t.Error(err)
	}
	if _, err := rt.NUMAOfNode(-1); !errors.As(err, &none) {
		t.Error(err)
	}
}

// TestNUMACapacity: main memory is what the other nodes of this machine leave of its memory.
func TestNUMACapacity(t *testing.T) {
	m := threeNodes(t, 2)
	all := cpu.New(0).Memory().Capacity()
	for name, c := range map[string]struct {
		o    Options
		want int64
	}{
		"nodes":      {Options{Devices: m.Devices}, all - 3<<20},
		"one node":   {Options{Devices: m.Devices[:1]}, all - 1<<20},
		"none":       {Options{}, all},
		"simulated":  {Options{Devices: sockets(1<<20, 1, 0)}, all}, // beside the memory of this machine
		"a bound":    {Options{Devices: m.Devices, RAM: 1 << 25, Disk: simulated(1<<20, 1)[0]}, 1 << 25},
		"of a plan":  {Options{Devices: m.Devices, Plan: func(*PlannedTask) {}}, all - 3<<20},
		"sequential": {Options{Sequential: true}, all},
	} {
		c.o.Workers = 1
		rt, err := New(c.o)
		must(t, err)
		if got := rt.Nodes()[0].Capacity; got != c.want {
			t.Errorf("%s: main memory has %d bytes of %d, want %d", name, got, all, c.want)
		}
		must(t, rt.Close())
	}
}

// TestNUMANumbers: a cpuset may leave nodes with any numbers, and main memory is the first of them.
func TestNUMANumbers(t *testing.T) {
	all, err := cpu.Processors()
	if err != nil {
		t.Skip(err)
	}
	list := numa.ListText(all)
	sys := fstest.MapFS{}
	for name, text := range map[string]string{
		"cpu/online": list, "node/online": "0-3", "node/node0/cpulist": "", "node/node1/cpulist": "", "node/node2/cpulist": list, "node/node3/cpulist": list,
		"node/node0/meminfo": "Node 0 MemTotal: 1024 kB", "node/node1/meminfo": "Node 1 MemTotal: 1024 kB",
		"node/node2/meminfo": "Node 2 MemTotal: 1024 kB", "node/node3/meminfo": "Node 3 MemTotal: 1024 kB",
	} {
		sys["devices/system/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	topology, err := numa.Read(sys, numa.Limits{Memory: []int{2, 3}})
	must(t, err)
	m := topology.Open(2)
	t.Cleanup(func() { must(t, m.Close()) })
	rt, _ := start(t, Options{Workers: m.Workers, Devices: m.Devices})
	for node, number := range []int{2, 3} {
		if k, err := rt.NodeOfNUMA(number); err != nil || k != node {
			t.Errorf("NUMA node %d is memory node %d, %v; want %d", number, k, err, node)
		}
		if k, err := rt.NUMAOfNode(node); err != nil || k != number {
			t.Errorf("memory node %d is NUMA node %d, %v; want %d", node, k, err, number)
		}
	}
	if k, err := rt.NodeOfNUMA(0); err == nil {
		t.Errorf("NUMA node 0, which the process may not use, is memory node %d", k)
	}
}

// TestNUMALinks: without measurements copies cost what the distances say.
func TestNUMALinks(t *testing.T) {
	m := threeNodes(t, 2)
	rt, _ := start(t, Options{Workers: m.Workers, Devices: m.Devices, Bus: m.Bus()})
	near, far := rt.reg.CopyTime(0, 1, 1<<20), rt.reg.CopyTime(1, 2, 1<<20)
	if ratio := far / near * 21 / 31; ratio < 0.99 || ratio > 1.01 {
		t.Errorf("%g s to a node at distance 21, %g s to one at 31", near, far)
	}
}

// TestNUMAEviction: data moves out of a NUMA node that is full, and comes back.
func TestNUMAEviction(t *testing.T) {
	m := threeNodes(t, 2) // 1 MiB on the second node
	rt, j := start(t, Options{Workers: m.Workers, Devices: m.Devices})
	var all []Vector[int64]
	for i := range 5 {
		x := got(MakeVector[int64](rt, 1<<15))(t)
		must(t, j.Go(func(x []int64, i int) {
			for k := range x {
				x[k] = int64(i)
			}
		}, W(x), i, Workers{1}))
		all = append(all, x)
	}
	for i, x := range all {
		if v := got(x.Value(context.Background(), j))(t); v[0] != int64(i) || v[1<<15-1] != int64(i) {
			t.Errorf("vector %d holds %d", i, v[0])
		}
	}
	if times, bytes := rt.reg.Evicted(1); times == 0 || bytes == 0 {
		t.Error("nothing was evicted")
	}
}

// TestNUMAGangs: the workers of a parallel task share a node, and tasks of a size use all nodes that
// have as many workers.
func TestNUMAGangs(t *testing.T) {
	rt, j := start(t, Options{Workers: 2, Devices: sockets(1<<20, 2, 0), Policy: "eager"})
	nodes := map[int]bool{}
	var mu sync.Mutex
	c := kernel("gang", func(c *TaskContext) error {
		time.Sleep(time.Millisecond) // the workers of the other node find the next gang
		mu.Lock()
		defer mu.Unlock()
		nodes[got(rt.Worker(c.Worker()))(t).Node] = true
		if c.Size() != 2 || c.Node(0) != got(rt.Worker(c.Worker()))(t).Node {
			return fmt.Errorf("rank %d of %d on worker %d has node %d", c.Rank(), c.Size(), c.Worker(), c.Node(0))
		}
		return nil
	})
	c.Traits = &Traits{Parallel: SPMD}
	for range 1000 { // two workers of one node may find two gangs, and run them in turn
		var all []*Task
		for range 2 {
			h := ints(t, rt, make([]int64, 4))
			all = append(all, got(j.SubmitTask(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.RW}}}))(t))
		}
		must(t, j.Wait(context.Background()))
		for _, k := range all {
			must(t, k.Err())
		}
		if len(nodes) > 1 { // two gangs may add two nodes at once
			break
		}
	}
	if len(nodes) < 2 {
		t.Errorf("gangs on nodes %v", nodes)
	}
	var size *SizeError
	if _, err := j.SubmitWith(&TaskSpec{Codelet: c, Operands: []Operand{{Handle: ints(t, rt, make([]int64, 1)), Mode: iface.RW}}}, TaskOptions{Size: 3}); !errors.As(err, &size) || size.Max != 2 {
		t.Error(err)
	}
	h := ints(t, rt, make([]int64, 1))
	one := kernel("one", func(c *TaskContext) error {
		if c.Size() != 1 || c.Node(0) != 2 {
			return fmt.Errorf("%d workers, node %d", c.Size(), c.Node(0))
		}
		return nil
	})
	one.Traits = &Traits{Parallel: ForkJoin, MaxWorkers: 1}
	k := got(j.SubmitTask(&TaskSpec{Codelet: one, Operands: []Operand{Operand{Handle: h, Mode: iface.RW}.On(2)}}))(t)
	must(t, j.Wait(context.Background()))
	must(t, k.Err())
}

// TestNUMAWorkers: workers on all nodes are of one kind, share the times of tasks, and an object is used
// by all of them where it is.
func TestNUMAWorkers(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Devices: sockets(1<<20, 1, 12)})
	if rt.Workers() != 4 || rt.sched.Workers[2].Arch != "cpu" || rt.sched.Workers[3].Arch != "sim" || rt.sched.Workers[2].Node != 2 {
		t.Errorf("%+v", rt.sched.Workers)
	}
	x := got(NewValue(rt, map[string]int{}))(t)
	for w := range 3 {
		must(t, j.Go(func(m *map[string]int) { (*m)["n"]++ }, RW(x), Workers{w}))
	}
	a := got(x.Acquire(context.Background(), j, iface.R))(t)
	if v := *a.Data(); v["n"] != 3 {
		t.Error(v)
	}
	must(t, a.Release())
	var place *ObjectPlaceError
	if err := j.Go(func(*map[string]int) {}, RW(x), Workers{3}); !errors.As(err, &place) {
		t.Error(err)
	}
}

// TestNUMAOption opens the nodes of this machine.
func TestNUMAOption(t *testing.T) {
	all, err := cpu.Processors()
	if err != nil {
		if _, err := New(Options{NUMA: true}); err == nil {
			t.Error("NUMA nodes are there, and none can be")
		}
		t.Skip(err)
	}
	rt, j := start(t, Options{NUMA: true})
	if n := min(len(all), runtime.GOMAXPROCS(0)); rt.Workers() != n {
		t.Errorf("%d workers, want %d", rt.Workers(), n)
	}
	if k, err := rt.NUMAOfNode(0); err == nil {
		if node, err := rt.NodeOfNUMA(k); err != nil || node != 0 {
			t.Error(node, err)
		}
	} else {
		t.Error(err)
	}
	x := make([]int64, 10)
	h := ints(t, rt, x)
	bound := kernel("bound", func(c *TaskContext) error {
		if now, err := cpu.Processors(); err != nil || len(now) != 1 {
			return fmt.Errorf("worker %d on %v, %v", c.Worker(), now, err)
		}
		return incs.CPU[0](c)
	})
	var tasks []*Task
	for w := range rt.Workers() {
		tasks = append(tasks, got(j.SubmitTask(&TaskSpec{Codelet: bound, Workers: []int{w}, Operands: []Operand{{Handle: h, Mode: iface.RW}}}))(t))
	}
	must(t, j.Wait(context.Background()))
	for _, k := range tasks {
		must(t, k.Err())
	}
	must(t, j.Unregister(h))
	if x[9] != int64(rt.Workers()) {
		t.Error(x)
	}

	for _, o := range []Options{{NUMA: true, Processors: all}, {NUMA: true, Devices: sockets(1<<10, 1, 0)},
		{Devices: slices.Concat(simulated(1<<10, 1), sockets(1<<10, 1, 0))}, {NUMA: true, Workers: -1}, {NUMA: true, Policy: "none"}} {
		if rt, err := New(o); err == nil {
			t.Errorf("%+v is no error", o)
			must(t, rt.Close())
		}
	}
	plain, _ := start(t, Options{Workers: 1})
	if _, err := plain.NodeOfNUMA(0); err == nil || !strings.HasSuffix(err.Error(), "main memory is one node; Options.NUMA makes one of each NUMA node") {
		t.Error(err)
	}
	if s, _ := start(t, Options{NUMA: true, Sequential: true}); s.Workers() != 1 {
		t.Error(s.Workers())
	}
	if s, _ := start(t, Options{Devices: sockets(1<<10, 1, 0)}); s.Workers() != max(1, runtime.GOMAXPROCS(0)-2)+2 {
		t.Error(s.Workers())
	}
}
