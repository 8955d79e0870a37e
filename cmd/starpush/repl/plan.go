package repl

// :plan and :graph: what an entry would do, and what the session did.

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/lang"
)

// planned plans src behind what the session did, and reports what is wrong.
func (s *Shell) planned(ctx context.Context, name, src string) *lang.Plan {
	before := s.Session.Stats()
	var p *lang.Plan
	_, _, err := s.supervise(ctx, func(ctx context.Context) (_ lang.Result, err error) { // many tasks take a while
		p, err = s.Session.Plan(ctx, src)
		return lang.Result{}, err
	})
	if err != nil {
		s.fail(name, before, err)
		return nil
	}
	return p
}

// plan shows what a statement would insert.
func (s *Shell) plan(ctx context.Context, src string) {
	if src == "" {
		s.usage("plan")
		return
	}
	if isExpression(src) { // the prompt takes those, too
		src = inPrint(src)
	}
	p := s.planned(ctx, "plan", src)
	if p == nil {
		return
	}
	m := p.Measures()
	var each []string
	for _, c := range m.Codelets {
		each = append(each, fmt.Sprintf("%s × %d", c.Name, c.Tasks))
	}
	line := plural(int64(m.Tasks), "task")
	if len(each) > 0 {
		line += ": " + strings.Join(each, ", ")
	}
	s.say("%s", line)
	if len(p.HostCalls) > 0 {
		s.say("the plan called these functions of the host: %s", strings.Join(p.HostCalls, ", "))
	}
	if m.Tasks == 0 {
		return
	}
	line = fmt.Sprintf("longest path %s, %d side by side", plural(int64(m.Length), "task"), m.Width)
	if m.Unknown == 0 {
		line += fmt.Sprintf(", %.3g s of work", m.Work)
	}
	s.say("%s", line)
	if copies, size := p.Schedule().Moved(); len(p.Graph.Nodes) > 1 {
		fmt.Fprintf(s.Out, "copies: %d, %s\n", copies, accel.Bytes(size))
	}
	for _, n := range p.Graph.Notes {
		fmt.Fprintf(s.Out, "line %d: %s\n", n.At.Line, n.Text)
	}
}

// graph shows or writes the tasks of the session: ":graph [NAME] [--tasks] [> FILE]".
func (s *Shell) graph(ctx context.Context, args string) {
	args, file, toFile := strings.Cut(args, ">")
	file = strings.TrimSpace(file)
	by, name := graph.ByCodelet, ""
	for _, w := range strings.Fields(args) {
		switch {
		case w == "--tasks":
			by = graph.ByTask
		case strings.HasPrefix(w, "-") || name != "":
			s.usage("graph")
			return
		default:
			name = w
		}
	}
	f := graph.Text
	if toFile {
		var ok bool
		if f, ok = graph.FormatOf(file); !ok {
			s.complain("`%s` should end in .dot, .mmd, .json, .svg or .txt", file)
			return
		}
	}
	p := s.planned(ctx, "graph", "")
	if p == nil {
		return
	}
	g := p.Graph
	if name != "" {
		g = g.Using(name)
	}
	tasks, acquired := counts(g)
	if tasks+acquired == 0 {
		s.complain("%s", s.noTask(name, p.Missing))
		return
	}
	g.Title = "session"
	var b bytes.Buffer
	if err := graph.Write(&b, g, f, by); err != nil {
		s.complain("%v", err)
		return
	}
	if !toFile {
		s.Out.Write(b.Bytes())
	} else if err := s.WriteFile(file, b.Bytes()); err != nil {
		s.complain("%s", fileError(file, err))
		return
	} else {
		s.say("%s written to %s", plural(int64(tasks), "task"), file)
	}
	if p.Missing > 0 {
		s.note("without " + missing(p.Missing))
	}
}

// counts are the tasks of a graph that kernels run, and those that wait for the script.
func counts(g *graph.Graph) (tasks, acquired int) {
	for i := range g.Tasks {
		switch t := &g.Tasks[i]; {
		case !t.Light():
			tasks++
		case t.Internal == "acquire":
			acquired++
		}
	}
	return tasks, acquired
}

// noTask says why there is no graph, of the tasks that use name where there is one.
func (s *Shell) noTask(name string, without int) string {
	text := "no task so far"
	if name != "" {
		data, _, _ := strings.Cut(name, "[")
		if names := s.names(); names != nil && !slices.Contains(names, data) {
			return fmt.Sprintf("`%s` is no data of this session; `:ls handles` lists what there is", data)
		}
		text += fmt.Sprintf(" uses `%s`", name)
	}
	if without > 0 {
		text += ", but for " + missing(without)
	}
	return text
}

// missing are the tasks that a graph of the session does not have.
func missing(n int) string {
	return plural(int64(n), "task") + " of entries that ended with an error"
}
