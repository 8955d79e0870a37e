package elementary

// The writer of loops.go: loops over slices with the code of a program inside, since Go inlines
// no function of this size.

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

func (b *builder) writeLoop(out *bytes.Buffer, name string) {
	params := []string{"x", "y"}[:len(b.params)]
	f32 := b.params[0] == F32
	list, calls := "x", "x[k]"
	if len(params) == 2 {
		list, calls = "x, y", "x[k], y[k]"
	}
	loop := lower(name) + "Slice"
	rest := fmt.Sprintf("n := runVectors(%sVectors, %s, d, x)\nd, x = d[n:], x[n:]\n", lower(name), name)
	if len(params) == 2 {
		rest = fmt.Sprintf("n := runVectors2(%sVectors, d, x, y)\nd, x, y = d[n:], x[n:], y[n:]\n", lower(name))
	}
	fmt.Fprintf(out, "\nvar %sVectors = vectorsFor(%q)\n", lower(name), lower(name))
	if f32 {
		// float32 values are converted in loops of their own: on amd64 a conversion waits for
		// what was in its register, which here would be a result of the round before
		fmt.Fprintf(out, "\nfunc %s(d, %s []float32) {\n%s", loop, list, rest)
		rest = ""
		for _, p := range params {
			fmt.Fprintf(out, "var %sWide [128]float64\n", p)
		}
		out.WriteString("for len(d) > 0 {\nn := min(len(d), 128)\n")
		for _, p := range params {
			fmt.Fprintf(out, "for k, v := range %s[:n] {\n%sWide[k] = float64(v)\n}\n", p, p)
		}
		loop = lower(name) + "Wide"
		fmt.Fprintf(out, "%s(xWide[:n], %s)\nfor k, v := range xWide[:n] {\nd[k] = float32(v)\n}\nd, %s = d[n:], %s\n}\n}\n",
			loop, joined(params, "Wide[:n]"), list, joined(params, "[n:]"))
	}
	fmt.Fprintf(out, "\nfunc %s(d, %s []float64) {\n%s", loop, list, rest)
	for _, p := range params {
		fmt.Fprintf(out, "%s = %s[:len(d)]\n", p, p)
	}
	out.WriteString("for k := range d {\n")
	text := make([]string, len(b.code))
	for k, i := range b.code {
		arg := func(n int) string { return text[i.Args[n]] }
		infix := func(op string) string { return "(" + arg(0) + " " + op + " " + arg(1) + ")" }
		var e string
		switch i.Op {
		case Param:
			e = params[i.Bits] + "[k]"
		case Const:
			text[k] = constantText(i)
			continue
		case FAdd, IAdd:
			e = infix("+")
		case FSub, ISub:
			e = infix("-")
		case FMul:
			e = "float64" + infix("*")
		case IMul:
			e = infix("*")
		case FDiv:
			e = infix("/")
		case FMA:
			e = fmt.Sprintf("math.FMA(%s, %s, %s)", arg(0), arg(1), arg(2))
		case FNeg:
			e = "-" + arg(0)
		case FAbs:
			e = "math.Abs(" + arg(0) + ")"
		case ToBits:
			e = "math.Float64bits(" + arg(0) + ")"
		case FromBits:
			e = "math.Float64frombits(" + arg(0) + ")"
		case IntToFloat:
			e = "float64(int64(" + arg(0) + "))"
		case IMulHigh:
			e = fmt.Sprintf("mulHigh(%s, %s)", arg(0), arg(1))
		case IAnd:
			e = infix("&")
		case IOr:
			e = infix("|")
		case IXor:
			e = infix("^")
		case Shl, ShrU, ShrS:
			count := arg(1)
			if b.code[i.Args[1]].Op != Const {
				count = "(" + count + "&63)"
			}
			switch i.Op {
			case Shl:
				e = arg(0) + "<<" + count
			case ShrU:
				e = arg(0) + ">>" + count
			default:
				e = "uint64(int64(" + arg(0) + ")>>" + count + ")"
			}
		case TableAt:
			e = Tables[i.Bits].Name + "[" + arg(0) + "]"
		case Widen, Narrow:
			text[k] = arg(0)
			continue
		case Select:
			t := "float64"
			if i.Type == I64 {
				t = "uint64"
			}
			if i.Bits == 1 {
				fmt.Fprintf(out, "v%d := pick(%s, %s, %s)\n", k, arg(0), arg(1), arg(2))
			} else {
				fmt.Fprintf(out, "var v%d %s = %s\nif %s {\nv%d = %s\n}\n", k, t, arg(2), arg(0), k, arg(1))
			}
			text[k] = fmt.Sprintf("v%d", k)
			continue
		case FEq, IEq:
			text[k] = infix("==")
		case FNe, INe:
			text[k] = infix("!=")
		case FLt, ILtU:
			text[k] = infix("<")
		case FLe:
			text[k] = infix("<=")
		case And:
			text[k] = infix("&&")
		case Or:
			text[k] = infix("||")
		case Not:
			text[k] = "!" + arg(0)
		}
		if text[k] == "" {
			fmt.Fprintf(out, "v%d := %s\n", k, e)
			text[k] = fmt.Sprintf("v%d", k)
		}
		if k == b.guard {
			if f32 {
				fmt.Fprintf(out, "if %s {\nd[k] = float64(%s(float32(x[k])))\ncontinue\n}\n", text[k], b.slow)
			} else {
				fmt.Fprintf(out, "if %s {\nd[k] = %s(%s)\ncontinue\n}\n", text[k], b.slow, calls)
			}
		}
	}
	fmt.Fprintf(out, "d[k] = %s\n}\n}\n", text[b.result])
}

func constantText(i Instr) string {
	if i.Type != F64 {
		return fmt.Sprintf("%#x", i.Bits)
	}
	f := math.Float64frombits(i.Bits)
	if f != f || math.IsInf(f, 0) {
		return fmt.Sprintf("math.Float64frombits(%#x)", i.Bits)
	}
	return strconv.FormatFloat(f, 'x', -1, 64)
}

// joined lists the names with a suffix.
func joined(names []string, suffix string) string {
	return strings.Join(names, suffix+", ") + suffix
}

func lower(s string) string { return string(s[0]|0x20) + s[1:] }
