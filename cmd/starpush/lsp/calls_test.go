package lsp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/vocab"
)

type signatures struct {
	Signatures []struct {
		Label         string
		Documentation struct{ Value string }
		Parameters    []struct {
			Label         [2]int
			Documentation struct{ Value string }
		}
	}
	ActiveSignature, ActiveParameter int
}

// shown is the signature at hand with brackets around its active parameter.
func (s *signatures) shown() string {
	if s == nil {
		return ""
	}
	f := s.Signatures[s.ActiveSignature]
	if s.ActiveParameter >= len(f.Parameters) {
		return f.Label
	}
	at, units := f.Parameters[s.ActiveParameter].Label, utf16.Encode([]rune(f.Label))
	text := func(units []uint16) string { return string(utf16.Decode(units)) }
	return text(units[:at[0]]) + "‹" + text(units[at[0]:at[1]]) + "›" + text(units[at[1]:])
}

// TestSignatureHelp: what a call takes, and which parameter the cursor is at, also while
// the call has no end yet. The script stops at the cursor, |, or goes on behind it.
func TestSignatureHelp(t *testing.T) {
	const head = `import "std/blas" as blas
## Adds up.
codelet dot(x: R vector[f64], y: R vector[f64], acc: RW variable[f64], f: f64 = 1.0) { acc += f * sum i in x { x[i] * y[i] } }
func twice(n: int) -> int { return 2 * n }
register u, v = vector[f64](1000, fill = 1)
register acc = variable[f64](reduce = sum)
`
	for _, x := range []struct{ text, want string }{
		{"insert dot(|", "dot(‹x: R vector[f64]›, y: R vector[f64], acc: RW variable[f64], f: f64 = 1.0)"},
		{"insert dot(R u, |", "dot(x: R vector[f64], ‹y: R vector[f64]›, acc: RW variable[f64], f: f64 = 1.0)"},
		{"insert dot(R u, R v, REDUX ac|c, 2.0)\n", "dot(x: R vector[f64], y: R vector[f64], ‹acc: RW variable[f64]›, f: f64 = 1.0)"},
		{"insert dot(R u, f = |2.0)\n", "dot(x: R vector[f64], y: R vector[f64], acc: RW variable[f64], ‹f: f64 = 1.0›)"},
		{"insert dot(|f = 2.0)\n", "dot(x: R vector[f64], y: R vector[f64], acc: RW variable[f64], ‹f: f64 = 1.0›)"},
		{"insert dot(R u,\n    # the other one\n    R |\n", "dot(x: R vector[f64], ‹y: R vector[f64]›, acc: RW variable[f64], f: f64 = 1.0)"},
		{"insert dot(R u,\n    # the |\n", ""},
		{"insert dot(R u, R v, RW acc, 1.0, |", "dot(x: R vector[f64], y: R vector[f64], acc: RW variable[f64], f: f64 = 1.0)"},
		{"insert dot(R u, R v, RW acc)|", ""},
		{"insert dot(R u, R v[|], RW acc)", "dot(x: R vector[f64], ‹y: R vector[f64]›, acc: RW variable[f64], f: f64 = 1.0)"},
		{"insert dot(R u\ninsert dot(|", "dot(‹x: R vector[f64]›, y: R vector[f64], acc: RW variable[f64], f: f64 = 1.0)"},
		{"insert dot(R u, R v\nlet a = 1|", ""},
		{"insert dot(R u, R v; print(|", "print(‹a›, b, …)"},
		{"insert blas.axpy(2.0, |", "axpy(alpha: T, ‹x: R dense[T]›, y: RW dense[T])"},
		{"insert random.normal(W u, 1, sd = |", "normal(x: W dense[T], seed: int, mean: float = 0.0, ‹sd: float = 1.0›)"}, // not imported
		{"let x = twice(|)", "twice(‹n: int›) -> int"},
		{"let x = 1 + (twice((2 + |", "twice(‹n: int›) -> int"},
		{"print(twice(1), |", "print(a, ‹b›, …)"},
		{"print(1, 2, 3, 4, [5, 6|])", "print(a, b, ‹…›)"},
		{"print(f\"{twice(|)} and\")", "twice(‹n: int›) -> int"},
		{"print(f\"{twice(1)} (and|\")", "print(‹a›, b, …)"},
		{"assert close(1.0, 2.0, tol = |", "close(a, b, ‹tol = 1e-9›) -> bool"},
		{"let r = reducer(combine = |", "reducer(init = i, ‹combine = c›) -> reducer"},
		{"partition u by blocks(|", "blocks(‹p›, halo = 0, inside = halo)"},
		{"partition u by blocks(sizes = [1, |", "blocks(‹sizes = [...]›, halo = 0, inside = halo)"},
		{"partition u by blocks(8, halo = |", "blocks(p, ‹halo = 0›, inside = halo)"},
		{"partition m by rows(2) then cols(|", "cols(‹p›, halo = 0, inside = halo)"},
		{"partition m by pick(0, range = |", "pick(k, ‹a..b›)"},
		{"partition b by axis(0, |", "axis(k, ‹p›, halo = 0, inside = halo)"},
		{"register A = matrix[f64](10, |", "matrix[T](rows, ‹cols›, fill = …, list = …, load = …, from = …, ld = …, capacity = …, layout = …, owner = …, reduce = …)"},
		{"register A = matrix[f64](load = |", "matrix[T](rows, cols, fill = …, list = …, ‹load = …›, from = …, ld = …, capacity = …, layout = …, owner = …, reduce = …)"},
		{"let x = dot(|", ""}, // a codelet is inserted
		{"insert twice(|", ""},
		{"codelet other(|", ""},
		{"func other(|", ""},
		{"let x = nothing(|", ""},
		{"let x = (|", ""},
		{"if twice(2) > 1 {|", ""},
		{"|", ""},
	} {
		c := connect(t)
		before, after, _ := strings.Cut(x.text, "|")
		text := head + before + after
		c.open(uri, text)
		lines := strings.Split(head+before, "\n")
		var got *signatures
		last := lines[len(lines)-1]
		c.ask("textDocument/signatureHelp", m{"textDocument": m{"uri": uri}, "position": m{"line": len(lines) - 1, "character": len(last)}}, &got)
		if shown := got.shown(); shown != x.want {
			t.Errorf("%q:\n got %s\nwant %s", x.text, shown, x.want)
		}
		c.leave()
	}
}

// TestSignaturesSayMore: the documentation, modes of operands, and every builtin and filter
// has a signature.
func TestSignaturesSayMore(t *testing.T) {
	c := connect(t)
	calls := []string{"insert dot("}
	for _, b := range vocab.Builtins {
		calls = append(calls, "print("+b.Name+"(")
	}
	for _, f := range check.FilterTable {
		calls = append(calls, "partition u by "+f.Name+"(")
	}
	for k, call := range calls {
		u := fmt.Sprintf("file:///nowhere/%d.spu", k)
		c.open(u, dot+call)
		var got *signatures
		c.ask("textDocument/signatureHelp", m{"textDocument": m{"uri": u}, "position": m{"line": strings.Count(dot, "\n"), "character": len(call)}}, &got)
		if got == nil || got.Signatures[0].Documentation.Value == "" {
			t.Errorf("%s: %+v", call, got)
			continue
		}
		name := call[strings.LastIndexAny(call[:len(call)-1], " (")+1:]
		if !strings.HasPrefix(got.Signatures[0].Label, name) {
			t.Errorf("%s: %s", call, got.Signatures[0].Label)
		}
		if k > 0 {
			continue
		}
		if s := got.Signatures[0]; s.Documentation.Value != "Adds up." || s.Parameters[0].Documentation.Value != "R: reads; inserted as `R x`" ||
			!strings.Contains(s.Parameters[2].Documentation.Value, "`COMMUTE` or `REDUX`") || s.Parameters[3].Documentation.Value != "" {
			t.Errorf("%+v", s)
		}
	}
	c.leave()
}

// legend is what the server says about its semantic tokens.
type legend struct {
	Capabilities struct {
		SemanticTokensProvider struct {
			Legend struct{ TokenTypes, TokenModifiers []string }
		}
	}
}

// decoded lists tokens as "text kind modifiers".
func (l *legend) decoded(text string, data []uint32) (out []string) {
	lines := strings.Split(text, "\n")
	line, column := 0, 0
	for ; len(data) >= 5; data = data[5:] {
		if data[0] > 0 {
			line, column = line+int(data[0]), 0
		}
		column += int(data[1])
		units := utf16.Encode([]rune(lines[line]))[column:]
		s := string(utf16.Decode(units[:data[2]])) + " " + l.Capabilities.SemanticTokensProvider.Legend.TokenTypes[data[3]]
		for bit, name := range l.Capabilities.SemanticTokensProvider.Legend.TokenModifiers {
			if data[4]&(1<<bit) != 0 {
				s += " " + name
			}
		}
		out = append(out, s)
	}
	return out
}

// TestSemanticTokens: what each word is; tokens count UTF-16 units.
func TestSemanticTokens(t *testing.T) {
	c := start(t)
	var l legend
	c.ask("initialize", m{"capabilities": m{}}, &l)
	c.tell("initialized", m{})
	c.open(uri, dot)
	var got struct{ Data []uint32 }
	c.ask("textDocument/semanticTokens/full", m{"textDocument": m{"uri": uri}}, &got)
	all := l.decoded(dot, got.Data)
	for _, want := range []string{"## Adds up. comment", "codelet keyword", "dot method declaration", "x parameter declaration", "R modifier", "vector type defaultLibrary",
		"f64 type defaultLibrary", "f parameter declaration readonly", "+= operator", "sum keyword defaultLibrary", "i variable declaration readonly", "1000 number",
		"fill parameter defaultLibrary", "blocks function defaultLibrary", "twice function declaration", "int type defaultLibrary", "u variable declaration",
		"b variable declaration readonly", "print function defaultLibrary", "x variable", "insert keyword", "dot method", "REDUX modifier", "acc variable", "f parameter", "value function defaultLibrary"} {
		if !slices.Contains(all, want) {
			t.Errorf("no token %q in\n%s", want, strings.Join(all, "\n"))
		}
	}
	// a line behind a character of two units; and a part
	var part struct{ Data []uint32 }
	c.ask("textDocument/semanticTokens/range", m{"textDocument": m{"uri": uri}, "range": rng{pos{10, 0}, pos{10, 17}}}, &part)
	if got, want := strings.Join(l.decoded(dot, part.Data[:5]), ", "), "print function defaultLibrary"; got != want {
		t.Errorf("the part begins with %q", got)
	}
	if text := l.decoded(dot, part.Data); len(text) != 3 || text[2] != "x variable" { // print, the text, x
		t.Errorf("the part has %q", text)
	}
	c.leave()
}

// TestTokensOfEveryWord: no word of a script is without a token, in whole and in broken
// texts, tokens are in order and apart.
func TestTokensOfEveryWord(t *testing.T) {
	c := start(t)
	var l legend
	c.ask("initialize", m{"capabilities": m{}}, &l)
	c.tell("initialized", m{})
	files, err := filepath.Glob("../../../scripts/*.spu")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "testdata/words.spu") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for k, src := range []string{string(text), "let = 1\n" + string(text) + "insert blas.axpy(2.0, R a\n"} {
			u := fmt.Sprintf("file:///nowhere/%s%d.spu", filepath.Base(file), k)
			c.open(u, src)
			var got struct{ Data []uint32 }
			c.ask("textDocument/semanticTokens/full", m{"textDocument": m{"uri": u}}, &got)
			words := 0
			for _, s := range l.decoded(src, got.Data) {
				text, kind, _ := strings.Cut(s, " ")
				if kind, _, _ = strings.Cut(kind, " "); check.IsName(text) || kind == "keyword" {
					words++
				}
			}
			names := 0
			for _, tok := range syntax.Tokens(src) {
				if tok.Kind == syntax.NameToken || tok.Kind == syntax.KeywordToken {
					names++
				}
			}
			if k == 0 && words < names {
				t.Errorf("%s: %d of %d words have a token", file, words, names)
			} else if words < names*9/10 {
				t.Errorf("%s, broken: %d of %d words have a token", file, words, names)
			}
			for d := got.Data; len(d) >= 10; d = d[5:] {
				if d[5] == 0 && d[6] < d[2] {
					t.Errorf("%s: tokens overlap: %v", file, d[:10])
				}
			}
		}
	}
	c.leave()
}
