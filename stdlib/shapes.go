package stdlib

// Rules about sizes and flags, and how their violations are worded.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// shapes is what a rule sees of one task.
type shapes struct {
	e    *entry
	ops  []iface.Desc
	args []iface.Scalar
}

// flag is a string argument with two values, or three.
type flag uint8

const (
	side flag = iota
	uplo
	ta
	tb
	diag
	numFlags
)

var flagInfo = [numFlags]struct {
	name          string
	first, second string // the default, and the other value
	third         string // like second; the conjugate of it for complex elements
	meaning       string
}{
	side: {"side", "l", "r", "", "`\"l\"` puts A on the left, `\"r\"` on the right"},
	uplo: {"uplo", "l", "u", "", "`\"l\"` is the lower triangle, `\"u\"` the upper"},
	ta:   {"ta", "n", "t", "c", "`\"n\"` takes A as it is, `\"t\"` transposed, `\"c\"` conjugate transposed"},
	tb:   {"tb", "n", "t", "c", "`\"n\"` takes B as it is, `\"t\"` transposed, `\"c\"` conjugate transposed"},
	diag: {"diag", "n", "u", "", "`\"n\"` reads the diagonal, `\"u\"` takes it to be ones"},
}

// set says whether a flag has another value than its first.
func (s *shapes) set(f flag) bool {
	v := s.args[s.e.flagArg[f]].Str()
	return v != "" && (v == flagInfo[f].second || v == flagInfo[f].third)
}

// flags checks all string arguments.
func (s *shapes) flags() error {
	for f := range numFlags {
		if s.e.flagArg[f] < 0 {
			continue
		}
		i := &flagInfo[f]
		if got := s.args[s.e.flagArg[f]].Str(); got != i.first && !s.set(f) {
			must := fmt.Sprintf("%q or %q", i.first, i.second)
			if i.third != "" {
				must = fmt.Sprintf("%q, %q or %q", i.first, i.second, i.third)
			}
			return &engine.ShapeError{Arg: i.name, Help: i.meaning,
				Message: fmt.Sprintf("`%s` of `%s` is %q, and must be %s", i.name, s.e.name, got, must)}
		}
	}
	return nil
}

// size writes the size of operand i: "512 x 1024", "8 elements".
func (s *shapes) size(i int) string {
	d := &s.ops[i]
	if d.Kind == iface.Matrix {
		return fmt.Sprintf("%d x %d", d.Dim[0], d.Dim[1])
	}
	if d.Dim[0] == 1 {
		return "1 element"
	}
	return fmt.Sprintf("%d elements", d.Dim[0])
}

// axis writes how the language names axis k of operand i: "A.cols", "x.n".
func (s *shapes) axis(i, k int) string {
	switch {
	case s.ops[i].Kind != iface.Matrix:
		return s.e.ops[i].name + ".n"
	case k == 0:
		return s.e.ops[i].name + ".rows"
	}
	return s.e.ops[i].name + ".cols"
}

// inner demands that axis ka of operand a equals axis kb of operand b. hint is
// what to try, "" for nothing.
func (s *shapes) inner(a, ka, b, kb int, hint string) error {
	m, n := s.ops[a].Dim[ka], s.ops[b].Dim[kb]
	if m == n {
		return nil
	}
	help := fmt.Sprintf("%s must equal %s", s.axis(a, ka), s.axis(b, kb))
	if hint != "" {
		help += "; did you mean `" + hint + "`?"
	}
	return &engine.ShapeError{
		Message:  fmt.Sprintf("the inner sizes of `%s` differ: %d and %d", s.e.name, m, n),
		Operands: []int{a, b}, Details: []string{s.size(a), s.size(b)}, Help: help,
	}
}

// result demands that operand c has the given size.
func (s *shapes) result(c, rows, cols int) error {
	d := &s.ops[c]
	if d.Dim[0] == rows && (d.Kind != iface.Matrix || d.Dim[1] == cols) {
		return nil
	}
	want := fmt.Sprintf("%d x %d", rows, cols)
	if d.Kind != iface.Matrix {
		want = fmt.Sprintf("%d elements long", rows)
		if rows == 1 {
			want = "1 element long"
		}
	}
	return &engine.ShapeError{
		Message:  fmt.Sprintf("the result of `%s` is %s, and `%s` has %s", s.e.name, want, s.e.ops[c].name, s.sizeLong(c)),
		Operands: []int{c}, Details: []string{s.size(c)},
	}
}

func (s *shapes) sizeLong(i int) string {
	if s.ops[i].Kind == iface.Matrix {
		return "size " + s.size(i)
	}
	return s.size(i)
}

// same demands that operands a and b have one kind and size.
func (s *shapes) same(a, b int) error {
	x, y := &s.ops[a], &s.ops[b]
	if x.Kind == y.Kind && x.Dim == y.Dim {
		return nil
	}
	e := &engine.ShapeError{Operands: []int{a, b}, Details: []string{s.size(a), s.size(b)},
		Message: fmt.Sprintf("the sizes of `%s` differ: %s and %s", s.e.name, s.size(a), s.size(b))}
	if x.Kind != y.Kind {
		e.Message = fmt.Sprintf("`%s` needs two vectors or two matrices, and got a %v and a %v", s.e.name, x.Kind, y.Kind)
		e.Help = "rows and columns of a matrix are vectors after `pick`"
	}
	return e
}

// square demands that matrix operand i has as many rows as columns.
func (s *shapes) square(i int) error {
	if d := &s.ops[i]; d.Dim[0] != d.Dim[1] {
		return &engine.ShapeError{Operands: []int{i}, Details: []string{s.size(i)},
			Message: fmt.Sprintf("`%s` of `%s` must be square, and has size %s", s.e.ops[i].name, s.e.name, s.size(i))}
	}
	return nil
}

// filled demands that operand i has elements.
func (s *shapes) filled(i int) error {
	if s.ops[i].Len() == 0 {
		return &engine.ShapeError{Operands: []int{i}, Details: []string{s.size(i)},
			Message: fmt.Sprintf("`%s` needs at least one element, and `%s` has none", s.e.name, s.e.ops[i].name)}
	}
	return nil
}

// badArg says that a scalar argument cannot be.
func (s *shapes) badArg(name, format string, args ...any) error {
	return &engine.ShapeError{Arg: name, Message: fmt.Sprintf("`%s` %s", s.e.name, fmt.Sprintf(format, args...))}
}

// first returns the first error, or nil.
func first(errs ...error) error {
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}

// The rules of std/blas.

func sameSizes(s shapes) error { return s.same(0, 1) }

func notEmpty(s shapes) error { return s.filled(0) }

// turned returns the axes of operand i as rows and columns of op(operand i).
func (s *shapes) turned(f flag) (row, col int) {
	if s.set(f) {
		return 1, 0
	}
	return 0, 1
}

// try suggests the other value of a flag when all would fit with it, the result included.
func (s *shapes) try(f flag, fits bool) string {
	other := flagInfo[f].second
	if s.set(f) {
		other = flagInfo[f].first
	}
	if !fits {
		return ""
	}
	return flagInfo[f].name + ` = "` + other + `"`
}

func gemmShape(s shapes) error {
	if err := s.flags(); err != nil {
		return err
	}
	const a, b, c = 0, 1, 2
	ar, ac := s.turned(ta)
	br, bc := s.turned(tb)
	A, B, C := s.ops[a].Dim, s.ops[b].Dim, s.ops[c].Dim
	if A[ac] != B[br] {
		hint := s.try(ta, A[ar] == B[br] && A[ac] == C[0] && B[bc] == C[1])
		if hint == "" {
			hint = s.try(tb, A[ac] == B[bc] && A[ar] == C[0] && B[br] == C[1])
		}
		return s.inner(a, ac, b, br, hint)
	}
	return s.result(c, A[ar], B[bc])
}

func gemvShape(s shapes) error {
	if err := s.flags(); err != nil {
		return err
	}
	r, c := s.turned(ta)
	return first(
		s.inner(0, c, 1, 0, s.try(ta, s.ops[0].Dim[r] == s.ops[1].Dim[0] && s.ops[0].Dim[c] == s.ops[2].Dim[0])),
		s.result(2, s.ops[0].Dim[r], 0),
	)
}

func gerShape(s shapes) error { return s.result(2, s.ops[0].Dim[0], s.ops[1].Dim[0]) }

func trsvShape(s shapes) error {
	return first(s.flags(), s.square(0), s.inner(0, 0, 1, 0, ""))
}

// sideShape is the rule of symm, trmm and trsm: A is square and fits to B.
func sideShape(s shapes) error {
	if err := first(s.flags(), s.square(0)); err != nil {
		return err
	}
	k := 0
	if s.set(side) {
		k = 1
	}
	return s.inner(0, 1-k, 1, k, s.try(side, s.ops[0].Dim[0] == s.ops[1].Dim[1-k]))
}

func symmShape(s shapes) error {
	return first(sideShape(s), s.result(2, s.ops[1].Dim[0], s.ops[1].Dim[1]))
}

func syrkShape(s shapes) error {
	if err := first(s.flags(), s.square(1)); err != nil {
		return err
	}
	r, _ := s.turned(ta)
	return s.result(1, s.ops[0].Dim[r], s.ops[0].Dim[r])
}

func herkShape(s shapes) error {
	if s.args[s.e.flagArg[ta]].Str() == "t" {
		return s.badArg("ta", "needs `ta` to be %q or %q, and got %q: use \"c\" for the conjugate transposed", "n", "c", "t")
	}
	return syrkShape(s)
}

func potrfShape(s shapes) error { return first(s.flags(), s.square(0)) }

func getrsShape(s shapes) error { return first(s.square(0), s.inner(0, 1, 1, 0, "")) }

func transposeShape(s shapes) error { return s.result(1, s.ops[0].Dim[1], s.ops[0].Dim[0]) }
