package check

import (
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/vocab"
)

// TestWordsAreReserved: the reserved words have a line each, and no other word has.
func TestWordsAreReserved(t *testing.T) {
	var have []string
	for _, e := range vocab.Words {
		have = append(have, e.Name)
		if e.Syntax == "" || e.Doc == "" {
			t.Errorf("nothing is said about `%s`", e.Name)
		}
	}
	if got, want := strings.Join(have, " "), strings.Join(token.Keywords(), " "); got != want {
		t.Errorf("there is something about\n%s\nand the words are\n%s", got, want)
	}
}

// TestKindsOfData: the line about register names all kinds of data.
func TestKindsOfData(t *testing.T) {
	for kind := range handleKinds {
		if e := vocab.EntryNamed(vocab.Words, "register"); !strings.Contains(e.Doc, kind) {
			t.Errorf("%q does not name %s", e.Doc, kind)
		}
	}
}

// TestArgumentsAreDocumented: each argument that constructors, filters and reducer take
// by name has a line, and what is listed is taken.
func TestArgumentsAreDocumented(t *testing.T) {
	known := map[string]bool{}
	for _, kind := range []string{"variable", "vector", "matrix", "block", "tensor", "csr", "csc", "coo", "bcsr"} {
		_, ds := Check(testEnv(t, "testdata"), diag.NewSource("a.spu", "register x = "+kind+"[f64](zzz = 1)\n"))
		for _, d := range ds {
			for _, h := range d.Help {
				if list, ok := strings.CutPrefix(h, "all arguments: "); ok {
					for _, name := range strings.Split(list, ", ") {
						known[name] = true
						if vocab.ArgNamed("register", name) == nil {
							t.Errorf("%s takes `%s`, and nothing is said about it", kind, name)
						}
					}
				}
			}
		}
	}
	for _, e := range vocab.Args[0].Args {
		if !known[e.Name] {
			t.Errorf("no constructor takes `%s`", e.Name)
		}
	}
	for _, f := range FilterTable {
		for _, a := range f.Args {
			known[a.Name] = true
			if vocab.ArgNamed("partition", a.Name) == nil {
				t.Errorf("%s takes `%s`, and nothing is said about it", f.Name, a.Name)
			}
		}
	}
	// The examples are right.
	for _, set := range vocab.Args {
		for _, e := range set.Args {
			text := "param n: int = 3\nregister x = vector[f64](10, fill = 1)\nregister A = matrix[f64](9, 9, fill = 0)\nregister b = block[f64](4, 4, 6)\n" +
				"register t = tensor[f64](4, 4, 4, 4" + strings.Repeat(", 4", max(0, strings.Count(e.Syntax, ",")-3)) + ")\n" +
				"codelet zero(x: W variable[f64]) { x = 0.0 }\ncodelet add(into: RW variable[f64], from: R variable[f64]) { into += from }\n" +
				"codelet turn(a: R matrix[f64], b: W matrix[f64]) { each i, j in b { b[i, j] = a[j, i] } }\n"
			if strings.HasPrefix(e.Syntax, "csr[") || strings.HasPrefix(e.Syntax, "csc[") {
				text = "register A = csr[f64](1, 1, ptr = [0, 1], col = [0], fill = 1)\nregister p = vector[i32](1, fill = 0)\nregister M = matrix[f64](1, 1, fill = 1)\n"
			}
			switch set.On {
			case "register":
				text += "register made = " + e.Syntax + "\n"
			case "partition":
				text += strings.Replace(e.Syntax, "partition ", "partition v = ", 1) + "\n"
			case "close":
				text += "print(" + strings.NewReplacer("a,", "1.0,", "b,", "2.0,").Replace(e.Syntax) + ")\n"
			default:
				text += "let made = " + e.Syntax + "\n"
			}
			if _, ds := Check(testEnv(t, "testdata"), diag.NewSource("a.spu", text)); ds.Err() != nil {
				t.Errorf("%s: %v", e.Syntax, ds.Err())
			}
		}
	}
}

// TestFilterNames: the words of filters are those of the table.
func TestFilterNames(t *testing.T) {
	for _, f := range FilterTable {
		if !vocab.Filters[f.Name] {
			t.Errorf("vocab.Filters lacks %s", f.Name)
		}
	}
	if len(vocab.Filters) != len(FilterTable) {
		t.Errorf("vocab.Filters has %d names, want %d", len(vocab.Filters), len(FilterTable))
	}
}
