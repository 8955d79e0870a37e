package flow_test

// The data flow must be honest: what it reports as an error happens in every run
// that comes to the place. Random programs are checked, then run many times by a
// small simulation that takes branches and rounds by chance.

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/diag/diagtest"
)

// simOp is one line of a random program.
type simOp struct {
	kind string // "R", "W", "RW", "REDUX", "invalidate", "unregister", "acquire", "open", "release", "look", "alias", "call", "if", "for", "break", "continue", "return", "register"
	name string // data, or array
	arg  string // what it is called: data for alias, mode for acquire
	line int
	body []*simOp
	els  []*simOp
}

type simGen struct {
	r     *rand.Rand
	b     strings.Builder
	line  int
	fresh int
	fn    []*simOp // body of the function that calls run
	plain bool     // no branches, loops, calls and second names
}

func (g *simGen) emit(depth int, format string, args ...any) int {
	g.line++
	fmt.Fprintf(&g.b, strings.Repeat("    ", depth)+format+"\n", args...)
	return g.line
}

func (g *simGen) pick(s []string) string { return s[g.r.IntN(len(s))] }

// block writes n statements. names are the data in scope, open the arrays of this
// block that are still to be released.
func (g *simGen) block(n, depth int, names []string, loop, fn bool) (out []*simOp) {
	names = append([]string(nil), names...)
	var open []string
	add := func(op *simOp) { out = append(out, op) }
	for range n {
		x := g.pick(names)
		k := g.r.IntN(24)
		if g.plain && (k == 12 || k >= 20) {
			continue
		}
		switch {
		case k < 3:
			add(&simOp{kind: "R", name: x, line: g.emit(depth, "insert rd(R %s)", x)})
		case k < 6:
			add(&simOp{kind: "W", name: x, line: g.emit(depth, "insert wr(W %s)", x)})
		case k < 7:
			add(&simOp{kind: "RW", name: x, line: g.emit(depth, "insert rw(RW %s)", x)})
		case k < 8:
			add(&simOp{kind: "REDUX", name: x, line: g.emit(depth, "insert rw(REDUX %s)", x)})
		case k < 10:
			add(&simOp{kind: "invalidate", name: x, line: g.emit(depth, "invalidate %s", x)})
		case k < 11 && g.r.IntN(3) == 0:
			add(&simOp{kind: "unregister", name: x, line: g.emit(depth, "unregister %s", x)})
		case k < 12:
			g.fresh++
			y := fmt.Sprintf("t%d", g.fresh)
			add(&simOp{kind: "register", name: y, line: g.emit(depth, "register %s = vector[f64](4, reduce = sum)", y)})
			names = append(names, y)
		case k < 13:
			g.fresh++
			y := fmt.Sprintf("l%d", g.fresh)
			add(&simOp{kind: "alias", name: y, arg: x, line: g.emit(depth, "let %s = %s", y, x)})
			names = append(names, y)
		case k < 15 && depth < 4:
			mode := g.pick([]string{"R", "W", "RW"})
			g.fresh++
			a := fmt.Sprintf("a%d", g.fresh)
			op := &simOp{kind: "acquire", name: x, arg: mode + " " + a, line: g.emit(depth, "acquire %s %s as %s {", mode, x, a)}
			op.body = append(op.body, &simOp{kind: "look", name: a, line: g.emit(depth+1, "print(%s[0])", a)})
			op.body = append(op.body, g.block(g.r.IntN(3)+1, depth+1, names, loop, fn)...)
			g.emit(depth, "}")
			add(op)
		case k < 17:
			mode := g.pick([]string{"R", "W", "RW"})
			g.fresh++
			a := fmt.Sprintf("a%d", g.fresh)
			add(&simOp{kind: "open", name: x, arg: mode + " " + a, line: g.emit(depth, "acquire %s %s as %s", mode, x, a)})
			open = append(open, a)
		case k < 18 && len(open) > 0:
			a := g.pick(open)
			add(&simOp{kind: "look", name: a, line: g.emit(depth, "print(%s[0])", a)})
		case k < 20 && len(open) > 0:
			a := g.pick(open)
			add(&simOp{kind: "release", name: a, line: g.emit(depth, "release %s", a)})
		case k < 21 && !fn:
			add(&simOp{kind: "call", line: g.emit(depth, "run()")})
		case k < 22 && depth < 4:
			op := &simOp{kind: "if", line: g.emit(depth, "if k > %d {", g.r.IntN(9))}
			op.body = g.block(g.r.IntN(3), depth+1, names, loop, fn)
			switch g.r.IntN(6) {
			case 0:
				if loop {
					op.body = append(op.body, &simOp{kind: "break", line: g.emit(depth+1, "break")})
				}
			case 1:
				if loop {
					op.body = append(op.body, &simOp{kind: "continue", line: g.emit(depth+1, "continue")})
				}
			case 2:
				if fn {
					op.body = append(op.body, &simOp{kind: "return", line: g.emit(depth+1, "return")})
				}
			}
			if g.r.IntN(2) == 0 {
				g.emit(depth, "} else {")
				op.els = g.block(g.r.IntN(3), depth+1, names, loop, fn)
			}
			g.emit(depth, "}")
			add(op)
		case depth < 4:
			op := &simOp{kind: "for", line: g.emit(depth, "for i%d in 0..k {", depth)}
			op.body = g.block(g.r.IntN(4), depth+1, names, true, fn)
			g.emit(depth, "}")
			add(op)
		}
	}
	return out
}

// simData is the state of one datum.
type simData struct {
	over, valid bool
	held        []*simArray
	started     bool // a task on it waits for a held array
}

type simArray struct {
	data     *simData
	mode     string
	released bool
}

type simRun struct {
	g      *simGen
	r      *rand.Rand
	data   []map[string]*simData
	arrays []map[string]*simArray
	hit    map[int]bool // lines that were reached
	steps  int
}

type simFault struct {
	line int
	code string
}

func (s *simRun) find(name string) *simData {
	for i := len(s.data) - 1; i >= 0; i-- {
		if d := s.data[i][name]; d != nil {
			return d
		}
	}
	return nil
}

func (s *simRun) findArray(name string) *simArray {
	for i := len(s.arrays) - 1; i >= 0; i-- {
		if d := s.arrays[i][name]; d != nil {
			return d
		}
	}
	return nil
}

// block runs statements in a scope; jump is "", "break", "continue" or "return".
func (s *simRun) block(ops []*simOp, scope bool) (jump string) {
	if scope {
		data, arrays := s.data, s.arrays
		defer func() { s.data, s.arrays = data, arrays }()
		s.data = append(s.data, map[string]*simData{})
		s.arrays = append(s.arrays, map[string]*simArray{})
	}
	for _, op := range ops {
		if jump = s.op(op); jump != "" {
			return jump
		}
	}
	return ""
}

func (s *simRun) fail(op *simOp, code string) { panic(simFault{op.line, code}) }

// use is an access of data in a mode.
func (s *simRun) use(op *simOp, d *simData, mode string) {
	if d.over {
		s.fail(op, "E0403")
	}
	if (mode == "R" || mode == "RW") && !d.valid {
		s.fail(op, "E0401")
	}
	if mode != "R" {
		d.valid = true
	}
}

func (s *simRun) acquire(op *simOp, d *simData, mode string) *simArray {
	if d.over {
		s.fail(op, "E0403")
	}
	for _, a := range d.held {
		if !a.released && (a.mode != "R" || mode != "R" || d.started) {
			s.fail(op, "E0405")
		}
	}
	s.use(op, d, mode)
	a := &simArray{data: d, mode: mode}
	d.held = append(d.held, a)
	return a
}

func (s *simRun) op(op *simOp) string {
	s.hit[op.line] = true
	if s.steps++; s.steps > 500 {
		panic(simFault{}) // long enough
	}
	d := s.find(op.name)
	switch op.kind {
	case "R", "W", "RW", "REDUX":
		s.use(op, d, op.kind)
		for _, a := range d.held {
			if !a.released && (a.mode != "R" || op.kind != "R") && op.kind != "REDUX" {
				d.started = true
			}
		}
	case "invalidate":
		if d.over {
			s.fail(op, "E0403")
		}
		d.valid = false
	case "unregister":
		if d.over {
			s.fail(op, "E0403")
		}
		d.over = true
	case "register":
		s.data[len(s.data)-1][op.name] = &simData{}
	case "alias":
		from := s.find(op.arg)
		if from.over {
			s.fail(op, "E0403")
		}
		s.data[len(s.data)-1][op.name] = from
	case "acquire", "open":
		mode, name, _ := strings.Cut(op.arg, " ")
		a := s.acquire(op, d, mode)
		if op.kind == "open" {
			s.arrays[len(s.arrays)-1][name] = a
			return ""
		}
		s.data = append(s.data, map[string]*simData{})
		s.arrays = append(s.arrays, map[string]*simArray{name: a})
		jump := s.block(op.body, false)
		s.data, s.arrays = s.data[:len(s.data)-1], s.arrays[:len(s.arrays)-1]
		a.released = true
		d.started = false
		return jump
	case "release":
		a := s.findArray(op.name)
		if a.released {
			s.fail(op, "E0406")
		}
		a.released = true
		a.data.started = false
	case "look":
		if s.findArray(op.name).released {
			s.fail(op, "E0406")
		}
	case "call":
		data, arrays := s.data, s.arrays
		s.data, s.arrays = data[:1:1], arrays[:1:1]
		s.block(s.g.fn, true)
		s.data, s.arrays = data, arrays
	case "if":
		if s.r.IntN(2) == 0 {
			return s.block(op.body, true)
		}
		return s.block(op.els, true)
	case "for":
		for range s.r.IntN(3) {
			switch s.block(op.body, true) {
			case "break":
				return ""
			case "return":
				return "return"
			}
		}
	default:
		return op.kind
	}
	return ""
}

func TestFlowIsHonest(t *testing.T) {
	const programs, runs = 800, 40
	reported := map[string]int{}
	for seed := range uint64(programs) {
		g := &simGen{r: rand.New(rand.NewPCG(seed, 1))}
		g.emit(0, "codelet rd(x: R vector[f64]) { }")
		g.emit(0, "codelet wr(x: W vector[f64]) { }")
		g.emit(0, "codelet rw(x: RW vector[f64]) { }")
		g.emit(0, "param k: int = 4")
		g.emit(0, "register x, y, z = vector[f64](4, reduce = sum)")
		g.emit(0, "func run() {")
		names := []string{"x", "y", "z"}
		g.fn = g.block(g.r.IntN(4), 1, names, false, true)
		g.emit(0, "}")
		ops := g.block(4+g.r.IntN(12), 0, names, false, false)
		text := g.b.String()
		_, ds := check.Check(nil, diag.NewSource("random.spu", text))
		var wrong []diag.Diagnostic
		for _, d := range ds {
			switch d.Code {
			case "E0401", "E0402", "E0403", "E0405", "E0406":
				wrong = append(wrong, d)
				reported[d.Code]++
			case "E0404", "W0201", "W0401", "E0407":
			default:
				t.Fatalf("seed %d: %s\n%s", seed, diagtest.Render(t, diag.Diagnostics{d}), text)
			}
		}
		for run := range uint64(runs) {
			s := &simRun{g: g, r: rand.New(rand.NewPCG(seed, run+2)), hit: map[int]bool{}}
			fault := func() (fault simFault) {
				defer func() {
					if r := recover(); r != nil {
						fault = r.(simFault)
					}
				}()
				s.data = []map[string]*simData{{"x": {}, "y": {}, "z": {}}}
				s.arrays = []map[string]*simArray{{}}
				s.block(ops, false)
				return simFault{}
			}()
			for _, d := range wrong {
				at := d.Span.Start.Line
				if !s.hit[at] || fault.line == at {
					continue
				}
				t.Fatalf("seed %d, run %d: came past line %d without %s (stopped at line %d, %s):\n%s\n%s",
					seed, run, at, d.Code, fault.line, fault.code, diagtest.Render(t, diag.Diagnostics{d}), numbered(text))
			}
		}
	}
	for _, code := range []string{"E0401", "E0402", "E0403", "E0405", "E0406"} {
		if reported[code] < 20 {
			t.Errorf("%s was reported %d times in %d programs: the generator tests nothing", code, reported[code], programs)
		}
	}
}

func numbered(text string) string {
	var b strings.Builder
	for i, l := range strings.Split(text, "\n") {
		fmt.Fprintf(&b, "%3d  %s\n", i+1, l)
	}
	return b.String()
}

// TestFlowIsComplete is the other side: where a program has one path and one
// name for each datum, the fault that stops the simulation must be reported.
func TestFlowIsComplete(t *testing.T) {
	faults := 0
	for seed := range uint64(3000) {
		g := &simGen{r: rand.New(rand.NewPCG(seed, 3)), plain: true}
		for _, l := range []string{"codelet rd(x: R vector[f64]) { }", "codelet wr(x: W vector[f64]) { }", "codelet rw(x: RW vector[f64]) { }", "register x, y = vector[f64](4, reduce = sum)"} {
			g.emit(0, "%s", l)
		}
		ops := g.block(3+g.r.IntN(10), 0, []string{"x", "y"}, false, false)
		text := g.b.String()
		_, ds := check.Check(nil, diag.NewSource("plain.spu", text))
		s := &simRun{g: g, r: g.r, hit: map[int]bool{}, data: []map[string]*simData{{"x": {}, "y": {}}}, arrays: []map[string]*simArray{{}}}
		fault := func() (fault simFault) {
			defer func() {
				if r := recover(); r != nil {
					fault = r.(simFault)
				}
			}()
			s.block(ops, false)
			return simFault{}
		}()
		if fault.line == 0 {
			continue
		}
		faults++
		found := false
		for _, d := range ds {
			same := d.Code == fault.code || d.Code == "E0402" && fault.code == "E0401"
			found = found || same && d.Span.Start.Line == fault.line
		}
		if !found {
			t.Fatalf("seed %d: %s at line %d is not reported, but:\n%s\n%s", seed, fault.code, fault.line, diagtest.Render(t, ds), numbered(text))
		}
	}
	if faults < 500 {
		t.Errorf("%d faulty programs: the generator tests nothing", faults)
	}
}
