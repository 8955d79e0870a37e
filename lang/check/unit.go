package check

// One unit: the order in which its parts are checked.

import (
	"slices"
	"sort"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// checker checks one unit.
type checker struct {
	loader  *loader
	f       *syntax.File
	unit    *Unit
	diags   diag.Diagnostics
	host    map[string]*types.Object // what the host predeclares
	session *Session                 // nil for files

	outer      map[*syntax.Index]*syntax.Index // of x[i] in x[i][j]: the whole
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
	writers      map[*types.Object][]writer // made by writerOf
	failed       map[syntax.Node]bool       // inserts and calls that have errors: their effect is not known
	hints        int
	wantsInts    bool     // the list that is looked at should hold ints
	loopNames    []string // during the second walk: the loop names in scope
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
func (c *checker) text(n syntax.Node) string {
	s := n.Range()
	t := c.f.Source.Text
	lo, hi := max(0, min(int(s.Lo), len(t))), max(0, min(int(s.Hi), len(t)))
	return t[lo:max(lo, hi)]
}

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
		c.flow()
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

// declareAll enters the names that are visible in the whole file, and notes the
// others that stand at top level.
func (c *checker) declareAll() {
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
	case *syntax.Import, *syntax.Param, *syntax.ExternData, *syntax.Codelet, *syntax.Func:
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
