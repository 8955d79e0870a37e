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

// planned plans src as the session is now, and reports what is wrong.
func (s *Shell) planned(ctx context.Context, src string) *lang.Plan {
	before := s.Session.Stats()
	var p *lang.Plan
	_, _, err := s.supervise(ctx, func(ctx context.Context) (_ lang.Result, err error) { // many tasks take a while
		p, err = s.Session.Plan(ctx, src)
		return lang.Result{}, err
	})
	if err != nil {
		s.fail(src, before, err)
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
	p := s.planned(ctx, src)
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
	if s.settle() != nil {
		return
	}
	g, missing := s.Session.Graph()
	if name != "" {
		g = g.Using(name)
	}
	tasks, acquired := counts(g)
	if tasks+acquired == 0 {
		s.complain("%s", s.noTask(name))
		return
	}
	var b bytes.Buffer
	if err := graph.Write(&b, g, f, by); err != nil {
		s.complain("%v", err)
		return
	}
	if !toFile {
		s.Out.Write(b.Bytes())
	} else if err := s.writeFile(ctx, file, b.Bytes()); err != nil {
		s.complain("%s", fileError(file, err))
		return
	} else {
		s.say("%s written to %s", plural(int64(tasks), "task"), file)
	}
	if missing > 0 {
		s.note(fmt.Sprintf("without the last %s: a session remembers the first", plural(int64(missing), "task")))
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
func (s *Shell) noTask(name string) string {
	if name == "" {
		return "no task so far"
	}
	data, _, _ := strings.Cut(name, "[")
	if names := s.names(); names != nil && !slices.Contains(names, data) {
		return fmt.Sprintf("`%s` is no data of this session; `:ls handles` lists what there is", data)
	}
	return fmt.Sprintf("no task so far uses `%s`", name)
}
