package interp

// Run-time diagnostics: places, stacks, and raising.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel"
	"github.com/starpush/starpush/lang/syntax"
)

// position is a range of a source file.
type position struct {
	file *syntax.File
	at   syntax.Span
}

func (p position) span() diag.Span {
	if p.file == nil {
		return diag.Span{}
	}
	return p.file.At(p.at)
}

// source returns the text at p.
func (p position) source() string {
	if p.file == nil {
		return ""
	}
	t := p.file.Source.Text
	lo, hi := int(p.at.Lo), int(p.at.Hi)
	if lo < 0 || hi > len(t) || lo > hi {
		return ""
	}
	return t[lo:hi]
}

// callSite is one call of a script function, as the stack of an error shows it.
type callSite struct {
	at   position
	text string
}

// diagnostic makes a run-time error with the stack of script calls.
func (m *Machine) diagnostic(code string, at position, message string) *diag.Diagnostic {
	d := &diag.Diagnostic{Code: code, Message: message, Span: at.span()}
	n := 0
	for f := m.cur; f != nil && f.site != nil; f = f.parent {
		if n++; n > maxStack {
			break
		}
		d.Stack = append(d.Stack, diag.Frame{Call: f.site.text, Span: f.site.at.span()})
	}
	return d
}

// maxStack bounds the calls listed in a diagnostic.
const maxStack = 16

// raise ends the running entry point with d.
func (m *Machine) raise(d *diag.Diagnostic) {
	if m.unknown { // in a plan
		m.plan.stop(d)
	}
	panic(&raised{d})
}

// fail raises a diagnostic without labels.
func (m *Machine) fail(code string, at position, format string, args ...any) {
	m.raise(m.diagnostic(code, at, fmt.Sprintf(format, args...)))
}

// failHelp raises a diagnostic with a label and a help; either may be "".
func (m *Machine) failHelp(code string, at position, label, help, format string, args ...any) {
	d := m.diagnostic(code, at, fmt.Sprintf(format, args...))
	d.Label = label
	if help != "" {
		d.Help = []string{help}
	}
	m.raise(d)
}

// label adds a cause elsewhere, if it has a place.
func label(d *diag.Diagnostic, at position, text string) {
	if at.file != nil {
		d.Labels = append(d.Labels, diag.Label{Span: at.span(), Text: text})
	}
}

// several makes one error of what may be several diagnostics.
func several(ds []*diag.Diagnostic) error {
	if len(ds) == 1 {
		return ds[0]
	}
	var out diag.Diagnostics
	for _, d := range ds {
		out = append(out, *d)
	}
	return out
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// protect runs host code; a panic in it becomes an error.
func protect(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if x, ok := r.(*raised); ok {
				panic(x) // a script function that host code called
			}
			err = &engine.PanicError{Value: r, Stack: string(debug.Stack())}
		}
	}()
	return fn()
}

// soundError is err as host code gave it, or, when it panics as soon as it is asked something,
// what that panic becomes: a nil pointer of a type of errors, say.
func soundError(err error) (sound error) {
	return cmp.Or(protect(func() error {
		if err != nil {
			_ = err.Error()
			_ = errors.Is(err, context.Canceled) // Is and Unwrap of all it wraps
		}
		return nil
	}), err)
}

// raiseHost raises what host code returned. Errors that are already about a place in
// the script go on as they are; those that functions of package lang gave the host,
// which knows no place, get that of the call.
func (m *Machine) raiseHost(at position, what string, err error) {
	var d *diag.Diagnostic
	var le *LimitError
	err = soundError(err)
	switch {
	case errors.As(err, &d) && d != nil && !d.Span.IsZero(), errors.As(err, &le) && le != nil:
		panic(&raised{err})
	case m.ctx.Err() != nil && errors.Is(err, m.ctx.Err()):
		m.raiseEnded(at)
	case d != nil && err == error(d):
		x := *d
		x.Span, x.Stack = at.span(), m.diagnostic("", at, "").Stack
		m.raise(&x)
	}
	x := m.diagnostic("R0106", at, what+": "+firstLine(err.Error()))
	x.Cause = err
	if p := (*engine.PanicError)(nil); errors.As(err, &p) {
		x.Notes = append(x.Notes, panicNote)
	}
	m.raise(x)
}

// panicNote says where the calls of a panic are.
const panicNote = "Go code panicked; its stack is shown by `starpush --verbose`, and in Go by %+v of this error"

// article writes "a vector", "an int".
func article(noun string) string {
	if noun != "" && strings.ContainsRune("aeio", rune(noun[0])) { // a u8
		return "an " + noun
	}
	return "a " + noun
}

func plural(n int64, noun string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Errors of the engine, in the words of the language.

// raiseEngine raises an error of the engine about h, or about no data when h is nil.
func (m *Machine) raiseEngine(err error, at position, h *Handle) {
	var task *engine.TaskError
	var lost *engine.FailedDataError
	var uninit *engine.UninitError
	var dead *engine.DeadHandleError
	var stuck *engine.StuckError
	var ro *engine.ReadOnlyError
	var red *engine.NoReductionError
	var mode *engine.ModeError
	var full *accel.NoMemoryError
	m.raiseRemote(err, at)
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
		if h != nil && h.memberName() != "" {
			d := m.diagnostic("E0306", at, fmt.Sprintf("`%s` is part of the structure of a %s, which never changes", handleName(h, at), h.sparse.Format.Name))
			d.Label = fmt.Sprintf("%v promises to change it", modeWord(ro.Mode))
			d.Help = []string{"tasks change values: `.val`; for another structure register another " + h.sparse.Format.Name}
			d.Cause = err
			m.raise(d)
		}
		d := m.diagnostic("E0306", at, fmt.Sprintf("`%s` is read-only and cannot be used as %v", handleName(h, at), modeWord(ro.Mode)))
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

func handleName(h *Handle, at position) string {
	if h == nil {
		return "data"
	}
	return handleText(at, h)
}

// raiseUninit raises E0401 or E0402.
func (m *Machine) raiseUninit(e *engine.UninitError, at position, h *Handle) {
	name := handleName(h, at)
	some, was := "", "was"
	if e.Partial {
		some, was = "some elements of ", "were"
	}
	if e.Why == engine.Invalidated {
		d := m.diagnostic("E0402", at, fmt.Sprintf("%s`%s` %s invalidated and not written since", some, name, was))
		d.Label = "read here"
		if e.At != nil {
			if p, ok := e.At.Data.(position); ok {
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
func (m *Machine) raiseStuck(e *engine.StuckError, at position, h *Handle) {
	d := m.diagnostic("R0104", at, "this waits for itself: no task of the run can go on")
	d.Cause = e
	inserted := map[*insertSite]bool{}
	var remedies []string
	for k, t := range e.Tasks {
		if k == 4 {
			d.Notes = append(d.Notes, fmt.Sprintf("and %s more", plural(int64(len(e.Tasks)-k), "task")))
			break
		}
		what, remedy := "a gate that is closed", "open the gate before waiting"
		switch {
		case t.Gate != nil:
		case t.Place > 0:
			what = fmt.Sprintf("the task at place %d of worker %d", t.Place, t.Worker)
			remedy = "insert the task at that place before waiting; it must not need the data of a later place"
		case t.Tag != nil:
			what, remedy = "a tag that is never notified", "notify the tag before waiting"
		case t.Task != nil:
			what = fmt.Sprintf("task %d, which was not submitted", t.Task.ID())
			remedy = "submit the task before waiting"
		case t.Held != nil:
			what = fmt.Sprintf("`%s`, which the script holds", t.Held.Name())
			remedy = fmt.Sprintf("release `%s` before waiting", t.Held.Name())
			if t.HeldAt != nil {
				if p, ok := t.HeldAt.Data.(position); ok {
					label(d, p, "held from here")
				}
			}
		}
		if !slices.Contains(remedies, remedy) {
			remedies = append(remedies, remedy)
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
		remedies = []string{fmt.Sprintf("release `%s` before waiting", h.Name())}
	default:
		d.Notes = append(d.Notes, "an `unpartition`, `invalidate` or `unregister` waits for data that the script holds")
		remedies = []string{"release the data before waiting"}
	}
	d.Help = remedies
	m.raise(d)
}

func siteData(s *engine.Site) (*insertSite, bool) {
	if s == nil {
		return nil, false
	}
	x, ok := s.Data.(*insertSite)
	return x, ok
}

// failureDiagnostic is taskDiagnostic without what else the run knows. cancelled is how many tasks were cancelled, 0 to leave that out.
func failureDiagnostic(t *engine.TaskError, cancelled int) *diag.Diagnostic {
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
	var span position
	if s, ok := siteData(t.Origin.Site); ok {
		span = s.at
	} else if t.Origin.Site != nil {
		if p, ok := t.Origin.Site.Data.(position); ok {
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
		describeModeViolation(d, t, breach)
	}
	var fault *kernel.Fault
	if errors.As(cause, &fault) && !fault.Span.IsZero() {
		d.Labels = append(d.Labels, diag.Label{Span: fault.Span, Text: "in the codelet, here"})
		if !fault.Loop.IsZero() {
			d.Labels = append(d.Labels, diag.Label{Span: fault.Loop, Text: fmt.Sprintf("`%s` comes from here", fault.Index)})
		}
	}
	if cancelled == 1 {
		d.Notes = append(d.Notes, "1 task that depends on it was cancelled")
	} else if cancelled > 1 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d tasks that depend on it were cancelled", cancelled))
	}
	var p *engine.PanicError
	if errors.As(cause, &p) {
		d.Notes = append(d.Notes, panicNote)
	}
	d.Notes = append(d.Notes, lostNotes(t)...)
	return d
}

// inVain is R0101 for t, which was cancelled because of a failure that had been reported
// to the caller before t was inserted.
func (m *Machine) inVain(t *engine.TaskError) *diag.Diagnostic {
	d := m.taskDiagnostic(t, position{}, nil)
	var lost *engine.FailedDataError
	if !errors.As(t.Cause, &lost) || lost.Task == nil {
		return d
	}
	first := m.taskDiagnostic(lost.Task, position{}, nil)
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

// rankFailure is what other ranks get of a failure on one: the diagnostics of a script that ended, or of a task.
type rankFailure struct {
	Diagnostics []*diag.Diagnostic
	Task        bool     // it is of a task; false: of the script
	Lost        []string // names of data that the task was to write
}

// describeFailure returns what other ranks get of a failure.
func describeFailure(err error) []byte {
	var f rankFailure
	var ds diag.Diagnostics
	var d *diag.Diagnostic
	var data *engine.FailedDataError
	var t *engine.TaskError
	switch {
	case errors.As(err, &ds):
		for i := range ds {
			f.Diagnostics = append(f.Diagnostics, &ds[i])
		}
	case errors.As(err, &d) && d != nil:
		f.Diagnostics = append(f.Diagnostics, d)
	case errors.As(err, &data) && data.Task != nil:
		t = data.Task
	case !errors.As(err, &t):
		return nil
	}
	if t != nil {
		f.Diagnostics, f.Task = append(f.Diagnostics, failureDiagnostic(t, 0)), true
		f.Lost = lostNames(t)
	}
	b, err := json.Marshal(f)
	if err != nil {
		return nil
	}
	return b
}

// lostNames returns the names of the data that t was to write.
func lostNames(t *engine.TaskError) (names []string) {
	for _, h := range t.Lost {
		names = append(names, h.Root().Name())
	}
	return names
}

// modeWord returns the mode that an insert writes for m.
func modeWord(m iface.AccessMode) iface.AccessMode {
	if m == iface.CommuteW {
		return iface.Commute
	}
	return m
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

// Inserts that the engine refuses, in words of the script.

// handleText is how the script writes a handle at a place: "R x[0]" without its mode.
func handleText(at position, h *Handle) string {
	s := at.source()
	if len(s) > 40 || s == "" {
		if h == nil {
			return ""
		}
		return h.Name()
	}
	for _, mode := range []string{"R ", "W ", "RW ", "COMMUTE ", "REDUX ", "SCRATCH "} {
		if len(s) > len(mode) && s[:len(mode)] == mode {
			s = s[len(mode):]
			break
		}
	}
	return s
}

// noWorker raises E0803. kinds are those of the devices that could run the task.
func (m *Machine) noWorker(s *insertSite, at position, why string, kinds ...any) {
	d := m.diagnostic("E0803", at, fmt.Sprintf("no worker can run `%s`", s.name))
	d.Label = why
	d.Help = []string{"this run has " + m.machineText()}
	if len(kinds) > 0 {
		d.Help = append(d.Help, moreDevices(kinds))
	}
	m.raise(d)
}

// moreDevices says how a run gets devices of the kinds, or of any kind: of itself it has
// none, even where the machine does.
func moreDevices(kinds []any) string {
	which := "all"
	if len(kinds) == 1 {
		which = fmt.Sprint(kinds[0])
	}
	return fmt.Sprintf("`--gpus %s` gives a run the devices that `starpush info` lists; a program gives them by `engine.Options.Devices`", which)
}

// devicesOf are those of kinds that are devices.
func devicesOf(kinds []DeviceKind) (devices []any) {
	for _, k := range kinds {
		if k != "cpu" {
			devices = append(devices, k)
		}
	}
	return devices
}

// nowhere raises E0803 about a task that the engine has no worker for.
func (m *Machine) nowhere(s *insertSite, err error) {
	d := m.diagnostic("E0803", s.at, fmt.Sprintf("no worker can run `%s`", s.name))
	d.Label = "inserted here"
	d.Notes = []string{firstLine(err.Error())}
	if why := m.prog.stays(s.codelet); why != nil {
		d.Notes = append(d.Notes, "kernels for devices are not made of its body: "+why.Error())
	}
	d.Help = []string{"this run has " + m.machineText()}
	var large *engine.TooLargeError
	if errors.As(err, &large) {
		if help := moreMemory(large, d.Help); len(help) > 0 {
			d.Help = help
			d.Notes[0], _, _ = strings.Cut(d.Notes[0], ": let it run on") // advice for any node
		}
	}
	d.Cause = err
	m.raise(d)
}

// moreMemory is the help that says how much main memory a run needs for a task, where the
// run bounds it; else none. It replaces help, unless the task may run on devices, too.
func moreMemory(e *engine.TooLargeError, help []string) []string {
	for _, n := range e.Nodes {
		if n.Name != "ram" {
			continue
		}
		more := fmt.Sprintf("`--ram %s` or more has room for it; in a program, `engine.Options.RAM`", sizeFlag(e.Bytes))
		if len(e.Nodes) == 1 {
			return []string{more}
		}
		return append(help, more)
	}
	return nil
}

// sizeFlag writes a size as flags take it, rounded up to at most four digits where there
// is a unit: 6144 as 6Ki.
func sizeFlag(n int64) string {
	const most = 9999
	unit := ""
	for _, u := range []string{"Ki", "Mi", "Gi", "Ti"} {
		if n <= most && (n%1024 != 0 || n < 1024) {
			break
		}
		n, unit = (n+1023)/1024, u
	}
	return fmt.Sprint(n) + unit
}

// insertFailed raises what Submit refused.
func (m *Machine) insertFailed(err error, s *insertSite, st *siteState) {
	var lost *engine.FailedDataError
	if errors.As(err, &lost) {
		return // the task is cancelled, which its readers report
	}
	at := s.at
	var h *Handle
	pick := func(k int) {
		if k >= 0 && k < len(s.ops) {
			at, h = s.ops[k].at, st.handles[k]
		}
	}
	var shape *engine.ShapeError
	var uninit *engine.UninitError
	var dead *engine.DeadHandleError
	var mode *engine.ModeError
	var ro *engine.ReadOnlyError
	var red *engine.NoReductionError
	var seat *engine.PlaceError
	var impl *engine.NoImplementationError
	var none *engine.NoWorkerError
	var gone *engine.LostWorkersError
	var large *engine.TooLargeError
	var pin *engine.PinError
	switch {
	case errors.As(err, &pin):
		d := m.diagnostic("E0803", s.ops[pin.Operand].at, fmt.Sprintf("no worker can run `%s`", s.name))
		d.Label = "stays in main memory"
		d.Notes = []string{"its implementations for devices take this operand in their own memory"}
		d.Help = []string{"drop the `@`, or let it run on CPU workers"}
		d.Cause = err
		m.raise(d)
	case errors.As(err, &impl), errors.As(err, &none), errors.As(err, &gone), errors.As(err, &large):
		m.nowhere(s, err)
	case errors.As(err, &seat):
		m.failHelp("E0705", s.opts.at["order"], "", "give each task of a worker a place of its own, from 1, and leave none out", "%s", seat.Message)
	case errors.As(err, &shape):
		m.badShape(shape, s, st)
	case errors.As(err, &uninit):
		pick(uninit.Operand)
	case errors.As(err, &dead):
		pick(dead.Operand)
	case errors.As(err, &mode):
		pick(mode.Operand)
	case errors.As(err, &ro):
		pick(ro.Operand)
	case errors.As(err, &red):
		pick(red.Operand)
		if h != nil {
			m.noReduction(err, at, h, s.ops[red.Operand].fold, s.name)
		}
	}
	m.raiseEngine(err, at, h)
}

// badShape raises E0702, or E0705 about a string argument.
func (m *Machine) badShape(e *engine.ShapeError, s *insertSite, st *siteState) {
	at, code := s.at, "E0702"
	if e.Arg != "" {
		code = "E0705"
		for _, a := range s.scalars {
			if a.nam == e.Arg {
				at = a.at
			}
		}
	}
	d := m.diagnostic(code, at, firstLine(e.Message))
	d.Cause = e
	detail := func(k int) string {
		if k < len(e.Details) {
			return e.Details[k]
		}
		desc := st.handles[e.Operands[k]].h.Desc()
		return desc.String()
	}
	for k := len(e.Operands) - 1; k >= 0; k-- {
		i := e.Operands[k]
		if i < 0 || i >= len(s.ops) {
			continue
		}
		if d.Label == "" && e.Arg == "" {
			d.Span, d.Label = s.ops[i].at.span(), detail(k)
			continue
		}
		label(d, s.ops[i].at, detail(k))
	}
	if e.Help != "" {
		d.Help = []string{e.Help}
	}
	d.Notes = append(d.Notes, "codelet "+SignatureText(s.callee))
	if p := (*engine.PanicError)(nil); errors.As(e.Cause, &p) {
		d.Notes = append(d.Notes, panicNote)
	}
	m.raise(d)
}

// noReduction raises E0303 about data without a reduction. fold is what the codelet does
// to it, "" where that is not known.
func (m *Machine) noReduction(err error, at position, h *Handle, fold, codelet string) {
	d := m.diagnostic("E0303", at, fmt.Sprintf("`%s` has no reduction method", handleName(h, at)))
	d.Label = "needs a way to combine the copies"
	if h != nil && h.root.h.Reduction() != nil && h.typ.Data() != h.root.typ.Data() { // of pick
		label(d, h.root.at, fmt.Sprintf("its reducer is for a %v", h.root.typ))
		d.Help = []string{fmt.Sprintf("pass `%s` or a part that is a %v, or use RW", h.root.Name(), h.root.typ)}
		d.Cause = err
		m.raise(d)
	}
	if h != nil {
		label(d, h.root.at, "registered without `reduce`")
	}
	if h != nil && h.memberName() != "" {
		d.Help = []string{fmt.Sprintf("a %s has no reduction: take it as COMMUTE", h.sparse.Format.Name)}
		d.Cause = err
		m.raise(d)
	}
	d.Help = []string{"register it with `reduce = sum`, `prod`, `min`, `max` or `reducer(...)`"}
	if fold != "" {
		d.Help[0] = fmt.Sprintf("register it with `reduce = %s`, which is what `%s` does to it", fold, codelet)
	}
	d.Cause = err
	m.raise(d)
}

// Kernels that break the access modes of their operands, found with --verify.

// describeModeViolation makes d, the diagnostic of a task that failed, R0110: its kernel broke
// access modes, or a codelet of a reducer did.
func describeModeViolation(d *diag.Diagnostic, t *engine.TaskError, e *engine.VerifyError) {
	d.Code = "R0110"
	site, _ := siteData(t.Origin.Site)
	operand := func(i int) (name string, at diag.Span) {
		if site == nil || i < 0 || i >= len(site.ops) {
			return fmt.Sprintf("%d", i+1), diag.Span{}
		}
		if op := &site.ops[i]; op.at.file != nil {
			at = op.at.span()
		}
		return "`" + site.ops[i].name + "`", at
	}
	codelet := "the codelet"
	if t.Codelet != nil {
		codelet = "codelet `" + t.Codelet.Name + "`"
	}
	var r *reducerBreach
	if errors.As(t.Cause, &r) {
		codelet, operand = "codelet `"+r.codelet.Name+"` of a reducer", r.operand
	}
	for k := range e.Breaches {
		b := &e.Breaches[k]
		name, at := operand(b.Operand)
		var what, where, help string
		switch b.Kind {
		case engine.WritesRead:
			what = fmt.Sprintf("changes its operand %s, which it has R", name)
			where = elementsText(b) + " changed"
			help = fmt.Sprintf("declare operand %s RW, or leave it alone", name)
			if r != nil { // whose modes are given
				help = fmt.Sprintf("leave operand %s alone", name)
			}
		case engine.LeavesUnwritten:
			what = fmt.Sprintf("does not write all of its operand %s, which it has W", name)
			where = elementsText(b) + " not written"
			help = fmt.Sprintf("write every element of operand %s", name)
			if r == nil {
				help += ", or declare it RW"
			}
		default:
			what = fmt.Sprintf("reads its operand %s, which it has %v, before writing it", name, modeWord(b.Mode))
			if where = "whether the task succeeds depends on what it held before"; b.Result >= 0 {
				result, _ := operand(b.Result)
				where = engine.ElementText(b.ResultIndex, " of ") + result + " depends on what it held before"
			}
			help = fmt.Sprintf("write operand %s before reading it", name)
			if b.Mode.Declared() == iface.W && r == nil {
				help += ", or declare it RW"
			}
		}
		if k == 0 {
			d.Message = codelet + " " + what
		} else {
			d.Notes = append(d.Notes, "it also "+what)
		}
		if !at.IsZero() {
			d.Labels = append(d.Labels, diag.Label{Span: at, Text: where})
		}
		d.Help = append(d.Help, help)
	}
}

// elementsText names the elements of a breach as a subject with its verb.
func elementsText(b *engine.Breach) string {
	first := engine.ElementText(b.Index, "")
	switch {
	case first == "":
		return "its value was"
	case b.Count > 1:
		return fmt.Sprintf("%s and %s more were", first, plural(int64(b.Count-1), "element"))
	}
	return "element " + first + " was"
}
