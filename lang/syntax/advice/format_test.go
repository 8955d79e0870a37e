package advice_test

import (
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/syntax/advice"
)

// TestInterpolated: an f-string writes what the format wrote, and nothing else is offered.
func TestInterpolated(t *testing.T) {
	for _, c := range []struct{ literal, args, want string }{
		{`"n = %d, x = %8.3f"`, "n x", `f"n = {n}, x = {x:8.3f}"`},
		{`"%+d %.3d %-5d|% d"`, "a b c d", `f"{a:+d} {b:.3d} {c:-5d}|{d: d}"`},
		{`"%X %#x %o %E %G %F"`, "a b c d e f", `f"{a:X} {b:#x} {c:o} {d:E} {e:G} {f:f}"`},
		{`"%d%%, %c"`, "n n", `f"{n}%, {n:c}"`},
		{`"%10s %.2s %s"`, "a b c", `f"{a:10s} {b:.2s} {c}"`},
		{`"%d\n"`, "n", `f"{n}\n"`},
		{`"%d {a}"`, "n", `f"{n} {{a}}"`},
		{`"{} {:.2f}"`, "a b", `f"{a} {b:.2f}"`},
		{`"{1} {0} {1}"`, "a b", `f"{b} {a} {b}"`},
		{`"{:>5}"`, "a", ""},
		{`"%d"`, "a b", ""},
		{`"%d %d"`, "a", ""},
		{`"%q %d"`, "a b", ""},
		{`"%d"`, `f("a")`, ""},
	} {
		if got := advice.Interpolated(c.literal, strings.Fields(c.args)); got != c.want {
			t.Errorf("%s with %s: %s, want %s", c.literal, c.args, got, c.want)
		}
	}
	for in, want := range map[string]string{`"a\n"`: `"a"`, `"a\\n"`: `"a\\n"`, `"a\\\n"`: `"a\\"`, `"n"`: `"n"`, `"\n"`: `""`, `""`: `""`} {
		if got := advice.WithoutNewline(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
