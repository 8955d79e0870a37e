package check

// Sessions: entries that are checked one by one and share their names.

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// Session checks the entries of a prompt. All entries form one block and one
// top-level frame: slots keep growing, and a name may be declared again. A
// session is used by one goroutine at a time.
type Session struct {
	loader *loader
	scope  *scope
	infos  map[*types.Object]*objInfo
	frame  *slotFrame
	units  []*Unit
}

// NewSession starts a session. The predeclared objects, such as modules that a
// prompt imports by itself, are names of the session like those of entries.
func NewSession(env *Env, predeclared ...*types.Object) *Session {
	s := &Session{loader: newLoader(env), scope: &scope{}, infos: map[*types.Object]*objInfo{}, frame: &slotFrame{}}
	for _, o := range predeclared {
		s.scope.Insert(o.Name, o)
	}
	return s
}

// Entry parses and checks one entry. Its unit has the size of the shared frame
// so far in Slots. After an error the unit is nil and the names are unchanged.
func (s *Session) Entry(src *diag.Source) (*Unit, diag.Diagnostics) { return s.check(src, true) }

// Try checks an entry as Entry does, and leaves the names of the session as they are:
// those of the entry are in its unit alone.
func (s *Session) Try(src *diag.Source) (*Unit, diag.Diagnostics) { return s.check(src, false) }

func (s *Session) check(src *diag.Source, keep bool) (*Unit, diag.Diagnostics) {
	s.loader.read = 0
	s.loader.stack = append(s.loader.stack[:0], src.Name)
	f, ds := s.loader.parse(src, syntax.ParseEntry)
	unit := &Unit{File: f}
	c := newChecker(s.loader, f, unit)
	c.session = s
	c.broken = ds.Err() != nil
	c.top.Parent = s.scope
	c.infos = s.infos
	if !keep {
		c.infos = make(map[*types.Object]*objInfo, len(s.infos))
		for o, in := range s.infos {
			copied := *in
			c.infos[o] = &copied
		}
	}
	c.frame = s.frame
	slots := s.frame.slots
	s.loader.diags = nil
	order := len(s.loader.order)
	c.run()
	s.loader.stack = s.loader.stack[:0]
	all := append(s.loader.diags, applyAllowances(f, merge(ds, c.diags))...)
	wrong := all.Err() != nil
	if !wrong {
		unit.Last = s.lastValue(c)
		unit.Slots = s.frame.slots
	}
	if wrong || !keep {
		s.frame.slots = slots
		for _, u := range s.loader.order[order:] {
			delete(s.loader.units, u.File.Source.Name) // so that a file that changes is read again
		}
		s.loader.order = s.loader.order[:order]
		if wrong {
			unit = nil
		}
		return unit, all
	}
	for _, o := range c.top.List {
		s.scope.Insert(o.Name, o)
	}
	if unit.Last != nil {
		s.scope.Insert(unit.Last.Name, unit.Last)
	}
	s.units = append(s.units, s.loader.order[order:]...)
	return unit, all
}

// lastValue declares the name _ for the value of the entry's last statement.
func (s *Session) lastValue(c *checker) *types.Object {
	if len(c.f.Stmts) == 0 {
		return nil
	}
	x, ok := c.f.Stmts[len(c.f.Stmts)-1].(*syntax.ExprStmt)
	if !ok {
		return nil
	}
	if _, task := syntax.Unparen(x.X).(*syntax.Insert); task {
		return nil
	}
	t := x.X.Type()
	if t == nil || t.Kind == types.None || t.Kind == types.Invalid {
		return nil
	}
	o := &types.Object{Name: "_", Kind: types.LetObject, Type: t, Doc: "the value of the last expression", Unit: c.unit, Global: true, Slot: s.frame.slots}
	s.frame.slots++
	return o
}

// Modules returns the units that entries have imported, each after those it
// imports itself.
func (s *Session) Modules() []*Unit { return s.units }

// Lookup finds a name of the session, or a predeclared one; nil: there is none.
func (s *Session) Lookup(name string) *types.Object {
	if o := s.scope.Lookup(name); o != nil {
		return o
	}
	if o := s.loader.host[name]; o != nil {
		return o
	}
	if o := builtinFuncs[name]; o != nil {
		return o
	}
	return builtinValues[name]
}

// Names lists the names of the session, sorted, those that were declared again
// once.
func (s *Session) Names() []*types.Object {
	var out []*types.Object
	for _, o := range s.scope.Names {
		out = append(out, o)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Forget drops a name of the session, as when what it held has ended.
func (s *Session) Forget(name string) {
	if o := s.scope.Names[name]; o != nil {
		delete(s.scope.Names, name)
		for i, p := range s.scope.List {
			if p == o {
				s.scope.List = append(s.scope.List[:i], s.scope.List[i+1:]...)
				break
			}
		}
	}
}

// The type of an expression that a session does not run.

// TypeOf checks an entry that is one expression, as Try does, and returns its type: nil
// when there are errors, and when the entry is no expression with a value.
func (s *Session) TypeOf(src *diag.Source) (*types.Type, diag.Diagnostics) {
	f, ds := syntax.ParseEntry(src)
	if len(f.Stmts) != 1 {
		return nil, ds
	}
	if _, ok := f.Stmts[0].(*syntax.ExprStmt); !ok {
		return nil, ds // an import would load files for nothing
	}
	unit, ds := s.Try(src)
	if unit == nil {
		return nil, ds
	}
	return unit.File.Stmts[0].(*syntax.ExprStmt).X.Type(), ds
}

// Entries of a session as the statements of one script: a script declares each name once,
// while a prompt may declare it again, and a script prints only by print.

// A Step is an entry of a session with what came of it.
type Step struct {
	*Unit
	// Ran is how many of its top-level statements ran to their end. Of the others a script
	// has those that only declare; in the place of the first of them it has Note.
	Ran  int
	Note string
	// Implicit leaves the entry out unless another one uses a name of it.
	Implicit bool
	// Params are the values that params were given, as a script writes them.
	Params map[*types.Object]string
	// Data are the statements that stand for extern data, without `register` and the name: what
	// follows `=`.
	Data map[*types.Object]string
	// Ended is the data that was unregistered, and the arrays that were released, at its end.
	Ended []*types.Object
}

// A Transcript is a session as a script.
type Transcript struct {
	Texts []string // of the steps, "" for what is left out

	steps   []Step
	words   [][]*syntax.Ident          // of each step
	used    map[string]bool            // names that some step has
	values  map[*types.Object]bool     // of _, those that some step uses
	names   map[*types.Object]string   // of the objects that get another one
	imports map[*syntax.Import]bool    // those that repeat another one
	gone    map[*types.Object]bool     // of steps that are left out
	uses    map[*types.Object]int      // how often the steps have a name, its declaration left out
	path    func(*types.Module) string // how the script imports a file
}

// Transcribe returns the texts of steps such that they can follow each other in one
// script, and do what they did at the prompt. All but the last declaration of a
// name get another name; the value of an expression is printed, and kept under a
// name where another entry uses it as _. path is what the script writes to import a module that
// came from a file.
func Transcribe(steps []Step, path func(*types.Module) string) *Transcript {
	t := &Transcript{steps: steps, uses: map[*types.Object]int{}, gone: map[*types.Object]bool{}, used: map[string]bool{}, names: map[*types.Object]string{}, values: map[*types.Object]bool{},
		imports: map[*syntax.Import]bool{}, path: path}
	t.survey()
	for k := range steps {
		t.Texts = append(t.Texts, t.text(k))
	}
	return t
}

// Name returns the name of o in the script.
func (t *Transcript) Name(o *types.Object) string {
	if name := t.names[o]; name != "" {
		return name
	}
	return o.Name
}

// survey finds out which names and values the steps have, and what they are called.
func (t *Transcript) survey() {
	uses := map[*types.Object]bool{}
	for _, u := range t.steps {
		words := syntax.Idents(u.File)
		t.words = append(t.words, words)
		for _, id := range words {
			t.used[id.Name] = true
			if id.Obj == nil {
				continue
			}
			if id.Name == "_" {
				t.values[id.Obj] = true
			}
			if id.Obj.Decl.Start.Offset != int(id.Lo) || id.Obj.Unit != any(u.Unit) {
				t.uses[id.Obj]++
			}
			if o, ok := id.Obj.Unit.(*Unit); !ok || o != u.Unit {
				uses[id.Obj] = true
			}
		}
	}
	for k := range t.steps { // what nothing uses is left out
		s := &t.steps[k]
		if s.Implicit = s.Implicit && !slices.ContainsFunc(slices.Collect(maps.Values(s.Objects)), func(o *types.Object) bool { return uses[o] }); s.Implicit {
			for _, o := range s.Objects {
				t.gone[o] = true
			}
			t.steps[k].Unit, t.words[k] = nil, nil
		}
	}
	declared := map[string][]*types.Object{} // those that need names of their own, in order
	of := map[*types.Object]*types.Object{}  // of imports of one module: the first
	for k := range t.steps {
		if t.steps[k].Unit == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(t.steps[k].Objects)) {
			o := t.steps[k].Objects[name]
			if first := sameModule(declared[name], o); first != nil {
				of[o] = first
				if im, ok := o.Node.(*syntax.Import); ok {
					t.imports[im] = true
				}
				continue
			}
			declared[name] = append(declared[name], o)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		for _, o := range declared[name][:len(declared[name])-1] {
			t.names[o] = t.fresh(name + "_")
		}
	}
	for o, first := range of {
		if name := t.names[first]; name != "" {
			t.names[o] = name
		}
	}
	for _, s := range t.steps {
		if s.Unit != nil && t.values[s.Last] {
			t.names[s.Last] = t.fresh("value_")
		}
	}
}

// sameModule returns the import among objects that gives the same module as o.
func sameModule(objects []*types.Object, o *types.Object) *types.Object {
	if o.Kind != types.ModuleObject || o.Module == nil {
		return nil
	}
	for _, p := range objects {
		if p.Kind == types.ModuleObject && p.Module == o.Module {
			return p
		}
	}
	return nil
}

// fresh returns a name that no entry has.
func (t *Transcript) fresh(stem string) string {
	for n := 1; ; n++ {
		if s := fmt.Sprintf("%s%d", stem, n); !t.used[s] {
			t.used[s] = true
			return s
		}
	}
}

// edit replaces a piece of a text.
type edit struct {
	lo, hi int32
	text   string
}

// edits are those of one text.
type edits struct {
	src  string
	list []edit
}

func (e *edits) insert(at int32, s string) { e.replace(syntax.Span{Lo: at, Hi: at}, s) }

func (e *edits) replace(at syntax.Span, s string) { e.list = append(e.list, edit{at.Lo, at.Hi, s}) }

// remove takes a statement out, with the semicolon that parts it from others.
func (e *edits) remove(at syntax.Span, instead string) {
	hi := at.Hi
	for int(hi) < len(e.src) && (e.src[hi] == ' ' || e.src[hi] == '\t') {
		hi++
	}
	if int(hi) < len(e.src) && e.src[hi] == ';' {
		at.Hi = hi + 1
	} else {
		lo := at.Lo
		for lo > 0 && (e.src[lo-1] == ' ' || e.src[lo-1] == '\t') {
			lo--
		}
		if lo > 0 && e.src[lo-1] == ';' {
			at.Lo = lo - 1
		}
	}
	e.replace(at, instead)
}

// apply returns the text with its edits. Of one that begins within another what goes on behind
// that counts.
func (e *edits) apply() string {
	slices.SortStableFunc(e.list, func(a, b edit) int { return int(a.lo - b.lo) })
	var b strings.Builder
	at := int32(0)
	for _, x := range e.list {
		if x.lo < at && x.hi <= at {
			continue
		}
		x.lo = max(x.lo, at)
		b.WriteString(e.src[at:x.lo] + x.text)
		at = x.hi
	}
	return b.String() + e.src[at:]
}

// text is the text of step k with the names that its objects have in the script.
func (t *Transcript) text(k int) string {
	u := &t.steps[k]
	if u.Unit == nil {
		return ""
	}
	e := &edits{src: u.File.Source.Text}
	stmts := u.File.Stmts
	began := int32(-1) // where the first statement is that does something
	for n, s := range stmts {
		switch s := s.(type) {
		case *syntax.Import:
			t.importText(e, u, s)
			continue
		case *syntax.Param:
			if text := u.Params[s.Name.Obj]; text == "" {
			} else if s.Value != nil {
				e.replace(s.Value.Range(), text)
			} else {
				e.insert(s.Hi, " = "+text)
			}
			continue
		case *syntax.ExternData:
			text := u.Data[s.Name.Obj]
			if text == "" {
				continue
			}
			text = "register " + t.Name(s.Name.Obj) + " = " + text
			if began < 0 {
				e.replace(s.Range(), text)
			} else { // it is bound before
				e.remove(s.Range(), "")
				e.insert(began, text+"\n")
			}
			continue
		case *syntax.Codelet, *syntax.Func:
			continue
		}
		if began < 0 {
			began = s.Range().Lo
		}
		if n >= u.Ran {
			note := ""
			if n == u.Ran && u.Note != "" {
				note = "\n# " + strings.ReplaceAll(u.Note+"\n"+e.src[s.Range().Lo:s.Range().Hi], "\n", "\n# ") + "\n"
			}
			for _, name := range slices.Sorted(maps.Keys(u.Objects)) {
				if o := u.Objects[name]; s.Range().Lo <= int32(o.Decl.Start.Offset) && int32(o.Decl.Start.Offset) < s.Range().Hi && t.uses[o] > 0 {
					note += "\n" + standIn(t.Name(o), o.Type) + "\n"
				}
			}
			e.remove(s.Range(), note)
			continue
		}
		if x, ok := s.(*syntax.ExprStmt); ok && n < len(stmts)-1 {
			switch syntax.Unparen(x.X).(type) {
			case *syntax.Call, *syntax.Insert:
			default: // an error in a script
				e.insert(x.Lo, "let "+t.fresh("value_")+" = ")
			}
		}
	}
	if u.Last != nil && u.Ran == len(stmts) {
		at := stmts[len(stmts)-1].Range()
		if name := t.names[u.Last]; name != "" {
			e.insert(at.Lo, "let "+name+" = ")
			e.insert(at.Hi, "; print("+name+")")
		} else {
			e.insert(at.Lo, "print(")
			e.insert(at.Hi, ")")
		}
	}
	for _, id := range t.words[k] {
		if name := t.names[id.Obj]; id.Obj != nil && name != "" {
			e.replace(id.Range(), name)
		}
	}
	text := strings.Trim(e.apply(), "\n")
	for _, o := range u.Ended {
		if t.gone[o] {
			continue
		}
		verb := "unregister"
		if o.Kind == types.ArrayObject {
			verb = "release"
		}
		text += "\n" + verb + " " + t.Name(o)
	}
	return text
}

// standIn declares a name whose statement did not succeed, for functions that have it; "" where
// nothing can. At the prompt all that needs it failed, so its value does not matter.
func standIn(name string, t *types.Type) string {
	switch {
	case t == nil:
		return ""
	case t.Kind == types.Void:
		return fmt.Sprintf("register %s = void()", name)
	case t.Fields() != nil:
		return fmt.Sprintf("register %s = %v(0, fill = 0)", name, t)
	case t.Sparse() != nil:
		lists := map[types.Kind]string{types.CSR: "0, 0, ptr = [0], col = []", types.CSC: "0, 0, ptr = [0], row = []", types.COO: "0, 0, row = [], col = []", types.BCSR: "0, 0, 1, 1, ptr = [0], col = []"}[t.Kind]
		return fmt.Sprintf("register %s = %v(%s)", name, t, lists)
	case t.IsHandle():
		return fmt.Sprintf("register %s = %v(%sfill = 0)", name, t, strings.Repeat("0, ", len(t.Data().Sizes())))
	case t.Kind == types.List && t.Of != nil:
		return fmt.Sprintf("let %s: %v = []", name, t)
	}
	value := map[types.Kind]string{types.Int: "0", types.Float: "0.0", types.Bool: "false", types.String: `""`, types.Range: "0..0", types.Gate: "gate()"}[t.Kind]
	if value == "" {
		return ""
	}
	return "let " + name + " = " + value
}

// importText edits an import: one that repeats another goes, and files are named as the
// script finds them.
func (t *Transcript) importText(e *edits, u *Step, s *syntax.Import) {
	if t.imports[s] {
		e.remove(s.Range(), "")
		return
	}
	for _, o := range u.Objects {
		if o.Node != s || o.Module == nil {
			continue
		}
		if strings.HasSuffix(s.Path.Value, ".spu") {
			e.replace(s.Path.Range(), fmt.Sprintf("%q", t.path(o.Module)))
		}
		if name := t.names[o]; name != "" && s.As == nil {
			e.insert(s.Hi, " as "+name)
		}
	}
}
