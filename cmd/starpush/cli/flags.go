package cli

// Values of flags: ranges, sizes, limits and params.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/interp"
)

// Values of flags that have a range, and what is said of values that are none.

// A numberFlag is a number from lo to hi, written as in scripts: 16, 1_000, 4Ki.
type numberFlag struct {
	p      *int64
	lo, hi int64
	advice string // what to do instead; "" for nothing
}

func (n *numberFlag) Type() string { return "int" }

func (n *numberFlag) String() string {
	if n.p == nil { // pflag looks at zero values
		return "0"
	}
	return fmt.Sprint(*n.p)
}

func (n *numberFlag) Set(text string) error {
	v, err := parseCount(text)
	if err != nil || v < n.lo || v > n.hi {
		return &rangeError{fmt.Sprintf("must be a number from %d to %d", n.lo, n.hi), n.advice}
	}
	*n.p = v
	return nil
}

// A timeFlag is a time above zero.
type timeFlag struct {
	p      *time.Duration
	advice string
}

func (t *timeFlag) Type() string { return "duration" }

func (t *timeFlag) String() string {
	if t.p == nil || *t.p == 0 {
		return "0"
	}
	return t.p.String()
}

func (t *timeFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if n, e := strconv.ParseFloat(text, 64); err != nil && e == nil && n > 0 && !math.IsInf(n, 1) {
		return &rangeError{fmt.Sprintf("needs a unit, as in %ss or %sm", text, text), t.advice}
	}
	if err != nil || d <= 0 {
		return &rangeError{"must be a time above 0, such as 90s or 10m", t.advice}
	}
	*t.p = d
	return nil
}

// A rangeError says what a flag takes.
type rangeError struct{ must, advice string }

func (e *rangeError) Error() string { return e.must }

// registerCPUs adds --cpus; 0 stands for a flag that is not given.
func registerCPUs(fs *pflag.FlagSet, p *int64) {
	fs.Var(&numberFlag{p, 1, engine.MaxWorkers, "leave it out for one for each CPU"}, "cpus", "number `N` of CPU workers (default: one for each CPU)")
}

// checkCPUs refuses more workers than make sense on a machine with the given CPUs: each
// takes memory, and they would wait for each other. Plans are not checked, as they may be
// for another machine.
func checkCPUs(workers int64, cpus int) error {
	if most := max(64, 8*int64(cpus)); workers > most {
		return usagef("--cpus %d: this machine has %s, and %d workers are the most for that; leave the flag out for one for each CPU", workers, counted(cpus, "CPU"), most)
	}
	return nil
}

// registerTimeout adds --timeout; 0 stands for a flag that is not given.
func registerTimeout(fs *pflag.FlagSet, p *time.Duration, usage string) {
	fs.Var(&timeFlag{p, "leave it out for no limit"}, "timeout", usage)
}

// otherNames are what other tools call some flags.
var otherNames = map[string]string{
	"workers": "cpus", "nworkers": "cpus", "ncpus": "cpus", "ncpu": "cpus", "threads": "cpus", "cores": "cpus", "jobs": "cpus",
	"scheduler": "sched", "policy": "sched", "devices": "gpus", "ngpus": "gpus",
}

// flagError says what is wrong with a flag.
func (a *app) flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	var lacks *pflag.ValueRequiredError
	switch {
	case errors.As(err, &lacks):
		f := lacks.GetFlag()
		value, _ := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" && lacks.GetSpecifiedName() == f.Shorthand {
			name = "-" + f.Shorthand
		}
		return fmt.Errorf("%s needs a value: %[1]s %s", name, value)
	case errors.As(err, &value):
		name := "--" + value.GetFlag().Name
		var e *rangeError
		switch {
		case errors.As(err, &e) && e.advice != "":
			return usagef("%s %s, not `%s`; %s", name, e.must, value.GetValue(), e.advice)
		case errors.As(err, &e):
			return usagef("%s %s, not `%s`", name, e.must, value.GetValue())
		case value.GetFlag().Value.Type() == "bool":
			return usagef("%s is there or not, `%s` is no value for it; %s=false takes it back", name, value.GetValue(), name)
		}
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		name := unknown.GetSpecifiedName()
		if value, ok := a.paramValue(cmd, name); ok {
			return fmt.Errorf("%w; did you mean -p %s=%s?", err, name, value)
		}
		if other := otherNames[name]; other != "" && cmd.Flags().Lookup(other) != nil {
			return fmt.Errorf("%w; did you mean --%s?", err, other)
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near, ok := diag.Nearest(name, names); ok {
			return fmt.Errorf("%w; did you mean --%s?", err, near)
		}
	}
	return err
}

// paramValue returns the value that the command line has for a flag, if a script on it has
// a param of that name and the command takes params; N where no value is written.
func (a *app) paramValue(cmd *cobra.Command, flag string) (value string, ok bool) {
	if cmd.Flags().Lookup("param") == nil {
		return "", false
	}
	param, err := regexp.Compile(`(?m)^[ \t]*param[ \t]+` + regexp.QuoteMeta(flag) + `\b`)
	if err != nil {
		return "", false
	}
	value = "N"
	for k, arg := range a.args {
		switch v, given := strings.CutPrefix(arg, "--"+flag+"="); {
		case given:
			value = v
		case arg == "--"+flag && k+1 < len(a.args) && !strings.HasPrefix(a.args[k+1], "-") && !strings.HasSuffix(a.args[k+1], ".spu"):
			value = a.args[k+1]
		case !ok && strings.HasSuffix(arg, ".spu") && !isPipe(arg):
			_, src, err := a.readScript(context.Background(), arg)
			ok = err == nil && param.Match(src)
		}
	}
	return value, ok
}

// noEmptyFlags refuses flags whose value is the empty string: as a rule, a variable
// of the shell that has none.
func noEmptyFlags(cmd *cobra.Command) error {
	var empty []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch text := f.Value.String(); {
		case f.Value.Type() == "string" && text == "", f.Value.Type() == "stringSlice" && text == "[]":
			empty = append(empty, "--"+f.Name)
		}
	})
	switch len(empty) {
	case 0:
		return nil
	case 1:
		return usagef("%s has an empty value: give it one, or leave it out", empty[0])
	}
	return usagef("%s have empty values: give them some, or leave them out", strings.Join(empty, " and "))
}

// fileFlags are the words for values of flags that are names of files.
var fileFlags = []string{"FILE", "FOLDER", "DIR"}

// noFlagFiles refuses a flag as the name of a file: as a rule, the name was forgotten
// before the next flag.
func noFlagFiles(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value, dashed := strings.CutPrefix(f.Value.String(), "--")
		word, _ := pflag.UnquoteUsage(f)
		name, _, _ := strings.Cut(value, "=")
		if err == nil && dashed && slices.Contains(fileFlags, word) && (cmd.Flags().Lookup(name) != nil || name == "help") {
			err = usagef("--%s needs the name of a %s, and --%s is a flag; write --%[1]s=./--%[4]s if a %[2]s of that name is meant",
				f.Name, map[bool]string{true: "file", false: "folder"}[word == "FILE"], name, value)
		}
	})
	return err
}

// Values of flags: sizes such as 4Gi, limits such as steps=1Mi,tasks=100.

// parseCount reads an integer as the language writes it (42, 1_000, 0xff, 16Ki)
// and, because it is a flag, with an optional B for bytes (4GiB).
func parseCount(s string) (int64, error) {
	text := strings.TrimSuffix(s, "B")
	if text == "" || strings.HasSuffix(text, "_") || strings.HasPrefix(text, "_") {
		return 0, fmt.Errorf("`%s` is not an integer", s)
	}
	shift := uint(0)
	for unit, n := range map[string]uint{"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40} {
		if rest, ok := strings.CutSuffix(text, unit); ok {
			text, shift = rest, n
			break
		}
	}
	if shift == 0 && text != s {
		return 0, notCount(s) // "4B"
	}
	neg := strings.HasPrefix(text, "-")
	digits := strings.TrimPrefix(text, "-")
	base := 10
	if hex, ok := strings.CutPrefix(strings.ToLower(digits), "0x"); ok {
		digits, base = hex, 16
	}
	u, err := strconv.ParseUint(strings.ReplaceAll(digits, "_", ""), base, 64)
	if err != nil {
		return 0, notCount(s)
	}
	switch {
	case neg && u<<shift>>shift == u && u<<shift == 1<<63:
		return math.MinInt64, nil
	case u > math.MaxInt64>>shift:
		return 0, fmt.Errorf("`%s` does not fit in 64 bits", s)
	case neg:
		return -int64(u << shift), nil
	}
	return int64(u << shift), nil
}

// notCount is the error of s, with what was meant by units such as 4G, 4gb and 16K.
func notCount(s string) error {
	digits := strings.TrimRight(strings.ToUpper(s), "IB")
	if n := len(digits) - 1; n > 0 && strings.ContainsRune("KMGT", rune(digits[n])) {
		if _, err := strconv.ParseUint(digits[:n], 10, 63); err == nil {
			unit, zeros := digits[n], map[byte]int{'K': 3, 'M': 6, 'G': 9, 'T': 12}[digits[n]]
			return fmt.Errorf("`%s` is not an integer; write `%s%ci`, which counts by 1024, or `%s`", s, digits[:n], unit, digits[:n]+strings.Repeat("_000", zeros/3))
		}
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 { // 1e3
		return fmt.Errorf("`%s` is not an integer; write `%d`", s, int64(f))
	}
	return fmt.Errorf("`%s` is not an integer", s)
}

// withUnits adds the units of sizes to an error of parseCount that says nothing of them.
func withUnits(err error) error {
	if strings.Contains(err.Error(), ";") {
		return err
	}
	return fmt.Errorf("%w; write a number such as 1_000_000, or with a unit, Ki, Mi, Gi or Ti, such as 4Gi", err)
}

// parseLimits reads lists such as "steps=1Mi,tasks=100" into l; a limit that two of them
// name is wrong.
func parseLimits(l *lang.Limits, lists ...string) error {
	var depth, inflight, workers int64
	fields := map[string]*int64{
		"steps": &l.Steps, "depth": &depth, "tasks": &l.Tasks, "inflight": &inflight,
		"data": &l.DataBytes, "mem": &l.ScriptBytes, "output": &l.Output,
		"source": &l.SourceBytes, "workers": &workers,
	}
	names := make([]string, 0, len(fields))
	for n := range fields {
		names = append(names, n)
	}
	slices.Sort(names)
	given := map[string]bool{}
	for item := range strings.SplitSeq(strings.Join(lists, ","), ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(item), "=")
		field := fields[name]
		if field != nil && (!ok || value == "") {
			return usagef("--limits: `%s` has no number; write %s=N, such as %[2]s=1Mi", item, name)
		}
		if !ok || field == nil {
			return usagef("--limits: `%s` is not a limit; write %s=N, with commas between them", item, strings.Join(names, "=N or "))
		}
		n, err := parseCount(value)
		if err != nil {
			return usagef("--limits: %s: %v", name, withUnits(err))
		}
		if given[name] {
			return usagef("--limits: `%s` is given twice; leave one of them out", name)
		}
		given[name] = true
		if n < 1 {
			return usagef("--limits: %s must be 1 or more, not %s", name, value)
		}
		if field == &depth && n > interp.MaxCallDepth {
			return usagef("--limits: depth must be a number from 1 to %d, not %s; use a loop where calls nest deeper", interp.MaxCallDepth, value)
		}
		*field = n
	}
	for from, to := range map[*int64]*int{&depth: &l.CallDepth, &inflight: &l.InFlight, &workers: &l.MaxWorkers} {
		if *from > math.MaxInt32 {
			return usagef("--limits: %d is too large", *from)
		}
		if *from > 0 {
			*to = int(*from)
		}
	}
	return nil
}

// parseBindings reads name=value flags; twice the same name is wrong.
func parseBindings(flag string, items []string) (map[string]string, error) {
	out := make(map[string]string, len(items))
	for _, item := range items {
		name, value, ok := strings.Cut(item, "=")
		switch {
		case !ok || name == "":
			return nil, usagef("%s: `%s` is not name=value", flag, item)
		case value == "" && flag != "-p": // a param may be the empty string
			return nil, usagef("%s %s: no file is named after the `=`", flag, item)
		}
		if _, dup := out[name]; dup {
			return nil, usagef("%s: `%s` is given twice", flag, name)
		}
		out[name] = value
	}
	return out, nil
}

// -p name=value: values for the params of a script, typed by the script.

// paramOptions checks -p flags against the params of prog. Its error is either
// wrong usage or diagnostics E0704.
func paramOptions(prog *lang.Program, flags []string) ([]lang.Option, error) {
	values, err := parseBindings("-p", flags)
	if err != nil {
		return nil, err
	}
	var opts []lang.Option
	var bad lang.Diagnostics
	complain := func(help, format string, args ...any) {
		d := lang.Diagnostic{Code: "E0704", Severity: lang.Error, Message: fmt.Sprintf(format, args...)}
		if help != "" {
			d.Help = []string{help}
		}
		bad = append(bad, d)
	}
	var names []string
	for _, p := range prog.Params() {
		names = append(names, p.Name)
		text, given := values[p.Name]
		if !given {
			if p.Required {
				complain(fmt.Sprintf("give it one: `-p %s=VALUE`", p.Name), "param `%s` of type %s has no default and got no value", p.Name, p.Type)
			}
			continue
		}
		if text == "" && p.Type != "string" {
			complain(fmt.Sprintf("give it one: `-p %s=VALUE`", p.Name), "param `%s` is %s, and it got an empty value", p.Name, p.Type)
			continue
		}
		v, err := parseParam(p.Type, text)
		if err != nil {
			complain("", "param `%s` is %s, and %v", p.Name, p.Type, err)
			continue
		}
		opts = append(opts, lang.Param(p.Name, v))
	}
	unknown := make([]string, 0, len(values))
	for name := range values {
		if !slices.Contains(names, name) {
			unknown = append(unknown, name)
		}
	}
	sort.Strings(unknown)
	for _, name := range unknown {
		help := "the script has no params"
		if k := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) }); k >= 0 {
			help = "did you mean `" + names[k] + "`?"
		} else if near, ok := diag.Nearest(name, names); ok {
			help = "did you mean `" + near + "`?"
		} else if len(names) > 0 {
			help = "params: " + strings.Join(names, ", ")
		}
		complain(help, "the script has no param `%s`", name)
	}
	if len(bad) > 0 {
		return nil, bad
	}
	return opts, nil
}

// parseParam reads a value of a scalar type as a script would write it; strings
// are taken as they are.
func parseParam(typ, text string) (any, error) {
	switch typ {
	case "int":
		return parseCount(text)
	case "float":
		if n, err := parseCount(text); err == nil {
			return float64(n), nil
		}
		f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		if err != nil {
			return nil, fmt.Errorf("`%s` is not a number", text)
		}
		return f, nil
	case "complex":
		z, err := strconv.ParseComplex(strings.ReplaceAll(text, "_", ""), 128)
		if err != nil {
			return nil, fmt.Errorf("`%s` is not a complex number: write it as 1.5+2i", text)
		}
		return z, nil
	case "bool":
		switch text {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, fmt.Errorf("`%s` is neither true nor false", text)
	}
	return text, nil
}

// A kernelsFlag is the way in which bodies of codelets run.
type kernelsFlag struct{ p *lang.Kernels }

func (k *kernelsFlag) Type() string { return "string" }

func (k *kernelsFlag) String() string {
	if k.p == nil {
		return lang.AutoKernels.String()
	}
	return k.p.String()
}

func (k *kernelsFlag) Set(text string) error {
	for _, m := range []lang.Kernels{lang.AutoKernels, lang.StripKernels, lang.NativeKernels} {
		if m.String() == text {
			*k.p = m
			return nil
		}
	}
	return &rangeError{"must be auto, strips or native", ""}
}
