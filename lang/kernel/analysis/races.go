package analysis

// Races: what rounds of an each may not share (E0602, E0605).

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
)

// access is one use of elements inside an each.
type access struct {
	store bool
	index []*ir.Expr
	at    syntax.Span
}

// races checks every each of the body.
func (a *analysis) races(list []*ir.Stmt) {
	for _, s := range list {
		if s.Kind == ir.EachStmt {
			a.raceFree(s)
			continue
		}
		a.races(s.Body)
		a.races(s.Else)
	}
}

// raceFree checks one each.
func (a *analysis) raceFree(each *ir.Stmt) {
	made := map[int]bool{} // names that the round makes
	uses := make([][]access, len(a.fn.Operands))
	written := make([]bool, len(a.fn.Operands))
	shared := map[string]bool{} // reported
	ir.WalkStmts(each.Body, func(s *ir.Stmt) {
		if s.Kind == ir.SetStmt && s.Declare {
			made[s.Slot] = true
		}
	})
	ir.WalkStmts(each.Body, func(s *ir.Stmt) {
		s.Exprs(func(e *ir.Expr) {
			ir.WalkExpr(e, func(x *ir.Expr) bool {
				if x.Op == ir.OpLoad && len(x.X) > 0 {
					uses[x.Operand] = append(uses[x.Operand], access{index: x.X, at: x.Pos})
				}
				return true
			})
		})
		switch {
		case s.Kind == ir.StoreStmt && len(s.Index) > 0:
			written[s.Operand] = true
			uses[s.Operand] = append(uses[s.Operand], access{store: true, index: s.Index, at: s.Target})
		case s.Kind == ir.StoreStmt:
			a.oneValue(each, s, a.fn.Operands[s.Operand].Name, shared)
		case s.Kind == ir.SetStmt && !s.Declare && !made[s.Slot]:
			a.oneValue(each, s, a.fn.Slots[s.Slot].Name, shared)
		}
	})
	for op := range uses {
		if written[op] {
			a.ownElements(each, op, uses[op])
		}
	}
}

// oneValue reports a write to something that all rounds share.
func (a *analysis) oneValue(each, s *ir.Stmt, name string, shared map[string]bool) {
	if shared[name] {
		return
	}
	shared[name] = true
	fold, value := a.foldFor(s, name)
	verb := "writes it"
	switch fold {
	case "sum":
		verb = "adds to it"
		if s.Update == "-=" {
			verb = "subtracts from it"
		}
	case "prod":
		verb = "multiplies it"
		if s.Update == "/=" {
			verb = "divides it"
		}
	}
	d := a.err("E0605", s.Target, fmt.Sprintf("`%s` is one value, and every round of `each` %s", name, verb))
	d.Label = "shared by all rounds"
	head := strings.TrimSpace(strings.TrimPrefix(a.text(each.Head), "each"))
	if fold == "" || a.usesRound(each, s.Value) {
		if fold == "" {
			fold = "sum"
		}
		d.Help = append(d.Help, fmt.Sprintf("move it out of `each`, with a fold: `%s %s { ... }` gives one value of all rounds", fold, head))
		return
	}
	body := fmt.Sprintf("%s %s { %s }", fold, head, value)
	switch fold {
	case "sum", "prod":
		op := s.Update
		if op == "=" {
			op = map[string]string{"sum": "+=", "prod": "*="}[fold]
		}
		body = fmt.Sprintf("%s %s %s", name, op, body)
	default:
		body = fmt.Sprintf("%s = %s(%s, %s)", name, fold, name, body)
	}
	d.Help = append(d.Help, "write `"+body+"`")
	if len(each.Body) == 1 { // nothing else is in the loop
		d.Edit(a.at(each.Pos), body)
	}
}

// foldFor says which fold does what the assignment wants, and over what.
func (a *analysis) foldFor(s *ir.Stmt, name string) (fold, value string) {
	if s.Source == nil {
		return "", ""
	}
	isName := func(x syntax.Expr) bool {
		id, ok := syntax.Unparen(x).(*syntax.Ident)
		return ok && id.Name == name
	}
	switch s.Update {
	case "+=", "-=":
		return "sum", a.text(s.Source.Range())
	case "*=", "/=":
		return "prod", a.text(s.Source.Range())
	}
	switch x := syntax.Unparen(s.Source).(type) {
	case *syntax.Binary:
		fold := map[string]string{"+": "sum", "*": "prod"}[x.Op]
		switch {
		case fold == "":
		case isName(x.X):
			return fold, a.text(x.Y.Range())
		case isName(x.Y):
			return fold, a.text(x.X.Range())
		}
	case *syntax.Call:
		fn, ok := syntax.Unparen(x.Fn).(*syntax.Ident)
		if !ok || fn.Name != "min" && fn.Name != "max" || len(x.Args) != 2 {
			break
		}
		switch {
		case isName(x.Args[0].Value):
			return fn.Name, a.text(x.Args[1].Value.Range())
		case isName(x.Args[1].Value):
			return fn.Name, a.text(x.Args[0].Value.Range())
		}
	}
	return "", ""
}

// usesRound reports whether e reads a `let` that lives inside the each, which
// a fold outside of it could not see.
func (a *analysis) usesRound(each *ir.Stmt, e *ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		if x.Op == ir.OpSlot && a.fn.Slots[x.Slot].Kind == ir.LetSlot {
			d := a.fn.Slots[x.Slot].Decl
			found = found || d.Lo >= each.Pos.Lo && d.Hi <= each.Pos.Hi
		}
		return !found
	})
	return found
}

// ownElements checks that every use of a written operand belongs to its round:
// all indices of the each stand bare in the same places.
func (a *analysis) ownElements(each *ir.Stmt, op int, uses []access) {
	rank := a.fn.Operands[op].Kind.Rank()
	var best []int
	bestBad := -1 // the first use that does not fit
	for _, places := range placements(len(each.Domain), rank) {
		bad := -1
		for pass := 0; pass < 2 && bad < 0; pass++ { // stores first: they decide the places
			for k, u := range uses {
				if u.store == (pass == 0) && !fits(each, places, u) {
					bad = k
					break
				}
			}
		}
		if bad < 0 {
			return
		}
		if best == nil || uses[bestBad].store && !uses[bad].store {
			best, bestBad = places, bad
		}
	}
	names := make([]string, len(each.Domain))
	for k, r := range each.Domain {
		names[k] = a.fn.Slots[r.Slot].Name
	}
	round := func(names []string) string {
		if len(names) == 1 {
			return "round " + names[0]
		}
		return "round (" + strings.Join(names, ", ") + ")"
	}
	var offending access
	if best == nil { // fewer places than indices
		for _, u := range uses {
			if u.store {
				offending = u
				break
			}
		}
	} else {
		offending = uses[bestBad]
	}
	d := a.err("E0602", offending.at, "the rounds of `each` depend on each other")
	d.Notes = append(d.Notes, "`each` runs its rounds in any order, at the same time")
	if offending.store {
		o := &a.fn.Operands[op]
		d.Label = fmt.Sprintf("not indexed by %s alone: several rounds may write this element", codeList(names))
		if len(names) > rank {
			d.Help = append(d.Help, fmt.Sprintf("`%s` is a %v: write it in an `each` of its own, with %s", o.Name, o.Kind, ir.Counted(rank, "index", "indices")))
		} else {
			d.Help = append(d.Help, fmt.Sprintf("write `%s[%s]`, or use `for`, which runs in order on one thread", o.Name, a.ownIndex(names, rank)))
		}
		return
	}
	for _, u := range uses {
		if u.store {
			d.Labels = append(d.Labels, diag.Label{Span: a.at(u.at), Text: round(names) + " writes this"})
			break
		}
	}
	if len(each.Domain) == 1 && each.Domain[0].Over < 0 {
		d.Edit(a.at(syntax.Span{Lo: each.Head.Lo, Hi: each.Head.Lo + int32(len("each"))}), "for")
	}
	d.Label = "and reads what " + a.otherRound(each, best, offending, names, round)
	d.Help = append(d.Help, "read from a second operand, or use `for`, which runs in order on one thread")
}

// otherRound says whose element an offending read meets.
func (a *analysis) otherRound(each *ir.Stmt, places []int, u access, names []string, round func([]string) string) string {
	other := make([]string, len(names))
	order := int64(0)
	for k, r := range each.Domain {
		f, ok := a.z.form(u.index[places[k]])
		rest, c := f.without(r.Slot)
		v, isConst := rest.constant()
		if !ok || c != 1 || !isConst {
			return "another round may write"
		}
		other[k] = a.z.text(f)
		if order == 0 {
			order = v
		}
	}
	if order < 0 {
		return round(other) + " wrote"
	}
	return round(other) + " writes"
}

// ownIndex suggests indices for an operand of some rank.
func (a *analysis) ownIndex(names []string, rank int) string {
	idx := append([]string(nil), names...)
	for len(idx) < rank {
		idx = append(idx, "...")
	}
	return strings.Join(idx, ", ")
}

func codeList(names []string) string {
	out := make([]string, len(names))
	for k, n := range names {
		out[k] = "`" + n + "`"
	}
	return listed(out)
}

// fits reports whether u has each index of the each bare in its place.
func fits(each *ir.Stmt, places []int, u access) bool {
	for k, r := range each.Domain {
		x := u.index[places[k]]
		if x == nil || x.Op != ir.OpSlot || x.Slot != r.Slot {
			return false
		}
	}
	return true
}

// placements lists every way to give n indices different places of rank.
func placements(n, rank int) [][]int {
	if n > rank || n > iface.MaxRank {
		return nil
	}
	var out [][]int
	var rec func(p []int)
	rec = func(p []int) {
		if len(p) == n {
			out = append(out, append([]int(nil), p...))
			return
		}
	next:
		for k := 0; k < rank; k++ {
			for _, q := range p {
				if q == k {
					continue next
				}
			}
			rec(append(p, k))
		}
	}
	rec(nil)
	return out
}
