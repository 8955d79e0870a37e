package lang

// Completion: the words that are possible at a place of an unfinished entry.

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/interp"
	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/types"
	"github.com/starpush/starpush/lang/vocab"
)

// Completion is one way to go on.
type Completion struct {
	Text   string // the whole word
	Kind   string // as in NameInfo, or "keyword", "builtin", "type", "filter", "option", "mode", "field"
	Detail string // type or signature
	Doc    string // first line
	Fix    *Fix   // what must be edited besides, nil for most: the import that the name lacks
}

// A completer knows what the names at a place mean.
type completer struct {
	names  []NameInfo                      // those that were declared, sorted
	object func(name string) *types.Object // also of members: "blas.gemm"
	env    *check.Env
	lacks  func(module string) *Fix // the edit that imports a module; nil: there is no such edit
}

// Complete lists what the word that ends at offset (in bytes) of src can become:
// fields and members after a point, modes valid for the operand inside an insert,
// options after with, filters after by, names elsewhere. The text behind offset
// does not matter. Completions are sorted, the likelier kinds first.
func (s *Session) Complete(src string, offset int) []Completion {
	c := &completer{names: s.Names(), object: s.object, env: &s.comp.env}
	return c.complete(src, offset)
}

func (c *completer) complete(src string, offset int) []Completion {
	if offset < 0 || offset > len(src) {
		offset = len(src)
	}
	src = src[:offset]
	word := lastWord(src)
	before := strings.TrimRight(src[:len(src)-len(word)], " \t")
	var out []Completion
	switch path, ok := importPath(src); {
	case ok:
		out = c.modules(path)
	case inString(src):
		return nil
	case strings.HasSuffix(before, "."):
		out = c.members(strings.TrimSuffix(before, "."))
	default:
		head := statement(before)
		out = c.context(head, before)
	}
	out = slices.DeleteFunc(out, func(c Completion) bool { return !strings.HasPrefix(c.Text, word) })
	slices.SortStableFunc(out, func(a, b Completion) int { return strings.Compare(a.Text, b.Text) })
	order := map[string]int{"mode": 0, "option": 0, "field": 0, "filter": 0, "handle": 1, "view": 1, "array": 1, "let": 1, "param": 1,
		"codelet": 2, "func": 2, "module": 2, "builtin": 3, "type": 4, "keyword": 5}
	slices.SortStableFunc(out, func(a, b Completion) int { return order[a.Kind] - order[b.Kind] })
	return slices.CompactFunc(out, func(a, b Completion) bool { return a.Text == b.Text })
}

// lastWord returns the identifier that ends src, "" if none does.
func lastWord(src string) string {
	i := len(src)
	for i > 0 {
		r, n := utf8.DecodeLastRuneInString(src[:i])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		i -= n
	}
	return src[i:]
}

// inString reports whether the end of src lies in a string or comment of its line.
func inString(src string) bool {
	line := src[strings.LastIndexByte(src, '\n')+1:]
	open := false
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && open:
			i++
		case line[i] == '"':
			open = !open
		case line[i] == '#' && !open:
			return true
		}
	}
	return open
}

// importPath returns the unfinished path of an import at the end of src.
func importPath(src string) (path string, ok bool) {
	head, path, ok := lastCut(src[strings.LastIndexByte(src, '\n')+1:], `"`)
	head = strings.TrimRight(head, " \t")
	return path, ok && lastWord(head) == "import" && !inString(head)
}

// lastCut cuts s at the last sep.
func lastCut(s, sep string) (before, after string, found bool) {
	if k := strings.LastIndex(s, sep); k >= 0 {
		return s[:k], s[k+len(sep):], true
	}
	return s, "", false
}

// modules lists how the path of an import can go on to a module of the host: to its
// next slash, or to its end.
func (c *completer) modules(path string) (out []Completion) {
	folder := path[:strings.LastIndexByte(path, '/')+1]
	for name, m := range c.env.Modules {
		rest, ok := strings.CutPrefix(name, folder)
		switch first, _, more := strings.Cut(rest, "/"); {
		case !ok:
		case more:
			out = append(out, Completion{Text: first + "/", Kind: "module"})
		default:
			out = append(out, Completion{Text: rest, Kind: "module", Doc: firstLine(m.Doc)})
		}
	}
	return out
}

// statement returns the text of the unfinished statement at the end of src: from
// the last brace or end of line that is not inside parentheses.
func statement(src string) string {
	depth := 0
	for i := len(src) - 1; i >= 0; i-- {
		switch src[i] {
		case ')', ']':
			depth++
		case '(', '[':
			depth--
		case '{', '}', ';', '\n':
			if depth >= 0 {
				return strings.TrimSpace(src[i+1:])
			}
		}
	}
	return strings.TrimSpace(src)
}

// context lists what may come after the statement so far.
func (c *completer) context(head, before string) []Completion {
	fields := strings.Fields(head)
	last := ""
	if len(fields) > 0 {
		last = fields[len(fields)-1]
	}
	first := ""
	if len(fields) > 0 {
		first = fields[0]
	}
	switch {
	case head == "":
		return c.everything()
	case last == "by" || last == "then" && first == "partition":
		return c.filters(head)
	case last == "over" && first == "partition":
		return []Completion{{Text: "grid(", Kind: "keyword", Detail: vocab.Clauses[0].Syntax, Doc: vocab.Clauses[0].Doc}}
	case first == "partition" && splits(head):
		return afterFilter(head)
	}
	if k := strings.LastIndex(head, " with "); k >= 0 || last == "with" {
		tail := ""
		if k >= 0 {
			tail = strings.TrimSpace(head[k+6:])
		}
		if tail == "" || strings.HasSuffix(tail, ",") {
			return options(first, head)
		}
		return c.everything()
	}
	if last == "insert" || strings.HasSuffix(head, "= insert") {
		return c.kind("codelet", "module")
	}
	if k := strings.LastIndex(head, "insert "); k >= 0 {
		if out := c.operand(head[k+len("insert "):]); out != nil {
			return out
		}
	}
	if strings.HasSuffix(head, ":") || last == "->" {
		return typeWords()
	}
	if first == "acquire" && (last == "acquire" || strings.HasSuffix(head, ",")) {
		return modes("R", "W", "RW")
	}
	if first == "release" && last == "to" {
		return modes("R", "W")
	}
	if kind, args, ok := constructing(head); ok {
		if args == "" || strings.HasSuffix(args, ",") {
			return append(arguments(kind, args), c.kind("handle", "array", "let", "param", "func", "module", "builtin")...)
		}
		return c.everything()
	}
	if kind, ok := strings.CutSuffix(head, "["); ok && holdsElements[lastWord(kind)] {
		return entries(vocab.ElemNames, "type")
	}
	if first == "register" && (strings.HasSuffix(head, "=") || strings.HasSuffix(head, "[")) {
		return typeWords()
	}
	return c.everything()
}

// operand lists what an argument of an insert can be, given its text so far:
// modes that fit the operand.
func (c *completer) operand(text string) []Completion {
	name, args, found := strings.Cut(text, "(")
	if !found {
		return nil
	}
	o := c.object(strings.TrimSpace(name))
	depth, n, cur := 0, 0, ""
	for _, r := range args {
		switch r {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		}
		if depth < 0 {
			return nil
		}
		if r == ',' && depth == 0 {
			n++
			cur = ""
			continue
		}
		cur += string(r)
	}
	if strings.TrimSpace(cur) != "" {
		if f := strings.Fields(cur); len(f) > 0 && modeWord[f[0]] {
			return c.kind("handle", "view", "let")
		}
		return c.everything()
	}
	if o == nil || o.Sig == nil || n >= len(o.Sig.Params) {
		return append(modes("R", "W", "RW", "COMMUTE", "REDUX", "SCRATCH"), c.kind("handle", "view", "let", "param")...)
	}
	p := o.Sig.Params[n]
	switch m := p.Mode.String(); {
	case p.Mode == 0:
		return c.kind("let", "param", "func", "builtin")
	case m == "RW":
		return modes("RW", "COMMUTE", "REDUX")
	case m == "W":
		return modes("W", "COMMUTE")
	default:
		return modes(m)
	}
}

var modeWord = map[string]bool{"R": true, "W": true, "RW": true, "COMMUTE": true, "REDUX": true, "SCRATCH": true}

func modes(names ...string) []Completion {
	var out []Completion
	for _, e := range vocab.Modes {
		if slices.Contains(names, e.Name) {
			out = append(out, Completion{Text: e.Name, Kind: "mode", Doc: e.Doc})
		}
	}
	return out
}

func options(first, head string) []Completion {
	on := "insert"
	switch first {
	case "hint", "prefetch", "codelet":
		on = first
	}
	var out []Completion
	for _, set := range vocab.Options {
		if set.On != on {
			continue
		}
		for _, o := range set.Options {
			out = append(out, Completion{Text: o.Name, Kind: "option", Detail: o.Type.String(), Doc: o.Doc})
		}
	}
	return out
}

// members lists fields of a value and names of a module.
func (c *completer) members(expr string) []Completion {
	k := len(expr)
	for k > 0 && !strings.ContainsRune(" \t\n(,={", rune(expr[k-1])) {
		k--
	}
	expr = expr[k:]
	base, _, indexed := strings.Cut(expr, "[")
	o := c.object(base)
	if o == nil {
		if name, m := c.env.ModuleNamed(base); m != nil && c.lacks != nil {
			return inModule(m, c.lacks(name))
		}
		return nil
	}
	if o.Module != nil {
		return inModule(o.Module, nil)
	}
	t := o.Type
	if indexed && t != nil && (t.Kind == types.View || t.Kind == types.List) && t.Of != nil {
		t = t.Of
	}
	if t == nil {
		return nil
	}
	var out []Completion
	for _, f := range check.Fields(t) {
		out = append(out, Completion{Text: f.Name, Kind: "field", Detail: f.Type.String(), Doc: f.Doc})
	}
	if f := t.Sparse(); f != nil && f.Axis >= 0 && o.Kind == types.OperandObject {
		out = append(out, Completion{Text: f.Range(), Kind: "field", Detail: f.Range() + "(i)", Doc: fmt.Sprintf("the range of the entries of %s i, for a loop", f.Line())})
	}
	return out
}

// inModule lists the names of a module.
func inModule(m *types.Module, fix *Fix) []Completion {
	var out []Completion
	for _, o := range m.Members {
		out = append(out, Completion{Text: o.Name, Kind: kindWords[o.Kind], Detail: interp.SignatureText(o), Doc: firstLine(o.Doc), Fix: fix})
	}
	return out
}

// everything lists names, builtins, types and keywords.
func (c *completer) everything() []Completion {
	out := c.kind()
	for _, b := range slices.Concat(vocab.Builtins, vocab.BodyFuncs) {
		out = append(out, Completion{Text: b.Name, Kind: "builtin", Detail: b.Syntax, Doc: b.Doc})
	}
	for _, v := range check.BuiltinValues {
		out = append(out, Completion{Text: v.Name, Kind: "builtin", Detail: v.Type.String(), Doc: v.Doc})
	}
	out = append(out, typeWords()...)
	for _, k := range token.Keywords() {
		c := Completion{Text: k, Kind: "keyword"}
		for _, e := range vocab.Words {
			if e.Name == k {
				c.Detail, c.Doc = e.Syntax, e.Doc
			}
		}
		out = append(out, c)
	}
	return out
}

// kind lists the names of the session of the given kinds; none given means all.
func (c *completer) kind(kinds ...string) []Completion {
	var out []Completion
	for _, n := range c.names {
		if len(kinds) == 0 || slices.Contains(kinds, n.Kind) {
			out = append(out, Completion{Text: n.Name, Kind: n.Kind, Detail: n.Type, Doc: firstLine(n.Doc)})
		}
	}
	for _, list := range [][]*types.Object{c.env.Codelets, c.env.Funcs} {
		for _, o := range list {
			if k := kindWords[o.Kind]; len(kinds) == 0 || slices.Contains(kinds, k) {
				out = append(out, Completion{Text: o.Name, Kind: k, Detail: interp.SignatureText(o), Doc: firstLine(o.Doc)})
			}
		}
	}
	if slices.Contains(kinds, "builtin") {
		for _, b := range vocab.Builtins {
			out = append(out, Completion{Text: b.Name, Kind: "builtin", Detail: b.Syntax, Doc: b.Doc})
		}
	}
	return out
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// Completion of what data is made of: types, elements, filters.

// holdsElements are the types behind which the type of elements is written in brackets.
var holdsElements = map[string]bool{"variable": true, "vector": true, "matrix": true, "block": true, "tensor": true, "csr": true, "csc": true, "coo": true, "bcsr": true, "dense": true, "array": true}

func typeWords() []Completion { return entries(vocab.TypeNames, "type") }

// entries lists the words of a table.
func entries(table []vocab.Entry, kind string) []Completion {
	var out []Completion
	for _, e := range table {
		out = append(out, Completion{Text: e.Name, Kind: kind, Detail: e.Syntax, Doc: e.Doc})
	}
	return out
}

// constructing cuts the arguments so far off a statement whose end is inside those of a
// constructor, as in "register v = vector[f64](5,".
func constructing(head string) (kind, args string, ok bool) {
	depth := 0
	for i := len(head) - 1; i >= 0; i-- {
		switch head[i] {
		case ')', ']', '}':
			depth++
		case '[', '{':
			depth--
		case '(':
			depth--
			if depth < 0 {
				kind, _, ok = lastCut(head[:i], "[")
				kind = lastWord(kind)
				return kind, strings.TrimSpace(head[i+1:]), ok && holdsElements[kind] && strings.HasSuffix(head[:i], "]")
			}
		}
		if depth < 0 {
			break
		}
	}
	return "", "", false
}

// arguments lists the named arguments of a constructor that may still come behind args:
// sizes have no names behind one that has none.
func arguments(kind, args string) []Completion {
	names := check.ConstructorArgs(kind)
	if args != "" && !strings.Contains(args, "=") {
		names = names[slices.Index(names, "fill"):]
	}
	var out []Completion
	for _, set := range vocab.Args {
		for _, e := range set.Args {
			given := slices.ContainsFunc(strings.Split(args, ","), func(a string) bool {
				name, _, named := strings.Cut(a, "=")
				return named && strings.TrimSpace(name) == e.Name
			})
			if set.On == "register" && slices.Contains(names, e.Name) && !given {
				out = append(out, Completion{Text: e.Name + " = ", Kind: "option", Detail: e.Syntax, Doc: e.Doc})
			}
		}
	}
	return out
}

// splits reports whether a partition has a complete filter at its end.
func splits(head string) bool {
	return strings.Contains(head, " by ") && strings.HasSuffix(head, ")") && strings.Count(head, "(") == strings.Count(head, ")")
}

// afterFilter lists what can follow a complete filter, or grid, of a partition.
func afterFilter(head string) []Completion {
	if strings.Contains(head, " over ") {
		return nil
	}
	then := vocab.EntryNamed(vocab.Words, "then")
	out := []Completion{{Text: "then", Kind: "keyword", Detail: then.Syntax, Doc: then.Doc}}
	for _, e := range vocab.Clauses {
		out = append(out, Completion{Text: e.Name, Kind: "keyword", Detail: e.Syntax, Doc: e.Doc})
	}
	return out
}

// filters lists the filters that can come next in a partition; head is its text so far.
// If the data is known, only filters that split it are listed. A default view keeps its
// type.
func (c *completer) filters(head string) []Completion {
	var out []Completion
	t := c.partitioned(head)
	named := strings.Contains(head, "=") || !strings.HasPrefix(head, "partition ")
	for i := range check.FilterTable {
		f := &check.FilterTable[i]
		if t == nil || f.PartOf(t) != nil && (named || !f.Drops) {
			out = append(out, Completion{Text: f.Name, Kind: "filter", Detail: f.Syntax, Doc: f.Doc})
		}
	}
	for _, o := range c.env.Filters {
		if t == nil || hostSplits(o, t) {
			out = append(out, Completion{Text: o.Name, Kind: "filter", Detail: interp.SignatureText(o), Doc: firstLine(o.Doc)})
		}
	}
	return out
}

// hostSplits reports whether a filter of the host takes data of the kind of t.
func hostSplits(o *types.Object, t *types.Type) bool {
	if o.Sig == nil || len(o.Sig.Params) == 0 {
		return true
	}
	p := o.Sig.Params[0].Type
	return p.Admits(t)
}

// partitioned is the type of what the next filter of a partition splits, nil when that is
// not known; head is the statement so far, which ends with "by" or "then".
func (c *completer) partitioned(head string) *types.Type {
	rest, ok := strings.CutPrefix(head, "partition ")
	data, chain, found := strings.Cut(rest+" ", " by ")
	if !ok || !found {
		return nil
	}
	if _, of, named := strings.Cut(data, "="); named {
		data = of
	}
	data, _, _ = strings.Cut(data, ",") // the others are of the same kind
	base, _, indexed := strings.Cut(strings.TrimSpace(data), "[")
	o := c.object(base)
	if o == nil || o.Type == nil {
		return nil
	}
	t := o.Type
	if indexed && (t.Kind == types.View || t.Kind == types.List) {
		t = t.Of
	}
	filters := strings.Split(chain, " then ")
	for _, f := range filters[:len(filters)-1] {
		name, _, _ := strings.Cut(strings.TrimSpace(f), "(")
		k := slices.IndexFunc(check.FilterTable, func(e check.FilterEntry) bool { return e.Name == name })
		if k < 0 || t == nil || !t.IsHandle() {
			return nil
		}
		t = check.FilterTable[k].PartOf(t)
	}
	if t == nil || !t.IsHandle() {
		return nil
	}
	return t
}
