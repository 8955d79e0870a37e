package oracle

// Running a program through package lang, and what it did held against the oracle.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/accel/disk"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/engine/perf/perftest"
	"github.com/starpush/starpush/lang"
)

func TestMain(m *testing.M) {
	remove := perftest.Private()
	code := m.Run()
	remove()
	os.Exit(code)
}

// patience bounds one run: one that takes longer hangs.
const patience = 2 * time.Minute

// A mode is a way to run programs.
type mode struct {
	workers       int
	policy        string
	machine       string // see enginetest.Named
	sequential    bool
	deterministic bool
	verify        bool
	ram           bool // little main memory, and a disk
}

func (m mode) String() string {
	s := fmt.Sprintf("%s with %d workers", m.policy, m.workers)
	if m.sequential {
		s = "sequential"
	}
	if m.machine != "" {
		s = m.policy + " on " + m.machine
	}
	for _, x := range []struct {
		on   bool
		text string
	}{{m.deterministic, "deterministic"}, {m.verify, "verified"}, {m.ram, "little memory"}} {
		if x.on {
			s += ", " + x.text
		}
	}
	return s
}

var allModes = []mode{
	{sequential: true},
	{workers: 1, policy: "eager"},
	{workers: 2, policy: "lws"},
	{workers: 4, policy: "random"},
	{workers: 3, policy: "ws", deterministic: true},
	{sequential: true, deterministic: true},
	{workers: 2, policy: "prio", verify: true},
	{workers: 2, policy: "lws", ram: true},
	{machine: "sim:cpu2gpu1", policy: "dmdas"},
	{machine: "sim:cpu2gpu1:seed=7,jitter=0.3", policy: "eager"},
	{machine: "sim:gpu4MiB:memory=65536", policy: "eager"},
	{machine: "sim:numa2", policy: "ws"},
	{machine: "sim:numa2:seed=7,jitter=0.3", policy: "dmdas"},
	{machine: "sim:cpu4", policy: "dmda"},
}

// check runs a script and returns how what it does differs from want; "" when it does
// not. It reports whether the script was accepted.
func check(t testing.TB, text string, want *Outcome, modes []mode) (bad string, accepted bool) {
	comp := lang.Must(lang.NewCompiler(lang.Config{}))
	prog, ds := comp.Compile(context.Background(), "random.spu", []byte(text))
	if err := ds.Err(); err != nil {
		return refused(want, ds), false
	}
	for k, m := range modes {
		if m.deterministic && want.Passed { // there COMMUTE uses have an order, and it waits, too
			continue
		}
		dir, remove := folder(t, want)
		bad := runAs(t, prog, m, want, dir, nil)
		if bad == "" {
			other := modes[(k+1)%len(modes)]
			if other.deterministic && want.Passed {
				other = m
			}
			bad = goOn(dir, want, func(want *Outcome, dir string, from *engine.Checkpoint) string {
				return runAs(t, prog, other, want, dir, from)
			})
			if bad != "" {
				bad = fmt.Sprintf("then %v: %s", other, bad)
			}
		}
		if remove(); bad != "" {
			return fmt.Sprintf("%v: %s", m, bad), true
		}
	}
	if bad := planned(prog, want); bad != "" {
		return "plan: " + bad, true
	}
	return "", true
}

// refused says which diagnostics of a check are wrong: those of lines that end without an error.
func refused(want *Outcome, ds lang.Diagnostics) string {
	for k := range ds {
		d := &ds[k]
		line := d.Span.Start.Line
		switch {
		case d.Severity != lang.Error:
		case want.Err != nil && want.Err.Line == line && slices.Contains(want.Err.Codes, d.Code):
		case d.Code == "E0405" && (want.Blocked || want.Err.code() == "R0104"):
		case (!want.Reached[line] || want.Skipped[line]) && (strings.HasPrefix(d.Code, "E03") || strings.HasPrefix(d.Code, "E04")):
		case strings.HasPrefix(d.Code, "E0601"):
		default:
			return fmt.Sprintf("refused: %v", d)
		}
	}
	return ""
}

// open makes the runtime of m.
func (m mode) open(t testing.TB) (*engine.Runtime, func()) {
	o := engine.Options{Workers: m.workers, Policy: m.policy, Sequential: m.sequential, Verify: m.verify}
	var after []func()
	if m.machine != "" {
		machine := enginetest.Named(t, m.machine)
		o.Workers = machine.Workers
		devices, err := machine.Open(0)
		if err != nil {
			t.Fatal(err)
		}
		o.Devices = devices
		after = append(after, func() {
			for _, d := range devices {
				if err := d.Close(); err != nil {
					t.Errorf("closing %s: %v", d.Name(), err)
				}
			}
		})
	}
	if m.ram {
		dir, err := os.MkdirTemp("", "starpush-oracle")
		if err != nil {
			t.Fatal(err)
		}
		d, err := disk.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		o.RAM, o.Disk = 16<<10, d
		after = append(after, func() {
			if err := d.Close(); err != nil {
				t.Errorf("closing the disk: %v", err)
			}
			os.RemoveAll(dir)
		})
	}
	rt, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return rt, func() {
		if err := rt.Close(); err != nil {
			t.Errorf("closing the runtime: %v", err)
		}
		for _, f := range after {
			f()
		}
	}
}

// folder makes a folder for the checkpoints of a script, if it writes any; remove takes it away.
func folder(t testing.TB, want *Outcome) (dir string, remove func()) {
	if len(want.Written) == 0 {
		return "", func() {}
	}
	dir, err := os.MkdirTemp("", "starpush-oracle")
	if err != nil {
		t.Fatal(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

// goOn calls run for each of the two newest of the checkpoints that a script has written to a folder in dir, with what is left to do, and a
// folder that has that checkpoint alone.
func goOn(dir string, want *Outcome, run func(want *Outcome, dir string, from *engine.Checkpoint) string) string {
	n := len(want.Written)
	for k := max(0, n-2); k < n; k++ {
		to := filepath.Join(dir, fmt.Sprint("from", k+1))
		generation := filepath.Join(checkpointFolder, fmt.Sprint(k+1))
		if err := os.CopyFS(filepath.Join(to, generation), os.DirFS(filepath.Join(dir, generation))); err != nil {
			return err.Error()
		}
		from, err := engine.OpenCheckpoint(filepath.Join(to, checkpointFolder))
		if err != nil {
			return err.Error()
		}
		if bad := run(want.behind(want.Written[k]), to, from); bad != "" {
			return fmt.Sprintf("checkpoint %d of %d: %s", k+1, n, bad)
		}
	}
	return ""
}

// behind is what a run does that goes on from a checkpoint. Tasks before that have not failed, as the script would have ended there.
func (o *Outcome) behind(w Written) *Outcome {
	moved := func(list []Task) (out []Task) {
		for _, x := range list {
			x.ID -= w.Tasks
			out = append(out, x)
		}
		return out
	}
	raised := func(e *Error) *Error {
		if e == nil {
			return nil
		}
		c := *e
		c.Tasks = moved(e.Tasks)
		return &c
	}
	r := *o
	r.Output, r.Tasks, r.Err, r.AtEnd = o.Output[w.Output:], moved(o.Tasks[w.Tasks:]), raised(o.Err), raised(o.AtEnd)
	r.Final = slices.Clone(o.Final)
	for k := range r.Final {
		r.Final[k].Tasks = moved(r.Final[k].Tasks)
	}
	return &r
}

// runAs runs prog in mode m. Checkpoints are in dir; from is the one to go on from, or nil.
func runAs(t testing.TB, prog *lang.Program, m mode, want *Outcome, dir string, from *engine.Checkpoint) string {
	rt, stop := m.open(t)
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out bytes.Buffer
	opts := append(checkpoints(dir, from), lang.Stdout(&out))
	if m.deterministic {
		opts = append(opts, lang.Deterministic())
	}
	inst, err := prog.Start(ctx, rt, opts...)
	if ctx.Err() != nil {
		return fmt.Sprintf("still running after %v", patience)
	}
	if bad := differ(want.Output, out.String()); bad != "" {
		return bad
	}
	if bad := wrongError(want.Err, err); bad != "" || err != nil {
		return bad
	}
	bad := wrongError(want.AtEnd, inst.Wait(ctx))
	if bad != "" {
		bad = "at the end: " + bad
	}
	for _, f := range want.Final {
		if bad == "" {
			bad = wrongFinal(ctx, inst, f)
		}
	}
	s := inst.Stats()
	if bad == "" && want.AtEnd.code() != "R0104" && (int(s.Submitted) != len(want.Tasks) || int(s.Failed) != want.Failed || int(s.Cancelled) != want.Lost) {
		bad = fmt.Sprintf("%d tasks, %d failed, %d cancelled; want %d, %d, %d", s.Submitted, s.Failed, s.Cancelled, len(want.Tasks), want.Failed, want.Lost)
	}
	inst.Close()
	return bad
}

// checkpoints are the options of a run with checkpoints in dir; from is the one to go on from, or nil.
func checkpoints(dir string, from *engine.Checkpoint) []lang.Option {
	return []lang.Option{lang.Resume(from), lang.WithCheckpoints(func(name string) (string, error) {
		if dir == "" {
			return "", errors.New("no checkpoint should be written")
		}
		return filepath.Join(dir, name), nil
	})}
}

func (e *Error) code() string {
	if e == nil {
		return ""
	}
	return e.Codes[0]
}

// differ compares what was printed; zeros may have any sign.
func differ(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for k := range max(len(w), len(g)) {
		switch {
		case k >= len(w):
			return fmt.Sprintf("prints more: %q", g[k])
		case k >= len(g):
			return fmt.Sprintf("prints less: %q is missing", w[k])
		case plainText(w[k]) != plainText(g[k]):
			return fmt.Sprintf("line %d of the output is %q, want %q", k+1, g[k], w[k])
		}
	}
	return ""
}

// plainText is text with zeros that have no sign, as minima, maxima and sums may have either,
// and without the blanks that make columns of matrices, and the punctuation of structs.
func plainText(text string) string {
	words := strings.Fields(strings.NewReplacer("{", " ", "}", " ", ",", " ").Replace(text))
	for k, w := range words {
		if w == "-0.0" {
			words[k] = "0.0"
		}
		if z, complex := strings.CutSuffix(w, "i"); complex {
			if re, ok := strings.CutSuffix(z, "-0.0"); ok {
				z = re + "+0.0"
			}
			if im, ok := strings.CutPrefix(z, "-0.0"); ok {
				z = "0.0" + im
			}
			words[k] = z + "i"
		}
	}
	return strings.Join(words, " ")
}

// wrongError compares an error with the one that should come.
func wrongError(want *Error, err error) string {
	if want == nil {
		if err != nil {
			return fmt.Sprintf("error: %v", err)
		}
		return ""
	}
	if err == nil {
		return fmt.Sprintf("no error, want %v in line %d", want.Codes, want.Line)
	}
	var ds lang.Diagnostics
	var d *lang.Diagnostic
	if errors.As(err, &d) {
		ds = lang.Diagnostics{*d}
	} else if !errors.As(err, &ds) {
		return fmt.Sprintf("an error without a diagnostic: %v", err)
	}
	if want.Every && len(ds) != len(want.Tasks) || !want.Every && len(ds) != 1 {
		return fmt.Sprintf("%d errors, want %+v: %v", len(ds), want, err)
	}
	seen := map[int64]bool{}
	for k := range ds {
		d := &ds[k]
		if !slices.Contains(want.Codes, d.Code) {
			return fmt.Sprintf("error %v, want %v in line %d", d, want.Codes, want.Line)
		}
		if want.Tasks == nil {
			if line := d.Span.Start.Line; line != want.Line {
				return fmt.Sprintf("error %v, want it in line %d", d, want.Line)
			}
			continue
		}
		if !slices.ContainsFunc(want.Tasks, func(x Task) bool {
			return d.Task != nil && d.Task.ID == int64(x.ID) && d.Task.Codelet == x.Codelet && d.Span.Start.Line == x.Line && !seen[d.Task.ID]
		}) {
			return fmt.Sprintf("error %v of %+v, want one of tasks %v", d, d.Task, want.Tasks)
		}
		seen[d.Task.ID] = true
	}
	return ""
}

// wrongFinal compares what data holds at the end.
func wrongFinal(ctx context.Context, inst *lang.Instance, f Final) string {
	h, err := inst.Handle(f.Name)
	if err != nil {
		return err.Error()
	}
	values, err := elements(ctx, h, f)
	if f.Code != "" {
		if err == nil {
			return fmt.Sprintf("%s has a value, want %s", f.Name, f.Code)
		}
		e := &Error{Codes: strings.Fields(f.Code), Tasks: f.Tasks}
		if bad := wrongError(e, err); bad != "" {
			return fmt.Sprintf("%s: %s", f.Name, bad)
		}
		return ""
	}
	if err != nil {
		return fmt.Sprintf("%s: %v", f.Name, err)
	}
	for k, v := range f.Values {
		if k < len(values) && plainText(v) != plainText(values[k].text()) {
			return fmt.Sprintf("element %d of %s is %s, want %s", k, f.Name, values[k].text(), v)
		}
	}
	if len(values) != len(f.Values) {
		return fmt.Sprintf("%s has %d elements, want %d", f.Name, len(values), len(f.Values))
	}
	return ""
}

func elements(ctx context.Context, h *lang.Handle, f Final) ([]Value, error) {
	switch f.Elem {
	case I8:
		return elementsOf[int8](ctx, h, f)
	case I16:
		return elementsOf[int16](ctx, h, f)
	case I32:
		return elementsOf[int32](ctx, h, f)
	case I64:
		return elementsOf[int64](ctx, h, f)
	case U8:
		return elementsOf[uint8](ctx, h, f)
	case U16:
		return elementsOf[uint16](ctx, h, f)
	case U32:
		return elementsOf[uint32](ctx, h, f)
	case U64:
		return elementsOf[uint64](ctx, h, f)
	case F32:
		return elementsOf[float32](ctx, h, f)
	case F16:
		return valuesOf(ctx, h, f, func(x iface.Float16) Value { return Value{T: F16, F: float64(x.Float32())} })
	case BF16:
		return valuesOf(ctx, h, f, func(x iface.BFloat16) Value { return Value{T: BF16, F: float64(x.Float32())} })
	case Bool:
		return valuesOf(ctx, h, f, boolValue)
	case C64:
		return valuesOf(ctx, h, f, func(z complex64) Value { return Value{T: C64, F: float64(real(z)), Im: float64(imag(z))} })
	case C128:
		return valuesOf(ctx, h, f, func(z complex128) Value { return Value{T: C128, F: real(z), Im: imag(z)} })
	}
	return elementsOf[float64](ctx, h, f)
}

func elementsOf[T iface.Real](ctx context.Context, h *lang.Handle, f Final) ([]Value, error) {
	return valuesOf(ctx, h, f, func(x T) Value {
		if f.Elem.Float() {
			return Value{T: f.Elem, F: float64(x)}
		}
		return Value{T: f.Elem, I: int64(x)}
	})
}

// valuesOf reads data, the last index fastest.
func valuesOf[T lang.Elem](ctx context.Context, h *lang.Handle, f Final, value func(T) Value) ([]Value, error) {
	a, err := lang.Acquire[T](ctx, h, lang.R)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	var out []Value
	line := func(s []T) {
		for _, x := range s {
			out = append(out, value(x))
		}
	}
	switch f.Shape {
	case Matrix:
		for i := range f.Dims[0] {
			line(a.Row(i))
		}
	case Block:
		for x := range f.Dims[0] {
			for y := range f.Dims[1] {
				line(a.Line(x, y))
			}
		}
	default:
		line(a.Slice())
	}
	return out, nil
}

// planned compares a plan, which has the tasks of a run as far as it does not depend on
// values, and its errors.
func planned(prog *lang.Program, want *Outcome) string {
	var out bytes.Buffer
	p, err := prog.Plan(context.Background(), engine.Machine{Workers: 2}, lang.Stdout(&out))
	switch {
	case want.Err.code() == "R0101": // no task fails in a plan
		return ""
	case want.Values && (err != nil || want.Err != nil): // it may go other ways
		return ""
	case want.Err != nil:
		return wrongError(want.Err, err)
	case want.AtEnd.code() == "R0104" && err != nil:
		return wrongError(want.AtEnd, err)
	case err != nil:
		return err.Error()
	}
	var got []Task
	for k := range p.Graph.Tasks {
		if x := &p.Graph.Tasks[k]; x.ID > 0 && (p.Graph.Exact() || k < p.Graph.Notes[0].Task) {
			got = append(got, Task{len(got) + 1, p.Graph.SiteOf(x).Line, x.Codelet})
		}
	}
	n := len(want.Tasks)
	if !p.Graph.Exact() {
		n = min(len(got), n)
	}
	if !slices.Equal(got, want.Tasks[:n]) {
		return fmt.Sprintf("tasks %v, want %v", got, want.Tasks)
	}
	return ""
}
