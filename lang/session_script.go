package lang

// What a session did, as a script.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// cutNote is the comment where a cancelled context makes a script do something else
// than the session.
const cutNote = "# something was cancelled here: the session dropped tasks that run in this script, or an entry that is missing in it\n"

// fewRepeats is how often an entry may stand below itself.
const fewRepeats = 2

// benchTimes is how often :bench of the prompt runs a statement, the run that does not
// count included.
const benchTimes = 11

// Script returns the entries that ran without error, and how many they are, as a
// script that does the same: what an expression gave is printed, names that were
// declared again are told apart, and std/blas is imported where it is used. An entry
// that ran more than twice in a row, as those that are measured do, stands in a loop.
// Comments say where something was cancelled.
func (s *Session) Script() (text string, entries int) {
	text = s.scriptText()
	if s.usesBlas() {
		text = blasImport + "\n\n" + text
	}
	if out, err := syntax.Format(diag.NewSource("script", text)); err == nil {
		text = string(out)
	}
	return text, len(s.done)
}

// scriptText is the text of the entries, each repeated one as a loop.
func (s *Session) scriptText() string {
	texts := check.Statements(s.done)
	var b strings.Builder
	for k := 0; k < len(texts); {
		if s.cut[k] {
			b.WriteString(cutNote)
		}
		n := 1
		for repeats(s.done[k]) && k+n < len(texts) && texts[k+n] == texts[k] && !s.cut[k+n] {
			n++
		}
		if n <= fewRepeats {
			b.WriteString(texts[k] + "\n")
			k++
			continue
		}
		text, effect := texts[k], true
		if n >= benchTimes {
			text, effect = measured(s.done[k], text)
		}
		if effect {
			fmt.Fprintf(&b, "# %d times in a row at the prompt, where :bench runs a statement %d times\nfor _ in 0..%d {\n%s\n}\n", n, benchTimes, n, text)
		} else {
			fmt.Fprintf(&b, "# %d times in a row at the prompt, where :bench runs a statement %d times and shows no value:\n# %s\n", n, benchTimes, strings.ReplaceAll(text, "\n", "\n# "))
		}
		k += n
	}
	if s.cut[len(texts)] {
		b.WriteString(cutNote)
	}
	return b.String()
}

// measured is the text of an entry that :bench ran: what gives a value was not printed
// then. effect says whether it does anything else.
func measured(u *check.Unit, text string) (without string, effect bool) {
	x, ok := u.File.Stmts[0].(*syntax.ExprStmt)
	inner, printed := strings.CutPrefix(text, "print(")
	if !ok || len(u.File.Stmts) > 1 || !printed || x.X.Type() == nil || x.X.Type().Kind == types.None {
		return text, true
	}
	for _, id := range syntax.Idents(u.File) {
		if id.Obj != nil && (id.Obj.Kind == types.FuncObject || id.Obj.Kind == types.CodeletObject || id.Obj.Kind == types.ModuleObject) {
			if _, call := x.X.(*syntax.Call); !call {
				return text, true
			}
			return strings.TrimSuffix(inner, ")"), true
		}
	}
	return strings.TrimSuffix(inner, ")"), false
}

// repeats reports whether u means the same in the body of a loop: it declares nothing
// and changes no state of data, which checks follow from statement to statement.
func repeats(u *check.Unit) bool {
	for _, st := range u.File.Stmts {
		switch st.(type) {
		case *syntax.ExprStmt, *syntax.For, *syntax.While, *syntax.Assign, *syntax.If, *syntax.Wait:
		default:
			return false
		}
	}
	return len(u.Objects) == 0 && len(u.File.Stmts) > 0
}

// noteCut remembers for Script that something was cancelled behind the last entry.
func (s *Session) noteCut() {
	if s.cut == nil {
		s.cut = map[int]bool{}
	}
	s.cut[len(s.done)] = true
}

// usesBlas reports whether an entry uses the import that the session began with.
func (s *Session) usesBlas() bool {
	for _, u := range s.done {
		for _, id := range syntax.Idents(u.File) {
			if id.Obj != nil && id.Obj.Kind == types.ModuleObject && id.Obj.Decl.File == sessionSource {
				return true
			}
		}
	}
	return false
}
