package lang

// Completion of what data is made of: types, elements, filters.

import (
	"slices"
	"strings"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/interp"
	"github.com/starpush/starpush/lang/types"
)

// holdsElements are the types behind which the type of elements is written in brackets.
var holdsElements = map[string]bool{"variable": true, "vector": true, "matrix": true, "block": true, "dense": true, "array": true}

func typeWords() []Completion { return entries(check.TypeNames, "type") }

// entries lists the words of a table.
func entries(table []check.Entry, kind string) []Completion {
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
	for _, set := range check.Args {
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

// filters lists the filters that can come next in a partition, of which head is the text
// so far: those that split the data, where that is known; a default view keeps its type.
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
	return p.Kind == t.Kind || p.Kind == types.Dense && t.IsDense()
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
