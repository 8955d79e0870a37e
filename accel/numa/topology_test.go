package numa

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/starpush/starpush/accel/cpu"
)

// machine describes the files of a machine: its nodes, with processors and distances.
type machine struct {
	online  string     // processors; "": there is no such file
	cpus    []string   // of each node
	gib     []int      // of each node
	numbers []int      // of the nodes; nil: from 0 on
	dist    [][]string // a row for each node; nil: there are no such files
	threads int        // processors of a core, which are cores apart; 0: not known
	cores   int
}

func (m machine) files() fs.FS {
	all := fstest.MapFS{}
	put := func(name, text string) { all[name] = &fstest.MapFile{Data: []byte(text + "\n")} }
	if m.online != "" {
		put(cpuDir+"/online", m.online)
	}
	var numbers []string
	for i, cpus := range m.cpus {
		k := i
		if m.numbers != nil {
			k = m.numbers[i]
		}
		numbers = append(numbers, fmt.Sprint(k))
		dir := fmt.Sprintf("%s/node%d/", nodeDir, k)
		put(dir+"cpulist", cpus)
		put(dir+"meminfo", fmt.Sprintf("Node %d MemTotal:       %d kB\nNode %d MemFree:        17 kB", k, m.gib[i]<<20, k))
		if m.dist != nil {
			put(dir+"distance", strings.Join(m.dist[i], " "))
		}
	}
	if numbers != nil {
		put(nodeDir+"/online", strings.Join(numbers, ","))
	}
	for k := range m.cores {
		var of []string
		for t := range m.threads {
			of = append(of, fmt.Sprint(k+t*m.cores))
		}
		for _, p := range of {
			put(cpuDir+"/cpu"+p+"/topology/thread_siblings_list", strings.Join(of, ","))
		}
	}
	return all
}

func words(rows ...string) (all [][]string) {
	for _, r := range rows {
		all = append(all, strings.Fields(r))
	}
	return all
}

var two = machine{online: "0-7", cpus: []string{"0-1,4-5", "2-3,6-7"}, gib: []int{32, 32}, dist: words("10 21", "21 10"), threads: 2, cores: 4}

// TestRead reads layouts of machines.
func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		m    machine
		may  Limits
		want string
	}{
		"two sockets": {m: two, want: "0: [0 1 4 5] 32 [10 21]; 1: [2 3 6 7] 32 [21 10]"},
		"hyperthreads side by side": {m: machine{online: "0-3", cpus: []string{"0-3"}, gib: []int{8}, threads: 1, cores: 4},
			want: "0: [0 1 2 3] 8 []"},
		"threads of a core come last": {m: machine{online: "0-5", cpus: []string{"0,3,4,1", "2,5"}, gib: []int{1, 1}, threads: 2, cores: 3},
			want: "0: [0 1 3 4] 1 []; 1: [2 5] 1 []"},
		"four nodes on two sockets": {m: machine{online: "0-7", cpus: []string{"0-1", "2-3", "4-5", "6-7"}, gib: []int{4, 4, 4, 4},
			dist: words("10 12 21 21", "12 10 21 21", "21 21 10 12", "21 21 12 10")},
			want: "0: [0 1] 4 [10 12 21 21]; 1: [2 3] 4 [12 10 21 21]; 2: [4 5] 4 [21 21 10 12]; 3: [6 7] 4 [21 21 12 10]"},
		"memory without processors": {m: machine{online: "0-3", cpus: []string{"0-1", "2-3", ""}, gib: []int{4, 4, 64},
			dist: words("10 21 14", "21 10 24", "14 24 10")},
			want: "0: [0 1] 4 [10 21 14]; 1: [2 3] 4 [21 10 24]; 2: [] 64 [14 24 10]"},
		"memory without processors comes first": {m: machine{online: "0-1", cpus: []string{"", "0-1"}, gib: []int{64, 4},
			dist: words("10 14", "14 10")},
			want: "1: [0 1] 4 [10 14]; 0: [] 64 [14 10]"},
		"processors without memory": {m: machine{online: "0-5", cpus: []string{"0-1", "2-3", "4-5"}, gib: []int{4, 4, 0},
			dist: words("10 21 30", "21 10 15", "30 15 10")},
			want: "0: [0 1] 4 [10 21]; 1: [2 3 4 5] 4 [21 10]"},
		"processors without memory, equally far": {m: machine{online: "0-5", cpus: []string{"0-1", "2-3", "4-5"}, gib: []int{4, 4, 0}},
			want: "0: [0 1 4 5] 4 []; 1: [2 3] 4 []"},
		"numbers with gaps": {m: machine{online: "0-3", cpus: []string{"0-1", "2-3"}, gib: []int{4, 4}, numbers: []int{0, 8}, dist: words("10 40", "40 10")},
			want: "0: [0 1] 4 [10 40]; 8: [2 3] 4 [40 10]"},
		"offline processors": {m: machine{online: "0,2-3", cpus: []string{"0-1", "2-3"}, gib: []int{4, 4}},
			want: "0: [0] 4 []; 1: [2 3] 4 []"},
		"affinity": {m: two, may: Limits{Processors: []int{1, 2, 5}}, want: "0: [1 5] 32 [10 21]; 1: [2] 32 [21 10]"},
		"affinity with one socket": {m: two, may: Limits{Processors: []int{6, 7}},
			want: "1: [6 7] 32 [10 21]; 0: [] 32 [21 10]"},
		"cpuset with the memory of one node": {m: two, may: Limits{Memory: []int{1}}, want: "1: [0 1 2 3 4 5 6 7] 32 [10]"},
		"cpuset with one node":               {m: two, may: Limits{Processors: []int{2, 3, 6, 7}, Memory: []int{1}}, want: "1: [2 3 6 7] 32 [10]"},
		"without NUMA":                       {m: machine{online: "0-3"}, may: Limits{Processors: []int{1, 2}}, want: "0: [1 2] 0 []"},
		"without files":                      {may: Limits{Processors: []int{0, 3}}, want: "0: [0 3] 0 []"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(c.m.files(), c.may)
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, n := range got.Nodes {
				all = append(all, fmt.Sprintf("%d: %v %d %v", n.Number, n.Processors, n.Memory>>30, n.Distance))
			}
			if s := strings.Join(all, "; "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
		})
	}
}

// TestReadErrors has files that make no sense, and nothing to use.
func TestReadErrors(t *testing.T) {
	with := func(name, text string) fs.FS {
		all := two.files().(fstest.MapFS)
		if text == "" {
			delete(all, name)
		} else {
			all[name] = &fstest.MapFile{Data: []byte(text)}
		}
		return all
	}
	for want, c := range map[string]struct {
		sys fs.FS
		may Limits
	}{
		"no processor that the process may use":             {two.files(), Limits{Processors: []int{17}}},
		"no node has memory that the process may use":       {two.files(), Limits{Memory: []int{2}}},
		`devices/system/cpu/online: "0-" in a list`:         {with(cpuDir+"/online", "0-"), Limits{}},
		`devices/system/node/online: "x" in a list`:         {with(nodeDir+"/online", "0,x"), Limits{}},
		`node1/cpulist: "7-2" in a list`:                    {with(nodeDir+"/node1/cpulist", "7-2"), Limits{}},
		"node1/cpulist: file does not exist":                {with(nodeDir+"/node1/cpulist", ""), Limits{}},
		"node0/meminfo has no line MemTotal":                {with(nodeDir+"/node0/meminfo", "Node 0 MemFree: 1 kB"), Limits{}},
		`node0/meminfo has "Node 0 MemTotal: -1 kB"`:        {with(nodeDir+"/node0/meminfo", "Node 0 MemTotal: -1 kB"), Limits{}},
		"node0/distance has 3 numbers for 2 nodes":          {with(nodeDir+"/node0/distance", "10 20 30"), Limits{}},
		`node0/distance has "far"`:                          {with(nodeDir+"/node0/distance", "10 far"), Limits{}},
		`the core of processor 1: "?" in a list`:            {with(cpuDir+"/cpu1/topology/thread_siblings_list", "?"), Limits{}},
		"node0/distance has 2 numbers for 3 nodes":          {with(nodeDir+"/online", "0-2"), Limits{}},
		`online: "0-4000000000" in a list such as 0-3,8 is`: {with(cpuDir+"/online", "0-4000000000"), Limits{}},
	} {
		if _, err := Read(c.sys, c.may); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "numa: ") {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestShare divides workers among nodes.
func TestShare(t *testing.T) {
	node := func(n int) Node { return Node{Processors: make([]int, n)} }
	for _, c := range []struct {
		nodes   []int
		workers int
		want    []int
	}{
		{[]int{4, 4}, 0, []int{4, 4}},
		{[]int{4, 4}, 8, []int{4, 4}},
		{[]int{4, 4}, 3, []int{2, 1}},
		{[]int{4, 4}, 1, []int{1, 0}},
		{[]int{4, 2}, 3, []int{2, 1}},
		{[]int{1, 63}, 2, []int{1, 1}},
		{[]int{4, 4, 0}, 5, []int{3, 2, 0}},
		{[]int{2}, 7, []int{7}},
		{[]int{2, 2}, 9, []int{5, 4}},
	} {
		topo := Topology{}
		for _, n := range c.nodes {
			topo.Nodes = append(topo.Nodes, node(n))
		}
		if got := topo.share(c.workers); !slices.Equal(got, c.want) {
			t.Errorf("%d workers on nodes with %v processors: %v, want %v", c.workers, c.nodes, got, c.want)
		}
	}
}

// TestCapacity: the nodes together have no more memory than the process may use.
func TestCapacity(t *testing.T) {
	cxl := machine{online: "0-3", cpus: []string{"0-1", "2-3", ""}, gib: []int{16, 16, 32}}
	for name, c := range map[string]struct {
		m    machine
		may  Limits
		want []int64 // of Nodes, in MiB
	}{
		"all of it":                         {two, Limits{Bytes: 64 << 30}, []int64{32 << 10, 32 << 10}},
		"swap is not near any node":         {two, Limits{Bytes: 100 << 30}, []int64{32 << 10, 32 << 10}},
		"a control group with a limit":      {two, Limits{Bytes: 8 << 30}, []int64{4 << 10, 4 << 10}},
		"nodes of different sizes":          {cxl, Limits{Bytes: 4 << 30}, []int64{1 << 10, 1 << 10, 2 << 10}},
		"a cpuset without the largest node": {cxl, Limits{Bytes: 4 << 30, Memory: []int{0, 1}}, []int64{2 << 10, 2 << 10}},
		"less than a node has":              {cxl, Limits{Bytes: 48 << 30}, []int64{12 << 10, 12 << 10, 24 << 10}},
	} {
		topo, err := Read(c.m.files(), c.may)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for i := range topo.Nodes {
			got = append(got, topo.capacity(i)>>20)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v MiB, want %v", name, got, c.want)
		}
		for i, d := range topo.Open(0).Devices {
			if n := d.Memory().Capacity(); n != topo.capacity(1+i) {
				t.Errorf("%s: %s has %d bytes", name, d.Name(), n)
			}
		}
	}
	// Without a limit it is that of package cpu, whatever the nodes say.
	huge := machine{online: "0-1", cpus: []string{"0", "1"}, gib: []int{1 << 20, 3 << 20}}
	topo, err := Read(huge.files(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	have := cpu.New(0).Memory().Capacity()
	if a, b := topo.capacity(0), topo.capacity(1); a <= 0 || a+b > have || b < have/4*3-1 {
		t.Errorf("%d and %d bytes of %d", a, b, have)
	}
}

func TestParseList(t *testing.T) {
	got, err := ParseList("8, 0-3,2")
	if err != nil || !slices.Equal(got, []int{0, 1, 2, 3, 8}) {
		t.Error(got, err)
	}
	for _, bad := range []string{"", " ", "1,", "-1", "3-1", "a", "70000"} {
		if got, err := ParseList(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}

func FuzzParseList(f *testing.F) {
	f.Add("0-3,8")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseList(text)
		if err == nil && (len(all) == 0 || !slices.IsSorted(all) || all[0] < 0) {
			t.Errorf("%q is %v", text, all)
		}
	})
}
