package sched

// Options of policies, as text: "dmda:alpha=1,beta=2".

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Option is a number that a policy can be given.
type Option struct {
	Name    string
	Doc     string  // one line
	Default float64 // what it is when nothing is said
	Whole   bool    // only whole numbers
	Least   float64 // the smallest value
}

// settings are the values of a policy's options, by name.
type settings map[string]float64

func defaults(options []Option) settings {
	s := settings{}
	for _, o := range options {
		s[o.Name] = o.Default
	}
	return s
}

// UnknownError says that there is no such policy.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("no scheduling policy %q; there are: %s", e.Name, strings.Join(Names(), ", "))
}

// OptionError says what is wrong with the options of a policy.
type OptionError struct {
	Policy, Message string
	Options         []Option // those it has
}

func (e *OptionError) Error() string {
	s := "scheduling policy " + e.Policy + ": " + e.Message
	if len(e.Options) == 0 {
		return s + "; it has no options"
	}
	for i, o := range e.Options {
		s += map[bool]string{true: "; options: ", false: ", "}[i == 0] + o.Name + "=" + number(o.Default)
	}
	return s
}

// Parse finds the policy that text names, such as "lws" or "dmda:alpha=1,beta=2":
// a name and options, each with a number. Errors are *UnknownError and *OptionError.
func Parse(text string) (Entry, error) {
	name, rest, more := strings.Cut(text, ":")
	e, ok := Lookup(name)
	if !ok {
		return Entry{}, &UnknownError{name}
	}
	e.set = defaults(e.Options)
	if !more {
		return e, nil
	}
	fail := func(format string, args ...any) (Entry, error) {
		return Entry{}, &OptionError{e.Name, fmt.Sprintf(format, args...), e.Options}
	}
	given := map[string]bool{}
	for part := range strings.SplitSeq(rest, ",") {
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			return fail("%q should be OPTION=NUMBER", part)
		}
		var opt *Option
		for i := range e.Options {
			if e.Options[i].Name == key {
				opt = &e.Options[i]
			}
		}
		v, err := strconv.ParseFloat(value, 64)
		switch {
		case opt == nil:
			return fail("no option %q", key)
		case given[key]:
			return fail("%s is given twice", key)
		case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
			return fail("%s must be a number, not %q", key, value)
		case opt.Whole && (v != math.Trunc(v) || math.Abs(v) > 1<<53):
			return fail("%s must be a whole number, not %s", key, value)
		case v < opt.Least:
			return fail("%s must be at least %s, not %s", key, number(opt.Least), value)
		}
		given[key] = true
		e.set[key] = v
	}
	return e, nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
