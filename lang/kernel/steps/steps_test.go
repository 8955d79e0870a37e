package steps_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/kernel/kerneltest"
	"github.com/starpush/starpush/lang/kernel/steps"
)

// text describes steps: once, rounds, fold and loop, with the locals that each carries and
// repeats, and its guards.
func text(p *steps.Plan, list []*steps.Step) string {
	var out []string
	for _, s := range list {
		t := ""
		switch {
		case s.Inner != nil:
			t = "loop[" + text(p, s.Inner) + "]"
		case s.Fold != nil:
			t = "fold"
		case s.Domain != nil:
			t = fmt.Sprintf("rounds%d", len(s.Domain))
		default:
			t = fmt.Sprintf("once%d", len(s.Body))
		}
		for _, slot := range s.Carried {
			t += " carries " + p.Func.Slots[slot].Name
		}
		for _, st := range s.Repeated {
			t += " repeats " + p.Func.Slots[st.Slot].Name
		}
		for _, g := range s.Guards {
			t += fmt.Sprintf(" if %v", g.Want)
		}
		out = append(out, t)
	}
	return strings.Join(out, ", ")
}

// addedLocal matches the names of locals that Split adds.
var addedLocal = regexp.MustCompile(`\bstep\d+`)

// TestSplit divides bodies for a back end that can do everything, and for one that cannot start
// steps again nor keep locals.
func TestSplit(t *testing.T) {
	const endsEarly = "a `while`, `break` or `return` ends a loop, depending on its rounds"
	for _, c := range []struct{ body, all, plain string }{
		{"each i in y { y[i] = x[i] }", "rounds1", "rounds1"},
		{"let a = float(n) * 2.0\n each i in y { y[i] = a }", "rounds1 repeats a", "rounds1 repeats a"},
		{"let a = x[0]\n each i in y { y[i] = a }", "once1, rounds1 repeats a", "rounds1 repeats a"},
		{"let a = y[0]\n each i in y { y[i] = a }", "once1, rounds1 carries a", "a is computed from data in one loop and used in another"},
		{"let a = 1.0\n a = a + x[0]\n each i in y { y[i] = a }", "once2, rounds1 carries a", "a is computed from data in one loop and used in another"},
		{"each i in y { let t = array[f64](3)\n t[0] = x[i]\n y[i] = t[0] }", "rounds1", "rounds1"},
		{"let t = array[f64](3)\n t[0] = x[0]\n each i in y { y[i] = t[i % 3] }", "once2, rounds1 carries t", "t is computed from data in one loop and used in another"},
		{"let t = array[f64](3)\n let a = t[0]\n t[0] = 2.0\n each i in y { y[i] = a }", "once3, rounds1 carries a", "a is computed from data in one loop and used in another"},
		{"let t = array[f64](3)\n for l in 0..3 { t[l] = 1.0\n each i in y { y[i] += t[l] } }", "once1, loop[once1 carries t, rounds1 carries t]", "the rounds of a `for` depend on each other"},
		{"for i in 0..n { y[i] = x[i] }", "rounds1", "rounds1"},
		{"for i in 1..n { y[i] = y[i - 1] }", "the rounds of a `for` depend on each other", "the rounds of a `for` depend on each other"},
		{"v = sum i in x { x[i] }", "fold, once1 carries step", "once1"},
		{"v = 2.0 * (sum i in x { x[i] })\n each i in y { y[i] = v }", "fold, once1 carries step, rounds1", "once1, rounds1"},
		{"v = x[n] / (sum i in x { x[i] })", "once1, fold, once1 carries step carries step", "once1"},
		{"v = (sum i in x { x[i] }) / x[n]", "fold, once1 carries step", "once1"},
		{"for i in 0..9 { for j in 0..n { A[i, j] = 1.0 } }", "rounds2", "rounds2"},
		{"for i in 0..9 { for j in 0..k[0] { A[i, j] = 1.0 } }", "rounds1", "rounds1"},
		{"for l in 0..9 { each i in y { y[i] += x[l] } }", "loop[rounds1]", "the rounds of a `for` depend on each other"},
		{"let c = 0.0\n for l in 0..9 { each i in y { y[i] += c }\n c = c + 1.0 }\n v = c",
			"once1, loop[rounds1 carries c, once1 carries c], once1 carries c", "the rounds of a `for` depend on each other"},
		{"while v < 3.0 { each i in y { y[i] += 1.0 }\n v += 1.0 }", endsEarly, endsEarly},
		{"for l in 0..9 { if v > 3.0 { break }\n each i in y { y[i] += 1.0 } }", endsEarly, endsEarly},
		{"each i in y { for j in 0..n { if y[i] > 3.0 { break }\n y[i] += 1.0 } }", "rounds1", "rounds1"},
		{"if n > 3 { each i in y { y[i] = 1.0 } } else { v = 2.0 }",
			"once1, rounds1 carries step if true, once1 carries step if false", "it has loops inside an `if`"},
		{"if n > 3 { v = 2.0 }", "once1", "once1"},
		{"v = if n > 3 then (sum i in x { x[i] }) else 0.0", "it has a fold that only some conditions evaluate", "once1"},
	} {
		fn := kerneltest.Lowered(t, fmt.Sprintf(kerneltest.LoopCodelet, c.body), nil)
		for k, opt := range []steps.Options{{Folds: true, Host: true}, {}} {
			want := []string{c.all, c.plain}[k]
			p, err := steps.Split(fn, opt)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = text(p, p.Steps)
			}
			got = addedLocal.ReplaceAllString(got, "step")
			if got != want {
				t.Errorf("%s with %+v:\ngot  %s\nwant %s", c.body, opt, got, want)
			}
		}
	}
}
