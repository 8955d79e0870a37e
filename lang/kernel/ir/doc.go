// Package ir is the intermediate representation of codelet bodies: structured, typed and
// free of names.
//
// A Func is a tree, not a graph of basic blocks: loops and branches are statements (Stmt)
// that hold statements, and expressions (Expr) are trees of operations. Locals are numbered
// slots and operands are indices into the signature. Every node has a type; conversions,
// which the language leaves implicit, are nodes. Nothing changes a Func once it is lowered,
// so stages share nodes.
//
// The package also defines what the operations mean: the arithmetic of every element type
// (FloorDiv, Wrap, Saturate and others), which constant folding and the back ends
// share, and the number of rounds of a range (Trips).
//
// Func.String writes a body as text, which the golden files of package lower hold and from
// which Func.Hash tells kernels apart.
package ir
