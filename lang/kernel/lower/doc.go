// Package lower turns the syntax tree of a codelet's body into its intermediate
// representation, and reports what is wrong with names and types on the way.
//
// One walk serves both ends, so that checking and compiling cannot disagree. Generic lowers
// with element-type parameters open (ir.Open): the checker calls it once for a codelet, and
// it sets objects and types in the tree. Concrete lowers for given element types and leaves
// the tree alone.
//
// The walk resolves names to slots and operands (scope.go), determines the type of every
// operation and makes conversions explicit (conversion.go), and folds literals. The
// representation has neither calls nor jumps: funcs of scalars are lowered at each call
// (inline.go), and break, continue and return become flags and branches (jumps.go). After an
// error it goes on with an expression of the type ir.Open, about which nothing more is reported.
// advice.go has the remedies for programs that compute with whole arrays or use names of other
// languages.
package lower
