package lang

// Graphs of a session: what it did so far, and what an entry would do.

import (
	"context"
	"errors"
	"io"

	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/interp"
)

// Plan plans an entry for the machine of the session, as it is now, and returns what it
// would submit. No kernel runs, no file is written, and the session does not change; but
// host functions that the entry calls are called, as far as their arguments are known
// (Program.Plan). What tasks of the session have computed is known, too, until a task
// of the plan writes it.
func (s *Session) Plan(ctx context.Context, src string) (*Plan, error) {
	if err := s.between("Plan"); err != nil {
		return nil, err
	}
	switch {
	case s.closed:
		return nil, errors.New("lang: the session is closed")
	case s.err != nil:
		return nil, s.err
	}
	return s.plan(interp.Context(ctx), diag.NewSource("<plan>", src))
}

func (s *Session) plan(ctx context.Context, source *diag.Source) (p *Plan, err error) {
	defer func() {
		if r := recover(); r != nil {
			d := internal(source, r)
			p, err = nil, &d
		}
	}()
	s.ctx.Context = ctx
	defer func() { s.ctx.Context = context.Background() }()
	unit, ds := s.checker.Try(source)
	if unit == nil {
		return nil, s.comp.cfg.Warnings.apply(ds)
	}
	called := map[string]bool{}
	cfg := &interp.PlanConfig{Config: *s.comp.runConfig(nil, s.opts), Machine: s.rt.Machine(), Called: called}
	cfg.Stdout = io.Discard
	ctx, cancel := cfg.Limits.Bound(ctx)
	defer cancel()
	found, err := s.m.PlanEntry(ctx, unit, cfg)
	if err != nil {
		return nil, err
	}
	return newPlan(ctx, found, source.Name, called)
}

// Graph returns the tasks that the session has inserted since it began or was Reset, and how
// many more there were: a session remembers 262144, those of the engine included.
func (s *Session) Graph() (g *graph.Graph, missing int) {
	if s.m == nil {
		return &graph.Graph{}, 0
	}
	return s.m.SessionGraph("session")
}
