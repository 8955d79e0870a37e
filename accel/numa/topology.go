package numa

// The topology: which processors and how much memory each NUMA node has.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/starpush/starpush/accel/cpu"
)

// Topology is what a machine has that the process may use.
type Topology struct {
	// Nodes are the NUMA nodes with memory, in the order of their numbers except that
	// the first one is main memory: the one with the lowest number that has processors.
	Nodes []Node
	bytes int64 // Limits.Bytes
}

// Node is one NUMA node.
type Node struct {
	Number int // as the operating system counts
	// Processors are the numbers of its processors, in the order in which workers should
	// get them: one of each core before the second one of any.
	Processors []int
	Memory     int64 // bytes that the node has, which may be more than the process may use; 0: not known
	// Distance is the cost of access from this node's processors to the memory of each of
	// Topology.Nodes, where 10 is the cost of access to its own. nil: not known.
	Distance []int
}

// Limits are what the process may use.
type Limits struct {
	Processors []int // nil: all that are online
	Memory     []int // numbers of NUMA nodes; nil: all
	Bytes      int64 // of memory and swap, on all nodes; 0: what the main memory of package cpu has
}

// Folders of sys.
const (
	nodeDir = "devices/system/node"
	cpuDir  = "devices/system/cpu"
)

// Read returns the topology that the files of sys describe, which is the folder /sys of Linux.
// A system without such files is one node with the processors of may. It returns an error if
// a file makes no sense, or if no processor is left.
func Read(sys fs.FS, may Limits) (*Topology, error) {
	usable, err := online(sys, cpuDir)
	if err != nil {
		return nil, err
	}
	switch {
	case usable == nil:
		usable = may.Processors
	case may.Processors != nil:
		usable = slices.DeleteFunc(usable, func(p int) bool { return !slices.Contains(may.Processors, p) })
	}
	if len(usable) == 0 {
		return nil, errors.New("numa: there is no processor that the process may use")
	}
	numbers, err := online(sys, nodeDir)
	if err != nil {
		return nil, err
	}
	if numbers == nil {
		n := Node{Processors: usable}
		return &Topology{Nodes: []Node{n}, bytes: may.Bytes}, n.order(sys)
	}
	all, err := readNodes(sys, numbers, usable)
	if err != nil {
		return nil, err
	}
	t := &Topology{Nodes: all, bytes: may.Bytes}
	if err := t.assignProcessors(may.Memory); err != nil {
		return nil, err
	}
	for i := range t.Nodes {
		if err := t.Nodes[i].order(sys); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// readNodes reads the nodes with these numbers.
func readNodes(sys fs.FS, numbers, usable []int) ([]Node, error) {
	var all []Node
	for _, k := range numbers {
		dir := fmt.Sprintf("%s/node%d/", nodeDir, k)
		text, err := read(sys, dir+"cpulist")
		if err != nil {
			return nil, err
		}
		processors, err := parseList(text)
		if err != nil {
			return nil, fmt.Errorf("numa: %scpulist: %w", dir, err)
		}
		n := Node{Number: k, Processors: slices.DeleteFunc(processors, func(p int) bool { return !slices.Contains(usable, p) })}
		if n.Memory, err = memoryOf(sys, dir); err != nil {
			return nil, err
		}
		if n.Distance, err = distancesOf(sys, dir, len(numbers)); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// assignProcessors leaves the nodes whose memory the process may use; the processors of others belong
// to the nearest of those. Main memory comes first.
func (t *Topology) assignProcessors(allowed []int) error {
	all := t.Nodes
	var kept []int
	for i, n := range all {
		if n.Memory > 0 && (allowed == nil || slices.Contains(allowed, n.Number)) {
			kept = append(kept, i)
		}
	}
	if kept == nil {
		return errors.New("numa: no node has memory that the process may use")
	}
	for i, n := range all {
		if slices.Contains(kept, i) {
			continue
		}
		near := &all[slices.MinFunc(kept, func(a, b int) int { return cmp.Compare(n.to(a), n.to(b)) })]
		near.Processors = append(near.Processors, n.Processors...)
	}
	main := slices.IndexFunc(kept, func(i int) bool { return len(all[i].Processors) > 0 })
	if main < 0 {
		return errors.New("numa: no node has a processor that the process may use")
	}
	kept = slices.Concat(kept[main:main+1], kept[:main], kept[main+1:])
	t.Nodes = nil
	for _, i := range kept {
		n := all[i]
		if n.Distance != nil {
			var to []int
			for _, k := range kept {
				to = append(to, n.Distance[k])
			}
			n.Distance = to
		}
		t.Nodes = append(t.Nodes, n)
	}
	return nil
}

// to is the distance to the i-th of all nodes; all are equally far where it is not known.
func (n *Node) to(i int) int {
	if n.Distance == nil {
		return 0
	}
	return n.Distance[i]
}

// order sorts the processors: one of each core before the second one of any, and both in
// the order of their numbers. Where the cores are not known each processor is a core.
func (n *Node) order(sys fs.FS) error {
	type place struct{ nth, processor int }
	var all []place
	cores := map[int]int{} // how many of a core came, by its first processor
	slices.Sort(n.Processors)
	for _, p := range n.Processors {
		text, err := read(sys, fmt.Sprintf("%s/cpu%d/topology/thread_siblings_list", cpuDir, p))
		siblings := []int{p}
		if err == nil {
			if siblings, err = parseList(text); err != nil {
				return fmt.Errorf("numa: the processors of the core of processor %d: %w", p, err)
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		core := p
		if len(siblings) > 0 {
			core = siblings[0]
		}
		all = append(all, place{cores[core], p})
		cores[core]++
	}
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(a.nth, b.nth) })
	for i, x := range all {
		n.Processors[i] = x.processor
	}
	return nil
}

// Processors lists the processors of all nodes, those of main memory first, each in the order
// in which workers should get them.
func (t *Topology) Processors() (all []int) {
	for _, n := range t.Nodes {
		all = append(all, n.Processors...)
	}
	return all
}

// share returns how many of workers each node gets: as many for each of its processors as the
// others have, as far as that goes, and one at least for main memory. 0 means one worker for
// each processor.
func (t *Topology) share(workers int) []int {
	all := len(t.Processors())
	if workers <= 0 {
		workers = all
	}
	share := make([]int, len(t.Nodes))
	given := 0
	for i, n := range t.Nodes {
		share[i] = workers * len(n.Processors) / all
		given += share[i]
	}
	for ; given < workers; given++ { // the rest to the nodes that are furthest below their part
		next := 0
		for i, n := range t.Nodes {
			if k := len(t.Nodes[next].Processors); len(n.Processors) > 0 && share[i]*k < share[next]*len(n.Processors) {
				next = i
			}
		}
		share[next]++
	}
	return share
}

// capacity returns how many bytes of the memory of Nodes[i] the process may take: the smaller of what the
// node has and its share of what the process may use. The capacities of all nodes together are no
// more than that, so data is evicted before the process is killed for memory.
func (t *Topology) capacity(i int) int64 {
	bytes := t.bytes
	if bytes <= 0 {
		bytes = cpu.New(0).Memory().Capacity()
	}
	total := 0.0
	for _, n := range t.Nodes {
		total += float64(n.Memory)
	}
	if total == 0 {
		return 0
	}
	n := t.Nodes[i].Memory
	return min(n, int64(float64(bytes)*(float64(n)/total)))
}

// online reads the file that lists which nodes or processors there are; nil: there is none.
func online(sys fs.FS, dir string) ([]int, error) {
	text, err := read(sys, dir+"/online")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := parseList(text)
	if err != nil {
		return nil, fmt.Errorf("numa: %s/online: %w", dir, err)
	}
	return all, nil
}

func read(sys fs.FS, name string) (string, error) {
	b, err := fs.ReadFile(sys, name)
	if err != nil {
		return "", fmt.Errorf("numa: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// memoryOf reads the bytes of memory of a node from its file meminfo.
func memoryOf(sys fs.FS, dir string) (int64, error) {
	text, err := read(sys, dir+"meminfo")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) { // Node 0 MemTotal:       16607008 kB
		if f := strings.Fields(line); len(f) == 5 && f[2] == "MemTotal:" && f[4] == "kB" {
			n, err := strconv.ParseInt(f[3], 10, 64)
			if err != nil || n < 0 || n > 1<<52 {
				return 0, fmt.Errorf("numa: %smeminfo has %q", dir, strings.TrimSpace(line))
			}
			return n << 10, nil
		}
	}
	return 0, fmt.Errorf("numa: %smeminfo has no line MemTotal in kB", dir)
}

// distancesOf reads the distances from a node to all n nodes; nil: there is no such file.
func distancesOf(sys fs.FS, dir string, n int) ([]int, error) {
	text, err := read(sys, dir+"distance")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []int
	for _, f := range strings.Fields(text) {
		d, err := strconv.Atoi(f)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("numa: %sdistance has %q", dir, f)
		}
		all = append(all, d)
	}
	if len(all) != n {
		return nil, fmt.Errorf("numa: %sdistance has %d numbers for %d nodes", dir, len(all), n)
	}
	return all, nil
}

// ParseList reads a list of processors as Linux and people write it: "0-3,8", in ascending order
// and each once in the result.
func ParseList(text string) ([]int, error) {
	all, err := parseList(text)
	if err == nil && len(all) == 0 {
		err = errors.New("the list is empty")
	}
	return all, err
}

// parseList is ParseList for lists that may be empty.
func parseList(text string) ([]int, error) {
	all := []int{}
	if strings.TrimSpace(text) == "" {
		return all, nil
	}
	const most = 1 << 16 // processors; a larger number is a mistake
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		lo, err := strconv.ParseUint(first, 10, 32)
		hi, err2 := strconv.ParseUint(last, 10, 32)
		if err != nil || err2 != nil || hi < lo || hi >= most {
			return nil, fmt.Errorf("%q in a list such as 0-3,8 is neither a number nor a range", part)
		}
		for k := lo; k <= hi; k++ {
			all = append(all, int(k))
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
