package lang

// What a plan shows that makes runs slow.

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/interp"
)

const (
	shortTask = 20e-6 // seconds; below that, what a task costs besides its kernel counts
	manyTasks = 64    // of one insert: less is no matter
	longChain = 32    // tasks one behind the other
	manyReads = 8     // of one acquire or value
)

// Warnings says what the plan shows that makes runs slow, W1001 to W1003, where no
// comment of the script allows it.
func (p *Plan) Warnings() Diagnostics {
	var ds Diagnostics
	ds = append(ds, p.shortTasks()...)
	ds = append(ds, p.chains()...)
	ds = append(ds, p.readBack()...)
	for _, u := range p.prog.checked.Units {
		ds = check.Allowed(u.File, ds)
	}
	return p.prog.comp.cfg.Warnings.apply(ds)
}

func (p *Plan) warning(code string, site int32, label, format string, args ...any) Diagnostic {
	d := Diagnostic{Code: code, Severity: Warning, Message: fmt.Sprintf(format, args...), Label: label}
	if site >= 0 {
		d.Span, _ = interp.SpanOf(p.Graph.Sites[site].Data)
	}
	return d
}

// seconds is how long a task is expected to take: as measured, or by the work that it
// is said to have, at a rate that any kernel worth its name reaches.
func seconds(t *graph.Task) (s float64, known bool) {
	if s, known = t.Best(); known || t.Flops <= 0 {
		return s, known
	}
	return t.Flops / 1e9, true
}

// shortTasks finds W1001: inserts whose tasks are too short for what a task costs.
func (p *Plan) shortTasks() (ds Diagnostics) {
	type sum struct {
		n       int
		seconds float64
		name    string
	}
	bySite := map[int32]*sum{}
	for i := range p.Graph.Tasks {
		t := &p.Graph.Tasks[i]
		s, known := seconds(t)
		if t.Internal != "" || t.Site < 0 {
			continue
		}
		if !known {
			s = math.Inf(1)
		}
		x := bySite[t.Site]
		if x == nil {
			x = &sum{name: t.Codelet}
			bySite[t.Site] = x
		}
		x.n++
		x.seconds += s
	}
	for _, site := range sortedSites(p.Graph, bySite) {
		x := bySite[site]
		if mean := x.seconds / float64(x.n); x.n >= manyTasks && mean < shortTask {
			d := p.warning("W1001", site, fmt.Sprintf("%d tasks of about %.2g µs", x.n, 1e6*mean), "the tasks of `%s` are too short", x.name)
			d.Notes = []string{"a task costs some microseconds besides its kernel: below 20 µs that counts"}
			d.Help = []string{"split the data into fewer parts"}
			ds = append(ds, d)
		}
	}
	return ds
}

func sortedSites[T any](g *graph.Graph, m map[int32]T) []int32 {
	var all []int32
	for s := range m {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b int32) int {
		x, y := g.Sites[a], g.Sites[b]
		return cmp.Or(cmp.Compare(x.File, y.File), x.Line-y.Line, x.Col-y.Col)
	})
	return all
}

// chains finds W1002: data whose RW uses put tasks one behind the other that nothing
// else orders.
func (p *Plan) chains() Diagnostics {
	g := p.Graph
	if p.Measures().Length < longChain {
		return nil
	}
	uses := make([]int, len(g.Handles)) // tasks of the critical path that have it RW
	site := make([]int32, len(g.Handles))
	operand := make([]int, len(g.Handles))
	for _, i := range p.Measures().Critical {
		for k, o := range g.Tasks[i].Operands {
			if o.Mode == iface.RW && g.Tasks[i].Internal == "" {
				uses[o.Handle]++
				site[o.Handle], operand[o.Handle] = g.Tasks[i].Site, k
			}
		}
	}
	worst := -1
	for h, n := range uses {
		if n >= longChain && (worst < 0 || n > uses[worst]) {
			worst = h
		}
	}
	if worst < 0 {
		return nil
	}
	length := g.LengthWithout(int32(worst))
	if 2*length > p.Measures().Length {
		return nil // something else orders them, too
	}
	name := g.Handles[worst].Name
	d := p.warning("W1002", site[worst], "", "`%s` puts %d tasks one behind the other", name, uses[worst])
	if s := site[worst]; s >= 0 {
		if sp, ok := interp.OperandSpan(g.Sites[s].Data, operand[worst]); ok {
			d.Span = sp
		}
	}
	d.Label = "each changes what the one before left"
	d.Notes = []string{fmt.Sprintf("the longest path has %d tasks, and %d without this", p.Measures().Length, length)}
	d.Help = []string{fmt.Sprintf("if any order will do: `COMMUTE %s`", name),
		fmt.Sprintf("if the tasks only add to it: `REDUX %s`, registered with `reduce = sum`", name)}
	return Diagnostics{d}
}

// readBack finds W1003: what tasks write afresh is read by the script, again and again.
func (p *Plan) readBack() (ds Diagnostics) {
	g := p.Graph
	fresh := map[int32]bool{} // handles whose last writer had them W, and not yet read by the script
	reads := map[int32]int{}
	what := map[int32]int32{}
	for i := range g.Tasks {
		t := &g.Tasks[i]
		for _, o := range t.Operands {
			switch {
			case t.Internal == "acquire" && o.Mode.Reads():
				if fresh[o.Handle] {
					reads[t.Site]++
					what[t.Site] = o.Handle
				}
				delete(fresh, o.Handle)
			case t.Internal == "" && o.Mode == iface.W:
				fresh[o.Handle] = true
			case o.Mode.Writes():
				delete(fresh, o.Handle)
			}
		}
	}
	for _, site := range sortedSites(g, reads) {
		if reads[site] < manyReads || site < 0 {
			continue
		}
		name := g.Handles[what[site]].Name
		d := p.warning("W1003", site, fmt.Sprintf("read here %d times", reads[site]), "`%s` is written by a task and read by the script in every round", name)
		d.Notes = []string{"each read waits for its task, and on a device for a copy"}
		d.Help = []string{"let tasks use it, and read it once behind the loop; or test it every few rounds"}
		ds = append(ds, d)
	}
	return ds
}
