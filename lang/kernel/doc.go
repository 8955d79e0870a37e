// Package kernel checks, compiles and runs the bodies of codelets: the part of the language
// that computes with elements. It is what the checker and the interpreter call; the stages
// are packages below it:
//
//	syntax ─> lower ─> ir ─┬─> analysis (diagnostics)
//	                       ├─> cpu      (runs on CPU workers, in strips)
//	                       ├─> llvm     (machine code for CPU workers, PTX)
//	                       └─> steps ─┬─> opencl (kernels in OpenCL C)
//	                                  └─> cuda   (kernels of llvm, on NVIDIA devices)
//
// Package lower turns the syntax tree into the typed representation of package ir and reports
// errors of names and types. Package analysis checks the result as a whole. Packages cpu, llvm,
// opencl and cuda are back ends; tiers.go chooses between cpu and llvm. Package steps divides
// bodies for devices.
//
// # Meaning of a body
//
// Statements run in order. Statements outside of an each run once.
//
// An each runs its rounds in any order, at the same time. An operand that it writes is
// indexed in it by all indices of the each, in the same positions at every occurrence, and a
// local is assigned only in the round that declares it. So rounds are independent. The domain
// is evaluated once, before the first round; an each over an operand runs over all its
// elements. A for runs its rounds in order; its range is evaluated once. break and continue end
// a for or a while, or its round; continue also ends the round of an each.
//
// Values are elements (i8 to u64, f32, f64), int (64 bit, the type i64), float (the type f64)
// and bool.
//
//   - Arithmetic and comparisons convert both operands to one type: a float type wins over an
//     integer type, then the wider type, then the signed one.
//   - A literal takes the type of the other operand if it fits: an integer fits every integer
//     type that has its value and every float type, a float every float type in which it is
//     finite. Arithmetic of literals alone is a literal, as are pi and inf. A local that is
//     declared with a literal is an int or a float.
//   - Indices, fields and bounds of ranges are ints. A value of any integer type will do.
//   - / returns a float; of two integers, an f64. // rounds down, % has the sign of the
//     divisor, ** of integers returns an integer. Integer arithmetic wraps, in its own type.
//     Arithmetic of f32 rounds to f32; products are rounded before they are added, except by
//     fma.
//   - & | ^ of integers compute in their common type, << and >> in the type of the left side. A
//     count that is negative or not below the width shifts all bits out: the result is 0, or -1
//     for >> of a negative value.
//   - The functions sqrt to round, pow and fma compute in the float type of their arguments,
//     and in f64 for integers. round rounds halves away from zero. abs, min and max keep the
//     type; if an argument of min or max is a NaN, so is the result.
//   - int(x) drops the fraction and saturates: the nearest int if x does not fit, 0 for NaN.
//     float(x) is an f64.
//   - If min or max has the target of the assignment as an argument, as in m = max(m, e), also
//     nested, and all arguments are integers, e converts to the type of m before it is
//     compared.
//   - A store converts to the type of the element, and an assignment to that of the local:
//     integers wrap, floats round. A float is stored into an integer only through int(x).
//   - `and` and `or` evaluate the right side only if it decides, if-then-else one of its
//     sides; select evaluates both.
//   - A fold computes in the type of its expression. Over no round, sum is 0, prod 1, min the
//     largest value of the type and max the smallest; for floats these are the infinities. The
//     order of a fold depends on the body and the sizes, and never on data, addresses or
//     workers.
//
// An index out of bounds, an integer division by zero and a negative power of an integer end
// the run with a *Fault.
package kernel
