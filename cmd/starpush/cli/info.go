package cli

// starpush info and version.

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/all"
	"github.com/starpush/starpush/accel/bus"
	"github.com/starpush/starpush/accel/cpu/blas"
	"github.com/starpush/starpush/accel/mpi"
	"github.com/starpush/starpush/accel/numa"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/engine/sched"
	"github.com/starpush/starpush/lang"
)

// starpush info: what this machine offers to scripts.

func infoCommand(a *app) *cobra.Command {
	var o runFlags
	measure := false
	c := &cobra.Command{
		Use:   "info",
		Short: "Show workers, devices, memory nodes and their links, policies and libraries",
		Long: `Shows what there is for scripts. Links between memories are measured when they
are asked for first, and kept; --measure measures them again.`,
		Args: arity(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if err := o.deviceFlags.check(false); err != nil {
				return err
			}
			rt, err := a.runtime(&o)
			if err != nil {
				return err
			}
			if o.machine == "" && o.gpus == "" && !o.numa { // what could be asked for
				if a.devices, err = openGPUs("found", all.Drivers()); err != nil {
					return err
				}
			}
			i := a.collect(rt)
			if i.Links, err = a.links(&o, measure); err != nil { // the rest is right all the same
				a.sayError(err)
			}
			a.showInfo(i)
			return a.endRuntime(rt, &o, nil)
		},
	}
	registerCPUs(c.Flags(), &o.cpus)
	c.Flags().StringVar(&o.sched, "sched", "", schedUsage())
	c.Flags().BoolVar(&measure, "measure", false, "measure the links between memories again")
	o.deviceFlags.register(c, "")
	o.memoryFlags.register(c)
	return c
}

type info struct {
	T        string        `json:"t"`
	Version  string        `json:"version"`
	Revision string        `json:"revision,omitempty"`
	Go       string        `json:"go"`
	Platform string        `json:"platform"`
	CPUs     int           `json:"cpus"`
	Workers  int           `json:"workers"`
	Policy   string        `json:"policy"`
	Policies []string      `json:"policies"`
	Nodes    []infoNode    `json:"nodes"`
	NUMA     []infoNUMA    `json:"numa"`            // the nodes of this machine
	Bound    []int         `json:"bound,omitempty"` // processors that the workers in main memory are bound to
	Devices  []infoDevice  `json:"devices"`
	Links    []infoLink    `json:"links"`
	Missing  []infoMissing `json:"missing"`
	BLAS     string        `json:"blas"`
	LLVM     string        `json:"llvm"` // makes machine code of codelets
	MPI      string        `json:"mpi"`  // connects processes
	Files    infoFiles     `json:"files"`
}

type infoNode struct {
	Name     string `json:"name"`
	Capacity int64  `json:"capacity"`
}

type infoDevice struct {
	Name  string `json:"name"`
	Arch  string `json:"arch"` // what its kernels are written for
	Model string `json:"model,omitempty"`
	Units int    `json:"units"`          // kernels that it runs at the same time
	NUMA  bool   `json:"numa,omitempty"` // its units are CPU workers
	Node  string `json:"node"`           // its memory
}

// infoNUMA is a NUMA node of this machine that the process may use.
type infoNUMA struct {
	Number     int    `json:"number"` // as the operating system counts
	Processors []int  `json:"processors"`
	Memory     int64  `json:"memory,omitempty"` // bytes; 0: not known
	Distance   []int  `json:"distance,omitempty"`
	Node       string `json:"node"`   // the memory node that it belongs to, as in statistics and traces
	Script     string `json:"script"` // what scripts call that: "ram", "numa(1)"
}

type infoLink struct {
	From      string  `json:"from"`
	To        string  `json:"to"`
	Latency   float64 `json:"latency"`   // in seconds
	Bandwidth float64 `json:"bandwidth"` // in bytes a second
}

// infoMissing is a driver that has no devices here.
type infoMissing struct {
	Driver string `json:"driver"`
	Reason string `json:"reason"`
	Remedy string `json:"remedy,omitempty"`
}

// infoFiles are the user's files that starpush keeps or reads.
type infoFiles struct {
	History infoFile `json:"history"`
	Init    infoFile `json:"init"`
	Models  string   `json:"models"` // folder of performance models; "" without a home
}

type infoFile struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"` // -1: there is none
}

func (a *app) collect(rt *engine.Runtime) info {
	models, _ := a.perfDir("") // "" says that there is none
	i := info{T: "info", Version: Version, Revision: revision(), Go: runtime.Version(), Platform: platform(),
		CPUs: runtime.NumCPU(), Workers: cpuWorkers(rt), Policy: rt.Policy(), Policies: sched.Names(),
		Nodes: []infoNode{}, NUMA: infoNodesOfNUMA(rt, a.devices.name != ""), Bound: a.devices.processors, Devices: []infoDevice{}, Missing: []infoMissing{}, BLAS: blas.Default().Name(), LLVM: llvmText(), MPI: mpiText(),
		Files: infoFiles{fileInfo(a.historyFile(true)), fileInfo(a.initPath()), models}}
	for _, n := range rt.Nodes() {
		i.Nodes = append(i.Nodes, infoNode{n.Name, n.Capacity})
	}
	for _, d := range a.devices.devices {
		if m := d.Memory(); !slices.ContainsFunc(i.Nodes, func(n infoNode) bool { return n.Name == m.Name() }) {
			i.Nodes = append(i.Nodes, infoNode{m.Name(), m.Capacity()})
		}
		x := infoDevice{Name: d.Name(), Arch: d.Arch(), Units: d.Units(), Node: d.Memory().Name()}
		_, x.NUMA = accel.AsNUMA(d)
		if m, ok := d.(interface{ Model() string }); ok {
			x.Model = m.Model()
		}
		i.Devices = append(i.Devices, x)
	}
	for _, err := range a.devices.without {
		m := infoMissing{Reason: err.Error()}
		var e *accel.UnavailableError
		if errors.As(err, &e) {
			m = infoMissing{e.Driver, e.Reason, e.Remedy}
		}
		i.Missing = append(i.Missing, m)
	}
	return i
}

// infoNodesOfNUMA describes the NUMA nodes of this machine; none where a simulated one runs, or
// where they cannot be found out.
func infoNodesOfNUMA(rt *engine.Runtime, simulated bool) []infoNUMA {
	t, err := numa.Local()
	if err != nil || simulated {
		return []infoNUMA{}
	}
	return infoTopology(rt, t)
}

// infoTopology describes the nodes of t, and the memory nodes of rt that they belong to.
func infoTopology(rt *engine.Runtime, t *numa.Topology) (all []infoNUMA) {
	nodes := rt.Nodes()
	for _, n := range t.Nodes {
		x := infoNUMA{Number: n.Number, Processors: n.Processors, Memory: n.Memory, Distance: n.Distance, Node: nodes[0].Name, Script: "ram"}
		if k, err := rt.NodeOfNUMA(n.Number); err == nil && k > 0 {
			x.Node, x.Script = nodes[k].Name, fmt.Sprintf("numa(%d)", k)
		}
		all = append(all, x)
	}
	return all
}

// links are those between the memories, as measured, now or before. Nothing runs.
func (a *app) links(o *runFlags, again bool) ([]infoLink, error) {
	out := []infoLink{}
	table, err := a.bus(again)
	if table != nil {
		for _, l := range table.Links {
			out = append(out, infoLink{l.From, l.To, l.Latency.Seconds(), l.Bandwidth})
		}
	}
	return out, err
}

// bus is what copies between the memories cost, as measured, now or before; nil
// without devices. Nothing runs on them.
func (a *app) bus(again bool) (*bus.Table, error) {
	devices := a.devices.devices
	if len(devices) == 0 {
		return nil, nil
	}
	getenv := func(name string) string { return a.env[name] }
	dir, err := bus.Folder(getenv)
	if err != nil {
		return nil, err
	}
	name := a.devices.name
	if name == "" {
		name = perf.Machine(getenv)
	}
	store, err := bus.NewStore(dir, name)
	if err != nil {
		return nil, err
	}
	get := store.Get
	if again {
		get = store.Renew
	}
	return get(accel.NewHeap("ram", 1<<30), devices)
}

func fileInfo(path string) infoFile {
	f := infoFile{Path: path, Bytes: -1}
	if fi, err := os.Stat(path); err == nil {
		f.Bytes = fi.Size()
	}
	return f
}

func (f infoFile) String() string {
	if f.Bytes < 0 {
		return f.Path + "  (none)"
	}
	return fmt.Sprintf("%s  (%s)", f.Path, bytesText(f.Bytes))
}

func (a *app) showInfo(i info) {
	if a.json != nil {
		a.json.line(i)
		return
	}
	w := a.con.out
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-10s "+format+"\n", append([]any{name}, args...)...)
	}
	row("version", "%s", strings.TrimPrefix(versionLine(), "starpush "))
	bound := ""
	if i.Bound != nil {
		bound = ", bound to " + numa.ListText(i.Bound)
	}
	row("workers", "%s on %s%s", cpuText(i.Workers), counted(i.CPUs, "CPU"), bound)
	for _, n := range i.Nodes {
		if n.Capacity > 0 {
			row("node", "%s  %s", n.Name, bytesText(n.Capacity))
		} else {
			row("node", "%s", n.Name)
		}
	}
	for _, n := range i.NUMA {
		text := "no processors"
		if len(n.Processors) > 0 {
			text = "processors " + numa.ListText(n.Processors)
		}
		if n.Memory > 0 {
			text += ", " + bytesText(n.Memory)
		}
		if len(n.Distance) > 1 {
			text += fmt.Sprintf(", distances %v", n.Distance)
		}
		row("NUMA node", "%d  %s, %s", n.Number, text, n.Script)
	}
	for _, d := range i.Devices {
		units := counted(d.Units, "unit")
		text := fmt.Sprintf("%s  %s, %s", d.Name, d.Arch, units)
		switch {
		case d.Arch == "cpu" && d.NUMA && !strings.HasPrefix(d.Model, "simulated"):
			text = fmt.Sprintf("%s  %s  %s", d.Name, counted(d.Units, "CPU worker"), d.Model)
		case d.Arch == "cpu": // the links are below
			text = d.Name + "  simulated, " + units
		case d.Model != "":
			text += "  " + d.Model
		}
		row("device", "%s", text)
	}
	for _, l := range i.Links {
		row("link", "%s to %s  %s, %s", l.From, l.To, durationText(time.Duration(l.Latency*1e9+0.5)), rateText(l.Bandwidth))
	}
	for _, m := range i.Missing {
		text := m.Reason
		if m.Remedy != "" {
			text += "; " + m.Remedy
		}
		row("no device", "%s  %s", m.Driver, text)
	}
	row("policy", "%s  (%s)", i.Policy, strings.Join(i.Policies, ", "))
	row("BLAS", "%s", i.BLAS)
	row("LLVM", "%s", i.LLVM)
	row("MPI", "%s", i.MPI)
	row("history", "%s", i.Files.History)
	row("init", "%s", i.Files.Init)
	row("models", "%s", i.Files.Models)
}

// rateText writes a bandwidth: "11.2 GiB/s".
func rateText(bytes float64) string {
	if bytes == 0 {
		return "too fast to be measured"
	}
	return bytesText(int64(bytes)) + "/s"
}

func cpuText(n int) string {
	return counted(n, "CPU worker")
}

// cpuWorkers counts the workers that are CPUs of this machine.
func cpuWorkers(rt *engine.Runtime) (n int) {
	for i := range rt.Workers() {
		if w, err := rt.Worker(i); err == nil && w.Kind == "cpu" {
			n++
		}
	}
	return n
}

// machineLine is what the prompt's first line says of the machine: "2 CPU workers,
// sim 0 (1 GiB)".
func machineLine(rt *engine.Runtime) string {
	text, nodes, seen := cpuText(cpuWorkers(rt)), rt.Nodes(), "cpu"
	for k := 1; ; k++ {
		if _, err := rt.NUMAOfNode(k); err != nil {
			break
		}
		text += fmt.Sprintf(", %s (%s)", nodes[k].Name, bytesText(nodes[k].Capacity))
	}
	for i := range rt.Workers() {
		w, err := rt.Worker(i)
		if err == nil && w.Kind != seen && w.Kind != "cpu" {
			seen = w.Kind
			text += fmt.Sprintf(", %s (%s)", w.Kind, bytesText(nodes[w.Node].Capacity))
		}
	}
	return text
}

// starpush version.

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version",
		Args:  arity(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if a.json != nil {
				a.json.line(struct {
					T        string `json:"t"`
					Version  string `json:"version"`
					Revision string `json:"revision,omitempty"`
					Go       string `json:"go"`
					Platform string `json:"platform"`
				}{"version", Version, revision(), runtime.Version(), platform()})
				return nil
			}
			fmt.Fprintln(a.con.out, versionLine())
			return nil
		},
	}
}

// versionLine is "starpush 0.1 (1a2b3c4d, go1.26.0, linux/amd64)".
func versionLine() string {
	rev := revision()
	if rev != "" {
		rev += ", "
	}
	return fmt.Sprintf("starpush %s (%s%s, %s)", Version, rev, runtime.Version(), platform())
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// revision is the commit that the binary was built from, "" when not known.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 8:
			rev = s.Value[:8]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+"
		}
	}
	if rev == "" {
		return ""
	}
	return rev + dirty
}

// llvmText describes the library that makes machine code of codelets, or why there is none.
func llvmText() string {
	name, err := lang.KernelLibrary()
	if err != nil {
		return fmt.Sprintf("none  %v; bodies of codelets run in strips", err)
	}
	return name
}

// mpiText describes the library that connects processes, or says what to install.
func mpiText() string {
	lib, err := mpi.Open()
	if e := (*accel.UnavailableError)(nil); errors.As(err, &e) {
		return fmt.Sprintf("none  %s; %s", e.Reason, e.Remedy)
	}
	if err != nil {
		return fmt.Sprintf("none  %v", err)
	}
	text := lib.String()
	if l, ok := mpi.Launched(); ok {
		text += fmt.Sprintf("  rank %d, started by %s", l.Rank, l.Launcher)
	}
	return text
}
