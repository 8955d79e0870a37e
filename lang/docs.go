package lang

// Documentation of what scripts name and write, as markdown.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/interp"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// fieldDoc lists the fields of a kind of data, "" for what has none.
func fieldDoc(kind string) string {
	t := map[string]*types.Type{
		"vector": {Kind: types.Vector}, "matrix": {Kind: types.Matrix}, "block": {Kind: types.Block},
		"view": types.ViewOf(types.TInvalid),
	}[kind]
	if t == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n```\n")
	for _, f := range check.Fields(t) {
		fmt.Fprintf(&b, "x.%-8s %s\n", f.Name, f.Doc)
	}
	return b.String() + "```\n"
}

// entryDoc shows how e is written, and what it is.
func entryDoc(e check.Entry) string { return fmt.Sprintf("```\n%s\n```\n\n%s\n", e.Syntax, e.Doc) }

// tablesDoc documents name as the tables have it: a word with several meanings has
// them all, one after the other.
func tablesDoc(name string, tables ...[]check.Entry) string {
	var found []string
	for _, table := range tables {
		for _, e := range table {
			if text := entryDoc(e); e.Name == name && !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
	}
	if found == nil {
		return ""
	}
	return strings.Join(found, "\n") + fieldDoc(name)
}

// builtinDoc documents what the language predeclares, its words and its notations, in
// all their meanings.
func builtinDoc(name string) (markdown string, ok bool) {
	var found []string
	add := func(text string) {
		if text != "" {
			found = append(found, text)
		}
	}
	add(tablesDoc(name, check.Words, check.Modes, check.Builtins, check.BodyFuncs, check.TypeNames, check.ElemNames))
	for _, v := range check.BuiltinValues {
		if v.Name == name {
			add(valueDoc(v.Entry, v.Type))
		}
	}
	add(tablesDoc(name, check.Folds))
	add(filterDoc(name))
	for _, set := range check.Options {
		add(optionDoc(set.On, name))
	}
	for _, set := range check.Args {
		add(argDoc(set.On, name))
	}
	add(tablesDoc(name, check.FieldEntries()))
	add(tablesDoc(name, check.Notations))
	if found == nil {
		add(numberDoc(name))
	}
	return strings.Join(found, "\n"), found != nil
}

// valueDoc documents a predeclared value: how it is written where that says more than
// its type.
func valueDoc(e check.Entry, t *types.Type) string {
	if e.Syntax == e.Name {
		e.Syntax = fmt.Sprintf("%s: %v", e.Name, t)
	}
	return entryDoc(e)
}

func filterDoc(name string) string {
	for _, f := range check.FilterTable {
		if f.Name == name {
			return entryDoc(check.Entry{Syntax: "partition x by " + strings.ReplaceAll(f.Syntax, "  ", "\npartition x by "), Doc: f.Doc})
		}
	}
	return ""
}

// optionDoc documents an option of the construct on, "" if it has none of that name.
func optionDoc(on, name string) string {
	for _, set := range check.Options {
		for _, o := range set.Options {
			if set.On == on && o.Name == name {
				return fmt.Sprintf("option of `%s`, %v: %s\n", on, o.Type, o.Doc)
			}
		}
	}
	return ""
}

// argDoc documents a named argument of the construct on, "" if it has none of that name.
func argDoc(on, name string) string {
	e := check.ArgNamed(on, name)
	if e == nil {
		return ""
	}
	return fmt.Sprintf("```\n%s\n```\n\nargument of `%s`: %s\n", e.Syntax, on, e.Doc)
}

// numberDoc is the value of an integer that is not written in plain digits.
func numberDoc(text string) string {
	v, ok := syntax.IntValue(text)
	plain := fmt.Sprint(v)
	if !ok || plain == text {
		return ""
	}
	out := fmt.Sprintf("```\n%s = %s\n```\n", text, plain)
	for _, n := range check.Notations {
		if strings.HasSuffix(text, n.Name) || strings.HasPrefix(strings.ToLower(text), n.Name) {
			out += "\n" + n.Name + ": " + n.Doc + "\n"
		}
	}
	return out
}

// objectDoc shows what o is, as it is declared, with its documentation.
func objectDoc(name string, o *types.Object) string {
	var b strings.Builder
	b.WriteString("```\n")
	switch {
	case o.Kind == types.CodeletObject:
		b.WriteString("codelet " + interp.SignatureText(o))
	case o.Kind == types.FuncObject:
		b.WriteString("func " + interp.SignatureText(o))
	case o.Kind == types.FilterObject:
		b.WriteString("filter " + interp.SignatureText(o))
	case o.Kind == types.ModuleObject && o.Module != nil:
		fmt.Fprintf(&b, "import %q as %s", o.Module.Name, o.Name)
	default:
		fmt.Fprintf(&b, "%s: %v", name, o.Type)
	}
	b.WriteString("\n```\n")
	if o.Doc != "" {
		b.WriteString("\n" + o.Doc + "\n")
	}
	if o.Kind == types.ModuleObject && o.Module != nil {
		var names []string
		for n := range o.Module.Members {
			names = append(names, "`"+n+"`")
		}
		slices.Sort(names)
		b.WriteString("\n" + strings.Join(names, ", ") + "\n")
	}
	return b.String()
}
