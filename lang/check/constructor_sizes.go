package check

// Sizes of data in square brackets, as arrays of other languages have them:
// matrix[f64][4, 4], vector[f64, 8], vector[8].

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/lang/syntax"
)

// sizesInBrackets is the constructor that e writes with its sizes in square brackets,
// "" if it does not; sure says that it leaves nothing open.
func (c *checker) sizesInBrackets(e syntax.Expr) (right string, sure bool) {
	var groups [][]syntax.Expr // of brackets, the last first
	x := unparen(e)
	for {
		index, ok := x.(*syntax.Index)
		if !ok {
			break
		}
		groups = append(groups, index.Args)
		x = index.X
	}
	id, ok := x.(*syntax.Ident)
	if !ok || handleKinds[id.Name] == 0 || c.scope.Lookup(id.Name) != nil || len(groups) == 0 {
		return "", false
	}
	slices.Reverse(groups)
	elem, first := "f64", groups[0]
	if name, ok := first[0].(*syntax.Ident); ok && (len(groups) > 1 || isElemName(name.Name)) {
		elem, first, sure = name.Name, first[1:], true
	}
	sizes := first
	for _, g := range groups[1:] {
		sizes = append(slices.Clone(sizes), g...)
	}
	if len(sizes) == 0 { // a type
		return "", false
	}
	var texts []string
	for _, s := range sizes {
		texts = append(texts, c.text(s))
	}
	return fmt.Sprintf("%s[%s](%s)", id.Name, elem, strings.Join(texts, ", ")), sure && len(sizes) == len(sizeNames[id.Name])
}

// isElemName reports whether name is an element type, or that of a number elsewhere.
func isElemName(name string) bool {
	return habitTypes[name] != "" || name == "float" || name == "int" || slices.ContainsFunc(ElemNames, func(n Entry) bool { return n.Name == name })
}

// parenthesized reports the sizes of e that are written in square brackets; false when none
// do.
func (c *checker) parenthesized(e syntax.Expr) bool {
	right, sure := c.sizesInBrackets(e)
	if right == "" {
		return false
	}
	d := c.err("E0705", e, "the sizes of data are written in parentheses")
	d.Help = append(d.Help, "write `"+right+"`")
	d.Edit(c.f.At(e), right)
	if sure {
		d.Sure()
	}
	return true
}
