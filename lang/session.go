package lang

// Sessions: one entry after the other, for prompts and editors.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/interp"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// A Session evaluates one entry at a time and keeps names and handles between
// them. All entries form one block; a name may be declared again, and what it held
// before ends. In sessions std/blas, where the Compiler has it, is imported as
// blas. Its methods may be called from one goroutine at a time, except Stats. A host
// function that an entry calls must leave Eval, Load, Reset, SetDeterministic and Close
// to those who come when the entry has ended: they are errors there.
type Session struct {
	comp    *Compiler
	rt      *engine.Runtime
	opts    []Option
	m       *interp.Machine
	checker *check.Session
	ctx     *sessionContext
	entries int
	did     record
	elide   int   // SetElide
	err     error // of the options
	closed  bool

	ranks       *sessionRanks // nil: there is one rank
	lostOnRanks []string      // by the last Lost
}

// Result is the result of an entry.
type Result struct {
	Value    string // printed form of an expression, "" if none
	Type     string // type of the expression, "" if none
	Inserted int    // tasks
	Took     time.Duration
	Warnings Diagnostics // about the entry
	// Unwritten names data that was shown with "?" because nothing has written it, a few at most.
	Unwritten []string
	// Replaced are default views of earlier entries in whose place this entry put others, a few at most.
	Replaced []ReplacedView
}

// ReplacedView is a default view that another one has replaced.
type ReplacedView struct {
	Name     string // of the data
	Old, New string // filters, "blocks(4)"
}

// NameInfo describes a top-level name of a session.
type NameInfo struct {
	Name   string
	Kind   string // "handle", "view", "array", "param", "let", "func", "codelet", "module"
	Type   string
	Detail string // sizes, state, views, or the value of a scalar
	Doc    string
}

// sessionContext lends the context of the running Eval to the loader.
type sessionContext struct{ context.Context }

func newSession(c *Compiler, rt *engine.Runtime, opts []Option) *Session {
	s := &Session{comp: c, rt: rt, opts: opts}
	s.start()
	return s
}

// start makes fresh names and handles.
func (s *Session) start() {
	s.ctx = &sessionContext{context.Background()}
	s.did = record{}
	s.checker = check.NewSession(s.comp.envFor(s.ctx))
	cfg := s.comp.runConfig(s.rt, s.opts)
	if s.err = s.joinRanks(cfg); s.err != nil {
		return
	}
	s.m, s.err = interp.NewSession(cfg, s.comp.kernels())
	if s.err != nil {
		return
	}
	if s.comp.cfg.Modules["std/blas"] != nil {
		s.predeclare(blasImport)
	}
	for _, b := range cfg.Bindings {
		s.predeclare(fmt.Sprintf("extern %s: %v", b.Name, b.Data.Type()))
	}
	s.m.SetElide(s.elide)
	s.entries = 0
}

// The declaration of every session, and the name of its source in diagnostics.
const (
	blasImport    = `import "std/blas" as blas`
	sessionSource = "<session>"
)

func (s *Session) predeclare(src string) {
	if _, err := s.eval(context.Background(), sessionSource, src); err != nil && s.err == nil {
		s.err = err
	}
}

// Eval runs one entry: statements, or an expression whose printed form is the
// Value of the result. Errors are Diagnostics when the entry is invalid, in which
// case nothing ran, and as those of Run else. Cancelling ctx drops the tasks that
// have not started and leaves the session usable. After an error all names stay.
func (s *Session) Eval(ctx context.Context, src string) (Result, error) {
	if err := s.between("Eval"); err != nil {
		return Result{}, err
	}
	var res Result
	err := s.together(interp.Context(ctx), &order{Op: evalOp, Src: src}, func() (err error) {
		s.entries++
		res, err = s.eval(ctx, fmt.Sprintf("<entry %d>", s.entries), src)
		return err
	})
	return res, err
}

// Load runs a script in the session; its names join those of the session. Of opts,
// Param, Bind and BindFile have an effect, and that on this script alone.
func (s *Session) Load(ctx context.Context, name string, src []byte, opts ...Option) (Result, error) {
	if err := s.between("Load"); err != nil {
		return Result{}, err
	}
	rc := &runConfig{}
	for _, o := range opts {
		if o != nil {
			o(rc)
		}
	}
	if s.ranks != nil && len(rc.Bindings) > 0 {
		return Result{}, fmt.Errorf("lang: Load(%q): a session on several ranks binds no data; register it in the script, with `load`", name)
	}
	var res Result
	err := s.together(interp.Context(ctx), &order{Op: loadOp, Name: name, Src: string(src), Params: rc.Params}, func() (err error) {
		res, err = s.load(ctx, name, string(src), rc.Params, rc.Bindings)
		return err
	})
	return res, err
}

func (s *Session) load(ctx context.Context, name, src string, params []interp.NamedValue, bindings []interp.NamedBinding) (Result, error) {
	if s.m != nil && !s.closed {
		restore, err := s.m.With(params, bindings)
		if err != nil {
			return Result{}, err
		}
		defer restore()
	}
	return s.eval(ctx, name, src)
}

// between says why what cannot be done now: an entry has not ended, whose host function,
// or whose kernel, asks for it.
func (s *Session) between(what string) error {
	if s.m == nil {
		return nil
	}
	return s.m.Between(what)
}

func (s *Session) eval(ctx context.Context, name, src string) (res Result, err error) {
	if s.closed {
		return res, errors.New("lang: the session is closed")
	}
	if s.err != nil {
		return res, s.err
	}
	began := time.Now()
	source := diag.NewSource(name, src)
	defer func() {
		res.Took = time.Since(began)
		if r := recover(); r != nil {
			d := internal(source, r)
			err = &d
		}
	}()
	ctx = interp.Context(ctx)
	s.ctx.Context = ctx
	defer func() { s.ctx.Context = context.Background() }()
	unit, ds := s.checker.Entry(source)
	ds = s.comp.cfg.Warnings.apply(ds)
	if ds.Err() != nil || unit == nil {
		return res, ds
	}
	out, err := s.m.Eval(ctx, unit)
	res.Value, res.Type, res.Inserted, res.Unwritten, res.Warnings = out.Value, out.Type, out.Inserted, out.Unwritten, ds
	for _, v := range out.Replaced {
		res.Replaced = append(res.Replaced, ReplacedView(v))
	}
	s.did.keep(s.m, unit, name == sessionSource, &out, err)
	return res, err
}

// Incomplete reports whether src is the beginning of an entry that needs more lines.
func (s *Session) Incomplete(src string) bool { return syntax.Incomplete(src) }

// Wait returns when no task of the session is left; see Instance.Wait.
func (s *Session) Wait(ctx context.Context) error {
	return s.together(interp.Context(ctx), &order{Op: waitOp}, func() error { return s.wait(ctx) })
}

func (s *Session) wait(ctx context.Context) error {
	if s.err != nil || s.closed {
		return s.err
	}
	ctx = interp.Context(ctx)
	before := s.m.Stats().Cancelled
	err := s.m.Wait(ctx)
	if (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)) && err != nil && s.m.Stats().Cancelled > before {
		s.did.cut = true
	} else {
		s.did.lost = s.did.lost || taskFailed(err)
	}
	return err
}

// Stats returns what the session has done so far. It may be called from any
// goroutine while an Eval runs.
func (s *Session) Stats() Stats {
	if s.m == nil {
		return Stats{}
	}
	return s.m.Stats()
}

var kindWords = map[types.ObjectKind]string{
	types.LetObject: "let", types.ParamObject: "param", types.HandleObject: "handle", types.ViewObject: "view",
	types.ArrayObject: "array", types.FuncObject: "func", types.CodeletObject: "codelet", types.ModuleObject: "module",
}

// Names lists the top-level names of the session, sorted.
func (s *Session) Names() []NameInfo {
	if s.m == nil {
		return nil
	}
	var out []NameInfo
	for _, n := range s.m.Names() {
		o, v := s.m.Lookup(n)
		kind := kindWords[o.Kind]
		if kind == "" {
			continue
		}
		info := NameInfo{Name: n, Kind: kind, Doc: o.Doc}
		switch {
		case o.Sig != nil:
			info.Type = interp.SignatureText(o)
		case o.Kind == types.ModuleObject && o.Module != nil:
			info.Type = o.Module.Name
		default:
			info.Type = o.Type.String()
			info.Detail = s.m.Describe(v)
		}
		out = append(out, info)
	}
	return out
}

// Show returns the elements lo to hi, counted row by row, of a handle; hi < 0 means
// its printed form. Other values give their printed form.
func (s *Session) Show(name string, lo, hi int) (string, error) {
	if s.m == nil {
		return "", s.err
	}
	var text string
	err := s.together(context.Background(), &order{Op: showOp, Name: name, Lo: lo, Hi: hi}, func() (err error) {
		text, err = s.m.Show(context.Background(), name, lo, hi)
		return err
	})
	return text, err
}

// ShowPart returns a part of a matrix, block or tensor, as text. spans has, for each index, the
// first and the one behind the last. No element is left out; those not written yet are
// shown as "?".
func (s *Session) ShowPart(name string, spans ...[2]int) (string, error) {
	if s.m == nil {
		return "", s.err
	}
	var text string
	err := s.together(context.Background(), &order{Op: showPartOp, Name: name, Spans: spans}, func() (err error) {
		text, err = s.m.ShowPart(context.Background(), name, spans)
		return err
	})
	return text, err
}

// Handle returns a registered or extern name of the session.
func (s *Session) Handle(name string) (*Handle, error) {
	if s.m == nil {
		return nil, s.err
	}
	return s.m.Handle(name)
}

// Reset unregisters all handles, and unless handlesOnly forgets all names too.
func (s *Session) Reset(handlesOnly bool) error {
	if err := s.between("Reset"); err != nil {
		return err
	}
	if s.m == nil || s.closed {
		return s.err
	}
	return s.together(context.Background(), &order{Op: resetOp, On: handlesOnly}, func() error { return s.reset(handlesOnly) })
}

func (s *Session) reset(handlesOnly bool) error {
	if handlesOnly {
		names, ended, err := s.m.EndAll()
		for _, n := range names {
			s.checker.Forget(n)
		}
		s.did.end(ended)
		return err
	}
	err := s.m.Close()
	n := s.entries
	s.start()
	s.entries = n
	return errors.Join(err, s.err)
}

// Close waits for the tasks, writes bound data home and frees the rest. It is
// idempotent. Its error holds the failures that no entry has reported yet.
func (s *Session) Close() error {
	if err := s.between("Close"); err != nil {
		return err
	}
	if s.closed || s.m == nil {
		return nil
	}
	if s.ranks != nil && s.ranks.err != nil { // there is no rank to tell
		s.closed = true
		s.m.GiveUp(s.ranks.err)
		return s.m.Close()
	}
	return s.together(context.Background(), &order{Op: closeOp}, func() error {
		s.closed = true
		return s.m.Close()
	})
}

// Doc returns the documentation of a name as markdown: of the session, of a module
// (blas.gemm), a builtin, a type, a filter or an option.
func (s *Session) Doc(name string) (markdown string, ok bool) {
	name = strings.TrimSpace(name)
	if s.m != nil {
		if o := s.object(name); o != nil {
			return s.objectDoc(name, o), true
		}
	}
	return builtinDoc(name)
}

// object finds a name, or a member of a module.
func (s *Session) object(name string) *types.Object {
	if s.m == nil {
		return nil
	}
	first, rest, dotted := strings.Cut(name, ".")
	o, _ := s.m.Lookup(first)
	if o == nil {
		for _, list := range [][]*types.Object{s.comp.env.Codelets, s.comp.env.Funcs, s.comp.env.Filters} {
			if k := slices.IndexFunc(list, func(o *types.Object) bool { return o.Name == first }); k >= 0 {
				o = list[k]
			}
		}
	}
	if o != nil && dotted {
		if o.Module == nil {
			return nil
		}
		return o.Module.Members[rest]
	}
	return o
}

func (s *Session) objectDoc(name string, o *types.Object) string {
	text := objectDoc(name, o) + kindsDoc(o)
	if _, v := s.m.Lookup(name); v != nil {
		if d := s.m.Describe(v); d != "" {
			text += "\n" + d + "\n"
		}
	}
	if !o.Decl.IsZero() {
		text += fmt.Sprintf("\ndefined at %s:%d\n", o.Decl.File, o.Decl.Start.Line)
	}
	return text
}

// kindsDoc says which workers can run a codelet; "" for what is none, or not known.
func kindsDoc(o *types.Object) string {
	kinds, why := o.Kinds, error(nil)
	if c, ok := o.Node.(*syntax.Codelet); ok && c.Body != nil && o.Kind == types.CodeletObject {
		kinds, why = interp.BodyKinds(o)
	}
	switch {
	case len(kinds) == 0:
		return ""
	case why != nil:
		return fmt.Sprintf("\nruns on: %s; not on OpenCL devices: %v\n", strings.Join(kinds, ", "), why)
	}
	return fmt.Sprintf("\nruns on: %s\n", strings.Join(kinds, ", "))
}

// Settings that a prompt changes while a session goes on.

// SetElide says from how many elements on a vector or a list that an entry gives as its
// value, or Show gives whole, is shown by its ends; matrices in proportion. 0 means as print does,
// which it does not change.
func (s *Session) SetElide(n int) {
	_ = s.together(context.Background(), &order{Op: elideOp, Lo: n}, func() error { s.setElide(n); return nil })
}

func (s *Session) setElide(n int) {
	s.elide = max(0, n)
	if s.m != nil {
		s.m.SetElide(s.elide)
	}
}

// SetDigits is [Digits] from now on.
func (s *Session) SetDigits(n int) {
	_ = s.together(context.Background(), &order{Op: digitsOp, Lo: n}, func() error { s.setDigits(n); return nil })
}

func (s *Session) setDigits(n int) {
	s.opts = append(s.opts[:len(s.opts):len(s.opts)], Digits(n)) // for Reset
	if s.m != nil {
		s.m.SetDigits(n)
	}
}

// SetDeterministic switches [Deterministic] for what is inserted from now on. The session
// must have no data; its tasks are waited for: failures that no entry has reported are the
// error, and nothing is switched then. Numbers of tasks, and Stats, begin anew.
func (s *Session) SetDeterministic(on bool) error {
	if err := s.between("SetDeterministic"); err != nil {
		return err
	}
	switch {
	case s.closed:
		return errors.New("lang: the session is closed")
	case s.err != nil:
		return s.err
	}
	return s.together(context.Background(), &order{Op: deterministicOp, On: on}, func() error { return s.setDeterministic(on) })
}

func (s *Session) setDeterministic(on bool) error {
	if err := s.m.SetDeterministic(on); err != nil {
		return err
	}
	s.opts = append(s.opts[:len(s.opts):len(s.opts)], func(c *runConfig) { c.Deterministic = on }) // for Reset
	return nil
}

// Queries of a prompt about a session that run nothing.

// TypeOf returns the type of an expression, which is not evaluated.
func (s *Session) TypeOf(src string) (typ string, err error) {
	source := diag.NewSource("<type>", src)
	defer func() {
		if r := recover(); r != nil {
			d := internal(source, r)
			err = &d
		}
	}()
	switch {
	case s.closed:
		return "", errors.New("lang: the session is closed")
	case s.err != nil:
		return "", s.err
	}
	t, ds := s.checker.TypeOf(source)
	switch {
	case ds.Err() != nil:
		return "", ds
	case t == nil:
		return "", errors.New("this is no expression, so it has no type")
	}
	return t.String(), nil
}

// Lost names the data of the session whose value was lost because a task failed
// or was cancelled: "x", or "x[3]" where other parts of x are valid.
func (s *Session) Lost() []string {
	if s.m == nil || s.closed {
		return nil
	}
	if s.ranks == nil {
		return s.m.Lost()
	}
	_ = s.together(context.Background(), &order{Op: lostOp}, func() error {
		s.lostOnRanks = s.m.Lost()
		return nil
	})
	return s.lostOnRanks
}

// Presence describes the copies of some data on a memory node: Valid, Arriving and
// Allocated are bytes, Parts counts the valid parts of a view.
type Presence = interp.Presence

// Where says where the bytes of a handle or view of the session are now, node by
// node, and in how many parts the view, or the default view of the handle, has cut
// it; 0: there is none.
func (s *Session) Where(name string) (nodes []Presence, parts int, err error) {
	if s.m == nil {
		return nil, 0, s.err
	}
	if s.closed {
		return nil, 0, errors.New("lang: the session is closed")
	}
	return s.m.Where(name)
}

// Graphs of a session: what it did so far, and what an entry would do.

// Plan plans an entry for the machine of the session, as it is now, and returns the tasks
// that it would submit. No kernel runs, no file is written, and the session does not
// change; but host functions that the entry calls are called, as far as their arguments
// are known (Program.Plan). Values computed by tasks of the session are known, too, until
// a task of the plan writes them.
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
	var p *Plan
	err := s.together(interp.Context(ctx), &order{Op: planOp, Src: src}, func() (err error) {
		p, err = s.planEntry(ctx, src)
		return err
	})
	return p, err
}

func (s *Session) planEntry(ctx context.Context, src string) (*Plan, error) {
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
