package repl

// What is said behind a statement that went well, but may not have done what was meant.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang"
)

// note writes a remark about the statement that ran.
func (s *Shell) note(text string) {
	fmt.Fprintln(s.Out, paint(s.Paint.Faint, Fold("note: "+text, s.columns())))
}

// unwritten says what "?" stands for, where it was shown.
func (s *Shell) unwritten(names []string) {
	if len(names) == 0 {
		return
	}
	for i, n := range names {
		names[i] = "`" + n + "`"
	}
	what := strings.Join(names, ", ")
	if len(names) > 3 {
		what = strings.Join(names[:3], ", ") + " and others"
	}
	s.note("nothing has written " + what + " where ? stands; a task that writes it (W) gives it a value, or `fill =` where it is registered")
}

// replaced says that data has another default view now, and how it could have had both.
func (s *Shell) replaced(views []lang.ReplacedView) {
	for _, v := range views {
		s.note(fmt.Sprintf("`%s` is split by %s now instead of %s; to have both, name them: `partition v = %s by %s`", v.Name, v.New, v.Old, v.Name, v.New))
	}
}
