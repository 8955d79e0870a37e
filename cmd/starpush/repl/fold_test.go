package repl

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFold(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  string
	}{
		{"as it is", 0, "as it is"},
		{"one two three", 9, "one two\nthree"},
		{"  name   what it is and more of that\nnext\n", 30, "  name   what it is and more\n         of that\nnext\n"},
		{"  longername   what it is", 24, "  longername   what it\n    is"},
		{"数数数数 数数数数 数", 12, "数数数数\n数数数数 数"},
		{"unbreakablyunbreakablyunbreakably", 20, "unbreakablyunbreakablyunbreakably"},
	} {
		if got := Fold(tt.text, tt.width); got != tt.want {
			t.Errorf("Fold(%q, %d)\n got %q\nwant %q", tt.text, tt.width, got, tt.want)
		}
	}
}

func TestColumns(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "数x": 3, "e\u0301": 1, "👍!": 3, "\x1b[1;31mred\x1b[0m": 3} {
		if got := columns(s); got != want {
			t.Errorf("columns(%q) = %d, want %d", s, got, want)
		}
	}
}

// Help and documentation fit any terminal, and no word is broken: all words are there as
// they are without a width.
func TestTextsFit(t *testing.T) {
	texts := map[string]func(width int) string{"settings": func(w int) string {
		var rows [][2]string
		for _, o := range settings() {
			rows = append(rows, [2]string{o.name, o.doc})
		}
		return table(rows, w, nil)
	}, "commands": func(w int) string {
		var rows [][2]string
		for _, c := range commandTable() {
			rows = append(rows, [2]string{":" + c.name + " " + c.args, c.doc})
		}
		return table(rows, w, nil)
	}}
	for name, f := range topics {
		texts[name] = f
	}
	for name, f := range texts {
		for _, width := range []int{60, 80, 110, 200} {
			text := f(width)
			for line := range strings.Lines(text) {
				if n := columns(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s at %d: a line of %d columns: %s", name, width, n, line)
				}
			}
			if !slices.Equal(strings.Fields(text), strings.Fields(f(0))) {
				t.Errorf("%s at %d: the words are others\n%s", name, width, text)
			}
		}
	}
}

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
