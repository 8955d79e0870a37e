package lang

// Expectations: what a script says of its plan, in comments that runs do not see.
//
//	# expect transfers <= 12
//	# expect peak(gpu(0)) <= 4Gi

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/starpush/starpush/engine/graph"
)

// expectation is one comment: "# expect", a figure, a comparison, a number.
var expectation = regexp.MustCompile(`(?m)^[ \t]*# expect[ \t]+(.*?)[ \t]*\r?$`)

var comparison = regexp.MustCompile(`^([a-z]+(?:\(.*\))?)[ \t]*(<=|<|>=|>|==)[ \t]*([0-9][0-9_.eE+-]*)(Ki|Mi|Gi|Ti)?$`)

var unitFactors = map[string]float64{"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}

// figures are what expectations can be about.
const figures = "tasks, length, width, transfers, bytes, seconds, peak(ram), peak(gpu(0))"

// Expectations holds the plan against the comments "# expect FIGURE <= NUMBER" of the
// script: tasks, length (tasks on the longest path), width (tasks side by side),
// transfers and bytes (copied between memories), seconds (expected), peak(NODE) (bytes
// in use at most). The error is R0102 for each that does not hold, and E0105 for each
// that makes no sense. A figure that this machine does not have, such as the peak of a
// device that it lacks, and seconds that nobody knows, hold.
func (p *Plan) Expectations() error {
	file := p.prog.checked.Main.File
	text := file.Source.Text
	var ds Diagnostics
	for _, m := range expectation.FindAllStringSubmatchIndex(text, -1) {
		span := file.Source.Span(m[2], m[3])
		what := text[m[2]:m[3]]
		c := comparison.FindStringSubmatch(what)
		var have float64
		known, ok := false, c != nil
		if ok {
			have, known, ok = p.figure(c[1])
		}
		var want float64
		if ok {
			var err error
			want, err = strconv.ParseFloat(strings.ReplaceAll(c[3], "_", ""), 64)
			ok = err == nil
			want *= unitFactors[c[4]]
		}
		if !ok {
			ds = append(ds, Diagnostic{Code: "E0105", Message: fmt.Sprintf("`%s` is no expectation", what), Span: span,
				Help: []string{"write `# expect FIGURE <= NUMBER`; figures: " + figures}})
			continue
		}
		if !known || compareFigures(have, c[2], want) {
			continue
		}
		ds = append(ds, Diagnostic{Code: "R0102", Message: "the plan is not as expected", Span: span,
			Label: fmt.Sprintf("%s is %s", c[1], strconv.FormatFloat(have, 'f', -1, 64))})
	}
	return ds.Err()
}

func compareFigures(a float64, op string, b float64) bool {
	switch op {
	case "<=":
		return a <= b
	case "<":
		return a < b
	case ">=":
		return a >= b
	case ">":
		return a > b
	}
	return a == b
}

// figure returns a figure of the plan. known: it has a value here; ok: there is such a
// figure.
func (p *Plan) figure(name string) (v float64, known, ok bool) {
	m := p.Measures()
	switch name {
	case "tasks":
		return float64(m.Tasks), true, true
	case "length":
		return float64(m.Length), true, true
	case "width":
		return float64(m.Width), true, true
	case "transfers", "bytes":
		copies, bytes := p.Schedule().Moved()
		if name == "bytes" {
			return float64(bytes), true, true
		}
		return float64(copies), true, true
	case "seconds":
		return p.Schedule().Seconds, m.Unknown == 0, true
	}
	node, isPeak := strings.CutPrefix(name, "peak(")
	if !isPeak {
		return 0, false, false
	}
	n := 0
	if node != "ram)" {
		i, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(node, "gpu("), "))"))
		if err != nil || i < 0 || !strings.HasPrefix(node, "gpu(") {
			return 0, false, false
		}
		n = deviceNode(p.Graph, i)
	}
	peak := p.Schedule().Peak
	if n < 0 || n >= len(peak) {
		return 0, false, true
	}
	return float64(peak[n]), true, true
}

// deviceNode is the memory of device i; -1: there is none.
func deviceNode(g *graph.Graph, i int) int {
	var kinds []string
	for _, w := range g.Workers {
		if w.Node == 0 {
			continue
		}
		if len(kinds) == 0 || kinds[len(kinds)-1] != w.Kind {
			kinds = append(kinds, w.Kind)
			if len(kinds) == i+1 {
				return w.Node
			}
		}
	}
	return -1
}
