package check

// Programs: the main script and what it imports, each unit once.

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/types"
	"github.com/starpush/starpush/lang/vocab"
)

// loader checks the units of one program.
type loader struct {
	env    *Env
	host   map[string]*types.Object
	units  map[string]*Unit // by source name; complete ones
	order  []*Unit
	stack  []string         // sources whose imports are being checked
	faulty map[string]bool  // units with errors of their own
	diags  diag.Diagnostics // of imported units
	read   int64            // bytes of text so far
}

func newLoader(env *Env) *loader {
	if env == nil {
		env = &Env{}
	}
	l := &loader{env: env, host: map[string]*types.Object{}, units: map[string]*Unit{}, faulty: map[string]bool{}}
	for _, list := range [][]*types.Object{env.Codelets, env.Funcs} {
		for _, o := range list {
			l.host[o.Name] = o
		}
	}
	return l
}

// Check parses and checks src and all it imports. The program is nil exactly when the
// diagnostics have an error.
func Check(env *Env, src *diag.Source) (*Program, diag.Diagnostics) {
	l := newLoader(env)
	u := l.unit(src, false)
	diags := append(l.diags, u.diags...)
	if diags.Err() != nil {
		return nil, diags
	}
	return &Program{Main: u.unit, Units: append(l.order, u.unit)}, diags
}

// Units is Check for editors: it returns the units whatever is wrong with them, the
// imported ones first. A name or expression that the checker could not resolve has no
// object, and no type or the invalid one.
func Units(env *Env, src *diag.Source) ([]*Unit, diag.Diagnostics) {
	l := newLoader(env)
	u := l.unit(src, false)
	return append(l.order, u.unit), append(l.diags, u.diags...)
}

// checked is a unit with what was said about it.
type checked struct {
	unit  *Unit
	diags diag.Diagnostics
}

func (l *loader) unit(src *diag.Source, module bool) checked {
	l.stack = append(l.stack, src.Name)
	defer func() { l.stack = l.stack[:len(l.stack)-1] }()
	f, ds := l.parse(src, syntax.Parse)
	unit := &Unit{File: f}
	c := newChecker(l, f, unit)
	c.module = module
	c.broken = ds.Err() != nil
	c.run()
	return checked{unit, applyAllowances(f, merge(ds, c.diags))}
}

// parse reads a unit, unless the texts become longer than the host allows: what the
// parser builds takes a multiple of their length.
func (l *loader) parse(src *diag.Source, by func(*diag.Source) (*syntax.File, diag.Diagnostics)) (*syntax.File, diag.Diagnostics) {
	l.read += int64(len(src.Text))
	most := l.env.MaxSource
	if most <= 0 || l.read <= most {
		return by(src)
	}
	what := "the script has"
	if len(l.stack) > 1 {
		what = "with this module the script has"
	}
	return &syntax.File{Source: src}, diag.Diagnostics{{
		Code: "E0107", Span: src.Span(0, 0),
		Message: fmt.Sprintf("%s %d bytes, and the limit is %d", what, l.read, most),
		Help: []string{"move data into files and load them: `vector[f64](load = \"x.npy\")`",
			"or let it have more: `--limits source=`, `Limits.SourceBytes` in a Go program"},
	}}
}

// merge puts what the parser and the checker said into one list, in the order
// of the text, each thing once.
func merge(parse, check diag.Diagnostics) diag.Diagnostics {
	type key struct {
		code, message string
		offset        int
	}
	all := append(append(diag.Diagnostics(nil), parse...), check...)
	sort.SliceStable(all, func(i, j int) bool { return all[i].Span.Start.Offset < all[j].Span.Start.Offset })
	seen := make(map[key]bool, len(all))
	placed := map[key]bool{} // parser and checker may both report a misplaced statement
	out := all[:0]
	for _, d := range all {
		k := key{d.Code, d.Message, d.Span.Start.Offset}
		p := key{code: d.Code, offset: d.Span.Start.Offset}
		if seen[k] || d.Code == "E0105" && placed[p] {
			continue
		}
		seen[k], placed[p] = true, true
		out = append(out, d)
	}
	return out
}

// importStmt declares the name of an import.
func (c *checker) importStmt(s *syntax.Import) {
	if s.Path == nil {
		return
	}
	p := s.Path.Value
	s.Path.SetType(types.TString)
	if p == "" {
		d := c.err("E0902", s.Path, "the name of the module is empty")
		d.Help = append(d.Help, "name a file, as in `import \"lib.spu\"`, or a module of the host, as in `import \"std/blas\"`")
		return
	}
	id := s.As
	if id == nil {
		name := strings.TrimSuffix(path.Base(p), ".spu")
		id = &syntax.Ident{Name: name}
		id.Span = s.Path.Span
		if !IsName(name) {
			d := c.err("E0902", s.Path, fmt.Sprintf("`%s` cannot be used as a name", diag.OneLine(name)))
			d.Help = append(d.Help, fmt.Sprintf("write `import %q as name`", p))
			return
		}
	}
	o := c.declare(types.ModuleObject, id, types.TNone, "import")
	o.Node = s
	o.Module = c.loadModule(s, p)
	if o.Module != nil {
		o.Doc = o.Module.Doc
	}
}

// IsName reports whether s can be a name.
func IsName(s string) bool {
	for i, r := range s {
		if r != '_' && !letter(r) && (i == 0 || !digit(r)) {
			return false
		}
	}
	for _, k := range token.Keywords() {
		if s == k {
			return false
		}
	}
	return s != ""
}

// loadModule returns the module that s names, nil after an error.
func (c *checker) loadModule(s *syntax.Import, p string) *types.Module {
	l := c.loader
	if !strings.HasSuffix(p, ".spu") {
		if m := l.env.Modules[p]; m != nil {
			return m
		}
		var names []string
		for n := range l.env.Modules {
			names = append(names, n)
		}
		sort.Strings(names)
		d := c.err("E0902", s.Path, fmt.Sprintf("there is no module `%s`", diag.OneLine(p)))
		if best, ok := near(p, names); ok {
			d.Meant(p, best, "")
		} else if slices.Contains(names, "std/"+p) {
			d.Meant(p, "std/"+p, "")
			d.Sure()
			return nil
		} else if vocab.ForeignModules[p] {
			d.Help = append(d.Help, "the builtin functions need no module: leave the line out")
			return nil
		} else if len(names) > 0 {
			d.Help = append(d.Help, "modules of this host: "+strings.Join(names, ", "))
		} else if strings.HasPrefix(p, "std/") {
			d.Help = append(d.Help, "this host gives scripts no modules; in Go those of package stdlib are handed over in `lang.Config.Modules`")
			return nil
		}
		d.Help = append(d.Help, fmt.Sprintf("for a file write its whole name: `import \"%s.spu\"`", diag.OneLine(p)))
		return nil
	}
	if l.env.Load == nil {
		d := c.err("E0902", s.Path, "this host does not let scripts import files")
		d.Help = append(d.Help, "copy what you need into this file, or have the host program set `lang.Config.Loader`")
		return nil
	}
	src, err := l.env.Load(p, c.f.Source)
	if err != nil || src == nil {
		d := c.err("E0902", s.Path, fmt.Sprintf("cannot import `%s`", diag.OneLine(p)))
		if err != nil {
			d.Label = diag.OneLine(err.Error())
			d.Cause = err
			if n, ok := err.(interface{ Near() []string }); ok {
				meantFile(d, p, n.Near())
			}
		}
		return nil
	}
	for i, name := range l.stack {
		if name == src.Name {
			d := c.err("E0901", s.Path, fmt.Sprintf("`%s` imports itself", src.Name))
			if i < len(l.stack)-1 {
				d.Message += " through `" + strings.Join(l.stack[i+1:], "`, `") + "`"
			}
			d.Help = append(d.Help, "move what both files need into a third one")
			return nil
		}
	}
	u := l.units[src.Name]
	if u == nil {
		done := l.unit(src, true)
		u = done.unit
		l.units[src.Name] = u
		l.order = append(l.order, u)
		l.diags = append(l.diags, done.diags...)
		l.faulty[src.Name] = done.diags.Err() != nil
	}
	seen := false
	for _, in := range c.unit.Imports {
		seen = seen || in == u
	}
	if !seen {
		c.unit.Imports = append(c.unit.Imports, u)
	}
	return u.Module
}

// mostMeant is how many files a message about an import names.
const mostMeant = 3

// meantFile adds the files that are near the name p of an import to d, or else those that
// there are, if they are few.
func meantFile(d *diag.Diagnostic, p string, files []string) {
	files = slices.DeleteFunc(slices.Clone(files), func(f string) bool { return f == "" || diag.OneLine(f) != f })
	var meant []string
	for rest := files; len(meant) < mostMeant; {
		best, ok := near(p, rest)
		if !ok {
			break
		}
		meant = append(meant, best)
		rest = slices.DeleteFunc(slices.Clone(rest), func(f string) bool { return f == best })
	}
	switch {
	case len(meant) == 0 && len(files) <= mostMeant:
		meant = files
	case len(meant) == 0:
		d.Help = append(d.Help, fmt.Sprintf("there are %d scripts in that folder, and none has a similar name", len(files)))
	}
	if len(meant) > 0 {
		d.Meant(p, strings.Join(meant, "`, `"), "")
	}
	if len(meant) > 1 { // which one?
		d.Fixes = nil
	}
}

// Modules: what a module may contain, and what others see of it.

// moduleStmt reports whether s is allowed in a module, outside its functions.
func (c *checker) moduleStmt(s syntax.Stmt) bool {
	let, ok := s.(*syntax.Let)
	if !ok {
		c.notInModule(s, "this statement")
		return false
	}
	if bad := c.notConstant(let.Value); bad != nil {
		d := c.err("E0903", bad, "a `let` of a module must be constant")
		d.Label = "depends on more than constants"
		d.Help = append(d.Help, "move it into a `func`, or compute it in the importing script")
	}
	return true
}

func (c *checker) notInModule(s syntax.Stmt, what string) {
	d := c.err("E0903", firstWord(c, s), what+" is not allowed in a module")
	d.Notes = append(d.Notes, "importing has no effects: a module holds import, param, constant let, func, codelet and extern codelet")
	d.Help = append(d.Help, "put it into a `func`, or run this file as a script of its own")
}

// firstWord is the first word of s: enough to point at.
func firstWord(c *checker, s syntax.Stmt) syntax.Span {
	sp := s.Range()
	t := c.text(s)
	n := 0
	for n < len(t) && (letter(rune(t[n])) || t[n] == '_') {
		n++
	}
	if n > 0 {
		sp.Hi = sp.Lo + int32(n)
	}
	return sp
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80 }
func digit(r rune) bool  { return r >= '0' && r <= '9' }

// notConstant returns a part of e that is not a constant, nil when all is.
func (c *checker) notConstant(e syntax.Expr) (bad syntax.Expr) {
	syntax.WalkExpr(e, func(x syntax.Expr) bool {
		if bad != nil {
			return false
		}
		switch x := x.(type) {
		case *syntax.Insert:
			bad = x
		case *syntax.Call:
			id, ok := x.Fn.(*syntax.Ident)
			if !ok || builtinFuncs[id.Name] == nil || impure[id.Name] || c.scope.Lookup(id.Name) != nil {
				bad = x
			}
		}
		return bad == nil
	})
	return bad
}

// member finds a name of a module; noun says what is looked for. It reports
// names that are absent and returns nil for them.
func (c *checker) member(mod *syntax.Ident, m *types.Object, name *syntax.Ident, noun string) *types.Object {
	if m.Module == nil {
		return nil // the import failed
	}
	if o := m.Module.Members[name.Name]; o != nil {
		name.Obj = o
		return o
	}
	if c.loader.faulty[m.Module.Name] {
		return nil
	}
	if len(name.Name) > 0 && name.Name[0] == '_' {
		d := c.err("E0203", name, fmt.Sprintf("`%s` is private to module `%s`", name.Name, mod.Name))
		d.Help = append(d.Help, "names that start with `_` belong to their module alone")
		return nil
	}
	d := c.err("E0203", name, fmt.Sprintf("module `%s` has no %s `%s`", mod.Name, noun, name.Name))
	path := m.Module.Name
	if imp, ok := m.Node.(*syntax.Import); ok {
		path = imp.Path.Value
	}
	note := fmt.Sprintf("`%s` is `%s`", mod.Name, path)
	if !m.Decl.IsZero() {
		note += fmt.Sprintf(", imported on line %d", m.Decl.Start.Line)
	}
	d.Notes = append(d.Notes, note)
	var names []string
	for n, o := range m.Module.Members {
		if noun == "codelet" && o.Kind != types.CodeletObject || noun == "function" && o.Kind != types.FuncObject {
			continue
		}
		names = append(names, n)
	}
	sort.Strings(names)
	if best, ok := near(name.Name, names); ok {
		d.Meant(name.Name, best, "")
	}
	return nil
}

// Where an import goes that a script lacks.

// ModuleNamed is the module of the host whose last part is short: "blas" for std/blas.
func (e *Env) ModuleNamed(short string) (name string, m *types.Module) {
	for n := range e.Modules {
		if n[strings.LastIndexByte(n, '/')+1:] == short && (name == "" || n < name) {
			name = n
		}
	}
	return name, e.Modules[name]
}

// ImportEdit is the edit that makes f import a module under its last part: behind the
// imports that are there, else above the first statement and its comment.
func ImportEdit(f *syntax.File, module string) diag.Fix {
	text, nl := f.Source.Text, "\n"
	if k := strings.IndexByte(text, '\n'); k > 0 && text[k-1] == '\r' {
		nl = "\r\n"
	}
	line := fmt.Sprintf("import %q as %s", module, module[strings.LastIndexByte(module, '/')+1:])
	last := -1
	for _, s := range f.Stmts {
		if im, ok := s.(*syntax.Import); ok {
			last = int(im.Hi)
		}
	}
	if last >= 0 {
		at := len(text)
		if k := strings.IndexByte(text[last:], '\n'); k >= 0 {
			at = last + k
			if nl == "\r\n" && text[at-1] == '\r' {
				at--
			}
		}
		return diag.Fix{Span: f.Source.Span(at, at), NewText: nl + line}
	}
	at, next := 0, len("\ufeff")
	if !strings.HasPrefix(text, "\ufeff") {
		next = 0
	}
	at = next
	above := false // the line above is a comment that belongs to what follows
	for l := range strings.Lines(text[next:]) {
		trimmed := strings.TrimSpace(l)
		comment := strings.HasPrefix(trimmed, "#")
		if trimmed != "" && !comment {
			if !above {
				at = next
			}
			break
		}
		if comment && !above {
			at = next
		}
		above = comment
		if next += len(l); trimmed == "" || strings.HasPrefix(l, "#!") {
			at, above = next, false
		}
	}
	return diag.Fix{Span: f.Source.Span(at, at), NewText: line + nl}
}
