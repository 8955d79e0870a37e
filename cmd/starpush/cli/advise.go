package cli

// --advise: into how many parts data should be split, and which bodies are slow.

import (
	"fmt"
	"strings"
	"time"

	"github.com/starpush/starpush/lang"
)

// slowBody is how long tasks of one codelet take together before somebody wants to hear
// why its body is slow.
const slowBody = 10 * time.Millisecond

// slowBodies names the codelet of the script that most of the time of all tasks goes to,
// if loops of its body run one round at a time.
func slowBodies(uses []lang.CodeletUse, st lang.Stats) (all []string) {
	var total time.Duration
	for _, c := range st.Codelets {
		total += c.Time
	}
	for _, c := range st.Codelets {
		if c.Time < slowBody || 2*c.Time < total {
			continue
		}
		for _, u := range uses {
			if len(u.Slow) == 0 || u.Name[strings.LastIndexByte(u.Name, '.')+1:] != c.Name {
				continue
			}
			text := fmt.Sprintf("%s:%d  codelet %s: %.0f %% of the time of all tasks, and its loops run one round at a time", u.Span.File, u.Span.Start.Line, u.Name, 100*c.Time.Seconds()/total.Seconds())
			for _, l := range u.Slow {
				text += fmt.Sprintf("\n  line %d: %s", l.Span.Start.Line, l.Why)
			}
			for k, l := range u.Slow {
				if k == 0 || l.Help != u.Slow[k-1].Help {
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
