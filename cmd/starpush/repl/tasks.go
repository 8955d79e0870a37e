package repl

// Tasks by name: :ls tasks, and what :where says of data that tasks still use.

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/starpush/starpush/lang"
)

// left is how many tasks have not ended.
func left(st lang.Stats) int64 { return st.Submitted - st.Done - st.Failed - st.Cancelled }

// lsTasks lists tasks: all that are remembered, or those whose codelet or state fits.
func (s *Shell) lsTasks(pattern string) {
	if s.Recent == nil || s.Runtime == nil || s.memory == "off" {
		fmt.Fprint(s.Out, s.Machine.Stats(s.columns()))
		return
	}
	text := s.Recent.Tasks(s.Runtime, func(codelet, state string) bool {
		return pattern == "" || matches(pattern, codelet) || matches(pattern, state)
	}, duration)
	st := s.Session.Stats()
	switch {
	case st.Submitted == 0:
		s.complain("no task was inserted yet")
		return
	case text == "" && pattern != "":
		s.complain("no task of those that are remembered matches `%s`", pattern)
	default:
		io.WriteString(s.Out, text)
	}
	s.say("%s", tasksLine(st)+s.unheard())
}

// tasksLine counts tasks: "18 tasks: 16 done, 2 left".
func tasksLine(st lang.Stats) string {
	var each []string
	for _, n := range []struct {
		count int64
		what  string
	}{{st.Done, "done"}, {st.Failed, "failed"}, {st.Cancelled, "cancelled"}, {left(st), "left"}} {
		if n.count > 0 {
			each = append(each, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	return plural(st.Submitted, "task") + ": " + strings.Join(each, ", ")
}

// unheard says that tasks are not remembered that came too fast; "" when all are.
func (s *Shell) unheard() string {
	if s.Recent == nil {
		return ""
	}
	if _, missed := s.Recent.Left(); missed {
		return "; not all are remembered, they came too fast (`:set explain all`)"
	}
	return ""
}

// pendingOn lists the tasks that have not ended and use the data called name.
func (s *Shell) pendingOn(name string) string {
	if s.Recent == nil || s.Runtime == nil || s.memory == "off" {
		return ""
	}
	h, err := s.Session.Handle(name)
	if err != nil { // a view: of what
		for _, n := range s.Session.Names() {
			if _, of, ok := strings.Cut(n.Detail, " of "); ok && n.Name == name && n.Kind == "view" {
				h, err = s.Session.Handle(of)
			}
		}
	}
	if err != nil || !h.Exists() {
		return ""
	}
	text := s.Recent.Pending(s.Runtime, h.Engine(), duration)
	if text == "" {
		return ""
	}
	return "tasks that have not ended\n" + text
}

// timings says what the tasks of a codelet took in this session; "" when none has run.
func (s *Shell) timings(codelet string) string {
	codelet = codelet[strings.LastIndexByte(codelet, '.')+1:]
	for _, c := range s.Session.Stats().Codelets {
		if c.Name == codelet && c.Tasks > 0 {
			text := plural(c.Tasks, "task") + " done in this session"
			if c.Time > 0 {
				text += ", " + duration(c.Time/time.Duration(c.Tasks)) + " each"
			}
			return "\n\n" + Fold(text, s.columns())
		}
	}
	return ""
}
