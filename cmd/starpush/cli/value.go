package cli

// Values of flags that have a range, and what is said of values that are none.

import (
	"errors"
	"fmt"
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

// registerTimeout adds --timeout; 0 stands for a flag that is not given.
func registerTimeout(fs *pflag.FlagSet, p *time.Duration, usage string) {
	fs.Var(&timeFlag{p, "leave it out for no limit"}, "timeout", usage)
}

// flagError says what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
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
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near, ok := diag.Nearest(unknown.GetSpecifiedName(), names); ok {
			return fmt.Errorf("%w; did you mean --%s?", err, near)
		}
	}
	return err
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
