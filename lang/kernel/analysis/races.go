package analysis

// Elements and locals that the rounds of an each must not share (E0602, E0605).

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
)

// access is one use of an element inside an each.
type access struct {
	store bool
	index []*ir.Expr
	at    syntax.Span
}

// checkRaces checks every each of list.
func (a *analysis) checkRaces(list []*ir.Stmt) {
	for _, s := range list {
		if s.Kind == ir.EachStmt {
			a.checkEach(s)
			continue
		}
		a.checkRaces(s.Body)
		a.checkRaces(s.Else)
	}
}

// checkEach checks one each.
func (a *analysis) checkEach(each *ir.Stmt) {
	made := map[int]bool{}      // locals that the round declares
	rows := map[int]*ir.Range{} // ranges of the loops inside, by the slots of their indices
	uses := make([][]access, len(a.fn.Operands))
	written := make([]bool, len(a.fn.Operands))
	shared := map[string]bool{} // reported names
	ir.WalkStmts(each.Body, func(s *ir.Stmt) {
		if s.Kind == ir.SetStmt && s.Declare {
			made[s.Slot] = true
		}
		for k := range s.Domain {
			rows[s.Domain[k].Slot] = &s.Domain[k]
		}
	})
	ir.WalkStmts(each.Body, func(s *ir.Stmt) {
		s.Exprs(func(e *ir.Expr) {
			ir.WalkExpr(e, func(x *ir.Expr) bool {
				for k := range x.Domain {
					rows[x.Domain[k].Slot] = &x.Domain[k]
				}
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
			a.reportSharedValue(each, s, a.fn.Operands[s.Operand].Name, shared)
		case s.Kind == ir.ElementStmt && !made[s.Slot]:
			a.reportSharedArray(each, s, shared)
		case s.Kind == ir.SetStmt && !s.Declare && !made[s.Slot]:
			a.reportSharedValue(each, s, a.fn.Slots[s.Slot].Name, shared)
		}
	})
	for op := range uses {
		if written[op] && !a.inOwnRow(each, op, uses[op], rows) {
			a.checkOwnElements(each, op, uses[op])
		}
	}
}

// reportSharedValue reports a write to a local or variable that all rounds share.
func (a *analysis) reportSharedValue(each, s *ir.Stmt, name string, shared map[string]bool) {
	if shared[name] {
		return
	}
	shared[name] = true
	fold, value := a.foldOf(s, name)
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
	if fold == "" || a.usesRoundLocal(each, s.Value) {
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
	if len(each.Body) == 1 { // the loop does nothing else
		d.Edit(a.at(each.Pos), body)
	}
}

// reportSharedArray reports a write to an array that all rounds share.
func (a *analysis) reportSharedArray(each, s *ir.Stmt, shared map[string]bool) {
	at := &a.fn.Slots[s.Slot]
	if shared[at.Name] {
		return
	}
	shared[at.Name] = true
	d := a.err("E0605", s.Target, fmt.Sprintf("`%s` is one array, and every round of `each` writes to it", at.Name))
	d.Label = "shared by all rounds"
	d.Labels = append(d.Labels, diag.Label{Span: a.at(at.Decl), Text: "made before the `each`"})
	d.Help = append(d.Help, "make it inside the `each`: every round has its own then",
		"to use it from round to round, write `for`, which runs in order on one thread")
}

// foldOf returns the fold that replaces the assignment s to name in every round, and the
// source of its body; "" if there is none.
func (a *analysis) foldOf(s *ir.Stmt, name string) (fold, value string) {
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
	case "=":
	default:
		return "", ""
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

// usesRoundLocal reports whether e reads a local that the each declares, which is unknown
// in a fold outside of it.
func (a *analysis) usesRoundLocal(each *ir.Stmt, e *ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x *ir.Expr) bool {
		if (x.Op == ir.OpSlot || x.Op == ir.OpElement) && a.fn.Slots[x.Slot].Kind == ir.LetSlot {
			d := a.fn.Slots[x.Slot].Decl
			found = found || d.Lo >= each.Pos.Lo && d.Hi <= each.Pos.Hi
		}
		return !found
	})
	return found
}

// checkOwnElements checks that each round uses its own elements of a written operand: some
// of the indices of every access are the indices of the each, always in the same positions.
func (a *analysis) checkOwnElements(each *ir.Stmt, op int, uses []access) {
	rank := a.fn.Operands[op].Kind.Rank()
	var best []int
	bestBad := -1 // the first use that does not fit best
	for _, places := range placesToTry(each, uses, rank) {
		bad := -1
		for pass := 0; pass < 2 && bad < 0; pass++ { // stores first: they determine the positions
			for k, u := range uses {
				if u.store == (pass == 0) && !indexedByRound(each, places, u) {
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
	if best == nil { // the each has more indices than the operand
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
		d.Label = fmt.Sprintf("not indexed by %s alone: several rounds may write this element", quotedList(names))
		if len(names) > rank {
			d.Help = append(d.Help, fmt.Sprintf("`%s` is a %v: write it in an `each` of its own, with %s", o.Name, o.Kind, ir.Counted(rank, "index", "indices")))
		} else if sparse, ok := strings.CutSuffix(o.Name, ".val"); ok {
			lines, _ := a.forms.lines(op - 2)
			line := map[string]string{sparse + ".rows": "row", sparse + ".cols": "col"}[lines]
			if line == "" { // there is no range of a line, or it has blocks
				d.Help = append(d.Help, fmt.Sprintf("a round may write one value, in `each %s in %s`, or use `for`, which runs in order on one thread", ir.IndexNames(o.Kind), o.Name))
			} else {
				d.Help = append(d.Help, fmt.Sprintf("a round may write the values of its own %[3]s, `for k in %[1]s.%[4]s(%[2]s) { %[1]s.val[k] = ... }`, or one value, in `each k in %[1]s.val`",
					sparse, names[0], map[string]string{"row": "row", "col": "column"}[line], line),
					"or use `for`, which runs in order on one thread")
			}
		} else {
			d.Help = append(d.Help, fmt.Sprintf("write `%s[%s]`, or use `for`, which runs in order on one thread", o.Name, a.suggestedIndex(names, rank)))
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
	d.Label = "and reads what " + a.otherRoundText(each, best, offending, names, round)
	d.Help = append(d.Help, "read from a second operand, or use `for`, which runs in order on one thread")
}

// otherRoundText names the round that writes the element of an offending read.
func (a *analysis) otherRoundText(each *ir.Stmt, places []int, u access, names []string, round func([]string) string) string {
	other := make([]string, len(names))
	order := int64(0)
	for k, r := range each.Domain {
		f, ok := a.forms.form(u.index[places[k]])
		rest, c := withoutSlot(f, r.Slot)
		v, isConst := rest.constant()
		if !ok || c != 1 || !isConst {
			return "another round may write"
		}
		other[k] = a.forms.text(f)
		if order == 0 {
			order = v
		}
	}
	if order < 0 {
		return round(other) + " wrote"
	}
	return round(other) + " writes"
}

// suggestedIndex returns indices for an operand of some rank.
func (a *analysis) suggestedIndex(names []string, rank int) string {
	idx := append([]string(nil), names...)
	for len(idx) < rank {
		idx = append(idx, "...")
	}
	return strings.Join(idx, ", ")
}

func quotedList(names []string) string {
	out := make([]string, len(names))
	for k, n := range names {
		out[k] = "`" + n + "`"
	}
	return joinWords(out)
}

// indexedByRound reports whether each index of the each is an index of u, at the position that
// places gives it.
func indexedByRound(each *ir.Stmt, places []int, u access) bool {
	for k, r := range each.Domain {
		x := u.index[places[k]]
		if x == nil || x.Op != ir.OpSlot || x.Slot != r.Slot {
			return false
		}
	}
	return true
}

// inOwnRow reports whether op has the values of a sparse matrix, and all uses of it are entries of one
// row, which is another row in every other round: rows share no entries.
func (a *analysis) inOwnRow(each *ir.Stmt, op int, uses []access, loops map[int]*ir.Range) bool {
	matrix, ok := strings.CutSuffix(a.fn.Operands[op].Name, ".val")
	if !ok || len(each.Domain) != 1 {
		return false
	}
	var own linear // the row
	for k, u := range uses {
		x := u.index[0]
		if x == nil || x.Op != ir.OpSlot || loops[x.Slot] == nil {
			return false
		}
		i := a.rowOf(loops[x.Slot], matrix)
		f, ok := a.forms.form(i)
		switch rest, c := withoutSlot(f, each.Domain[0].Slot); {
		case !ok || c == 0 || len(slotsOf(rest)) > 0:
			return false
		case k == 0:
			own = f
		default:
			if d, same := f.minus(own).constant(); !same || d != 0 {
				return false
			}
		}
	}
	return true
}

// rowOf returns i if r is A.row(i) for the sparse matrix with this name, otherwise nil.
func (a *analysis) rowOf(r *ir.Range, matrix string) *ir.Expr {
	start := func(e *ir.Expr) *ir.Expr { // i of A.ptr[i] - A.ptr[0]
		if e.Op != ir.OpSub {
			return nil
		}
		for _, x := range e.X {
			if x.Op != ir.OpLoad || len(x.X) != 1 || a.fn.Operands[x.Operand].Name != matrix+".ptr" {
				return nil
			}
		}
		if first := e.X[1].X[0]; first.Op != ir.OpConst || first.Int != 0 {
			return nil
		}
		return e.X[0].X[0]
	}
	lo, hi := start(r.Lo), start(r.Hi)
	if lo == nil || hi == nil || r.Closed {
		return nil
	}
	f, ok := a.forms.form(lo)
	g, ok2 := a.forms.form(hi)
	if d, isConst := g.minus(f).constant(); !ok || !ok2 || !isConst || d != 1 {
		return nil
	}
	return lo
}

// placesToTry returns the ways to assign the indices of an each to different axes of an operand of some rank that may
// fit all uses: all ways for up to four axes, and for more those that fit the first store. There is one at least, for
// messages, unless the each has more indices than the operand.
func placesToTry(each *ir.Stmt, uses []access, rank int) [][]int {
	n := len(each.Domain)
	if rank <= 4 || n > rank {
		return axisAssignments(n, rank)
	}
	var out [][]int
	for _, u := range uses {
		if !u.store {
			continue
		}
		var rec func(p []int)
		rec = func(p []int) {
			if len(p) == n {
				out = append(out, slices.Clone(p))
				return
			}
			for k := range rank {
				x := u.index[k]
				if x != nil && x.Op == ir.OpSlot && x.Slot == each.Domain[len(p)].Slot && !slices.Contains(p, k) && len(out) < 16 {
					rec(append(p, k))
				}
			}
		}
		rec(nil)
		break
	}
	if out == nil {
		first := make([]int, n)
		for k := range first {
			first[k] = k
		}
		out = append(out, first)
	}
	return out
}

// axisAssignments returns all ways to assign n indices to different axes of rank.
func axisAssignments(n, rank int) [][]int {
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
