// Package kernel checks and runs the bodies of codelets: the part of the
// language that computes with elements.
//
// A body goes through three forms. The tree of package syntax is lowered to a
// small typed intermediate representation (Func, Stmt, Expr), in which names,
// literals that adapt and implicit conversions are gone; the same walk finds
// what is wrong with it. A back end makes a Program of the representation. This
// package has two: one for the CPU (cpu*.go), and one that makes kernels in
// OpenCL C (device.go, opencl*.go); others read the representation through Lower.
//
// # Meaning of a body
//
// Statements run in order. What stands outside of each runs once.
//
// An each runs its rounds in any order, at the same time. An operand that it
// writes is indexed in it, at every occurrence, by all indices of the each,
// bare and in the same places; a `let` is assigned only in the round that made
// it. So rounds cannot meet, and a back end may run them as it likes. The
// domain is evaluated once, before the first round; an each over a handle runs
// over all its elements. A for runs its rounds in order; its range is evaluated
// once.
//
// Values are elements (i8 to u64, f32, f64), int (64 bit, the type i64), float
// (the type f64) and bool.
//
//   - Two operands of arithmetic or of a comparison meet in one type: a float
//     wins over an integer, then the wider type, then the signed one.
//   - A literal takes the type of the other side where it fits: an integer any
//     integer type that holds it and every float type, a float any float type
//     that does not overflow. Arithmetic of literals alone is a literal, as are
//     pi and inf. A `let` of a literal is an int or a float.
//   - Indices, fields and bounds of ranges are int; any integer type serves.
//   - / gives a float: of two integers, an f64. // rounds down, % has the sign
//     of the divisor, ** of integers is an integer. Integer arithmetic wraps,
//     in its own type. f32 computes in f32; products are rounded before they
//     are added, unless fma joins them.
//   - The functions sqrt to round, pow and fma compute in the float type of
//     their arguments, and in f64 for integers. round goes away from zero at a
//     half. abs, min and max keep the type; a NaN among the arguments of min
//     and max is the result.
//   - int(x) cuts off the fraction and saturates: the nearest int where x does
//     not fit, 0 for NaN. float(x) is an f64.
//   - Where min and max keep what is assigned (m = max(m, e), also nested), and all
//     are integers, e converts to the type of m before it is compared.
//   - A store converts to the type of the element, and an assignment to that of
//     the `let`: integers wrap, floats round. A float is stored into an integer
//     only through int(x).
//   - `and` and `or` evaluate the right side only where it decides,
//     if-then-else one of its sides; select evaluates both.
//   - A fold computes in the type of its expression. Over nothing, sum is 0,
//     prod 1, min the largest value of the type and max the smallest; for
//     floats these are the infinities. The order of a fold follows from the
//     body and the sizes, never from data, addresses or workers.
//
// An index outside, an integer division by zero and a negative power of
// integers end the run with a *Fault.
//
// # The CPU back end
//
// Loops with independent rounds run in strips: an operation works on several
// hundred rounds before the next operation starts, so the cost of dispatch is
// shared and the inner loops are plain loops over slices. Elements that lie
// side by side are used where they are, without a copy. An if whose condition
// differs between rounds masks those it leaves out. A for of which no round uses
// an element that another one writes runs in strips, too, with the bits and the
// fault that its rounds give in order; what all rounds add to one name or
// element is added in order, from strips of values. A loop of which a range
// depends on the round, and code outside of loops, runs one round at a time, as
// closures. For each loop the cheaper way is chosen when the body is compiled,
// and the index to run along.
//
// # Devices
//
// Program.Device splits a body into kernels: a loop whose rounds are independent
// has a work-item for each round, other statements are run by one work-group
// together. A kernel cannot stop at an index outside, so Launches checks all
// indices before, from sizes and scalars; a body of which that cannot be said
// stays on the CPU.
package kernel
