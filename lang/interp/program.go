package interp

// Compiled programs.

import (
	"slices"
	"strings"
	"sync"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// Program is compiled code. It is immutable and safe for concurrent use, except
// that the program of a session grows between its entries.
type Program struct {
	units       []*unitCode              // imported first, main last
	main        *check.Unit              // the last entry in a session; nil before the first
	names       map[string]*types.Object // top-level names of the main unit
	funcs       map[*types.Object]*funcCode
	index       map[*check.Unit]int // place of a unit's frame
	all         []*check.Unit       // of a session: entries and what they import, as they came
	nsites      int
	hosts       map[string]*HostFunc // host functions that the code calls
	open        bool                 // of a session
	checkpoints bool                 // some statement writes them
	plan        bool                 // for runs without kernels, whose values may be unknown

	kernels kernel.Options // how bodies of codelets run

	repeats map[*types.Object]bool // of plans: functions that only insert

	codelets struct {
		sync.Mutex
		made   map[codeletKey]*engine.Codelet
		code   map[*engine.Codelet]*kernel.Program
		also   map[*engine.Codelet]*kernel.Program // the bodies that run instead on devices; see withLayoutsLocked
		home   map[*engine.Codelet]error           // why their bodies run on CPU workers only
		choice map[*engine.Codelet]*layoutChoice   // of codelets with the option layouts
	}
}

// unitCode is the code of one unit.
type unitCode struct {
	unit *check.Unit
	body stmt
}

// funcCode is the code of one function.
type funcCode struct {
	obj    *types.Object
	name   string
	params []paramCode
	result *types.Type
	out    repr
	slots  int
	refs   bool // some slot holds a reference
	unit   int
	body   stmt
}

// paramCode is one parameter of a function.
type paramCode struct {
	name string
	typ  *types.Type
	slot int
	def  setter // from the default, nil: none
}

// setter evaluates an expression in frame from and stores it in a slot of frame to.
type setter func(from, to *frame)

// stmt runs a statement and says how control goes on.
type stmt func(f *frame) ctl

type ctl uint8

const (
	next ctl = iota
	brk
	cont
	ret
)

// Closures of expressions, by representation.
type (
	intFn   func(f *frame) int64
	floatFn func(f *frame) float64
	boolFn  func(f *frame) bool
	refFn   func(f *frame) any
)

func newProgram() *Program {
	p := &Program{funcs: map[*types.Object]*funcCode{}, index: map[*check.Unit]int{}, hosts: map[string]*HostFunc{}}
	p.codelets.made = map[codeletKey]*engine.Codelet{}
	p.codelets.code = map[*engine.Codelet]*kernel.Program{}
	p.codelets.also = map[*engine.Codelet]*kernel.Program{}
	p.codelets.home = map[*engine.Codelet]error{}
	p.codelets.choice = map[*engine.Codelet]*layoutChoice{}
	return p
}

// Compile makes code of a checked program, whose bodies of codelets run as kernels says. Codelet
// bodies that tasks need are compiled at once for the types that the text shows.
func Compile(c *check.Program, kernels kernel.Options) (*Program, error) {
	return compile(c, kernels, false)
}

// CompilePlan makes code that runs without kernels; see Plan.
func CompilePlan(c *check.Program) (*Program, error) {
	return compile(c, kernel.Options{Mode: kernel.Strips}, true)
}

func compile(c *check.Program, kernels kernel.Options, plan bool) (*Program, error) {
	p := newProgram()
	p.plan, p.kernels = plan, kernels
	for _, u := range c.Units {
		p.index[u] = len(p.index)
	}
	for _, u := range c.Units {
		p.declareFuncs(u)
	}
	for _, u := range c.Units {
		code, err := p.compileUnit(u, false)
		if err != nil {
			return nil, err
		}
		p.units = append(p.units, code)
	}
	p.main, p.names = c.Main, c.Main.Objects
	return p, nil
}

// declareFuncs makes a funcCode for each function of u, so that calls can refer to it.
func (p *Program) declareFuncs(u *check.Unit) {
	for _, o := range u.Funcs {
		if _, ok := o.Node.(*syntax.Func); ok {
			p.funcs[o] = &funcCode{obj: o, name: o.Name, unit: p.index[u]}
		}
	}
}

// compileUnit makes the code of one unit: its functions and its statements.
func (p *Program) compileUnit(u *check.Unit, session bool) (code *unitCode, err error) {
	c := p.compiler(u, session)
	code = &unitCode{unit: u}
	err = c.catch(func() {
		c.functions(u)
		code.body = c.topLevel(u)
	})
	return code, err
}

// compileFuncs makes the code of the functions of u, an entry of a session or what one imports.
func (p *Program) compileFuncs(u *check.Unit) error {
	c := p.compiler(u, true)
	return c.catch(func() { c.functions(u) })
}

// compiler makes a compiler for the unit u.
func (p *Program) compiler(u *check.Unit, session bool) *compiler {
	return &compiler{prog: p, unit: p.index[u], file: u.File, session: session, plan: p.plan, depths: map[*types.Object]int{}, ranges: map[*types.Object]*loopRange{}}
}

// functions compiles the functions of u.
func (c *compiler) functions(u *check.Unit) {
	for _, o := range u.Funcs {
		if fn, ok := o.Node.(*syntax.Func); ok {
			c.compileFunc(c.prog.funcs[o], fn)
		}
	}
}

// catch returns the error that fn raises.
func (c *compiler) catch(fn func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			x, ok := r.(*raised)
			if !ok {
				panic(r)
			}
			err = x.err
		}
	}()
	fn()
	return nil
}

// Param describes a param; see lang.ParamInfo.
type Param struct {
	Name, Type, Default string
	Required            bool
	Doc                 string
}

// Extern describes what the host supplies; see lang.ExternInfo.
type Extern struct {
	Name, Type string
	Codelet    bool
	Doc        string
}

// Params lists the params of the main unit in the order of their statements.
func (p *Program) Params() []Param {
	var out []Param
	for _, s := range p.main.File.Stmts {
		if s, ok := s.(*syntax.Param); ok {
			q := Param{Name: s.Name.Name, Doc: s.Doc, Required: s.Value == nil}
			if s.Type.Type != nil {
				q.Type = s.Type.Type.String()
			}
			if s.Value != nil {
				q.Default = position{p.main.File, s.Value.Range()}.source()
			}
			out = append(out, q)
		}
	}
	return out
}

// Externs lists the extern data and codelets of the main unit.
func (p *Program) Externs() []Extern {
	var out []Extern
	for _, s := range p.main.File.Stmts {
		switch s := s.(type) {
		case *syntax.ExternData:
			e := Extern{Name: s.Name.Name, Doc: s.Doc}
			if s.Type.Type != nil {
				e.Type = s.Type.Type.String()
			}
			out = append(out, e)
		case *syntax.Codelet:
			if s.Body == nil {
				out = append(out, Extern{Name: s.Name.Name, Codelet: true, Doc: s.Doc,
					Type: s.Name.Name + position{p.main.File, s.Sig}.source()})
			}
		}
	}
	return out
}

// nearFunc suggests a function for a name that does not exist.
func (p *Program) nearFunc(name string) string {
	var have []string
	for _, o := range p.names {
		if o.Kind == types.FuncObject && o.Node != nil {
			have = append(have, o.Name)
		}
	}
	if n, ok := diag.Nearest(name, have); ok {
		return "; did you mean " + n + "?"
	}
	if len(have) == 0 {
		return "; it has no functions"
	}
	slices.Sort(have)
	return "; it has " + strings.Join(have, ", ")
}

// SignatureText writes the signature of a function or codelet as in the language.
func SignatureText(o *types.Object) string {
	if o.Sig == nil {
		return o.Name
	}
	if o.Sig.Text != "" {
		return o.Sig.Text
	}
	var b strings.Builder
	b.WriteString(o.Name + "(")
	for i, p := range o.Sig.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Name + ": ")
		if p.Mode != 0 {
			b.WriteString(p.Mode.String() + " ")
		}
		b.WriteString(p.Type.String())
	}
	b.WriteString(")")
	if o.Kind == types.FuncObject && o.Sig.Result != nil && o.Sig.Result.Kind != types.None {
		b.WriteString(" -> " + o.Sig.Result.String())
	}
	return b.String()
}
