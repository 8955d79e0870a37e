package interp

// Limits of a run and how they are counted.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/diag"
)

// Limits bound one run; 0 means the default, see lang.Limits.
type Limits struct {
	Steps       int64         // interpreter steps; no limit
	CallDepth   int           // script call depth; 256
	Tasks       int64         // tasks inserted in total; no limit
	InFlight    int           // tasks not finished: insert waits above this; 65536
	DataBytes   int64         // bytes registered, with what data, parts and pieces take beside, cumulative; no limit
	ScriptBytes int64         // bytes ever taken by lists, strings, tasks, gates and other values, cumulative; 1 GiB
	SourceBytes int64         // bytes of text of one compilation; see MaxSource
	Output      int64         // bytes printed; no limit
	Timeout     time.Duration // wall time; none
	MaxWorkers  int           // workers that run its tasks at a time; all
	Weight      int           // share of the workers' time beside other runs on the runtime; none
}

// MaxCallDepth is the most that Limits.CallDepth allows: each call takes Go stack, up to some 50 kB with deep expressions.
const MaxCallDepth = 10_000

// Defaults of Limits.
const (
	defaultCallDepth   = 256
	defaultInFlight    = 65536
	leastInFlight      = 1024
	defaultScriptBytes = 1 << 30
	defaultSourceBytes = 64 << 20
	leastSourceBytes   = 64 << 10
)

// tighter returns the smaller of two limits, 0 meaning def.
func tighter[T int | int64 | time.Duration](a, b, def T) T {
	if a <= 0 {
		a = def
	}
	if b <= 0 {
		return a
	}
	if a > 0 && a < b {
		return a
	}
	return b
}

// Tighten returns l with the limits of o where those are smaller.
func (l Limits) Tighten(o Limits) Limits {
	return Limits{
		Steps:       tighter(l.Steps, o.Steps, 0),
		CallDepth:   tighter(l.CallDepth, o.CallDepth, defaultCallDepth),
		Tasks:       tighter(l.Tasks, o.Tasks, 0),
		InFlight:    tighter(l.InFlight, o.InFlight, defaultInFlight),
		DataBytes:   tighter(l.DataBytes, o.DataBytes, 0),
		ScriptBytes: tighter(l.ScriptBytes, o.ScriptBytes, defaultScriptBytes),
		SourceBytes: tighter(l.SourceBytes, o.SourceBytes, 0),
		Output:      tighter(l.Output, o.Output, 0),
		Timeout:     tighter(l.Timeout, o.Timeout, 0),
		MaxWorkers:  tighter(l.MaxWorkers, o.MaxWorkers, 0),
		Weight:      tighter(l.Weight, o.Weight, 0),
	}
}

// maxInFlight is InFlight, but no more tasks than take a quarter of the memory of the script:
// up to a KiB each.
func (l Limits) maxInFlight() int {
	return int(min(int64(l.InFlight), max(leastInFlight, l.ScriptBytes>>12)))
}

// MaxSource returns how many bytes of text one compilation reads: a script and all its
// imports.
func (l Limits) MaxSource() int64 {
	switch {
	case l.SourceBytes > 0:
		return min(l.SourceBytes, defaultSourceBytes)
	case l.ScriptBytes > 0:
		// A token takes up to 250 bytes until the program is built, and may be one byte long.
		return min(max(l.ScriptBytes/256, leastSourceBytes), defaultSourceBytes)
	}
	return defaultSourceBytes
}

// Totals bound what all calls of an instance or session do together; see lang.Totals.
type Totals struct {
	Steps       int64
	Tasks       int64
	DataBytes   int64
	ScriptBytes int64
	Output      int64
}

// Tighten returns t with the totals of o where those are smaller.
func (t Totals) Tighten(o Totals) Totals {
	return Totals{
		Steps:       tighter(t.Steps, o.Steps, 0),
		Tasks:       tighter(t.Tasks, o.Tasks, 0),
		DataBytes:   tighter(t.DataBytes, o.DataBytes, 0),
		ScriptBytes: tighter(t.ScriptBytes, o.ScriptBytes, 0),
		Output:      tighter(t.Output, o.Output, 0),
	}
}

// A budget is how much of each thing the running call may use, or has used.
type budget struct{ steps, tasks, data, mem, output int64 }

const unlimited = math.MaxInt64

// budgetOf has the limits as a budget.
func budgetOf(steps, tasks, data, mem, output int64) budget {
	b := budget{steps, tasks, data, mem, output}
	for _, n := range b.all() {
		if *n <= 0 {
			*n = unlimited
		}
	}
	return b
}

func (b *budget) all() [5]*int64 { return [5]*int64{&b.steps, &b.tasks, &b.data, &b.mem, &b.output} }

// of finds the part of b that a LimitError of that kind is about.
func (b *budget) of(kind string) int64 {
	return *b.all()[slices.Index([]string{"steps", "tasks", "data", "mem", "output"}, kind)]
}

// LimitError says which limit a run reached, and where. It reads like the diagnostic
// that it is: Error, Render and errors.As for a *diag.Diagnostic are those of R0111.
type LimitError struct {
	Kind  string // "steps", "depth", "tasks", "data", "mem", "output", "timeout"
	Limit int64  // in its unit: steps, calls, tasks, bytes, nanoseconds
	Total bool   // it is one of Totals: calls before this one count
	Span  diag.Span
}

// Error is one line, "file:line:col: error[R0111]: message".
func (e *LimitError) Error() string { return e.Diagnostic().Error() }

// Render writes the line, what was reached and what allows more, as diagnostics do.
func (e *LimitError) Render(w io.Writer, st diag.Style) error { return e.Diagnostic().Render(w, st) }

// As makes e a *diag.Diagnostic for errors.As.
func (e *LimitError) As(target any) bool {
	d, ok := target.(**diag.Diagnostic)
	if ok && e != nil {
		*d = e.Diagnostic()
	}
	return ok && e != nil
}

// text says which limit was reached.
func (e *LimitError) text() string {
	switch {
	case e.Kind == "timeout":
		return fmt.Sprintf("the run reached its limit: %v of wall time", time.Duration(e.Limit))
	case e.Total:
		return "all calls together reached their limit: " + limitText(e.Kind, e.Limit)
	}
	return "the run reached its limit: " + limitText(e.Kind, e.Limit)
}

// Diagnostic returns e as R0111, with the line and what allows more.
func (e *LimitError) Diagnostic() *diag.Diagnostic {
	flag, field := "--limits "+e.Kind+"=N", map[string]string{
		"steps": "Steps", "depth": "CallDepth", "tasks": "Tasks", "data": "DataBytes", "mem": "ScriptBytes", "output": "Output", "timeout": "Timeout"}[e.Kind]
	if e.Kind == "timeout" {
		flag = "--timeout DURATION"
	}
	help := fmt.Sprintf("`%s` allows more, in Go `Limits.%s`", flag, field)
	switch {
	case e.Total:
		help = fmt.Sprintf("`Totals.%s` allows more", field)
	case e.Kind == "depth" && e.Limit >= MaxCallDepth:
		help = "this is the most that a run may have; use a loop, with a list of the work that is left"
	}
	return &diag.Diagnostic{Code: "R0111", Severity: diag.Error, Message: e.text(), Span: e.Span, Help: []string{help}, Cause: e}
}

// Is makes a timeout count as context.DeadlineExceeded.
func (e *LimitError) Is(target error) bool {
	return e != nil && e.Kind == "timeout" && target == context.DeadlineExceeded
}

func limitText(kind string, n int64) string {
	switch kind {
	case "steps":
		return plural(n, "step")
	case "depth":
		return plural(n, "nested call")
	case "tasks":
		return plural(n, "task")
	case "data":
		return fmt.Sprintf("%d bytes of registered data and views", n)
	case "mem":
		return fmt.Sprintf("%d bytes of lists, strings, tasks and gates", n)
	}
	return fmt.Sprintf("%d bytes of output", n)
}

// fuelSlice is how many steps run between two looks at the context.
const fuelSlice = 1024

// refuel is called when the fuel is spent: it counts steps and looks at the context.
func (m *Machine) refuel(at position) {
	m.used.steps += m.granted - m.fuel
	m.granted, m.fuel = 0, 0
	if m.used.steps > m.may.steps {
		m.used.steps = m.may.steps
		m.exceeded("steps", at)
	}
	m.poll(at)
	m.granted = min(fuelSlice, m.may.steps-m.used.steps)
	m.fuel = m.granted
}

// spend counts a step of work that is done inside an operation: lists that share items
// with each other can be looked at for ever.
func (m *Machine) spend(at position) {
	if m.fuel--; m.fuel < 0 {
		m.refuel(at)
	}
}

// spendMany counts n steps.
func (m *Machine) spendMany(n int64, at position) {
	if m.fuel -= n; m.fuel < 0 {
		m.refuel(at)
	}
}

// recount begins to count for the limits anew, unless a host function of a call that
// is counted makes this one: each run, call and entry has the limits for itself, and
// what the totals leave.
func (m *Machine) recount() {
	if m.entered > 0 {
		return
	}
	m.used.steps += m.granted - m.fuel
	m.granted, m.fuel = 0, 0
	spent, used := m.spent.all(), m.used.all()
	for k := range spent {
		*spent[k] += *used[k]
	}
	m.used = budget{}
	l, t := m.limits, m.cfg.Totals
	m.may = budgetOf(l.Steps, l.Tasks, l.DataBytes, l.ScriptBytes, l.Output)
	total := budgetOf(t.Steps, t.Tasks, t.DataBytes, t.ScriptBytes, t.Output)
	may, all := m.may.all(), total.all()
	for k := range may {
		if *all[k] != unlimited {
			*may[k] = min(*may[k], max(0, *all[k]-*spent[k]))
		}
	}
}

// exceeded raises the LimitError of a kind that recount counts.
func (m *Machine) exceeded(kind string, at position) {
	l, t := m.limits, m.cfg.Totals
	each := budgetOf(l.Steps, l.Tasks, l.DataBytes, l.ScriptBytes, l.Output)
	e := &LimitError{Kind: kind, Limit: each.of(kind), Span: at.span()}
	if m.may.of(kind) < e.Limit {
		total := budgetOf(t.Steps, t.Tasks, t.DataBytes, t.ScriptBytes, t.Output)
		e.Limit, e.Total = total.of(kind), true
	}
	panic(&raised{e})
}

// poll raises when the context of the running call has ended, or the ranks can do nothing more together.
func (m *Machine) poll(at position) {
	select {
	case <-m.done:
		m.raiseEnded(at)
	default:
	}
	if m.ranks != nil {
		if err := m.ranks.Err(); err != nil {
			m.raiseEngine(err, at, nil)
		}
	}
}

// limit raises a LimitError.
func (m *Machine) limit(kind string, n int64, at position) {
	panic(&raised{&LimitError{Kind: kind, Limit: n, Span: at.span()}})
}

// Memory of values beside their items and characters, rounded up as the allocator does. A
// script that keeps any of them must not take more memory than is counted.
const (
	listBytes   = 96
	stringBytes = 32  // with the word of the list or name that holds it
	valueBytes  = 32  // a range, a node, a worker
	gateBytes   = 192 // and the engine's
	taskBytes   = 384 // that insert gives as a value, and the engine's
	bundleBytes = 256 // of a group of tasks
	placeBytes  = 512 // of a task in the sequence of a worker: more
)

// alloc counts bytes for lists, strings and other values that are about to be allocated.
func (m *Machine) alloc(bytes int64, at position) {
	if bytes > m.may.mem-m.used.mem {
		m.exceeded("mem", at)
	}
	m.used.mem += bytes
}

// allocList counts a list of n items that is about to be made.
func (m *Machine) allocList(n int64, kind repr, at position) {
	if n > 1<<58 {
		m.exceeded("mem", at)
	}
	m.alloc(listBytes+n*itemBytes(kind), at)
}

// allocString counts a string of n bytes that is about to be made.
func (m *Machine) allocString(n int, at position) { m.alloc(int64(n)+stringBytes, at) }

// fits raises unless the limit leaves room for bytes that are used for a while, and not
// counted. A few are no matter.
func (m *Machine) fits(bytes int64, at position) {
	if bytes > 1<<12 && bytes > m.may.mem-m.used.mem {
		m.exceeded("mem", at)
	}
}

// heldBytes is the memory counted for a task above the limit of tasks in flight; they are
// counted heldTasks at a time.
const heldBytes, heldTasks = 1024, 64

// widen reports whether err says that the limit of tasks in flight is reached, and that
// all of them wait for the script. Further tasks then count as memory, and the job takes
// them.
func (m *Machine) widen(err error, at position) bool {
	var full *engine.FullError
	if !errors.As(err, &full) {
		return false
	}
	m.alloc(heldBytes*heldTasks, at)
	m.job.Widen(heldTasks)
	return true
}

// submit submits something on h that is no task of the script, and raises what goes wrong.
func (m *Machine) submit(h *Handle, at position, fn func() error) {
	for err := fn(); err != nil; err = fn() {
		if !m.widen(err, at) {
			m.raiseEngine(err, at, h)
		}
	}
}

// extend returns b with room for n bytes more, whose memory it counts.
func (m *Machine) extend(b []byte, n int, at position) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	size := max(64, 2*cap(b), len(b)+n)
	m.alloc(int64(size), at)
	return append(make([]byte, 0, size), b...)
}

// ctxError turns the end of a context into what the caller gets: the limit when
// the time was up, else an error that wraps the cause.
func (m *Machine) ctxError(ctx context.Context, at position) error {
	cause := context.Cause(ctx)
	m.causes = append(m.causes, cause)
	m.tell()
	var le *LimitError
	if errors.As(cause, &le) {
		return &LimitError{Kind: le.Kind, Limit: le.Limit, Span: at.span()}
	}
	d := m.diagnostic("R0108", at, "the run was cancelled: "+firstLine(cause.Error()))
	d.Cause = cause
	return d
}

func (m *Machine) raiseEnded(at position) {
	ctx := m.endedCtx()
	if ctx == nil {
		ctx = m.ctx
	}
	panic(&raised{m.ctxError(ctx, at)})
}

// endedCtx returns the context that has ended: of the running entry point, of one
// around it, or the one given to Start while it is watched. Nil: none has.
func (m *Machine) endedCtx() context.Context {
	ended := func(ctx context.Context) bool { return ctx != nil && ctx.Err() != nil }
	switch {
	case ended(m.ctx):
		return m.ctx
	case ended(m.runCtx):
		return m.runCtx
	}
	if i := slices.IndexFunc(m.outer, ended); i >= 0 {
		return m.outer[i]
	}
	return nil
}
