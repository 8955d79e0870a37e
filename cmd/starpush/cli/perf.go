package cli

// starpush perf, and performance models as text.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/lang/diag"
)

// starpush perf: what is known of the times of codelets.

// perfFlags work with every command below perf.
type perfFlags struct{ dir, machine string }

func perfCommand(a *app) *cobra.Command {
	var o perfFlags
	c := &cobra.Command{
		Use:   "perf",
		Short: "List, show, plot and reset performance models",
		Long: `Performance models predict how long tasks take, from what earlier runs measured.
Scheduling policies that place tasks by their expected time use them.

  starpush run --calibrate 1 FILE   measures every task, and adds to what is known
  starpush run --calibrate 2 FILE   measures anew

A codelet has a row for each footprint: sizes and types of its operands. The
prediction is the median of the last 64 samples; show and plot mark footprints with
few samples, and those whose middle half is wider than half the median.

They lie in STARPUSH_PERF_DIR, or starpush/perf in the user's cache folder, for
each model of CPU; STARPUSH_PERF_MACHINE gives the machine another name.`,
		Example: `  starpush run --calibrate 1 cholesky.spu
  starpush perf ls
  starpush perf show gemm
  starpush perf plot gemm -o gemm.svg`,
		Args: arity(0, 0, "ls, show, plot or reset"),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.PersistentFlags().StringVar(&o.dir, "perf-dir", "", "`FOLDER` of performance models")
	c.PersistentFlags().StringVar(&o.machine, "machine", "", "`NAME` of another machine that has models in the folder")

	var out string
	plot := &cobra.Command{
		Use:   "plot CODELET",
		Short: "Draw measurements and curve as SVG, on logarithmic axes",
		Args:  arity(1, 1, "one codelet"),
		RunE:  func(_ *cobra.Command, args []string) error { return a.perfPlot(&o, args[0], out) },
	}
	plot.Flags().StringVarP(&out, "output", "o", "", "write to `FILE` instead of standard output")
	c.AddCommand(
		&cobra.Command{
			Use:   "ls",
			Short: "List the codelets that were measured",
			Args:  arity(0, 0, "no arguments"),
			RunE:  func(*cobra.Command, []string) error { return a.perfList(&o) },
		},
		&cobra.Command{
			Use:   "show CODELET",
			Short: "Show the measurements of a codelet, and the curve through them",
			Args:  arity(1, 1, "one codelet"),
			RunE:  func(_ *cobra.Command, args []string) error { return a.perfShow(&o, args[0]) },
		},
		plot,
		&cobra.Command{
			Use:   "reset [CODELET]",
			Short: "Remove what was measured of a codelet, or of all",
			Args:  arity(0, 1, "at most one codelet"),
			RunE: func(_ *cobra.Command, args []string) error {
				if slices.Contains(args, "") { // of a variable that is not set; it must not mean all
					return usagef("the name of the codelet is empty; `starpush perf reset` without one removes all")
				}
				return a.perfReset(&o, strings.Join(args, ""))
			},
		},
	)
	for _, sub := range c.Commands() {
		if sub.Name() != "ls" {
			sub.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				s, err := a.perfStore(&o)
				if err != nil {
					return nil, cobra.ShellCompDirectiveError
				}
				files, _ := s.List() // what cannot be read has no name to offer
				return perfNames(files), cobra.ShellCompDirectiveNoFileComp
			}
		}
	}
	return c
}

// perfDir is the folder of performance models: of a flag, else of the environment.
func (a *app) perfDir(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	dir, err := perf.Root(func(name string) string { return a.env[name] })
	if err != nil {
		return "", usagef("%v", err)
	}
	return dir, nil
}

func (a *app) perfStore(o *perfFlags) (*perf.Store, error) {
	dir, err := a.perfDir(o.dir)
	if err != nil {
		return nil, err
	}
	machine := o.machine
	if machine == "" {
		machine = perf.Machine(func(name string) string { return a.env[name] })
	}
	s, err := perf.NewStore(dir, machine)
	if err != nil {
		return nil, usagef("%v", err)
	}
	if all := s.Machines(); o.machine != "" && !slices.Contains(all, s.Machine()) {
		help := "none has"
		if len(all) > 0 {
			help = "those that have: " + strings.Join(all, ", ")
		}
		return nil, usagef("--machine: `%s` has no performance models in %s; %s", o.machine, dir, help)
	}
	return s, nil
}

// perfNames lists the codelets of files.
func perfNames(files []*perf.File) []string {
	var names []string
	for _, f := range files {
		names = append(names, f.Codelet)
	}
	return slices.Compact(names) // they are sorted
}

// perfFiles finds the files of a codelet. Files that cannot be read are reported.
func (a *app) perfFiles(o *perfFlags, codelet string) (*perf.Store, []*perf.File, error) {
	s, err := a.perfStore(o)
	if err != nil {
		return nil, nil, err
	}
	files, bad := s.List()
	var found []*perf.File
	for _, f := range files {
		if f.Codelet == codelet {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		for _, err := range bad {
			a.sayError(err)
		}
		return nil, nil, noModels(s, files, codelet)
	}
	return s, found, nil
}

// noModels says that nothing is known of a codelet.
func noModels(s *perf.Store, files []*perf.File, codelet string) error {
	names := perfNames(files)
	help := "`starpush perf ls` lists those that were measured"
	if near, ok := diag.Nearest(codelet, names); ok {
		help = "did you mean `" + near + "`?"
	} else if len(names) == 0 {
		help = "`starpush run --calibrate 1 FILE` measures"
	}
	return usagef("there is no performance model of `%s` in %s; %s", codelet, s.Dir(), help)
}

type jsonPerf struct {
	T          string `json:"t"`
	Codelet    string `json:"codelet"`
	Kernel     string `json:"kernel"`
	Machine    string `json:"machine"`
	Arch       string `json:"arch"`
	Impl       int    `json:"impl"`
	Variant    string `json:"variant,omitempty"`
	Workers    int    `json:"workers,omitempty"`
	Model      string `json:"model"`
	Footprints int    `json:"footprints"`
	Samples    int64  `json:"samples"`
	Last       int64  `json:"last"` // seconds since 1970
	File       string `json:"file"`
}

// perfList is starpush perf ls.
func (a *app) perfList(o *perfFlags) error {
	s, err := a.perfStore(o)
	if err != nil {
		return err
	}
	files, bad := s.List()
	if a.json != nil {
		for _, f := range files {
			for _, g := range f.Groups {
				a.json.line(jsonPerf{"perf", f.Codelet, f.Kernel, f.Machine, g.Arch, g.Impl, g.Variant, g.Workers, f.Kind.String(),
					len(g.Entries), g.Samples(), g.Last(), s.Path(f.Key)})
			}
		}
	} else if len(files) > 0 {
		io.WriteString(a.con.out, perfTable(files, time.Now()))
	} else if len(bad) == 0 && !a.flags.quiet {
		fmt.Fprintf(a.con.err, "starpush: no performance models in %s; `starpush run --calibrate 1 FILE` measures\n", s.Dir())
	}
	for _, err := range bad {
		a.sayError(err)
	}
	if len(bad) > 0 {
		return status(exitFailed)
	}
	return nil
}

// perfShow is starpush perf show.
func (a *app) perfShow(o *perfFlags, codelet string) error {
	s, files, err := a.perfFiles(o, codelet)
	if err != nil {
		return err
	}
	for i, f := range files {
		if a.json != nil {
			a.perfShowJSON(s, f)
			continue
		}
		if i > 0 {
			fmt.Fprintln(a.con.out)
		}
		io.WriteString(a.con.out, perfDetails(f, s.Path(f.Key), time.Now()))
	}
	return nil
}

// perfPlot is starpush perf plot.
func (a *app) perfPlot(o *perfFlags, codelet, out string) error {
	if a.json != nil && out == "" {
		return usagef("--json keeps standard output for itself: name a file for the plot with -o")
	}
	if out == "-" {
		return checkOutputs("", output{"-o", out})
	}
	_, files, err := a.perfFiles(o, codelet)
	if err != nil {
		return err
	}
	svg, err := plotModels(files)
	if err != nil {
		return &exitError{code: exitFailed, err: err}
	}
	if out != "" {
		return a.writeOutput(context.Background(), out, svg, -1)
	}
	a.con.out.Write(svg) // finish says what is wrong with standard output
	return nil
}

// perfReset is starpush perf reset.
func (a *app) perfReset(o *perfFlags, codelet string) error {
	s, err := a.perfStore(o)
	if err != nil {
		return err
	}
	files, _ := s.List() // what cannot be read is removed, too
	gone, err := s.Remove(codelet)
	for _, path := range gone {
		if a.json != nil {
			a.json.line(struct {
				T    string `json:"t"`
				File string `json:"file"`
			}{"removed", path})
		} else {
			fmt.Fprintf(a.con.out, "removed %s\n", path)
		}
	}
	switch {
	case err != nil:
		for _, e := range each(err) {
			a.sayError(e)
		}
		return status(exitFailed)
	case len(gone) > 0:
		return nil
	case codelet != "":
		return noModels(s, files, codelet)
	}
	if a.json == nil {
		fmt.Fprintf(a.con.out, "nothing to remove: no performance models in %s\n", s.Dir())
	}
	return nil
}

// registerPerf adds the flags of runs that may measure.
func (o *runFlags) registerPerf(c *cobra.Command) {
	c.Flags().StringVar(&o.calibrate, "calibrate", "", "performance models: `LEVEL` 0 uses them, 1 measures and adds to them, 2 measures anew")
	c.Flags().StringVar(&o.perfDir, "perf-dir", "", "`FOLDER` of performance models")
}

// calibration reads --calibrate, else STARPUSH_CALIBRATE.
func (a *app) calibration(o *runFlags) (int, error) {
	text, from := o.calibrate, "--calibrate"
	if text == "" {
		text, from = a.env["STARPUSH_CALIBRATE"], "STARPUSH_CALIBRATE"
	}
	switch text {
	case "", "0":
		return 0, nil
	case "1":
		return 1, nil
	case "2":
		return 2, nil
	}
	return 0, usagef("%s is 0 (use performance models), 1 (add to them) or 2 (measure anew), not `%s`", from, text)
}

// checkPerfDir looks, before a run, whether its folder of performance models can be one:
// what was measured would be lost at the end. A run that measures makes the folder.
func (a *app) checkPerfDir(flag string, level int) error {
	dir, err := a.perfDir(flag)
	if err != nil || flag == "" && level == 0 {
		return nil // of a run that measures nothing, or said where it matters
	}
	name := "--perf-dir"
	if flag == "" {
		name = "the folder of performance models"
	}
	if fi, err := os.Stat(dir); err == nil && !fi.IsDir() {
		return usagef("%s %s is a file; name a folder", name, dir)
	}
	if level == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return usagef("%s %s cannot be made: %v; name another with --perf-dir or STARPUSH_PERF_DIR", name, dir, cause(err))
	}
	return nil
}

// endRuntime closes a runtime after a run that ended with err, then its devices.
// Performance models that could not be saved fail a run that should have measured.
func (a *app) endRuntime(rt *engine.Runtime, o *runFlags, err error) error {
	closing := rt.Close()
	if e := a.devices.close(); e != nil && !a.flags.quiet {
		a.sayError(e)
	}
	a.closeDisk()
	var models *engine.ModelError
	if !errors.As(closing, &models) {
		return err
	}
	level, _ := a.calibration(o) // checked when the runtime was made
	if level > 0 || !a.flags.quiet {
		for _, err := range each(models.Err) {
			a.sayError(err)
		}
	}
	if err == nil && level > 0 {
		return status(exitFailed)
	}
	return err
}

// each takes apart what errors.Join put together.
func each(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()
	}
	return []error{err}
}

// Performance models as text.

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

// archText names an architecture, an implementation, a variant and a number of workers: "cpu", "cpu #2",
// "cpu native", "cpu ×4".
func archText(g *perf.Group) string {
	s := g.Arch
	if g.Impl > 0 {
		s += fmt.Sprintf(" #%d", g.Impl+1)
	}
	if g.Variant != "" {
		s += " " + g.Variant
	}
	if g.Workers > 0 {
		s += fmt.Sprintf(" ×%d", g.Workers)
	}
	return s
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
	Variant   string     `json:"variant,omitempty"`
	Workers   int        `json:"workers,omitempty"`
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
	Variant  string    `json:"variant,omitempty"`
	Workers  int       `json:"workers,omitempty"`
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
		a.json.line(jsonPerf{"perf", f.Codelet, f.Kernel, f.Machine, g.Arch, g.Impl, g.Variant, g.Workers, f.Kind.String(),
			len(g.Entries), g.Samples(), g.Last(), s.Path(f.Key)})
		if f.Kind != perf.History {
			c := f.Fit(g)
			line := jsonPerfFit{T: "fit", Arch: g.Arch, Impl: g.Impl, Variant: g.Variant, Workers: g.Workers, Model: f.Kind.String(),
				A: finite(c.A), B: finite(c.B), C: finite(c.C), Coef: c.Coef, RelError: finite(c.RelError)}
			if c.Err != nil {
				line.Problem = c.Err.Error()
			}
			a.json.line(line)
		}
		for _, e := range g.Entries {
			lo, hi := e.Quartiles()
			line := jsonPerfEntry{T: "entry", Footprint: e.Footprint.String(), What: e.What, Arch: g.Arch, Impl: g.Impl, Variant: g.Variant, Workers: g.Workers,
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

// kernelDir returns the folder that keeps machine code of codelets: the value of
// STARPUSH_KERNEL_DIR, or starpush/kernels in the user's cache folder; "" if there is none.
func (a *app) kernelDir() string {
	if dir, set := a.env["STARPUSH_KERNEL_DIR"]; set {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "starpush", "kernels")
}
