package lang

// A compiled program: what it needs, what it offers, and starting runs.

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/interp"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// A Program is compiled code. It is immutable; any number of goroutines may run
// it at once.
type Program struct {
	comp    *Compiler
	checked *check.Program
	code    *interp.Program
	planned *planCode
}

var errNoProgram = errors.New("lang: there is no program; Compile makes one, unless it reports errors")

// none reports whether p is nil or was not made by Compile.
func (p *Program) none() bool { return p == nil || p.code == nil }

// ParamInfo describes one param of a script.
type ParamInfo struct {
	Name     string
	Type     string // "int", "float", "bool" or "string"
	Default  string // as written; "" when Required
	Required bool
	Doc      string
}

// ExternInfo describes what the host must supply.
type ExternInfo struct {
	Name    string
	Type    string // "vector[f32]"; the signature of an extern codelet
	Codelet bool
	Doc     string
}

// FuncInfo describes a function that Call can reach.
type FuncInfo struct {
	Name, Signature, Doc string
}

// CodeletInfo describes a codelet of the script.
type CodeletInfo struct {
	Name, Signature, Doc string
}

// CodeletUse is a codelet that a program declares or inserts, and where its tasks can
// run.
type CodeletUse struct {
	Name      string   // as the script writes it: "scal", "blas.gemm"
	Signature string   // of its operands
	Kinds     []string // kinds of workers that have a kernel, "cpu" first; nil: not known
	Why       string   // a codelet of the script makes no kernels for OpenCL devices because of this
	Extern    bool     // the host supplies it
	Host      bool     // it is a codelet of the host, or of a module of the host
	Span      Span     // where it is declared, or first inserted
	// Slow lists the loops of a codelet of the script that a CPU has to run one round
	// at a time; others run hundreds of rounds an operation.
	Slow []SlowLoop
	// Code says how the loops of a codelet of the script run as machine code, in the order of
	// the source; a single note without a place if it has none.
	Code []CodeNote
}

// A CodeNote says how a loop of a body runs as machine code: its lanes, and operations and bytes
// of a round; or that elements for lanes do not lie side by side.
type CodeNote struct {
	Span Span
	Text string // "8 lanes of `i`, 3 operations and 24 bytes a round"
}

// A SlowLoop is a loop of a body that a CPU runs one round at a time: where, why, and what
// would do.
type SlowLoop struct {
	Span Span   // the loop
	Why  string // "`s` is carried from one round to the next"
	Help string // what would do
}

// Uses lists the codelets that the script and the modules it imports from files
// declare, and those of the host that they insert, sorted by name.
func (p *Program) Uses() []CodeletUse {
	if p.none() {
		return nil
	}
	var out []CodeletUse
	seen := map[*types.Object]bool{}
	add := func(o *types.Object, name string, span Span) {
		if o == nil || seen[o] {
			return
		}
		seen[o] = true
		c, _ := o.Node.(*syntax.Codelet)
		u := CodeletUse{Name: name, Signature: interp.SignatureText(o), Kinds: o.Kinds, Span: span, Host: o.Host != nil}
		switch {
		case c != nil && c.Body == nil:
			u.Extern = true
		case c != nil:
			var why error
			if u.Kinds, why = interp.BodyKinds(o); why != nil {
				u.Why = why.Error()
			}
			for _, l := range interp.SlowLoops(o) {
				u.Slow = append(u.Slow, SlowLoop(l))
			}
			for _, n := range interp.CodeNotes(o) {
				u.Code = append(u.Code, CodeNote(n))
			}
		}
		out = append(out, u)
	}
	for _, u := range p.checked.Units {
		for _, o := range u.Objects {
			if o.Kind == types.CodeletObject && o.Node != nil {
				name := o.Name
				if u != p.checked.Main {
					name = strings.TrimSuffix(path.Base(filepath.ToSlash(u.File.Source.Name)), ".spu") + "." + name
				}
				add(o, name, o.Decl)
			}
		}
	}
	for _, u := range p.checked.Units {
		syntax.Walk(u.File, func(n syntax.Node, _ []syntax.Node) {
			if in, ok := n.(*syntax.Insert); ok {
				var words []string
				for _, id := range in.Path {
					words = append(words, id.Name)
				}
				add(in.Callee, strings.Join(words, "."), u.File.Source.Span(int(in.Word.Lo), int(in.Word.Hi)))
			}
		})
	}
	slices.SortFunc(out, func(a, b CodeletUse) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Params lists the params of the script in the order of their statements.
func (p *Program) Params() []ParamInfo {
	if p.none() {
		return nil
	}
	var out []ParamInfo
	for _, q := range p.code.Params() {
		out = append(out, ParamInfo(q))
	}
	return out
}

// Externs lists data and codelets that the host must supply.
func (p *Program) Externs() []ExternInfo {
	if p.none() {
		return nil
	}
	var out []ExternInfo
	for _, q := range p.code.Externs() {
		out = append(out, ExternInfo(q))
	}
	return out
}

// Funcs lists the functions that Call can reach, sorted by name.
func (p *Program) Funcs() []FuncInfo {
	if p.none() {
		return nil
	}
	var out []FuncInfo
	for _, o := range p.checked.Main.Objects {
		if o.Kind == types.FuncObject && o.Node != nil && !strings.HasPrefix(o.Name, "_") {
			out = append(out, FuncInfo{o.Name, interp.SignatureText(o), o.Doc})
		}
	}
	slices.SortFunc(out, func(a, b FuncInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Names lists the top-level names of the script, sorted, as Session.Names does, without
// Detail: there are no values yet.
func (p *Program) Names() []NameInfo {
	if p.none() {
		return nil
	}
	var out []NameInfo
	for n, o := range p.checked.Main.Objects {
		info := NameInfo{Name: n, Kind: kindWords[o.Kind], Doc: o.Doc}
		switch {
		case info.Kind == "":
			continue
		case o.Sig != nil:
			info.Type = interp.SignatureText(o)
		case o.Kind == types.ModuleObject:
			if o.Module != nil {
				info.Type = o.Module.Name
			}
		case o.Type != nil:
			info.Type = o.Type.String()
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b NameInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Codelets lists the codelets that the script declares, sorted by name.
func (p *Program) Codelets() []CodeletInfo {
	if p.none() {
		return nil
	}
	var out []CodeletInfo
	for _, o := range p.checked.Main.Objects {
		if o.Kind == types.CodeletObject && o.Node != nil {
			out = append(out, CodeletInfo{o.Name, interp.SignatureText(o), o.Doc})
		}
	}
	slices.SortFunc(out, func(a, b CodeletInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Run executes the script, waits for all its tasks and returns the live instance.
// On an error it closes what the run made: bound data holds what was written until
// then. rt must outlive the instance.
func (p *Program) Run(ctx context.Context, rt *engine.Runtime, opts ...Option) (*Instance, error) {
	inst, err := p.Start(ctx, rt, opts...)
	if err != nil {
		return nil, err
	}
	if err := inst.m.Wait(ctx); err != nil {
		inst.Close()
		return nil, err
	}
	return inst, nil
}

// Start executes the script and returns as soon as everything is submitted. When
// ctx ends before the next Wait or Close has returned, the tasks are cancelled, and
// calls can insert no others until one of those has reported it.
func (p *Program) Start(ctx context.Context, rt *engine.Runtime, opts ...Option) (*Instance, error) {
	if p.none() {
		return nil, errNoProgram
	}
	cfg := p.comp.runConfig(rt, opts)
	m, err := interp.Start(ctx, p.code, cfg)
	if err != nil {
		return nil, err
	}
	return &Instance{m: m}, nil
}

// runConfig turns options into the interpreter's configuration.
func (c *Compiler) runConfig(rt *engine.Runtime, opts []Option) *interp.Config {
	rc := &runConfig{}
	rc.Runtime, rc.Files, rc.Limits, rc.Totals = rt, c.cfg.Files, c.cfg.Limits, c.cfg.Totals
	for _, o := range opts {
		if o != nil {
			o(rc)
		}
	}
	return &rc.Config
}

// A run of a program.

// An Instance owns the handles of one run. Its methods may be called from one
// goroutine at a time.
type Instance struct{ m *interp.Machine }

var errNoInstance = errors.New("lang: there is no instance; Run and Start make one, unless they return an error")

// none reports whether i is nil or was not made by Run or Start.
func (i *Instance) none() bool { return i == nil || i.m == nil }

// Stats counts tasks and time: per codelet and per worker.
type Stats = engine.Stats

// Call runs a script function; tasks it inserts join the same graph. It does not
// wait for them. When ctx ends before Call has returned, the tasks of the instance that
// have not started are dropped, kernels that run see the end of their context, and the
// error wraps the cause; without an error nothing was dropped. Arguments are Go numbers, bools, strings, slices of them,
// *Handle and *View; the result is int64, float64, bool, string, []int64,
// []float64, []any for other lists, *Handle, *View or nil. Handles that a function
// returns live until Close; in a Call by a host function, until the end of the block
// of the script that called that.
func (i *Instance) Call(ctx context.Context, fn string, args ...any) (any, error) {
	if i.none() {
		return nil, errNoInstance
	}
	return i.m.Call(ctx, fn, args)
}

// Wait returns when no task of this instance is left. Its error holds the failures
// that no call has reported yet. When ctx ends before, tasks are dropped as by Call.
func (i *Instance) Wait(ctx context.Context) error {
	if i.none() {
		return errNoInstance
	}
	return i.m.Wait(ctx)
}

// Handle returns a registered or extern name of the script's top level.
func (i *Instance) Handle(name string) (*Handle, error) {
	if i.none() {
		return nil, errNoInstance
	}
	return i.m.Handle(name)
}

// Stats returns what the run has done so far. It may be called from any goroutine.
func (i *Instance) Stats() Stats {
	if i.none() {
		return Stats{}
	}
	return i.m.Stats()
}

// Close waits for the tasks, writes bound data home and frees the rest. Its error
// holds the failures that no call has reported yet. It is idempotent. Failed tasks
// leave what they would have written in bound data as it was or half-written.
func (i *Instance) Close() error {
	if i.none() {
		return nil
	}
	return i.m.Close()
}
