package lang

// Plans of a session: what it did so far, and what an entry would do.

import (
	"context"
	"fmt"
	"strings"

	"github.com/starpush/starpush/engine"
)

// Plan plans the entries that ran without error and then src, for the machine of the
// session, and returns what src would submit; all of it when src is empty. No kernel runs,
// and the session does not change; but the entries are gone through again, and so are
// the calls of host functions in them, as far as their arguments are known (Program.Plan).
func (s *Session) Plan(ctx context.Context, src string) (*Plan, error) {
	if s.err != nil {
		return nil, s.err
	}
	text, _ := s.Script()
	if !strings.Contains(text, blasImport) && s.comp.cfg.Modules["std/blas"] != nil && strings.Contains(src, "blas.") {
		text = blasImport + "\n" + text
	}
	for _, b := range s.comp.runConfig(s.rt, s.opts).Bindings {
		text = fmt.Sprintf("extern %s: %v\n", b.Name, b.Data.Type()) + text
	}
	m := s.rt.Machine()
	all, err := s.planText(ctx, m, text+src)
	if err != nil {
		return nil, err
	}
	if src == "" {
		all.Missing = s.undone
		return all, nil
	}
	before, err := s.planText(ctx, m, text)
	if err != nil {
		return nil, err
	}
	n := 0 // what the session did: without the end of its data, which comes at the end of both
	for n < len(before.Graph.Tasks) && before.Graph.Tasks[n].Internal != "unregister" {
		n++
	}
	all.setGraph(all.Graph.From(n))
	return all, nil
}

// planText plans a script. Its warnings are no news: the session said them.
func (s *Session) planText(ctx context.Context, m engine.Machine, text string) (*Plan, error) {
	prog, ds := s.comp.Compile(ctx, "<plan>", []byte(text))
	if prog == nil {
		return nil, ds
	}
	return prog.Plan(ctx, m, append(append([]Option(nil), s.opts...), Stdout(discard{}))...)
}

// discard takes prints that were seen before.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
