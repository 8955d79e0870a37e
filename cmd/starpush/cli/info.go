package cli

// starpush info: what this machine offers to scripts.

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starpush/starpush/accel/cpu/blas"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/sched"
)

func infoCommand(a *app) *cobra.Command {
	var o runFlags
	c := &cobra.Command{
		Use:   "info",
		Short: "Show workers, memory nodes, policies and libraries",
		Args:  arity(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			rt, err := a.runtime(&o)
			if err != nil {
				return err
			}
			defer rt.Close()
			a.showInfo(a.collect(rt))
			return nil
		},
	}
	c.Flags().IntVar(&o.cpus, "cpus", 0, "number of CPU workers (default: one for each CPU)")
	c.Flags().StringVar(&o.sched, "sched", "", schedUsage())
	return c
}

type info struct {
	T        string     `json:"t"`
	Version  string     `json:"version"`
	Revision string     `json:"revision,omitempty"`
	Go       string     `json:"go"`
	Platform string     `json:"platform"`
	CPUs     int        `json:"cpus"`
	Workers  int        `json:"workers"`
	Policy   string     `json:"policy"`
	Policies []string   `json:"policies"`
	Nodes    []infoNode `json:"nodes"`
	BLAS     string     `json:"blas"`
	Files    infoFiles  `json:"files"`
}

type infoNode struct {
	Name     string `json:"name"`
	Capacity int64  `json:"capacity"`
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
		CPUs: runtime.NumCPU(), Workers: rt.Workers(), Policy: rt.Policy(), Policies: sched.Names(),
		Nodes: []infoNode{}, BLAS: blas.Default().Name(),
		Files: infoFiles{fileInfo(a.historyFile(true)), fileInfo(a.initPath()), models}}
	for _, n := range rt.Nodes() {
		i.Nodes = append(i.Nodes, infoNode{n.Name, n.Capacity})
	}
	return i
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
	row("workers", "%d CPU workers on %d CPUs", i.Workers, i.CPUs)
	for _, n := range i.Nodes {
		if n.Capacity > 0 {
			row("node", "%s  %s", n.Name, bytesText(n.Capacity))
		} else {
			row("node", "%s", n.Name)
		}
	}
	row("policy", "%s  (%s)", i.Policy, strings.Join(i.Policies, ", "))
	row("BLAS", "%s", i.BLAS)
	row("history", "%s", i.Files.History)
	row("init", "%s", i.Files.Init)
	row("models", "%s", i.Files.Models)
}

// machineLine is what the prompt's first line says of the machine.
func machineLine(rt *engine.Runtime) string {
	if rt.Workers() == 1 {
		return "1 CPU worker"
	}
	return fmt.Sprintf("%d CPU workers", rt.Workers())
}
