package tests

// Plans of the scripts, held against what runs of them submit.

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/stdlib"
)

// TestPlansAreRuns plans every script for CPUs and for a machine with devices. An exact
// plan has the tasks of a run, one that is not begins with them up to its first note.
func TestPlansAreRuns(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(scriptsDir, "*.spu"))
	if err != nil || len(files) < 15 {
		t.Fatalf("found %d scripts: %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if name == "cholesky_mtx.spu" && testing.Short() {
			continue
		}
		t.Run(name, func(t *testing.T) { planIsRun(t, file, name) })
	}
}

func planIsRun(t *testing.T, file, name string) {
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cfg := lang.Config{Modules: stdlib.Modules(), Loader: lang.FSLoader(os.DirFS(scriptsDir)), Files: lang.Dir(dir)}
	opts := []lang.Option{lang.Stdout(io.Discard)}
	if file := matrixFiles[strings.TrimSuffix(name, ".spu")]; file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, "a.mtx"), string(text))
		opts = append(opts, lang.Param("file", "a.mtx"))
	}
	comp := lang.Must(lang.NewCompiler(cfg))
	prog, ds := comp.Compile(t.Context(), name, src)
	if prog == nil {
		t.Fatal(ds.Err())
	}
	for _, machine := range []string{"", "sim:cpu2gpu1"} {
		var devices []accel.Device
		if machine != "" {
			m, err := sim.Parse(machine)
			if err != nil {
				t.Fatal(err)
			}
			if devices, err = m.Open(); err != nil {
				t.Fatal(err)
			}
		}
		p, err := prog.Plan(t.Context(), engine.Machine{Workers: 2, Devices: devices, PerfDir: t.TempDir()}, opts...)
		for _, d := range devices {
			d.Close()
		}
		if err != nil {
			t.Fatalf("%s: %v", machine, err)
		}
		if machine != "" {
			copies, _ := p.Schedule().Moved()
			if len(p.Graph.Nodes) != 2 || copies > 4*len(p.Graph.Tasks) {
				t.Errorf("%d memories, %d copies for %d tasks", len(p.Graph.Nodes), copies, len(p.Graph.Tasks))
			}
			continue
		}
		ran := submitted(t, prog, opts)
		planned := make([]string, 0, len(p.Graph.Tasks))
		for i := range p.Graph.Tasks {
			x := &p.Graph.Tasks[i]
			planned = append(planned, taskText(x.Codelet, p.Graph.SiteOf(x).Line, x.Operands))
		}
		n := len(ran)
		if !p.Graph.Exact() {
			n = min(p.Graph.Notes[0].Task, n)
			planned = planned[:n]
		}
		if !slices.Equal(planned, ran[:n]) {
			k := 0
			for k < min(n, len(planned)) && planned[k] == ran[k] {
				k++
			}
			t.Errorf("the plan has %d tasks, the run %d; they differ at %d:\n%v\n%v", len(planned), n, k, planned[k:min(k+3, len(planned))], ran[k:min(k+3, n)])
		}
	}
}

// submitted runs prog and lists what it submitted.
func submitted(t *testing.T, prog *lang.Program, opts []lang.Option) (all []string) {
	journal := &engine.Journal{}
	rt := lang.Must(engine.New(engine.Options{Workers: 2, Listener: journal}))
	defer rt.Close()
	inst, err := prog.Run(t.Context(), rt, opts...)
	if err != nil {
		t.Fatal(err)
	}
	if err := inst.Close(); err != nil {
		t.Fatal(err)
	}
	for _, e := range journal.Entries() {
		if e.Kind != engine.TaskSubmitted {
			continue
		}
		name, line := "("+e.Internal+")", 0
		if e.Codelet != nil {
			name = e.Codelet.Name
		}
		if e.Origin.Site != nil {
			line = e.Origin.Site.Line
		}
		var ops []graph.Operand
		for _, o := range e.Operands {
			ops = append(ops, graph.Operand{Mode: o.Mode})
		}
		all = append(all, taskText(name, line, ops))
	}
	return all
}

func taskText(codelet string, line int, ops []graph.Operand) string {
	var modes []string
	for _, o := range ops {
		modes = append(modes, o.Mode.String())
	}
	return fmt.Sprintf("%s line %d %s", codelet, line, strings.Join(modes, " "))
}
