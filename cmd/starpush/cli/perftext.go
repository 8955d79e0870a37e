package cli

// Performance models as text.

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/starpush/starpush/engine/perf"
)

// perfTable is the table of starpush perf ls.
func perfTable(files []*perf.File, now time.Time) string {
	var b strings.Builder
	kernels := false
	for _, f := range files {
		kernels = kernels || f.Kernel != ""
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(codelet, kernel, arch, model, footprints, samples, age string) {
		cells := []string{codelet, kernel, arch, model, footprints, samples, age}
		if !kernels {
			cells = append(cells[:1], cells[2:]...)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	row("CODELET", "KERNEL", "ARCH", "MODEL", "FOOTPRINTS", "SAMPLES", "LAST")
	for _, f := range files {
		for _, g := range f.Groups {
			row(f.Codelet, shortKernel(f.Kernel), archText(g), f.Kind.String(),
				fmt.Sprint(len(g.Entries)), fmt.Sprint(g.Samples()), ageText(g.Last(), now))
		}
	}
	w.Flush()
	return b.String()
}

// shortKernel is enough of a kernel's hash to tell it from others.
func shortKernel(kernel string) string {
	if kernel == "" {
		return "-"
	}
	if r := []rune(kernel); len(r) > 20 {
		return string(r[:20]) + "…"
	}
	return kernel
}

// archText names an architecture and an implementation: "cpu", "cpu #2".
func archText(g *perf.Group) string {
	if g.Impl == 0 {
		return g.Arch
	}
	return fmt.Sprintf("%s #%d", g.Arch, g.Impl+1)
}

// ageText says how long ago something happened.
func ageText(unix int64, now time.Time) string {
	d := now.Sub(time.Unix(unix, 0))
	switch {
	case unix == 0:
		return "-"
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// perfDetails is what starpush perf show says of a file.
func perfDetails(f *perf.File, path string, now time.Time) string {
	var b strings.Builder
	field := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s "+format+"\n", append([]any{name}, args...)...)
	}
	field("codelet", "%s", f.Codelet)
	if f.Kernel != "" {
		field("kernel", "%s", f.Kernel)
	}
	field("machine", "%s", f.Machine)
	field("model", "%v", f.Kind)
	field("file", "%s", path)
	for _, g := range f.Groups {
		fmt.Fprintf(&b, "\n%s: %s of %s, the last %s\n", archText(g), counted(g.Samples(), "sample"), counted(len(g.Entries), "footprint"), ageText(g.Last(), now))
		if f.Kind != perf.History {
			fmt.Fprintf(&b, "  %s\n", fitText(f, f.Fit(g)))
		}
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintf(w, "  %s\tSAMPLES\tMEDIAN\tMIDDLE HALF\tMIN\tMAX\tFOOTPRINT\n", strings.ToUpper(f.SizeUnit))
		notes := map[string]bool{}
		for _, e := range g.Entries {
			lo, hi := e.Quartiles()
			what := e.What
			if note := sampleNote(e); note != "" {
				what += " (" + note + ")"
				for _, n := range strings.Split(note, ", ") {
					notes[n] = true
				}
			}
			fmt.Fprintf(w, "  %.10g\t%d\t%s\t%s – %s\t%s\t%s\t%s\n", e.Size, e.Samples(), timeText(e.Median()),
				timeText(lo), timeText(hi), timeText(e.Min), timeText(e.Max), what)
		}
		w.Flush()
		if notes["few"] {
			fmt.Fprintf(&b, "  few: fewer than %d samples; policies go on measuring\n", perf.DefaultMinSamples)
		}
		if notes["scattered"] {
			b.WriteString("  scattered: the middle half of the last samples is wider than half the median\n")
		}
	}
	return b.String()
}

// fitText writes a curve as a formula.
func fitText(f *perf.File, c perf.Fit) string {
	if c.Err != nil {
		return fmt.Sprintf("no curve: %v", c.Err)
	}
	var s string
	switch c.Kind {
	case perf.Multiple:
		var terms []string
		for i, k := range c.Coef {
			terms = append(terms, termText(k, f.ParamNames, f.Terms[i]))
		}
		s = strings.ReplaceAll(strings.Join(terms, " + "), "+ -", "- ")
	case perf.NonLinear:
		s = fmt.Sprintf("%.4g·%s^%.3f + %.4g", c.A, f.SizeUnit, c.B, c.C)
	default:
		s = fmt.Sprintf("%.4g·%s^%.3f", c.A, f.SizeUnit, c.B)
	}
	return fmt.Sprintf("%s s, ± %.2g %%", s, 100*c.RelError)
}

// termText writes a monomial: "3e-9·m·n²" as "3e-09·m·n^2".
func termText(factor float64, names []string, exponents []float64) string {
	s := fmt.Sprintf("%.4g", factor)
	for i, e := range exponents {
		switch e {
		case 0:
		case 1:
			s += "·" + names[i]
		default:
			s += fmt.Sprintf("·%s^%g", names[i], e)
		}
	}
	return s
}

// timeText writes seconds with a unit: "1.25 ms".
func timeText(s float64) string {
	switch {
	case math.IsNaN(s) || math.IsInf(s, 0):
		return "?"
	case s == 0:
		return "0"
	case s < 999.5e-9:
		return fmt.Sprintf("%.3g ns", s*1e9)
	case s < 999.5e-6:
		return fmt.Sprintf("%.3g µs", s*1e6)
	case s < 999.5e-3:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.4g s", s)
}

type jsonPerfEntry struct {
	T         string     `json:"t"`
	Footprint string     `json:"footprint"`
	What      string     `json:"what"`
	Arch      string     `json:"arch"`
	Impl      int        `json:"impl"`
	Size      *float64   `json:"size"`
	SizeUnit  string     `json:"size_unit"`
	Params    []*float64 `json:"params,omitempty"`
	Samples   int64      `json:"samples"`
	Outliers  int64      `json:"outliers"`
	Recent    int        `json:"recent"` // samples that median, quartiles and outliers are of
	Median    *float64   `json:"median"` // seconds
	Low       *float64   `json:"low"`    // a quarter of them took less
	High      *float64   `json:"high"`   // a quarter took more
	Few       bool       `json:"few"`
	Scattered bool       `json:"scattered"`
	Mean      *float64   `json:"mean"` // of all samples
	StdDev    *float64   `json:"std_dev"`
	Min       *float64   `json:"min"`
	Max       *float64   `json:"max"`
}

type jsonPerfFit struct {
	T        string    `json:"t"`
	Arch     string    `json:"arch"`
	Impl     int       `json:"impl"`
	Model    string    `json:"model"`
	A        *float64  `json:"a,omitempty"`
	B        *float64  `json:"b,omitempty"`
	C        *float64  `json:"c,omitempty"`
	Coef     []float64 `json:"coef,omitempty"`
	RelError *float64  `json:"rel_error"`
	Problem  string    `json:"problem,omitempty"`
}

// finite is null for what JSON has no number for.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// perfShowJSON writes lines for a file, its curves and its entries.
func (a *app) perfShowJSON(s *perf.Store, f *perf.File) {
	for _, g := range f.Groups {
		a.json.line(jsonPerf{"perf", f.Codelet, f.Kernel, f.Machine, g.Arch, g.Impl, f.Kind.String(),
			len(g.Entries), g.Samples(), g.Last(), s.Path(f.Key)})
		if f.Kind != perf.History {
			c := f.Fit(g)
			line := jsonPerfFit{T: "fit", Arch: g.Arch, Impl: g.Impl, Model: f.Kind.String(),
				A: finite(c.A), B: finite(c.B), C: finite(c.C), Coef: c.Coef, RelError: finite(c.RelError)}
			if c.Err != nil {
				line.Problem = c.Err.Error()
			}
			a.json.line(line)
		}
		for _, e := range g.Entries {
			lo, hi := e.Quartiles()
			line := jsonPerfEntry{T: "entry", Footprint: e.Footprint.String(), What: e.What, Arch: g.Arch, Impl: g.Impl,
				Size: finite(e.Size), SizeUnit: f.SizeUnit, Samples: e.Samples(), Outliers: int64(e.Outliers()),
				Recent: len(e.Recent), Median: finite(e.Median()), Low: finite(lo), High: finite(hi), Few: e.Samples() < perf.DefaultMinSamples, Scattered: e.Scattered(),
				Mean: finite(e.Mean), StdDev: finite(e.StdDev()), Min: finite(e.Min), Max: finite(e.Max)}
			for _, p := range e.Params {
				line.Params = append(line.Params, finite(p))
			}
			a.json.line(line)
		}
	}
}
