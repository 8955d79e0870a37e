package syntax_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/diag/diagtest"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/syntax/printer"
)

// seeds are the texts that fuzzing starts from: the examples of the specification,
// and all the mistakes and layouts of testdata.
func seeds(f *testing.F) {
	f.Helper()
	for _, file := range specFiles(f) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	diagtest.Scripts(f, "testdata/*/*.txtar", func(_, text string) { f.Add(text) })
	f.Add("\ufefflet a = 1\r\nlet b = \"\xff\"\x00")
}

// FuzzParse parses arbitrary text: nothing panics, all ranges are inside the source
// and nested, diagnostics can be shown, and what has no errors is formatted to the
// same program, once and for all.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		src := diag.NewSource("fuzz.spu", text)
		file, ds := syntax.Parse(src)
		checkRanges(t, file, len(text))
		for _, d := range ds {
			checkDiagnostic(t, &d, text)
		}
		if len(ds) == 0 {
			if problem := spoiled(text); problem != "" {
				t.Fatalf("%s\n--- of\n%s", problem, text)
			}
		} else if _, err := printer.Format(src); err == nil {
			t.Fatal("text with errors is formatted")
		}
	})
}

// FuzzPrompt reads arbitrary text as an entry and as signatures.
func FuzzPrompt(f *testing.F) {
	seeds(f)
	f.Add("clip(v: RW vector[f32], lo: f32)")
	f.Add("now() -> float")
	f.Fuzz(func(t *testing.T, text string) {
		file, ds := syntax.ParseEntry(diag.NewSource("fuzz.spu", text))
		checkRanges(t, file, len(text))
		if syntax.Incomplete(text) && len(ds) == 0 && !strings.HasSuffix(strings.TrimSpace(text), ",") {
			t.Fatalf("complete and without errors, and more is wanted: %q", text)
		}
		if c, err := syntax.ParseSignature(text); (c == nil) != (err != nil) {
			t.Fatalf("%v, %v", c, err)
		}
		if c, err := syntax.ParseFuncSignature(text); (c == nil) != (err != nil) {
			t.Fatalf("%v, %v", c, err)
		}
	})
}

// checkDiagnostic holds d against the house rules.
func checkDiagnostic(t testing.TB, d *diag.Diagnostic, text string) {
	t.Helper()
	if _, ok := diag.Explain(d.Code); !ok {
		t.Fatalf("code %q is in no table", d.Code)
	}
	if d.Message == "" || strings.HasSuffix(d.Message, ".") || strings.Contains(d.Message, "%!") {
		t.Fatalf("message %q", d.Message)
	}
	if strings.Contains(d.Message, "<") && strings.Contains(d.Message, ">") && strings.Contains(d.Message, "expected <") {
		t.Fatalf("message %q speaks of the grammar", d.Message)
	}
	spans := []diag.Span{d.Span}
	for _, l := range d.Labels {
		spans = append(spans, l.Span)
	}
	for _, s := range spans {
		if s.Start.Offset < 0 || s.End.Offset > len(text) || s.Start.Offset > s.End.Offset || s.Start.Line < 1 || s.Start.Col < 1 {
			t.Fatalf("%s at %+v", d.Code, s)
		}
	}
}

// pieces cuts a script into words, signs, strings, comments and white space.
var pieces = regexp.MustCompile(`#[^\n]*|f?"[^"\n]*"|[\pL_][\pL\pN_]*|[0-9][0-9a-zA-Z_.]*|\.\.=?|[-+*/<>=!]+|[^\S\n]+|\n|.`)

// junk is what mutations put between pieces.
var junk = []string{
	"\n", "\n", " ", "\n# comment\n", " # comment\n", "\n\n\n", ";", ",", "(", ")", "[", "]", "{", "}", "=", "==", "..", ".", ":", "@", "->", "-", "&", "|", "^", "~", "<<", ">>", "^=",
	"if", "else", "then", "for", "in", "insert", "with", "by", "let", "R", "RW", "x", "1", "0.5", `"s"`, `f"{x}"`, "sum", "not", "and", "each", "func",
	"codelet", "\t", "\r\n", "## doc\n", "9223372036854775808", "\\", "'", "`", "\x00", "é", "break", "return", "_", "**", "wait", "as", "to",
}

// TestMutations damages the examples in many ways: nothing may panic, ranges stay
// inside, and what still has no errors is formatted to the same program.
func TestMutations(t *testing.T) {
	rounds, least := 40, 50
	if testing.Short() {
		rounds, least = 10, 10
	}
	fine := 0
	for n, file := range specFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		whole := pieces.FindAllString(string(text), -1)
		rnd := rand.New(rand.NewPCG(uint64(n), 7))
		for range rounds {
			p := append([]string(nil), whole...)
			for range 1 + rnd.IntN(4) {
				i := rnd.IntN(len(p))
				switch rnd.IntN(4) {
				case 0:
					p = append(p[:i], p[i+1:]...)
				case 1:
					j := rnd.IntN(len(p))
					p[i], p[j] = p[j], p[i]
				default:
					p = append(p[:i], append([]string{junk[rnd.IntN(len(junk))]}, p[i:]...)...)
				}
			}
			if checkText(t, strings.Join(p, "")) {
				fine++
			}
		}
	}
	if fine < least {
		t.Errorf("only %d mutations have no errors: the printer is hardly tested", fine)
	}
}

// TestBreaks puts newlines and comments wherever they are white space: the program
// stays the same, and so do the comments when it is formatted.
func TestBreaks(t *testing.T) {
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	for n, file := range specFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := syntax.Parse(diag.NewSource(file, string(text)))
		whole := pieces.FindAllString(string(text), -1)
		rnd := rand.New(rand.NewPCG(uint64(n), 11))
		for range rounds {
			for range 10 {
				i := rnd.IntN(len(whole))
				add := []string{"\n", " # c\n", "\n  # own line\n", "\n\n\n", "   "}[rnd.IntN(5)]
				p := append(append(append([]string(nil), whole[:i]...), add), whole[i:]...)
				got, ds := syntax.Parse(diag.NewSource(file, strings.Join(p, "")))
				if len(ds) == 0 && syntax.Equal(want, got) {
					whole = p
				}
			}
			checkText(t, strings.Join(whole, ""))
		}
	}
}

// checkText does with text what FuzzParse does; it reports whether text has no
// errors. A text that the printer spoils is made as small as possible first.
func checkText(t *testing.T, text string) bool {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("%v\n%s", r, text)
		}
	}()
	f, ds := syntax.Parse(diag.NewSource("x.spu", text))
	checkRanges(t, f, len(text))
	for i := range ds {
		checkDiagnostic(t, &ds[i], text)
	}
	if len(ds) > 0 {
		return false
	}
	if problem := spoiled(text); problem != "" {
		small := shrink(text, func(s string) bool {
			if _, ds := syntax.Parse(diag.NewSource("x.spu", s)); len(ds) > 0 {
				return false
			}
			return spoiled(s) != ""
		})
		t.Fatalf("%s\n--- of\n%s", spoiled(small), small)
	}
	return true
}

// spoiled formats text, which has no errors, twice; it says what is wrong with the result,
// "" for nothing. Format itself compares the programs.
func spoiled(text string) string {
	out, err := printer.Format(diag.NewSource("x.spu", text))
	if err != nil {
		return err.Error()
	}
	again, err := printer.Format(diag.NewSource("x.spu", string(out)))
	if err != nil {
		return "the second time: " + err.Error()
	}
	if !bytes.Equal(again, out) {
		return fmt.Sprintf("not idempotent:\n%s\nthen\n%s", out, again)
	}
	return ""
}

// shrink removes pieces of text as long as it stays bad.
func shrink(text string, bad func(string) bool) string {
	p := pieces.FindAllString(text, -1)
	for size := len(p) / 2; size > 0; {
		less := false
		for i := 0; i+size <= len(p); {
			q := append(append([]string(nil), p[:i]...), p[i+size:]...)
			if bad(strings.Join(q, "")) {
				p, less = q, true
			} else {
				i += size
			}
		}
		if !less || size > len(p) {
			size /= 2
		}
	}
	return strings.Join(p, "")
}
