package syntax

import "slices"

// Idents lists the names in f, in the order of the text: declarations, uses, and the
// words that name arguments and options.
func Idents(f *File) []*Ident {
	var out []*Ident
	Walk(f, func(n Node, _ []Node) {
		if id, ok := n.(*Ident); ok {
			out = append(out, id)
		}
	})
	slices.SortStableFunc(out, func(a, b *Ident) int { return int(a.Lo - b.Lo) })
	return out
}
