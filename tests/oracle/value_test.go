package oracle

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/kernel/llvm"
)

// special are parts of complex numbers, as scripts write them.
var special = []struct {
	text  string
	value float64
}{
	{"0.0", 0}, {"-0.0", math.Copysign(0, -1)}, {"1.0", 1}, {"-2.0", -2}, {"0.1", 0.1}, {"inf", math.Inf(1)}, {"-inf", math.Inf(-1)}, {"(inf - inf)", math.NaN()},
}

// specialNumbers returns the complex numbers whose parts are the first n special ones, and how scripts write them.
func specialNumbers(n int) (values []Value, texts []string) {
	for _, re := range special[:n] {
		for _, im := range special[:n] {
			values = append(values, Value{T: C128, F: re.value, Im: im.value})
			texts = append(texts, fmt.Sprintf("complex(%s, %s)", re.text, im.text))
		}
	}
	return values, texts
}

// TestComplexArithmetic compares the operators of complex numbers whose parts are zeros of either sign, infinities and
// NaNs, where the oracle has other code than all others: in bodies in strips and as machine code, with elements and with
// constants, and in scripts. All parts have the same bits, or both are NaN.
func TestComplexArithmetic(t *testing.T) {
	values, texts := specialNumbers(len(special))
	var text strings.Builder
	var wants = map[string][]Value{} // by the name of data
	list := strings.Join(texts, ", ")
	for k, e := range []Type{C64, C128} {
		p := plain(e.part())
		fmt.Fprintf(&text, "register x%v = vector[%v](list = [%s])\n", e, e, list)
		for o, sign := range complexOps {
			for form, expr := range []string{"x[i] %s x[j]", "re(x[i]) %s x[j]", "x[i] %s re(x[j])"} {
				c := fmt.Sprintf("c%d%d%d", k, o, form)
				fmt.Fprintf(&text, "codelet %s(x: R vector[%v], y: W matrix[%v]) { each i, j in y { y[i, j] = "+expr+" } }\n", c, e, e, sign)
				fmt.Fprintf(&text, "register y%s = matrix[%v](%d, %d)\ninsert %s(R x%v, W y%s)\n", c, e, len(values), len(values), c, e, c)
				for _, a := range values {
					for _, b := range values {
						a, b := convert(e, a), convert(e, b)
						if form == 1 {
							a = Value{T: p, F: a.F}
						} else if form == 2 {
							b = Value{T: p, F: b.F}
						}
						wants["y"+c] = append(wants["y"+c], complexArithmetic(sign, e, a, b))
					}
				}
			}
		}
	}
	few, short := specialNumbers(4)
	nan, nanText := Value{T: C128, F: math.NaN(), Im: math.Inf(1)}, "complex(inf - inf, inf)"
	few, short = append(few, nan, Value{T: F64}, Value{T: F64, F: math.Inf(-1)}), append(short, nanText, "0.0", "-inf")
	for o, sign := range complexOps {
		var all []string
		var want []Value
		for i, a := range few {
			for j, b := range few {
				if a.T.Complex() || b.T.Complex() {
					all = append(all, fmt.Sprintf("%s %s %s", short[i], sign, short[j]))
					want = append(want, complexArithmetic(sign, C128, a, b))
				}
			}
		}
		fmt.Fprintf(&text, "register script%d = vector[c128](list = [%s])\n", o, strings.Join(all, ", "))
		fmt.Fprintf(&text, "codelet constants%d(x: W vector[c128]) {\n", o)
		for k, e := range all {
			fmt.Fprintf(&text, "    x[%d] = %s\n", k, e)
		}
		fmt.Fprintf(&text, "}\nregister body%d = vector[c128](%d)\ninsert constants%d(W body%d)\n", o, len(all), o, o)
		wants[fmt.Sprint("script", o)], wants[fmt.Sprint("body", o)] = want, want
	}
	rt, err := engine.New(engine.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	for name, kernels := range map[string]lang.Kernels{"strips": lang.StripKernels, "native": lang.NativeKernels} {
		t.Run(name, func(t *testing.T) {
			if _, err := llvm.Open(); kernels == lang.NativeKernels && err != nil {
				if os.Getenv("STARPUSH_NEED_LLVM") != "" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			comp := lang.Must(lang.NewCompiler(lang.Config{Kernels: kernels}))
			prog, ds := comp.Compile(context.Background(), "complex.spu", []byte(text.String()))
			if err := ds.Err(); err != nil {
				t.Fatal(err)
			}
			inst, err := prog.Start(context.Background(), rt)
			if err != nil {
				t.Fatal(err)
			}
			defer inst.Close()
			for name, want := range wants {
				h, err := inst.Handle(name)
				if err != nil {
					t.Fatal(err)
				}
				f := Final{Name: name, Elem: want[0].T, Shape: Vector}
				if strings.HasPrefix(name, "y") {
					f.Shape, f.Dims = Matrix, []int{len(values), len(values)}
				}
				got, err := elements(context.Background(), h, f)
				if err != nil || len(got) != len(want) {
					t.Fatalf("%s: %d elements, want %d; %v", name, len(got), len(want), err)
				}
				for k := range want {
					if !sameBits(got[k].F, want[k].F) || !sameBits(got[k].Im, want[k].Im) {
						t.Fatalf("%s: element %d is %s, want %s", name, k, got[k].text(), want[k].text())
					}
				}
			}
		})
	}
}

func sameBits(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}
