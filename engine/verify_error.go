package engine

// What verification finds.

import (
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr"
)

// BreachKind says how a kernel broke the access mode of an operand.
type BreachKind uint8

// The kinds of breaches.
const (
	WritesRead      BreachKind = iota + 1 // an R operand has another value after the kernel
	LeavesUnwritten                       // the kernel did not write all of a W operand
	ReadsUnset                            // results depend on what a W or SCRATCH operand held before
)

var breachNames = [...]string{"", "writes R", "leaves W unwritten", "reads what is not set"}

// String describes the kind in a few words.
func (k BreachKind) String() string {
	if int(k) < len(breachNames) {
		return breachNames[k]
	}
	return "breach?"
}

// Breach is one way in which a kernel broke an access mode.
type Breach struct {
	Kind    BreachKind
	Operand int             // place in TaskSpec.Operands
	Handle  *datamgr.Handle // nil in a call without a task
	Mode    datamgr.AccessMode
	// Index is the first element concerned, one number for each index of the
	// operand, from 0, and Count how many there are. ReadsUnset: none.
	Index []int
	Count int
	// Result and ResultIndex are an operand and its element that the unset
	// content shows in. Result is -1 when it shows in whether the kernel succeeds.
	Result      int
	ResultIndex []int
}

// add counts element k.
func (b *Breach) add(o *watched, k int) {
	if b.Count == 0 {
		b.Index = o.index(k)
	}
	b.Count++
}

// String describes the breach in a sentence without a subject, such as
// "changed operand 0, `x` (vector[f64] of 8), which it has R, at [3]".
func (b *Breach) String() string {
	what := fmt.Sprintf("operand %d, %s, which it has %v", b.Operand, describe(b.Handle), b.Mode)
	switch b.Kind {
	case WritesRead:
		return "changed " + what + ", " + b.where()
	case LeavesUnwritten:
		return "did not write all of " + what + ": " + b.where() + " is missing"
	}
	text := "read " + what + ", before writing it: "
	if b.Result < 0 {
		return text + "whether the kernel succeeds depends on its content"
	}
	return text + fmt.Sprintf("%soperand %d depends on its content", ElementText(b.ResultIndex, " of "), b.Result)
}

// where names the elements.
func (b *Breach) where() string {
	s := strings.TrimSuffix(ElementText(b.Index, ""), " ")
	switch {
	case s == "":
		return "its value"
	case b.Count > 1:
		return fmt.Sprintf("element %s and %d more", s, b.Count-1)
	}
	return "element " + s
}

// ElementText writes the place of an element as "[3]" or "[1, 0]" and then
// after; "" for the element of a variable.
func ElementText(index []int, after string) string {
	if len(index) == 0 {
		return ""
	}
	return strings.ReplaceAll(fmt.Sprint(index), " ", ", ") + after
}

// VerifyError is the cause of a task whose kernel broke the access modes of its
// operands, in a runtime with Options.Verify.
type VerifyError struct{ Breaches []Breach }

func (e *VerifyError) Error() string {
	var s []string
	for i := range e.Breaches {
		s = append(s, e.Breaches[i].String())
	}
	return "the kernel broke its access modes: it " + strings.Join(s, "; it ")
}
