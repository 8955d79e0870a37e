package interp

// What the engine reports, in the words of the language.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel"
)

// raiseEngine raises an error of the engine about h, or about no data when h is nil.
func (m *Machine) raiseEngine(err error, at place, h *Handle) {
	var task *engine.TaskError
	var lost *engine.FailedDataError
	var uninit *engine.UninitError
	var dead *engine.DeadHandleError
	var stuck *engine.StuckError
	var ro *engine.ReadOnlyError
	var red *engine.NoReductionError
	var mode *engine.ModeError
	var full *accel.NoMemoryError
	switch {
	case errors.As(err, &lost) && lost.Task != nil:
		m.raiseTask(lost.Task, at, h)
	case errors.As(err, &stuck):
		m.raiseStuck(stuck, at, h)
	case errors.As(err, &uninit):
		m.raiseUninit(uninit, at, h)
	case errors.As(err, &dead) && h != nil:
		m.raiseDead(h, at)
	case errors.As(err, &ro):
		d := m.diagnostic("E0306", at, fmt.Sprintf("`%s` is read-only and cannot be used as %v", handleName(h, at), ro.Mode))
		d.Label = "the host bound it for reading only"
		if h != nil {
			label(d, h.root.at, "declared here")
		}
		d.Help = []string{"write into data of the script, or bind it without ReadOnly"}
		d.Cause = err
		m.raise(d)
	case errors.As(err, &red):
		m.noReduction(err, at, h, "", "")
	case errors.As(err, &mode):
		d := m.diagnostic("E0301", at, firstLine(mode.Message))
		d.Cause = err
		m.raise(d)
	case errors.As(err, &task):
		m.raiseTask(task, at, nil)
	case errors.As(err, &full):
		d := m.diagnostic("E0705", at, fmt.Sprintf("`%s` does not fit into memory: %v", handleName(h, at), full))
		if h != nil {
			label(d, h.root.at, "registered here")
		}
		d.Cause = err
		m.raise(d)
	case m.endedCtx() != nil && (errors.Is(err, context.Cause(m.endedCtx())) || errors.Is(err, m.endedCtx().Err())):
		m.raiseEnded(at)
	case errors.Is(err, engine.ErrWouldDeadlock):
		m.fail("R0104", at, "this would wait for itself: it runs inside a task")
	case errors.Is(err, engine.ErrClosed):
		d := m.diagnostic("R0112", at, "the program that runs the script has closed the runtime")
		d.Help = []string{"close instances and sessions first, and the runtime behind them"}
		d.Cause = err
		m.raise(d)
	}
	d := m.diagnostic("R0109", at, firstLine(err.Error()))
	d.Cause = err
	m.raise(d)
}

func handleName(h *Handle, at place) string {
	if h == nil {
		return "data"
	}
	return handleText(at, h)
}

// raiseUninit raises E0401 or E0402.
func (m *Machine) raiseUninit(e *engine.UninitError, at place, h *Handle) {
	name := handleName(h, at)
	some := ""
	if e.Partial {
		some = "some elements of "
	}
	if e.Why == engine.Invalidated {
		d := m.diagnostic("E0402", at, fmt.Sprintf("%s`%s` was invalidated and not written since", some, name))
		d.Label = "read here"
		if e.At != nil {
			if p, ok := e.At.Data.(place); ok {
				label(d, p, "value dropped here")
			}
		}
		d.Help = []string{fmt.Sprintf("a task that writes `%s` must be inserted before this line", name)}
		d.Cause = e
		m.raise(d)
	}
	msg := fmt.Sprintf("`%s` is read before anything writes it", name)
	if e.Partial {
		msg = fmt.Sprintf("some elements of `%s` are read before anything writes them", name)
	}
	d := m.diagnostic("E0401", at, msg)
	d.Label = "first use"
	if e.Partial {
		d.Label = "reads all elements"
	}
	if h != nil {
		label(d, h.root.at, "registered without a value")
		if right := withFill(h.root); right != "" {
			d.Help = append(d.Help, fmt.Sprintf("give it a value: `%s`", right))
		} else {
			d.Help = append(d.Help, "give it a value: register it with `fill = 0`")
		}
	}
	d.Help = append(d.Help, "or write it first, by a task that takes it as W")
	d.Cause = e
	m.raise(d)
}

// withFill is the constructor of h as the script has it, with a fill; "" when it is not
// in the line of its name.
func withFill(h *Handle) string {
	if h.at.file == nil {
		return ""
	}
	desc := h.Desc()
	begin := desc.Kind.String() + "[" + desc.Elem.String() + "]("
	line, _, _ := strings.Cut(h.at.file.Source.Text[h.at.at.Hi:], "\n")
	lo := strings.Index(line, begin)
	if lo < 0 {
		return ""
	}
	depth := 0
	for i := lo; i < len(line); i++ {
		switch line[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				text := line[lo:i]
				if !strings.HasSuffix(text, "(") {
					text += ", "
				}
				return text + "fill = 0)"
			}
		case '"', '#':
			return ""
		}
	}
	return ""
}

// raiseStuck raises R0104: a wait that would never end.
func (m *Machine) raiseStuck(e *engine.StuckError, at place, h *Handle) {
	d := m.diagnostic("R0104", at, "this waits for itself: no task of the run can go on")
	d.Cause = e
	missing, inserted := false, map[*insertSite]bool{}
	for k, t := range e.Tasks {
		if k == 4 {
			d.Notes = append(d.Notes, fmt.Sprintf("and %s more", plural(int64(len(e.Tasks)-k), "task")))
			break
		}
		what := "a gate that is closed"
		switch {
		case t.Gate != nil:
		case t.Place > 0:
			what = fmt.Sprintf("the task at place %d of worker %d", t.Place, t.Worker)
			missing = true
		case t.Tag != nil:
			what = "a tag that is never notified"
		case t.Task != nil:
			what = fmt.Sprintf("task %d, which was not submitted", t.Task.ID())
		case t.Held != nil:
			what = fmt.Sprintf("`%s`, which the script holds", t.Held.Name())
			if t.HeldAt != nil {
				if p, ok := t.HeldAt.Data.(place); ok {
					label(d, p, "held from here")
				}
			}
		}
		name := "task"
		if t.Codelet != nil {
			name = "`" + t.Codelet.Name + "`"
			if t.Name != "" && t.Name != t.Codelet.Name {
				name += " (`" + t.Name + "`)"
			}
		}
		d.Notes = append(d.Notes, fmt.Sprintf("task %d, %s, waits for %s", t.ID, name, what))
		if s, ok := siteData(t.Origin.Site); ok && len(d.Labels) < 4 && !inserted[s] {
			inserted[s] = true
			label(d, s.at, "inserted here")
		}
	}
	switch {
	case len(e.Tasks) > 0:
	case h != nil:
		d.Notes = append(d.Notes, fmt.Sprintf("`%s` is held by the script", h.Name()))
	default:
		d.Notes = append(d.Notes, "an `unpartition`, `invalidate` or `unregister` waits for data that the script holds")
	}
	d.Help = []string{"open the gate, or release the array, before waiting"}
	if missing {
		d.Help = []string{"insert the task at that place before waiting; it must not need the data of a later place"}
	}
	m.raise(d)
}

func siteData(s *engine.Site) (*insertSite, bool) {
	if s == nil {
		return nil, false
	}
	x, ok := s.Data.(*insertSite)
	return x, ok
}

// taskDiagnostic is R0101: a task failed. at is the place that needed it, and read
// the data that was to be read there; both may be left out.
func (m *Machine) taskDiagnostic(t *engine.TaskError, at place, read *Handle) *diag.Diagnostic {
	name := "task"
	if t.Codelet != nil {
		name = t.Codelet.Name
	}
	if t.Name != "" && t.Name != name {
		name += "` (`" + t.Name + "`)"
	} else {
		name += "`"
	}
	verb := "failed"
	if t.Dropped {
		verb = "was cancelled"
	}
	cause := t.Cause
	if cause == nil {
		cause = errors.New("it gave no reason")
	}
	var span place
	if s, ok := siteData(t.Origin.Site); ok {
		span = s.at
	} else if t.Origin.Site != nil {
		if p, ok := t.Origin.Site.Data.(place); ok {
			span = p
		}
	}
	d := &diag.Diagnostic{Code: "R0101", Span: span.span(), Cause: t,
		Message: fmt.Sprintf("task `%s %s: %s", name, verb, firstLine(cause.Error()))}
	ref := &diag.TaskRef{ID: t.ID, Worker: t.Worker}
	if t.Codelet != nil {
		ref.Codelet = t.Codelet.Name
	}
	if s := t.Origin.Site; s != nil {
		var vars []string
		for k, n := range s.VarNames {
			if k < len(t.Origin.Vars) {
				vars = append(vars, fmt.Sprintf("%s = %d", n, t.Origin.Vars[k]))
			}
		}
		ref.Vars = strings.Join(vars, ", ")
	}
	d.Task = ref
	d.Label = fmt.Sprintf("task %d", t.ID)
	if ref.Vars != "" {
		d.Label += ", with " + ref.Vars
	}
	if t.Worker != "" {
		d.Label += ", on " + t.Worker
	}
	for c, n := t.Origin.Call, 0; c != nil && n < maxStack; c, n = c.Parent, n+1 {
		f := diag.Frame{Call: c.Text}
		if c.Site != nil {
			if s, ok := c.Site.Data.(*callSite); ok {
				f.Span = s.at.span()
			}
		}
		d.Stack = append(d.Stack, f)
	}
	var breach *engine.VerifyError
	if errors.As(cause, &breach) {
		accuse(d, t, breach)
	}
	var fault *kernel.Fault
	if errors.As(cause, &fault) && !fault.Span.IsZero() {
		d.Labels = append(d.Labels, diag.Label{Span: fault.Span, Text: "in the codelet, here"})
		if !fault.Loop.IsZero() {
			d.Labels = append(d.Labels, diag.Label{Span: fault.Loop, Text: fmt.Sprintf("`%s` comes from here", fault.Index)})
		}
	}
	if at.file != nil && at.span() != d.Span {
		label(d, at, "its result is needed here")
	}
	if t.Cancelled == 1 {
		d.Notes = append(d.Notes, "1 task that depends on it was cancelled")
	} else if t.Cancelled > 1 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d tasks that depend on it were cancelled", t.Cancelled))
	}
	var p *engine.PanicError
	if errors.As(cause, &p) {
		d.Notes = append(d.Notes, panicNote)
	}
	d.Notes = append(d.Notes, lostNotes(t)...)
	if read != nil && !slices.ContainsFunc(t.Lost, read.h.Overlaps) { // a cancelled task was to write it
		d.Notes = append(d.Notes, fmt.Sprintf("`%s` has no valid value either: a task that was cancelled was to write it", read.Name()))
	}
	return d
}

// inVain is R0101 for t, which was cancelled because of a failure that the caller was told
// of before t was inserted.
func (m *Machine) inVain(t *engine.TaskError) *diag.Diagnostic {
	d := m.taskDiagnostic(t, place{}, nil)
	var lost *engine.FailedDataError
	if !errors.As(t.Cause, &lost) || lost.Task == nil {
		return d
	}
	first := m.taskDiagnostic(lost.Task, place{}, nil)
	what, write := "what it waits for was lost", "insert it again, too"
	if s, ok := siteData(t.Origin.Site); ok && lost.Operand >= 0 && lost.Operand < len(s.ops) {
		name := "`" + handleText(s.ops[lost.Operand].at, nil) + "`"
		what, write = name+" has no valid value", "write "+name+" first, by a task that takes it as W"
	}
	d.Message = fmt.Sprintf("task `%s` was cancelled: %s since %s", t.Codelet.Name, what, first.Message)
	if first.Span != d.Span && !first.Span.IsZero() {
		d.Labels = append(d.Labels, diag.Label{Span: first.Span, Text: first.Label})
	}
	d.Help = []string{write}
	return d
}

// lostNotes says which data has no value because t failed, as its insert writes it.
func lostNotes(t *engine.TaskError) []string {
	var texts []string
	if s, ok := siteData(t.Origin.Site); ok {
		for _, op := range s.ops {
			if op.mode.Writes() {
				texts = append(texts, handleText(op.at, nil))
			}
		}
	}
	var out []string
	for k, h := range t.Lost {
		if k == 3 {
			return append(out, fmt.Sprintf("and %s more", plural(int64(len(t.Lost)-k), "handle")))
		}
		n := h.Name()
		switch {
		case len(texts) == len(t.Lost) && texts[k] != "":
			n = texts[k]
		case n == "":
			n = h.Root().Name()
		}
		if whole, ok := strings.CutPrefix(n, "a part of "); ok {
			n = fmt.Sprintf("a part of `%s`", whole)
		} else {
			n = "`" + n + "`"
		}
		if k > 0 && strings.HasPrefix(out[k-1], n+" ") {
			n = "another part of it"
		}
		out = append(out, n+" has no valid value until a task writes it again (W)")
	}
	return out
}
