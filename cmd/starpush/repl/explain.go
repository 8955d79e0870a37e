package repl

// :explain: what a diagnostic means, why a task ran where it did, what waits for
// what, and whether tasks are of a good size.

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/trace"
	"github.com/starpush/starpush/lang"
)

// explainWords are what :explain takes besides codes.
var explainWords = []string{"task", "blocked", "granularity"}

func (s *Shell) explain(_ context.Context, args string) {
	word, rest, _ := strings.Cut(args, " ")
	switch rest = strings.TrimSpace(rest); {
	case args == "":
		s.usage("explain")
	case word == "task":
		s.explainTask(rest)
	case word == "blocked" && rest == "":
		if s.remembers() {
			s.tell(s.Recent.Blocked(s.Runtime), "no task is left, and the script holds no data")
		}
	case word == "granularity" && rest == "":
		if s.remembers() {
			s.tell(s.Recent.Granularity(s.Runtime.Workers(), duration), "no insert makes tasks that are too short, or too few for the workers")
		}
	default:
		page, ok := lang.Explain(strings.ToUpper(args))
		if !ok {
			s.complain("there is no diagnostic `%s`; codes look like E0401; or: task N, blocked, granularity", args)
			return
		}
		fmt.Fprintln(s.Out, s.markdown(page))
	}
}

// explainTask is ":explain task 3".
func (s *Shell) explainTask(number string) {
	id, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil:
		s.complain("usage: :explain task N, with the number of a task; `let t = insert …` and `t` show one")
	case s.remembers():
		text, err := s.Recent.Explain(s.Runtime, id, duration)
		if err != nil {
			s.complain("%v", err)
			return
		}
		io.WriteString(s.Out, text)
	}
}

// remembers reports whether there is something to go by, and says so if not.
func (s *Shell) remembers() bool {
	switch {
	case s.Recent == nil || s.Runtime == nil:
		s.complain("this session remembers nothing of its tasks")
	case s.forgets:
		s.complain("`:set explain on` makes the session remember its tasks")
	default:
		return true
	}
	return false
}

func (s *Shell) tell(text, otherwise string) {
	if text == "" {
		text = otherwise + "\n"
	}
	io.WriteString(s.Out, text)
}

// listener is who listens to tasks besides l.
func (s *Shell) listener(l engine.Listener) engine.Listener {
	if s.Recent == nil || s.forgets {
		return l
	}
	return trace.Both(s.Recent, l)
}

// setExplain switches what :explain goes by.
func (s *Shell) setExplain(v string) bool {
	if v != "on" && v != "off" || s.Listen == nil || s.Recent == nil || s.tracing != nil {
		return false
	}
	was := s.forgets
	s.forgets = v == "off"
	if !s.listen(context.Background(), nil) {
		s.forgets = was
	}
	return true
}
