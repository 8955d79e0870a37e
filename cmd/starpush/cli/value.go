package cli

// Values of flags that have a range, and what is said of values that are none.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/diag"
)

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

// checkCPUs refuses workers that a machine with so many CPUs has no use for: each takes
// memory, and they would wait for each other. Plans are of any machine.
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
