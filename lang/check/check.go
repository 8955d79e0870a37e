// Package check, which serves package lang, parses a script and what it imports, finds
// out what every name and expression means, and reports what is wrong without running
// anything. It works from the text and from signatures alone; it knows no engine.
//
// A check goes through each unit (a file, or an entry of a session) twice. The first
// walk resolves names and types and annotates the tree for the interpreter: check.go,
// stmt.go, expr.go and the files that are named after a construct. The second walk, in
// package flow, follows the data flow: which handle has a value, which array is held, which
// view has ended. It reports only what happens on every path to a place (unreleased
// arrays: on any path), so a script that is right is never rejected.
//
// Many faults depend on values. Package interp reports those during a run, with the same
// codes and texts of its own.
package check

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/starpush/starpush/lang/check/flow"
	"github.com/starpush/starpush/lang/check/redux"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// Env is the host's offer to scripts: codelets, functions, modules. It is immutable once
// in use and may be shared by any number of checks.
type Env struct {
	Codelets []*types.Object          // host codelets, usable without import
	Funcs    []*types.Object          // host functions
	Filters  []*types.Object          // host filters
	Modules  map[string]*types.Module // host modules by import name

	// Load returns the source that an import names; nil forbids file imports. The
	// name of the source identifies the module: two imports that load the same name
	// share it. An error that has a method Near() []string adds names to choose from.
	Load func(path string, from *diag.Source) (*diag.Source, error)

	// Used are top-level names of the program whose data the host uses: no W0201.
	Used []string

	MaxSource int64 // bytes of text of one program, or of an entry with what it imports; 0 is no limit
}

// Unit is one checked file, or one entry of a session.
type Unit struct {
	File    *syntax.File
	Module  *types.Module // what the unit exports, by name
	Imports []*Unit       // the .spu files that it imports, in order
	Params  []*types.Object
	// ParamOrder holds the params such that each comes after those its default uses.
	ParamOrder     []*syntax.Param
	Externs        []*types.Object // extern data
	ExternCodelets []*types.Object
	Funcs          []*types.Object
	Codelets       []*types.Object          // declared here, extern ones included
	Objects        map[string]*types.Object // top-level names
	Slots          int                      // size of the top-level frame

	// Last is set for an entry of a session whose last statement is an expression
	// with a value: the object of the name _ that the value goes to.
	Last *types.Object

	redux redux.Cache
}

// SourceFile returns u.File, for package redux.
func (u *Unit) SourceFile() *syntax.File { return u.File }

// Redux returns what was found about the bodies of the codelets of u.
func (u *Unit) Redux() *redux.Cache { return &u.redux }

// Program is a checked script.
type Program struct {
	Main  *Unit
	Units []*Unit // imported ones first, Main last
}

// One unit: the order in which its parts are checked.

// checker checks one unit.
type checker struct {
	loader  *loader
	f       *syntax.File
	unit    *Unit
	diags   diag.Diagnostics
	host    map[string]*types.Object // what the host predeclares
	session *Session                 // nil for files

	outer      map[*syntax.Index]*syntax.Index // of x[i] in x[i][j]: the whole
	sliced     *syntax.Index                   // what partition splits, which may be x[a..b]
	unknownArg map[*syntax.Arg]bool            // arguments of constructors that stand for others
	module     bool                            // imported: declarations only
	broken     bool                            // some statement did not parse: names may be missing

	top   *scope
	scope *scope
	later map[string]*syntax.Ident // top-level names whose statement comes later
	early map[string]bool          // those of them that were used too early
	frame *slotFrame
	fn    *types.Object // the function whose body is walked, or nil
	fnEnd *types.Type   // its result
	loops int           // loops around the statement, inside the function

	infos        map[*types.Object]*objInfo
	funcs        []*syntax.Func
	contributed  []reduxUse
	badBody      map[*types.Object]bool // codelets whose body is wrong for all element types
	instantiated []instance
	failed       map[syntax.Node]bool // inserts and calls that have errors: their effect is not known
	hints        int
	wantsInts    bool // the list that is looked at should hold ints
}

// slotFrame counts slots.
type slotFrame struct{ slots int }

func newChecker(l *loader, f *syntax.File, unit *Unit) *checker {
	c := &checker{loader: l, f: f, unit: unit, host: l.host, frame: &slotFrame{},
		later: map[string]*syntax.Ident{}, early: map[string]bool{}, infos: map[*types.Object]*objInfo{}, failed: map[syntax.Node]bool{}, badBody: map[*types.Object]bool{}}
	c.top = &scope{}
	c.scope = c.top
	return c
}

// err appends an error at n. The pointer is good until the next report.
func (c *checker) err(code string, n syntax.Node, message string) *diag.Diagnostic {
	return c.diagAt(code, diag.Error, c.f.At(n), message)
}

func (c *checker) warn(code string, n syntax.Node, message string) *diag.Diagnostic {
	return c.diagAt(code, diag.Warning, c.f.At(n), message)
}

func (c *checker) diagAt(code string, sev diag.Severity, at diag.Span, message string) *diag.Diagnostic {
	c.diags = append(c.diags, diag.Diagnostic{Code: code, Severity: sev, Message: message, Span: at})
	return &c.diags[len(c.diags)-1]
}

func (c *checker) label(n syntax.Node, text string) diag.Label {
	return diag.Label{Span: c.f.At(n), Text: text}
}

// text returns the source of n.
func (c *checker) text(n syntax.Node) string { return c.f.Text(n) }

// argsText is the text of a list of expressions.
func (c *checker) argsText(es []syntax.Expr) string {
	if len(es) == 0 {
		return ""
	}
	return c.text(syntax.Span{Lo: es[0].Range().Lo, Hi: es[len(es)-1].Range().Hi})
}

// run checks the whole unit. Its diagnostics are in the order of the text.
func (c *checker) run() {
	c.declareAll()
	for _, s := range c.f.Stmts {
		c.topStmt(s)
	}
	for _, f := range c.funcs {
		c.funcBody(f)
	}
	c.unusedIn(c.top)
	c.runsNothing()
	c.checkInstances()
	c.checkMixedTypes()
	if !c.broken {
		flow.Check(c.flowUnit())
		c.blocking()
		c.staleConditions()
	}
	c.unit.Slots = c.frame.slots
	c.export()
	c.dropLints()
	sort.SliceStable(c.diags, func(i, j int) bool {
		return c.diags[i].Span.Start.Offset < c.diags[j].Span.Start.Offset
	})
}

// flowUnit returns what the second walk needs of the first.
func (c *checker) flowUnit() *flow.Unit {
	return &flow.Unit{File: c.f, Funcs: c.funcs, Owner: c.unit, Session: c.session != nil,
		Failed: c.failed, UnknownArgs: c.unknownArg, Checker: flowSupport{c}}
}

// flowSupport implements flow.Checker.
type flowSupport struct{ c *checker }

func (s flowSupport) Report(code string, sev diag.Severity, at diag.Span, message string) *diag.Diagnostic {
	return s.c.diagAt(code, sev, at, message)
}

func (s flowSupport) CheckCount(e *syntax.Index, name string, p *syntax.Partition, loops []string) {
	if dims := dimsOf(p); dims >= 0 && dims != len(e.Args) {
		s.c.wrongCount(e, name, p, dims, loops)
	}
}

func (s flowSupport) AcquireElement(e *syntax.Index, t *types.Type) string {
	if f := t.Fields(); f != nil {
		return fmt.Sprintf("acquire R %[1]s.%[2]s as %[2]s { … %[2]s[%[3]s] … }", s.c.text(e.X), f.Arrays[0].Name, s.c.argsText(e.Args))
	}
	return fmt.Sprintf("acquire R %[1]s as %[2]s { … %[2]s[%[3]s] … }", s.c.text(e.X), s.c.arrayFor(e.X), s.c.indicesFor(t, e.Args))
}

func (s flowSupport) WithArg(call *syntax.Call, arg string) string { return s.c.withArg(call, arg) }

// declareAll enters the names that are visible in the whole file, and notes the other
// names declared at top level.
func (c *checker) declareAll() {
	for _, s := range c.f.Stmts {
		if s, ok := s.(*syntax.Struct); ok { // signatures have them
			c.structDecl(s)
		}
	}
	for _, s := range c.f.Stmts {
		switch s := s.(type) {
		case *syntax.Import:
			c.importStmt(s)
		case *syntax.Param:
			o := c.declare(types.ParamObject, s.Name, types.TInvalid, "param")
			o.Doc, o.Node = s.Doc, s
			if s.Type == nil || s.Type.Name == nil {
				break
			}
			t := c.resolveType(s.Type)
			if t.Kind != types.Invalid && !t.IsScalar() {
				d := c.err("E0705", s.Type, "a param is an int, a float, a bool or a string")
				d.Label = "this is " + aType(t)
				t = types.TInvalid
			}
			o.Type = t
			s.Name.SetType(t)
			c.unit.Params = append(c.unit.Params, o)
		case *syntax.ExternData:
			t := c.resolveType(s.Type)
			if t.Kind != types.Invalid && !t.IsHandle() {
				d := c.err("E0705", s.Type, "`extern` binds registered data, and this is "+aType(t))
				d.Help = append(d.Help, "write a handle type such as `vector[f32]`; for numbers use `param`")
				t = types.TInvalid
			}
			o := c.declare(types.HandleObject, s.Name, t, "extern")
			o.Doc, o.Node = s.Doc, s
			c.unit.Externs = append(c.unit.Externs, o)
		case *syntax.Codelet:
			c.codeletDecl(s)
		case *syntax.Func:
			c.funcDecl(s)
		case *syntax.Let:
			c.willDeclare(s.Name)
		case *syntax.Register:
			for _, n := range s.Names {
				c.willDeclare(n)
			}
		case *syntax.Partition:
			if s.Name != nil {
				c.willDeclare(s.Name)
			}
		case *syntax.Acquire:
			if s.Body == nil {
				for _, it := range s.Items {
					c.willDeclare(it.As)
				}
			}
		}
	}
	c.params()
	for _, s := range c.f.Stmts {
		if k, ok := s.(*syntax.Codelet); ok {
			c.codeletBody(k)
		}
	}
}

func (c *checker) willDeclare(id *syntax.Ident) {
	if id != nil && c.later[id.Name] == nil && c.top.Names[id.Name] == nil {
		c.later[id.Name] = id
	}
}

func (c *checker) topStmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.Import, *syntax.Param, *syntax.ExternData, *syntax.Struct, *syntax.Codelet, *syntax.Func:
		if e, ok := s.(*syntax.ExternData); ok && c.module {
			c.notInModule(e, "extern data")
		}
		return
	}
	if c.module && !c.moduleStmt(s) {
		return
	}
	c.stmt(s)
}

// export makes the module of the unit and its table of names.
func (c *checker) export() {
	u := c.unit
	u.Objects = make(map[string]*types.Object, len(c.top.List))
	u.Module = &types.Module{Name: c.f.Source.Name, Doc: c.f.Doc, Members: map[string]*types.Object{}}
	for _, o := range c.top.List {
		if c.top.Names[o.Name] != o {
			continue
		}
		u.Objects[o.Name] = o
		if o.Name == "" || o.Name[0] == '_' {
			continue
		}
		switch o.Kind {
		case types.LetObject, types.ParamObject, types.FuncObject, types.CodeletObject:
			u.Module.Members[o.Name] = o
		}
	}
}

// dropLints takes back that something is never used or read when there are errors:
// what would use it may be what is wrong.
func (c *checker) dropLints() {
	if !slices.ContainsFunc(c.diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error }) {
		return
	}
	c.diags = slices.DeleteFunc(c.diags, func(d diag.Diagnostic) bool { return d.Code == "W0201" || d.Code == "W0202" || d.Code == "W0401" })
}

// W0101, and warnings that comments allow.

// planCodes are warnings that plans raise, depending on sizes and times: that there is
// none today does not say that there never is.
var planCodes = []string{"W1001", "W1002", "W1003"}

// Allowed returns ds without the warnings that comments of f allow. It does not change ds.
func Allowed(f *syntax.File, ds diag.Diagnostics) diag.Diagnostics {
	return allowed(f, syntax.Allowances(f), ds)
}

func allowed(f *syntax.File, as []syntax.Allowance, ds diag.Diagnostics) diag.Diagnostics {
	if len(as) == 0 || len(ds) == 0 {
		return ds
	}
	covers := map[string][]syntax.Span{} // by code, in the order of the text and disjoint
	for _, a := range as {
		covers[a.Code] = append(covers[a.Code], a.Covers)
	}
	for code, spans := range covers {
		slices.SortFunc(spans, func(a, b syntax.Span) int { return int(a.Lo - b.Lo) })
		joined := spans[:1]
		for _, s := range spans[1:] {
			if last := &joined[len(joined)-1]; s.Lo <= last.Hi {
				last.Hi = max(last.Hi, s.Hi)
			} else {
				joined = append(joined, s)
			}
		}
		covers[code] = joined
	}
	out := make(diag.Diagnostics, 0, len(ds))
	for _, d := range ds {
		spans, at := covers[d.Code], int32(d.Span.Start.Offset)
		k := sort.Search(len(spans), func(i int) bool { return spans[i].Hi > at })
		if d.Severity == diag.Warning && d.Span.File == f.Source.Name && k < len(spans) && spans[k].Lo <= at {
			continue
		}
		out = append(out, d)
	}
	return out
}

// applyAllowances takes the warnings that comments of f allow out of ds, and reports comments
// that allow nothing (W0101), unless there are errors: what is wrong may keep warnings from
// being found.
func applyAllowances(f *syntax.File, ds diag.Diagnostics) diag.Diagnostics {
	as := syntax.Allowances(f)
	if len(as) == 0 {
		return ds
	}
	out := allowed(f, as, ds)
	if ds.Err() != nil {
		return out
	}
	at := map[string][]int{} // where the warnings are, by code
	for _, d := range ds {
		if d.Severity == diag.Warning && d.Span.File == f.Source.Name {
			at[d.Code] = append(at[d.Code], d.Span.Start.Offset)
		}
	}
	for _, offsets := range at {
		slices.Sort(offsets)
	}
	for _, a := range as {
		d := diag.Diagnostic{Code: "W0101", Severity: diag.Warning, Span: f.At(a.At)}
		_, known := diag.Explain(a.Code)
		k, _ := slices.BinarySearch(at[a.Code], int(a.Covers.Lo))
		switch {
		case known && slices.Contains(planCodes, a.Code), k < len(at[a.Code]) && at[a.Code][k] < int(a.Covers.Hi):
			continue
		case known && strings.HasPrefix(a.Code, "W"):
			d.Message = fmt.Sprintf("this comment allows `%s`, and there is no such warning", a.Code)
			d.Help = []string{"remove it, or write it at the end of the line with the warning, or on the line above"}
		case known:
			d.Message = fmt.Sprintf("this comment allows `%s`, which is an error; only warnings can be allowed", a.Code)
			d.Help = []string{"remove it, and mend the error"}
		default:
			d.Message = fmt.Sprintf("this comment allows `%s`, and there is no such code", a.Code)
			d.Help = []string{"remove it, or write the code that the warning shows, such as W1004"}
		}
		if a.Alone {
			lo := len(strings.TrimRight(f.Source.Text[:a.Comment.Lo], " \t"))
			d.Edit(f.Source.Span(lo, int(a.Comment.Hi)), "")
		}
		out = append(out, d)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Span.Start.Offset < out[j].Span.Start.Offset })
	return out
}
