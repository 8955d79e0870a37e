package repl

// :explain: what a diagnostic means, why a task ran where it did, what waits for
// what, and whether tasks are of a good size.

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/starpush/starpush/cmd/starpush/grain"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/trace"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/interp"
)

// explainWords are what :explain takes besides codes.
var explainWords = []string{"task", "blocked", "granularity"}

func (s *Shell) explain(ctx context.Context, args string) {
	word, rest, _ := strings.Cut(args, " ")
	switch rest = strings.TrimSpace(rest); {
	case args == "":
		s.usage("explain")
	case word == "task":
		s.explainTask(rest)
	case word == "blocked" && rest == "":
		if s.remembers() {
			s.blocked()
		}
	case word == "granularity" && rest == "":
		if s.remembers() {
			s.granularity()
		}
	default:
		page, ok := lang.Explain(strings.ToUpper(args))
		if !ok {
			s.complain("there is no diagnostic `%s`; codes look like E0401; or: task N, blocked, granularity", args)
			return
		}
		s.page(ctx, s.markdown(page))
	}
}

// granularity is ":explain granularity".
func (s *Shell) granularity() {
	var text string
	if s.Grain != nil {
		for _, a := range s.Grain.Advice(grain.Asked{Workers: s.Runtime.Workers(), Duration: duration, Numbers: interp.Computed}) {
			text += a + "\n"
		}
	}
	s.tell(text, "no insert makes tasks that are too short, or too few for the workers")
}

// blocked is ":explain blocked".
func (s *Shell) blocked() {
	text := s.Recent.Blocked(s.Runtime)
	known, _ := s.Recent.Left()
	if n := left(s.Session.Stats()) - int64(known); n > 0 {
		s.tell(text, "")
		s.say("%s left that came too fast to be remembered; `:set explain all` makes the session remember each", areTasks(n))
		return
	}
	s.tell(text, "no task is left, and the script holds no data")
}

// areTasks writes "1 task is", "2 tasks are".
func areTasks(n int64) string {
	if n == 1 {
		return "1 task is"
	}
	return plural(n, "task") + " are"
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
	case s.memory == "off":
		s.complain("`:set explain on` makes the session remember its tasks")
	default:
		return true
	}
	return false
}

func (s *Shell) tell(text, otherwise string) {
	if text == "" && otherwise != "" {
		text = Fold(otherwise, s.columns()) + "\n"
	}
	io.WriteString(s.Out, text)
}

// listener is who listens to tasks besides l.
func (s *Shell) listener(l engine.Listener) engine.Listener {
	if s.Recent == nil || s.memory == "off" {
		return l
	}
	if s.Grain != nil {
		l = trace.Both(s.Grain, l)
	}
	return trace.Both(s.Recent, l)
}
