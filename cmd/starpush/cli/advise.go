package cli

// --advise: into how many parts data should be split.

import (
	"fmt"
	"strings"
)

// advice takes a text apart that has, for each piece of advice, a line and lines below
// it that are indented.
func advice(text string) (all []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, " ") && len(all) > 0 {
			all[len(all)-1] += "\n" + strings.TrimRight(line, "\n")
			continue
		}
		all = append(all, strings.TrimRight(line, "\n"))
	}
	return all
}

// showAdvice writes what --advise and --profile have to say of the tasks of a run, or
// keeps it for the summary line.
func (a *app) showAdvice(o *runFlags) {
	switch {
	case !o.advise && !o.profile:
	case a.json != nil:
		a.advice = append([]string{}, o.advice...)
	case len(o.advice) > 0:
		fmt.Fprintln(a.con.err, strings.Join(o.advice, "\n"))
	case o.advise:
		fmt.Fprintln(a.con.err, "no insert makes tasks that are too short, or too few for the workers")
	}
}

// adviceField is nil for none asked for, which leaves the field out.
func adviceField(all []string) any {
	if all == nil {
		return nil
	}
	return all
}
