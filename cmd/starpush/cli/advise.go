package cli

// --advise: into how many parts data should be split, and which bodies are slow.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// A body is worth a word if its tasks take slowBody together, and slowShare of the time
// of all tasks.
const (
	slowBody  = 10 * time.Millisecond
	slowShare = 0.2
)

// slowBodies names the codelets of the script that much of the time of all tasks goes to
// and with loops that run one round at a time, the one that took most first.
func slowBodies(uses []lang.CodeletUse, st lang.Stats) (all []string) {
	var total time.Duration
	for _, c := range st.Codelets {
		total += c.Time
	}
	codelets := slices.Clone(st.Codelets)
	slices.SortStableFunc(codelets, func(a, b engine.CodeletStat) int { return cmp.Compare(b.Time, a.Time) })
	for _, c := range codelets {
		if c.Time < slowBody || c.Time.Seconds() < slowShare*total.Seconds() {
			continue
		}
		for _, u := range uses {
			if len(u.Slow) == 0 || u.Name[strings.LastIndexByte(u.Name, '.')+1:] != c.Name {
				continue
			}
			text := fmt.Sprintf("%s:%d  codelet %s: %.0f %% of the time of all tasks, and loops of it run one round at a time", u.Span.File, u.Span.Start.Line, u.Name, 100*c.Time.Seconds()/total.Seconds())
			for _, l := range u.Slow {
				text += fmt.Sprintf("\n  line %d: %s", l.Span.Start.Line, l.Why)
			}
			seen := map[string]bool{}
			for _, l := range u.Slow {
				if !seen[l.Help] {
					seen[l.Help] = true
					text += "\n  " + l.Help
				}
			}
			all = append(all, text)
		}
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
		fmt.Fprintln(a.con.err, "no insert makes tasks that are too short, or too few for the workers, and no body is slow that could be faster")
	}
}

// adviceField is nil for none asked for, which leaves the field out.
func adviceField(all []string) any {
	if all == nil {
		return nil
	}
	return all
}
