package llvm

// Notes for people: how the loops of a body run as machine code.

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/starpush/starpush/lang/kernel/elementary"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/syntax"
)

// Note says how a loop runs, or how an element is read or written in lanes.
type Note struct {
	Pos  syntax.Span
	Text string // "8 lanes of `i`, 3 operations and 24 bytes a round"
}

// Notes returns notes on the loops of the body, and on elements that do not lie side by side
// for its lanes, in the order of the source.
func (b *Body) Notes() []Note { return b.notes }

// note records a note, once: loops may be written several times.
func (w *writer) note(at syntax.Span, format string, args ...any) {
	n := Note{at, fmt.Sprintf(format, args...)}
	if !slices.Contains(w.notes, n) {
		w.notes = append(w.notes, n)
	}
}

// sorted returns the notes in the order of the source.
func sorted(notes []Note) []Note {
	slices.SortStableFunc(notes, func(a, b Note) int { return cmp.Compare(a.Pos.Lo, b.Pos.Lo) })
	return notes
}

// work is what a round of a loop does, without loops in it.
type work struct {
	ops, bytes int // arithmetic, and elements that are read and written
	calls      int // of elementary functions, among the operations
	elements   int
}

// workOf counts the work of a round of a loop, or of a fold.
func workOf(list []*ir.Stmt, e *ir.Expr) (w work) {
	look := func(e *ir.Expr) {
		ir.WalkExpr(e, func(x *ir.Expr) bool {
			switch x.Op {
			case ir.OpConst, ir.OpSlot, ir.OpField:
			case ir.OpElement:
				return false // indices are no work
			case ir.OpFold:
				return false
			case ir.OpLoad:
				w.bytes += int(x.Type.Size())
				w.elements++
				return false // indices are no work
			default:
				w.ops++
				if elementary.Lookup(x.Op.String(), 64) != nil {
					w.calls++
				}
			}
			return true
		})
	}
	var block func(list []*ir.Stmt)
	block = func(list []*ir.Stmt) {
		for _, st := range list {
			if st.Kind == ir.ForStmt || st.Kind == ir.EachStmt {
				continue
			}
			if st.Kind == ir.StoreStmt {
				w.bytes += int(st.Value.Type.Size())
				w.elements++
			}
			if st.Value != nil {
				look(st.Value)
			}
			block(st.Body)
			block(st.Else)
		}
	}
	block(list)
	if e != nil {
		look(e)
	}
	return w
}

// String returns "3 operations and 24 bytes a round".
func (w work) String() string {
	return fmt.Sprintf("%s and %s a round", counted(w.ops, "operation"), counted(w.bytes, "byte"))
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
