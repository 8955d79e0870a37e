package check

// Entries of a session as the statements of one script: a script has each name
// once, where a prompt may declare it again, and prints what it is told to.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// Statements returns the texts of entries such that they can follow each other in
// one script, and do what they did at the prompt. All but the last declaration of a
// name get another name; the value of an expression is printed, and kept under a
// name where another entry uses it as _.
func Statements(entries []*Unit) []string {
	t := transcript{used: map[string]bool{}, names: map[*types.Object]string{}, values: map[*types.Object]bool{}}
	last := map[string]*types.Object{}
	for _, u := range entries {
		words := syntax.Idents(u.File)
		t.words = append(t.words, words)
		maps.Copy(last, u.Objects)
		for _, id := range words {
			t.used[id.Name] = true
			if id.Name == "_" && id.Obj != nil {
				t.values[id.Obj] = true
			}
		}
	}
	for _, u := range entries {
		for _, name := range slices.Sorted(maps.Keys(u.Objects)) {
			if o := u.Objects[name]; last[name] != o {
				t.names[o] = t.fresh(name + "_")
			}
		}
		if t.values[u.Last] {
			t.names[u.Last] = t.fresh("value_")
		}
	}
	var texts []string
	for k, u := range entries {
		texts = append(texts, t.text(u, t.words[k]))
	}
	return texts
}

// transcript is what Statements knows of all entries.
type transcript struct {
	words  [][]*syntax.Ident        // of each entry
	used   map[string]bool          // names that some entry has
	values map[*types.Object]bool   // of _, those that some entry uses
	names  map[*types.Object]string // of the objects that get another one
}

// fresh returns a name that no entry has.
func (t *transcript) fresh(stem string) string {
	for n := 1; ; n++ {
		if s := fmt.Sprintf("%s%d", stem, n); !t.used[s] {
			t.used[s] = true
			return s
		}
	}
}

// text is the text of u with the names that its objects have in the script.
func (t *transcript) text(u *Unit, words []*syntax.Ident) string {
	type edit struct {
		lo, hi int32
		text   string
	}
	var edits []edit
	insert := func(at int32, s string) { edits = append(edits, edit{at, at, s}) }
	for _, s := range u.File.Stmts {
		im, ok := s.(*syntax.Import)
		if !ok || im.As != nil {
			continue
		}
		for _, o := range u.Objects {
			if at := int32(o.Decl.Start.Offset); o.Kind == types.ModuleObject && t.names[o] != "" && im.Lo <= at && at < im.Hi {
				insert(im.Hi, " as "+t.names[o])
			}
		}
	}
	for k, s := range u.File.Stmts {
		x, ok := s.(*syntax.ExprStmt)
		if !ok || k == len(u.File.Stmts)-1 {
			continue
		}
		switch unparen(x.X).(type) {
		case *syntax.Call, *syntax.Insert:
		default: // an error in a script
			insert(x.Lo, "let "+t.fresh("value_")+" = ")
		}
	}
	if u.Last != nil {
		at := u.File.Stmts[len(u.File.Stmts)-1].Range()
		if name := t.names[u.Last]; name != "" {
			insert(at.Lo, "let "+name+" = ")
			insert(at.Hi, "; print("+name+")")
		} else {
			insert(at.Lo, "print(")
			insert(at.Hi, ")")
		}
	}
	for _, id := range words {
		if name := t.names[id.Obj]; id.Obj != nil && name != "" {
			edits = append(edits, edit{id.Lo, id.Hi, name})
		}
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return int(a.lo - b.lo) })
	src := u.File.Source.Text
	var b strings.Builder
	at := int32(0)
	for _, e := range edits {
		if e.lo >= at {
			b.WriteString(src[at:e.lo] + e.text)
			at = e.hi
		}
	}
	return b.String() + src[at:]
}
