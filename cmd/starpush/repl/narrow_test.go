package repl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNarrowed: texts are broken between words, names of files cut from the left, and
// lines of the source left alone.
func TestNarrowed(t *testing.T) {
	const text = "\x1b[1;31merror[E0101]\x1b[0m: unexpected `:`: a row of data is a part of a view\n" +
		"  --> /tmp/some/long/folder/with/a/script.spu:10:22\n" +
		"   |\n" +
		"10 |     insert f(RW A[i, :]) insert f(RW A[i, :])\n" +
		"   |                      ^ this is a long label of it\n" +
		"...\n" +
		"   = help: write `partition A_rows = A by pick(0)`, then `RW A_rows[i]`\n" +
		"   = note: a short one\n"
	const want = "\x1b[1;31merror[E0101]\x1b[0m: unexpected `:`: a row of\n" +
		"  data is a part of a view\n" +
		"  --> …ng/folder/with/a/script.spu:10:22\n" +
		"   |\n" +
		"10 |     insert f(RW A[i, :]) insert f(RW A[i, :])\n" +
		"   |                      ^ this is a long label of it\n" +
		"...\n" +
		"   = help: write `partition A_rows = A\n" +
		"     by pick(0)`, then `RW A_rows[i]`\n" +
		"   = note: a short one\n"
	got := narrowed(text, 40)
	if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); d != "" {
		t.Error(d)
	}
	if wide := narrowed(text, 200); wide != text {
		t.Error(cmp.Diff(text, wide))
	}
}
