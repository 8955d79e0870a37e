package check

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/diag/diagtest"
	"github.com/starpush/starpush/lang/types"
)

// TestCodeletsForArithmetic: the codelet that is shown for arithmetic with data is right,
// and takes the operands.
func TestCodeletsForArithmetic(t *testing.T) {
	shown := regexp.MustCompile("`(codelet (\\w+)\\((.*), out: W (\\w+\\[\\w+\\])\\) \\{.*\\})`")
	for _, kind := range []struct{ name, sizes string }{{"vector", "4"}, {"matrix", "4, 4"}, {"block", "4, 4, 4"}} {
		for _, elem := range []string{"f64", "f32", "i32", "u8"} {
			for _, e := range []string{"x + y", "x - y", "x / y", "x * 2", "2 - x", "x / 2", "2 / x", "2.5 * x", "x + n", "n * x", "x / n", "r * x", "x - r"} {
				head := fmt.Sprintf("register x, y = %s[%s](%s, fill = 1)\nlet n = 2\nlet r = 2.5\nprint(x, y, n, r)\n", kind.name, elem, kind.sizes)
				_, ds := Check(testEnv(t, "testdata/modules"), diag.NewSource("case.spu", head+"print("+e+")\n"))
				if len(ds) != 1 || len(ds[0].Help) == 0 || !shown.MatchString(ds[0].Help[0]) {
					t.Errorf("%s %s: %s shows no codelet: %s", kind.name, elem, e, diagtest.Render(t, ds))
					continue
				}
				m := shown.FindStringSubmatch(ds[0].Help[0])
				operands := ""
				for _, w := range regexp.MustCompile(`(\w+): (R )?`).FindAllStringSubmatch(m[3], -1) {
					switch {
					case w[2] == "" && regexp.MustCompile(`\br\b`).MatchString(e):
						operands += "r, "
					case w[2] == "":
						operands += "n, "
					default:
						operands += "R x, "
					}
				}
				text := fmt.Sprintf("%s%s\nregister z = %s(%s)\ninsert %s(%sW z)\nprint(z)\n", head, m[1], m[4], kind.sizes, m[2], operands)
				if _, ds := Check(testEnv(t, "testdata/modules"), diag.NewSource("case.spu", text)); len(ds) > 0 {
					t.Errorf("%s %s: %s shows %s\n%s", kind.name, elem, e, m[1], diagtest.Render(t, ds))
				}
			}
		}
	}
}

func TestFormats(t *testing.T) {
	good := map[*types.Type][]string{
		types.TInt:    {"d", "6d", "-6d", "06d", "+d", "x", "X", "b", "o", "c", "v", "8.2f", "e", "g"},
		types.TFloat:  {"f", ".3f", "8.3f", "+.2e", "g", "G", "v", "x"},
		types.TBool:   {"t", "v", "6t"},
		types.TString: {"s", "10s", "-10s", ".3s", "q", "v", "x"},
		types.TTask:   {"v", "s"},
	}
	bad := map[*types.Type][]string{
		types.TInt:    {"", "s", "t", ".3", "dd", "d ", "%d", "999999999999d", "é"},
		types.TFloat:  {"d", "s", "3", "."},
		types.TBool:   {"d", "s"},
		types.TString: {"d", "f", ".3"},
		types.TTask:   {"d", "f"},
	}
	for typ, formats := range good {
		for _, f := range formats {
			if problem, _ := formatProblem(f, typ); problem != "" {
				t.Errorf("%q for %v: %s", f, typ, problem)
			}
		}
	}
	for typ, formats := range bad {
		for _, f := range formats {
			if problem, help := formatProblem(f, typ); problem == "" || help == "" {
				t.Errorf("%q for %v is accepted", f, typ)
			}
		}
	}
}
