package lang

// The history of a session, as a script.

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/interp"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/syntax/printer"
	"github.com/starpush/starpush/lang/types"
)

// cutNote is the comment where a cancelled context makes a script do something else
// than the session.
const cutNote = "# something was cancelled here: the session dropped tasks that run in this script, or an entry that is missing in it\n"

// failNote is the comment where the session reported that a task failed: there is no way to
// go on behind that in a script.
const failNote = "# a task had failed by here: the session went on, and this script ends where it notices\n"

// fewRepeats is how many equal entries may follow each other before they become a loop.
const fewRepeats = 2

// benchTimes is how often :bench of the prompt runs a statement, the run that does not
// count included.
const benchTimes = 11

// entry is an entry that the checker accepted, with what came of it.
type entry struct {
	check.Step
	failed bool
	cut    bool // something was cancelled before it, since the entry in front of it
	lost   bool // likewise: a task failed
}

// record is what a session did: everything that tells of it reads this, and the
// tasks that its machine has taken down.
type record struct {
	entries []entry
	cut     bool // something was cancelled behind the last of them
	lost    bool // a task failed behind the last of them
}

// keep takes down an entry that ran; out is what came of it.
func (r *record) keep(m *interp.Machine, u *check.Unit, implicit bool, out *interp.Result, err error) {
	e := entry{Step: check.Step{Unit: u, Ran: out.Ran, Implicit: implicit, Ended: out.Ended, Params: map[*types.Object]string{}, Data: map[*types.Object]string{}}, failed: err != nil, cut: r.cut, lost: r.lost}
	r.cut, r.lost = false, false
	for _, p := range u.Params {
		if text := m.Given(p); text != "" {
			e.Params[p] = text
		}
	}
	for _, x := range u.Externs {
		if text := m.Source(x); text != "" {
			e.Data[x] = text
		}
	}
	if err != nil && out.Ran >= 0 && out.Ran < len(u.File.Stmts) {
		e.Note = leftOut(u.File.Stmts[out.Ran], out.Rest)
	}
	if err == nil || e.Ran > 0 || e.Note != "" || len(e.Objects) > 0 || len(e.Ended) > 0 {
		r.entries = append(r.entries, e)
	} else {
		r.cut, r.lost = e.cut, e.lost
	}
	r.cut = r.cut || out.Dropped
	r.lost = r.lost || !out.Dropped && taskFailed(err)
}

// taskFailed reports whether err is that of a task.
func taskFailed(err error) bool {
	var d *Diagnostic
	return errors.As(err, &d) && d.Code == "R0101"
}

// end takes down that data and arrays ended behind the last entry.
func (r *record) end(ended []*types.Object) {
	if n := len(r.entries); n > 0 {
		e := &r.entries[n-1]
		e.Ended = append(e.Ended[:len(e.Ended):len(e.Ended)], ended...)
	}
}

// leftOut says that a script lacks what a statement did before it failed; "" where it can
// have done nothing.
func leftOut(s syntax.Stmt, tasks int) string {
	switch s := s.(type) {
	case *syntax.For, *syntax.While, *syntax.If, *syntax.Acquire:
	case *syntax.ExprStmt:
		if call, ok := s.X.(*syntax.Call); !ok || call.Callee == nil || call.Callee.Kind != types.FuncObject {
			return ""
		}
	default:
		if tasks == 0 {
			return ""
		}
	}
	text := "this ended with an error at the prompt"
	switch tasks {
	case 0:
	case 1:
		text += ", when it had inserted 1 task"
	default:
		text += fmt.Sprintf(", when it had inserted %d tasks", tasks)
	}
	return text + "; what it did until then is missing here:"
}

// Script returns a script that does the same as the session did, and the number of
// entries that it contains. file is the future name of the script: imports of files are
// relative to it.
//
// Values of expressions are printed, names that were declared again get new names, params
// have the values of the session, and std/blas is imported where it is used. For an entry
// that ended with an error the script has the statements before the one that failed. An
// entry that ran more than twice in a row, such as a measured one, becomes a loop.
// Comments say where something was cancelled, and where a statement is missing that did
// something before it failed. Data that the host has bound stays extern.
func (s *Session) Script(file string) (text string, entries int) {
	text, entries = s.scriptText(file)
	if out, err := printer.Format(diag.NewSource("script", text)); err == nil {
		text = string(out)
	}
	return text, entries
}

// scriptText is the text of the entries, each repeated one as a loop.
func (s *Session) scriptText(file string) (string, int) {
	all := s.did.entries
	steps := make([]check.Step, len(all))
	for k := range all {
		steps[k] = all[k].Step
	}
	t := check.Transcribe(steps, func(m *types.Module) string { return importFrom(file, m.Name) })
	texts := t.Texts
	var b strings.Builder
	if s.m != nil && s.m.Deterministic() {
		b.WriteString("# deterministic: run it with --deterministic\n")
	}
	count := 0
	for k := 0; k < len(texts); {
		b.WriteString(notes(all[k].cut, all[k].lost))
		n := 1
		for repeats(&all[k]) && k+n < len(texts) && texts[k+n] == texts[k] && repeats(&all[k+n]) && notes(all[k+n].cut, all[k+n].lost) == "" {
			n++
		}
		if n <= fewRepeats {
			n = 1
		}
		if !all[k].Implicit {
			count += n
		}
		if n == 1 {
			if strings.TrimSpace(texts[k]) != "" {
				b.WriteString(texts[k] + "\n")
			}
			if all[k].Implicit && texts[k] != "" {
				b.WriteString("\n")
			}
			k++
			continue
		}
		text, effect := texts[k], true
		if n >= benchTimes {
			text, effect = measured(all[k].Unit, text)
		}
		if effect {
			fmt.Fprintf(&b, "# %d times in a row at the prompt, where :bench runs a statement %d times\nfor _ in 0..%d {\n%s\n}\n", n, benchTimes, n, text)
		} else {
			fmt.Fprintf(&b, "# %d times in a row at the prompt, where :bench runs a statement %d times and shows no value:\n# %s\n", n, benchTimes, strings.ReplaceAll(text, "\n", "\n# "))
		}
		k += n
	}
	b.WriteString(notes(s.did.cut, s.did.lost))
	s.finish(&b, t)
	return b.String(), count
}

func notes(cut, lost bool) (text string) {
	if cut {
		text = cutNote
	}
	if lost {
		text += failNote
	}
	return text
}

// finish writes what a script must end with: it gives back the arrays that the session
// still holds, and opens the gates that are closed, for which tasks would wait for ever.
func (s *Session) finish(b *strings.Builder, t *check.Transcript) {
	if s.m == nil {
		return
	}
	for k := range s.did.entries {
		e := &s.did.entries[k]
		for _, name := range slices.Sorted(maps.Keys(e.Objects)) {
			o := e.Objects[name]
			switch held, closed := s.m.Loose(o); {
			case held:
				fmt.Fprintf(b, "release %s  # held at the prompt\n", t.Name(o))
			case closed && o.Type.Kind == types.Gate:
				fmt.Fprintf(b, "open(%s)  # closed at the prompt\n", t.Name(o))
			case closed:
				fmt.Fprintf(b, "for gate_ in %s { open(gate_) }  # closed at the prompt\n", t.Name(o))
			}
		}
	}
}

// importFrom is how a script in file names the file of a module.
func importFrom(file, module string) string {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return module
	}
	abs, err := filepath.Abs(filepath.FromSlash(module))
	if err != nil {
		return module
	}
	rel, err := filepath.Rel(dir, abs)
	if err != nil {
		return module
	}
	return filepath.ToSlash(rel)
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

// repeats reports whether e means the same in the body of a loop: it declares nothing
// and changes no state of data, which checks follow from statement to statement.
func repeats(e *entry) bool {
	if e.failed || e.Implicit || len(e.Ended) > 0 {
		return false
	}
	for _, st := range e.File.Stmts {
		switch st.(type) {
		case *syntax.ExprStmt, *syntax.For, *syntax.While, *syntax.Assign, *syntax.If, *syntax.Wait:
		default:
			return false
		}
	}
	return len(e.Objects) == 0 && len(e.File.Stmts) > 0
}
