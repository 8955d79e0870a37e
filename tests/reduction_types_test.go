package tests

import (
	"fmt"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

// contributionForms are the ways to write a contribution of e to an element, @, by reduction.
var contributionForms = map[string][]string{
	"sum":  {"@ += e", "@ = @ + e", "@ = e + @", "@ -= e"},
	"prod": {"@ *= e", "@ = e * @"},
	"min":  {"@ = min(@, e)", "@ = min(e, @)", "@ = min(@, e, 1 + e)"},
	"max":  {"@ = max(@, e)", "@ = max(e, @)", "@ = max(max(e, @), e - 1)"},
}

// TestContributionTypes holds tasks that contribute values of every type to elements of
// every type against the same tasks with RW, run sequentially: a contribution converts to
// the type of the element before it combines, so both are the same.
func TestContributionTypes(t *testing.T) {
	modes := []mode{{workers: 1, policy: "eager", sequential: true}, {workers: 1, policy: "eager"}, {workers: 3, policy: "ws"}, {workers: 4, policy: "random"},
		{workers: 3, policy: "eager", deterministic: true}, {workers: 2, policy: "lws", verify: true},
		{machine: "sim:cpu2gpu1", policy: "dmda"}, {machine: "sim:cpu4", policy: "lws"}, {machine: "sim:gpu4MiB", policy: "eager"}}
	froms := []string{"int", "float"}
	for _, e := range iface.RealElems {
		froms = append(froms, e.String())
	}
	for _, elem := range iface.RealElems {
		for _, reduce := range []string{"sum", "prod", "min", "max"} {
			t.Run(fmt.Sprintf("%v/%s", elem, reduce), func(t *testing.T) {
				t.Parallel()
				compareContributions(t, contributionScript(elem, reduce, froms, contributionForms[reduce]), modes...)
			})
		}
	}
}

// TestContributionTypesOpenCL does so in kernels that are made of the bodies. They take
// long to build, so there are few.
func TestContributionTypesOpenCL(t *testing.T) {
	for _, elem := range []iface.Elem{iface.I16, iface.U64} {
		for _, reduce := range []string{"min", "max"} {
			t.Run(fmt.Sprintf("%v/%s", elem, reduce), func(t *testing.T) {
				script := contributionScript(elem, reduce, []string{"int", "u64", "i8"}, contributionForms[reduce][:1])
				compareContributions(t, script, mode{machine: "opencl", policy: "eager", workers: 2})
			})
		}
	}
}

// compareContributions runs source in each mode. All must print what it prints with RW.
func compareContributions(t *testing.T, source string, modes ...mode) {
	want := program{dir: t.TempDir(), name: "types.spu", source: strings.ReplaceAll(source, "REDUX", "RW")}.run(t, mode{workers: 1, policy: "eager", sequential: true})
	if want.failed {
		t.Fatalf("%s\n%s", source, want.diags)
	}
	for _, m := range modes {
		got := program{dir: t.TempDir(), name: "types.spu", source: source}.run(t, m)
		if got.failed {
			t.Fatalf("%v: %s", m, got.diags)
		}
		w, g := strings.Split(want.stdout, "\n"), strings.Split(got.stdout, "\n")
		for k := range w {
			if w[k] != g[k] {
				t.Errorf("%v: with REDUX %s, with RW one by one %s", m, g[k], w[k])
			}
		}
	}
}

// contributionScript contributes values of the types in froms to vectors of elem, in all forms.
func contributionScript(elem iface.Elem, reduce string, froms, forms []string) string {
	var b strings.Builder
	b.WriteString("codelet put(list: R vector[i64], x: W vector[T]) { each i in x { x[i] = list[i] } }\n")
	type use struct{ from, form string }
	var uses []use
	for _, from := range froms {
		isFloat := from[0] == 'f'
		for _, form := range forms {
			uses = append(uses, use{from, form})
			e, param := "k", "k: "+from
			if from != "int" && from != "float" {
				e, param = "k[0]", fmt.Sprintf("k: R vector[%s]", from)
			}
			if isFloat && elem.IsInt() {
				e = "int(" + e + ")"
			}
			fmt.Fprintf(&b, "codelet c%d(y: RW vector[%v], %s) { let e = %s; each i in y { %s } }\n", len(uses), elem, param, e, strings.ReplaceAll(form, "@", "y[i]"))
		}
	}
	// Sums and products of floats are exact in any order; integers go to the ends of their types.
	values := "[7, -1, 9_223_372_036_854_775_807, -9_223_372_036_854_775_807, 300, 0, -128, 127, 65535, 4_294_967_295, 2]"
	if elem.IsFloat() {
		values = "[2, -1, 4, 1, 8]"
	}
	fmt.Fprintf(&b, "let values = %s\n", values)
	b.WriteString("register source = vector[i64](list = values)\npartition source by blocks(len(values))\n")
	for _, from := range froms {
		if from == "int" || from == "float" {
			continue
		}
		fmt.Fprintf(&b, "register v_%s = vector[%s](len(values))\npartition v_%s by blocks(len(values))\ninsert put(R source, W v_%s)\n", from, from, from, from)
	}
	first := "[100, -100]"
	if elem.String()[0] == 'u' {
		first = "[100, 3]"
	}
	for k, u := range uses {
		n := k + 1
		fmt.Fprintf(&b, "register y%d = vector[%v](list = %s, reduce = %s)\n", n, elem, first, reduce)
		what := "R v_" + u.from + "[k]"
		if u.from == "int" || u.from == "float" {
			what = "values[k]"
		}
		fmt.Fprintf(&b, "for k in 0..len(values) { insert c%d(REDUX y%d, %s) }\nprint(\"%s, %s:\", y%d)\n", n, n, what, u.from, u.form, n)
	}
	return b.String()
}

// TestMixedContributions: what cannot combine in the type of the element is refused, where
// the text shows the reduction and where only the run does.
func TestMixedContributions(t *testing.T) {
	for _, c := range []struct{ elem, reduce, body, want string }{
		{"i32", "max", "if k > y { y = k }", "computed as i64, and the elements are i32"},
		{"u64", "min", "if k < y { y = k }", "computed as i64, and the elements are u64"},
		{"u64", "min", "y = if k < y then k else y", "computed as i64"},
		{"i8", "max", "let v = max(y, k)\n y = v", "computed as i64"},
		{"i8", "max", "if k > 0 { y = max(y, min(y, k), k) }", ""},
		{"i8", "max", "y = if k > 0 then max(y, k) else y", "computed as i64"},
		{"i8", "min", "y = -max(-y, k)", "not every i8 has a negative"},
		{"u8", "max", "y = -min(-y, k)", "not every u8 has a negative"},
		{"i64", "max", "if k > y { y = k }", ""},
		{"f32", "max", "if f > y { y = f }", ""},
		{"f32", "max", "if k > y { y = k }", ""},
		{"i8", "sum", "y += k", ""},
		{"i8", "sum", "let v = y + k\n y = v", ""},
		{"i32", "sum", "y = int(y + f)", "computed as f64, and the elements are i32"},
		{"i32", "sum", "y += int(f)", ""},
		{"i32", "prod", "y = int(y / 2)", "computed as f64, and the elements are i32"},
		{"i32", "prod", "y = -y", ""},
		{"f64", "sum", "y = int(y) + f", "computed as i64, and the elements are f64"},
		{"f64", "sum", "let v = h\n v = y + f\n y = v", "computed as f32, and the elements are f64"},
		{"i64", "sum", "let v = s\n v = y + k\n y = v", "computed as i8, and the elements are i64"},
	} {
		for where, insert := range map[string]string{"text": "insert c(REDUX d, 7, 7.5, R hs, R ss)\n",
			"run": fmt.Sprintf("func add(d: variable[%s]) { insert c(REDUX d, 7, 7.5, R hs, R ss) }\nadd(d)\n", c.elem)} {
			t.Run(fmt.Sprintf("%s/%s/%s/%s", c.elem, c.reduce, c.body, where), func(t *testing.T) {
				source := fmt.Sprintf("codelet c(y: RW variable[%s], k: int, f: float, h: R variable[f32], s: R variable[i8]) {\n %s\n}\n", c.elem, c.body) +
					fmt.Sprintf("register d = variable[%s](fill = 100, reduce = %s)\nregister hs = variable[f32](fill = 1)\nregister ss = variable[i8](fill = 1)\n", c.elem, c.reduce) +
					insert + "print(d)\n"
				got := program{dir: t.TempDir(), name: "mixed.spu", source: source}.run(t, mode{workers: 2, policy: "ws"})
				if got.failed != (c.want != "") || !strings.Contains(got.diags, c.want) || got.failed && !strings.Contains(got.diags, "E0303") {
					t.Errorf("%s\nwant %q\n%s", got.diags, c.want, source)
				}
			})
		}
	}
}
