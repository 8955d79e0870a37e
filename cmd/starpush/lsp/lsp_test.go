package lsp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/vocab"
)

const uri = "file:///nowhere/a.spu"

const dot = `## Adds up.
codelet dot(x: R vector[f64], y: R vector[f64], acc: RW variable[f64], f: f64 = 1.0) {
    acc += sum i in x { f * x[i] * y[i] }
}
register u, v = vector[f64](1000, fill = 1)
register acc = variable[f64](reduce = sum)
partition u, v by blocks(8)
func twice(n: int) -> int { return 2 * n }
for b in 0..8 {
    let x = twice(4)
    print("😀", x); insert dot(R u[b], R v[b], REDUX acc, f = 2.0)
}
print(value(acc))
`

// TestDiagnostics opens and changes a text; places count UTF-16 units.
func TestDiagnostics(t *testing.T) {
	c := connect(t)
	c.open(uri, "let s = \"😀é\" + zz\nprint(s)\n")
	d := c.diagnostics(uri, 1).Diagnostics
	if len(d) != 1 || d[0].Code != "E0201" || d[0].Severity != 1 || d[0].Range != (rng{pos{0, 16}, pos{0, 18}}) {
		t.Fatalf("%+v", d)
	}
	change := func(version int, changes ...m) {
		c.tell("textDocument/didChange", m{"textDocument": m{"uri": uri, "version": version}, "contentChanges": changes})
	}
	change(2, m{"range": m{"start": m{"line": 0, "character": 16}, "end": m{"line": 0, "character": 18}}, "text": "\"𝄞\""},
		m{"range": m{"start": m{"line": 0, "character": 20}, "end": m{"line": 0, "character": 20}}, "text": "\r\nlet a = 1\r\nlet a = 2"})
	d = c.diagnostics(uri, 2).Diagnostics
	if len(d) != 1 || d[0].Code != "E0202" || d[0].Range.Start != (pos{2, 4}) || len(d[0].RelatedInformation) != 1 ||
		d[0].RelatedInformation[0].Location != (place{uri, rng{pos{1, 4}, pos{1, 5}}}) {
		t.Fatalf("%+v", d)
	}
	change(3, m{"text": "let unused = 1\nregister x = vector[f64](4)\nprint(x)\n"})
	d = c.diagnostics(uri, 3).Diagnostics
	if len(d) == 0 || d[0].Code != "W0201" || d[0].Severity != 2 || !slices.Equal(d[0].Tags, []int{1}) {
		t.Fatalf("%+v", d)
	}
	c.tell("textDocument/didClose", m{"textDocument": m{"uri": uri}})
	for len(c.lists[uri]) == 0 {
		c.read()
	}
	if l := c.lists[uri][0]; l.Version != nil || len(l.Diagnostics) != 0 {
		t.Errorf("after closing: %+v", l)
	}
	c.leave()
}

func TestHover(t *testing.T) {
	c := connect(t)
	c.open(uri, dot)
	for _, x := range []struct {
		needle string
		k      int
		want   []string
	}{
		{"dot|(R", 0, []string{"codelet dot(x: R vector[f64]", "Adds up."}},
		{"u|[b]", 0, []string{"u: vector[f64]", "register u, v = vector[f64](1000, fill = 1)", "partition u, v by blocks(8)"}},
		{"REDUX a|cc", 0, []string{"reduce = sum"}},
		{"f| = 2.0", 0, []string{"f: f64", "parameter of `dot`"}},
		{"b|locks", 0, []string{"partition x by blocks("}},
		{"v|alue(acc)", 0, []string{"value(x) -> int, float, complex or bool"}},
		{"|vector[f64](", 0, []string{"vector[T]"}},
		{"tw|ice(4)", 0, []string{"func twice(n: int) -> int"}},
		{"x|);", 0, []string{"x: int", "let x = twice(4)"}},
		{"f64|], acc", 0, []string{"64 bits"}},
		{"f|or b in", 0, []string{"for b in 0..8", "runs its block for each element"}},
		{"RE|DUX acc", 0, []string{"adds to a private copy", "may be inserted as"}},
		{"s|um i in", 0, []string{"sum i in x", "over all rounds"}},
		{"reduce = |sum", 0, []string{"reduce = sum", "REDUX copies start at 0"}},
		{"red|uce = sum", 0, []string{"argument of `register`"}},
		{"fil|l = 1", 0, []string{"argument of `register`", "the value of every element"}},
	} {

		var h *struct{ Contents struct{ Value string } }
		c.ask("textDocument/hover", at(t, uri, dot, x.needle, x.k), &h)
		for _, w := range x.want {
			if h == nil || !strings.Contains(h.Contents.Value, w) {
				t.Errorf("%s: %+v, want %q", x.needle, h, w)
			}
		}
	}
	var none *m
	c.ask("textDocument/hover", at(t, uri, dot, "Add|s up", 0), &none)
	if none != nil {
		t.Errorf("a comment has the hover %v", none)
	}
	c.leave()
}

// TestHoverOnEveryWord: whatever word of a script one points at, it has a hover: names,
// reserved words, modes, fields, filters, options, arguments, notations of numbers. It
// has one, too, where a statement in front of it and one behind it do not parse.
func TestHoverOnEveryWord(t *testing.T) {
	file, err := os.ReadFile("testdata/words.spu")
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t)
	word := regexp.MustCompile(`[\pL_][\pL\d_]*|\d[\d_]*(Ki|Mi|Gi)|0x[\da-f]+`)
	mute := regexp.MustCompile(`#.*|[^f]"[^"]*"|\d[eE]-?\d+|:\.\d+f`)
	for k, text := range []string{string(file), "let = 1\n" + string(file) + "insert blas.axpy(2.0, R a\n"} {
		u := fmt.Sprintf("file:///nowhere/words%d.spu", k)
		c.open(u, text)
		if d := c.diagnostics(u, 1).Diagnostics; k == 0 && slices.ContainsFunc(d, func(d diagnosed) bool { return d.Severity == 1 }) {
			t.Errorf("the script is wrong: %+v", d)
		}
		for n, line := range strings.Split(text, "\n") {
			plain := mute.ReplaceAllStringFunc(line, func(s string) string {
				if strings.Contains(s, "std/") {
					return s
				}
				return strings.Repeat(" ", len(s))
			})
			for _, w := range word.FindAllStringIndex(plain, -1) {
				var h *struct {
					Contents struct{ Value string }
					Range    rng
				}
				for _, at := range []int{w[0], w[1] - 1} {
					c.ask("textDocument/hover", m{"textDocument": m{"uri": u}, "position": m{"line": n, "character": at}}, &h)
					if h == nil || strings.TrimSpace(strings.ReplaceAll(h.Contents.Value, "`", "")) == "" {
						t.Errorf("text %d, line %d, column %d: no hover on %s in %s", k, n+1, at+1, line[w[0]:w[1]], line)
					} else if h.Range.Start.Line != n || h.Range.Start.Character > w[0] || h.Range.End.Character < w[1] {
						t.Errorf("text %d, line %d: the hover of %s is at %+v", k, n+1, line[w[0]:w[1]], h.Range)
					}
				}
			}
		}
	}
	c.leave()
}

// TestHoverSaysWhatDocSays: the words have one text, in the terminal and in the editor.
func TestHoverSaysWhatDocSays(t *testing.T) {
	c := connect(t)
	comp := lang.Must(lang.NewCompiler(lang.Config{}))
	rt := lang.Must(engine.New(engine.Options{Workers: 1}))
	defer rt.Close()
	session := comp.NewSession(rt)
	defer session.Close()
	words := token.Keywords()
	for _, e := range vocab.Modes {
		words = append(words, e.Name)
	}
	c.open(uri, strings.Join(words, "\n"))
	for n, w := range words {
		var h *struct{ Contents struct{ Value string } }
		c.ask("textDocument/hover", m{"textDocument": m{"uri": uri}, "position": m{"line": n, "character": 0}}, &h)
		want, ok := session.Doc(w)
		if !ok || h == nil || !strings.HasPrefix(strings.ReplaceAll(h.Contents.Value, "```starpush", "```"), want) {
			t.Errorf("%s: the editor has %+v, the prompt %q", w, h, want)
		}
	}
	c.leave()
}

// lines shows the places as line:character.
func lines(ps []place) string {
	var out []string
	for _, p := range ps {
		out = append(out, fmt.Sprintf("%d:%d", p.Range.Start.Line, p.Range.Start.Character))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestDefinitionAndReferences(t *testing.T) {
	c := connect(t)
	c.open(uri, dot)
	for _, x := range []struct {
		needle     string
		def, uses  string
		withoutDef string
	}{
		{"x|);", "9:8", "10:16 9:8", "10:16"},
		{"x|[i]", "1:12", "1:12 2:20 2:28", "2:20 2:28"},
		{"f| = 2.0", "1:71", "10:58 1:71 2:24", "10:58 2:24"},
		{"REDUX |acc", "5:9", "10:53 12:12 5:9", "10:53 12:12"},
		{"b|], R", "8:4", "10:35 10:43 8:4", "10:35 10:43"},
		{"dot|(R", "1:8", "10:27 1:8", "10:27"},
	} {
		var def place
		c.ask("textDocument/definition", at(t, uri, dot, x.needle, 0), &def)
		if got := lines([]place{def}); got != x.def || def.URI != uri {
			t.Errorf("%s is defined at %s of %s, want %s", x.needle, got, def.URI, x.def)
		}
		for include, want := range map[bool]string{true: x.uses, false: x.withoutDef} {
			var uses []place
			c.ask("textDocument/references", with(at(t, uri, dot, x.needle, 0), "context", m{"includeDeclaration": include}), &uses)
			if got := lines(uses); got != want {
				t.Errorf("%s is used at %s, want %s", x.needle, got, want)
			}
		}
	}
	c.leave()
}

type edit struct {
	Range   rng
	NewText string
}

// apply returns text after the edits; all of them lie in lines of ASCII before them,
// or the characters are counted.
func apply(text string, edits []edit) string {
	offset := func(p pos) int {
		i := 0
		for range p.Line {
			i += strings.IndexByte(text[i:], '\n') + 1
		}
		for units := 0; units < p.Character; units++ {
			r := []rune(text[i : i+min(4, len(text)-i)])[0]
			if r > 0xffff {
				units++
			}
			i += len(string(r))
		}
		return i
	}
	slices.SortFunc(edits, func(a, b edit) int { return offset(b.Range.Start) - offset(a.Range.Start) })
	for _, e := range edits {
		lo, hi := offset(e.Range.Start), offset(e.Range.End)
		text = text[:lo] + e.NewText + text[hi:]
	}
	return text
}

func TestRename(t *testing.T) {
	c := connect(t)
	c.open(uri, dot)
	for _, x := range []struct{ needle, to, want string }{
		{"x|);", "größe", strings.NewReplacer("let x", "let größe", "\", x)", "\", größe)").Replace(dot)},
		{"f| = 2.0", "factor", strings.NewReplacer("f: f64", "factor: f64", "{ f * x", "{ factor * x", "f = 2.0", "factor = 2.0").Replace(dot)},
		{"REDUX |acc", "total", strings.NewReplacer("register acc", "register total", "REDUX acc", "REDUX total", "value(acc)", "value(total)").Replace(dot)},
	} {
		var w struct{ Changes map[string][]edit }
		c.ask("textDocument/rename", with(at(t, uri, dot, x.needle, 0), "newName", x.to), &w)
		if got := apply(dot, w.Changes[uri]); got != x.want {
			t.Errorf("%s to %s gives\n%s", x.needle, x.to, got)
		}
	}
	var prepared struct {
		Range       rng
		Placeholder string
	}
	c.ask("textDocument/prepareRename", at(t, uri, dot, "d|ot(R", 0), &prepared)
	if prepared.Placeholder != "dot" || prepared.Range != (rng{pos{10, 27}, pos{10, 30}}) {
		t.Errorf("prepared %+v", prepared)
	}
	for _, x := range []struct{ needle, to, why string }{
		{"f|or b", "x", "no name here"},
		{"pr|int(value", "x", "language or the host"},
		{"x|);", "for", "keyword"},
		{"x|);", "1x", "no name"},
		{"x|);", "", "no name"},
		{"x|);", "a b", "no name"},
		{"x|);", "b", "line 11 would mean something else"}, // hides the name of the loop
		{"REDUX |acc", "u", "cannot be called `u`"},        // taken
		{"REDUX |acc", "x", "would mean something else"},   // hidden by the let
		{"x|[i]", "y", "cannot be called `y`"},
	} {
		if got := c.refused(-32803, "textDocument/rename", with(at(t, uri, dot, x.needle, 0), "newName", x.to)); !strings.Contains(got, x.why) {
			t.Errorf("%s to %q is refused because %q, want %q", x.needle, x.to, got, x.why)
		}
	}
	c.leave()
}

func TestCompletion(t *testing.T) {
	c := connect(t)
	for i, x := range []struct{ text, want, not string }{
		{dot + "insert dot(|", "R", "W"},
		{dot + "ins|", "insert", "dot"},
		{dot + "insert |", "dot", "u"},
		{dot + "print(u.|)", "n offset", "rows"},
		{dot + "partition u by |", "blocks", "print"},
		{dot + "partition u by blocks(2) |", "then over", "print"},
		{dot + "partition u by blocks(2) over |", "grid(", "over"},
		{dot + "insert dot(R u, R v, REDUX acc) with pri|", "priority", ""},
		{dot + "func f(größe: int) {\n    let inner = 1\n    for k in 0..größe { print(gr|) }\n}\n", "größe grid", "inner"},
		{dot + "func f(größe: int) {\n    let inner = 1\n    for k in 0..größe { print(|) }\n}\n", "größe inner k acc twice", "x b"},
		{"import \"std/blas\" as blas\ninsert blas.ge|", "gemm", "axpy"},
		{"insert random.|", "uniform normal", "gemm"},
		{"let blas = 1\nprint(blas.|)", "", "gemm"},
		{"codelet c(x: RW vector[f64]) { each i in x { | } }\nregister far = vector[f64](3)\n", "x i", "far"},
	} {
		before, after, _ := strings.Cut(x.text, "|")
		u := fmt.Sprintf("file:///nowhere/%d.spu", i)
		c.open(u, before+after)
		line := before[strings.LastIndexByte(before, '\n')+1:]
		var items []struct {
			Label    string
			TextEdit edit
		}
		c.ask("textDocument/completion", m{"textDocument": m{"uri": u},
			"position": m{"line": strings.Count(before, "\n"), "character": len([]rune(line))}}, &items)
		var labels []string
		for _, it := range items {
			labels = append(labels, it.Label)
			if it.TextEdit.NewText != it.Label || it.TextEdit.Range.End.Character != len([]rune(line)) {
				t.Errorf("%s: %+v", it.Label, it.TextEdit)
			}
		}
		for _, w := range strings.Fields(x.want) {
			if !slices.Contains(labels, w) {
				t.Errorf("case %d: no %s in %v", i, w, labels)
			}
		}
		for _, w := range strings.Fields(x.not) {
			if slices.Contains(labels, w) {
				t.Errorf("case %d: %s in %v", i, w, labels)
			}
		}
	}
	c.leave()
}

// TestCompletionImports: behind a module that is not imported stand its members, with
// the edit that imports it; the edited text knows them.
func TestCompletionImports(t *testing.T) {
	c := connect(t)
	const use = "register x = vector[f64](4)\ninsert blas.sc|(2.0, RW x)\n"
	for i, x := range []struct{ text, want string }{
		{use, "import \"std/blas\" as blas\n" + use},
		{"## What it does.\n\n" + use, "## What it does.\n\nimport \"std/blas\" as blas\n" + use},
		{"#!/usr/bin/env starpush\n" + use, "#!/usr/bin/env starpush\nimport \"std/blas\" as blas\n" + use},
		{"## What it does.\n\n## The data.\n" + use, "## What it does.\n\nimport \"std/blas\" as blas\n## The data.\n" + use},
		{"# 😀\n" + use, "import \"std/blas\" as blas\n# 😀\n" + use},
		{"import \"std/random\" as random # 😀\n" + use + "insert random.uniform(W x, 1)\n",
			"import \"std/random\" as random # 😀\nimport \"std/blas\" as blas\n" + use + "insert random.uniform(W x, 1)\n"},
		{strings.ReplaceAll(use, "\n", "\r\n"), "import \"std/blas\" as blas\r\n" + strings.ReplaceAll(use, "\n", "\r\n")},
		{"\ufeff" + use, "\ufeffimport \"std/blas\" as blas\n" + use},
	} {
		u := fmt.Sprintf("file:///nowhere/import%d.spu", i)
		text := strings.Replace(x.text, "|", "", 1)
		c.open(u, text)
		var items []struct {
			Label               string
			TextEdit            edit
			AdditionalTextEdits []edit
		}
		c.ask("textDocument/completion", at(t, u, text, "blas.sc|(", 0), &items)
		if len(items) != 1 || items[0].Label != "scal" || len(items[0].AdditionalTextEdits) != 1 {
			t.Errorf("case %d: %+v", i, items)
			continue
		}
		want := strings.Replace(x.want, "sc|", "scal", 1)
		if got := apply(text, append(items[0].AdditionalTextEdits, items[0].TextEdit)); got != want {
			t.Errorf("case %d: %q, want %q", i, got, want)
		}
		u += "x"
		c.open(u, want)
		if d := c.diagnostics(u, 1).Diagnostics; slices.ContainsFunc(d, func(d diagnosed) bool { return d.Code == "E0201" }) {
			t.Errorf("case %d: %+v", i, d)
		}
	}
	c.leave()
}

func TestSymbolsHintsAndFormat(t *testing.T) {
	c := connect(t)
	c.open(uri, dot)
	doc := m{"textDocument": m{"uri": uri}}
	var symbols []struct {
		Name, Detail          string
		Range, SelectionRange rng
	}
	c.ask("textDocument/documentSymbol", doc, &symbols)
	var names []string
	for _, s := range symbols {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "dot u v acc twice" || symbols[0].Range.End.Line != 3 || symbols[1].Detail != "vector[f64]" {
		t.Errorf("symbols %+v", symbols)
	}
	var hints []struct {
		Position pos
		Label    string
		Tooltip  string
	}
	c.ask("textDocument/inlayHint", with(m{"textDocument": m{"uri": uri}}, "range", m{"start": m{"line": 0, "character": 0}, "end": m{"line": 99, "character": 0}}), &hints)
	var got []string
	for _, h := range hints {
		got = append(got, fmt.Sprintf("%d:%d %s", h.Position.Line, h.Position.Character, h.Label))
	}
	if g := strings.Join(got, ", "); g != "9:18 n:, 10:31 x:, 10:39 y:, 10:47 acc: RW" || hints[3].Tooltip != "acc: RW variable[f64]" {
		t.Errorf("hints %v", hints)
	}
	ugly := "let a=1\nprint( a )\nlet  b = \"😀\"\nprint(b)\n"
	c.open(uri, ugly)
	var edits []edit
	c.ask("textDocument/formatting", doc, &edits)
	if got := apply(ugly, edits); got != "let a = 1\nprint(a)\nlet b = \"😀\"\nprint(b)\n" || len(edits) != 1 || edits[0].Range.End.Line != 3 {
		t.Errorf("formatted %+v: %q", edits, got)
	}
	for _, text := range []string{"let a = 1\nprint(a)\n", "let = (\n", ""} { // as it should be, wrong, empty
		c.open(uri, text)
		edits = nil
		c.ask("textDocument/formatting", doc, &edits)
		if len(edits) != 0 {
			t.Errorf("%q is changed: %+v", text, edits)
		}
	}
	c.leave()
}

func TestCodeActions(t *testing.T) {
	c := connect(t)
	for text, want := range map[string]string{
		strings.Replace(dot, "R u[b]", "W u[b]", 1):                                               dot,
		strings.Replace(dot, "R u[b]", "u[b]", 1):                                                 dot,
		strings.Replace(dot, "twice(4)", "twicr(4)", 1):                                           dot,
		strings.Replace(dot, "blocks(8)", "blocs(8)", 1):                                          dot,
		"import \"std/blas\" as blas\nregister x = vector[f64](4)\ninsert blas.scla(2.0, RW x)\n": "import \"std/blas\" as blas\nregister x = vector[f64](4)\ninsert blas.scal(2.0, RW x)\n",
		"let a = [1, 2 3]\nprint(a)\n":                                                            "let a = [1, 2, 3]\nprint(a)\n",
		"for i in 0..4 {\n    print((i + 1)\n}\n":                                                 "for i in 0..4 {\n    print((i + 1))\n}\n",
		"if true {\n    let a = 1 print(a)\n}\n":                                                  "if true {\n    let a = 1\n    print(a)\n}\n",
		"register x = vector[f64](4)\ninsert blas.scal(2.0, RW x)\n":                              "import \"std/blas\" as blas\nregister x = vector[f64](4)\ninsert blas.scal(2.0, RW x)\n",
		"let n: int = 7 / 2\nprint(n)\n":                                                          "let n: int = 7 // 2\nprint(n)\n",
		"print(\"a\nprint(\"b\")\n":                                                               "print(\"a\"\nprint(\"b\")\n",
		"func f() {\n    print(1)\n\nfunc g() { f() }\ng()\n":                                     "func f() {\n    print(1)\n\n}\nfunc g() { f() }\ng()\n",
	} {
		c.open(uri, text)
		var actions []struct {
			Title, Kind string
			Edit        struct{ Changes map[string][]edit }
		}
		c.ask("textDocument/codeAction", m{"textDocument": m{"uri": uri}, "context": m{"diagnostics": []any{}},
			"range": m{"start": m{"line": 0, "character": 0}, "end": m{"line": 99, "character": 0}}}, &actions)
		if len(actions) != 1 || actions[0].Kind != "quickfix" || actions[0].Title == "" {
			t.Errorf("%s\nhas the actions %+v", text, actions)
			continue
		}
		if got := apply(text, actions[0].Edit.Changes[uri]); got != want {
			t.Errorf("%s gives\n%s", actions[0].Title, got)
		}
	}
	c.leave()
}

// TestImports: files are found beside the document, and open texts win over them.
func TestImports(t *testing.T) {
	dir := t.TempDir()
	lib, main := filepath.Join(dir, "lib ü.spu"), filepath.Join(dir, "main.spu")
	if err := os.WriteFile(lib, []byte("## Seven.\nfunc seven() -> int { return 7 }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	libURI, mainURI := "file://"+filepath.ToSlash(dir)+"/lib%20%C3%BC.spu", "file://"+filepath.ToSlash(main)
	text := "import \"lib ü.spu\" as lib\nprint(lib.seven())\n"
	c := connect(t)
	c.open(mainURI, text)
	if d := c.diagnostics(mainURI, 1); len(d.Diagnostics) != 0 {
		t.Fatalf("%+v", d)
	}
	var def place
	c.ask("textDocument/definition", at(t, mainURI, text, "sev|en", 0), &def)
	if def != (place{libURI, rng{pos{1, 5}, pos{1, 10}}}) {
		t.Errorf("defined at %+v", def)
	}
	c.ask("textDocument/definition", at(t, mainURI, text, "|lib ü", 0), &def)
	if def != (place{libURI, rng{}}) {
		t.Errorf("the import is of %+v", def)
	}
	if why := c.refused(-32803, "textDocument/rename", with(at(t, mainURI, text, "sev|en", 0), "newName", "x")); !strings.Contains(why, "rename it there") {
		t.Errorf("refused because %s", why)
	}
	// The open text has no seven any more, then a mistake.
	unsaved := "func eight() -> int { return 8 }\n"
	c.open(libURI, unsaved)
	if d := c.diagnostics(mainURI, 1); len(d.Diagnostics) != 1 || d.Diagnostics[0].Code != "E0203" {
		t.Errorf("%+v", d)
	}
	c.tell("textDocument/didChange", m{"textDocument": m{"uri": libURI, "version": 2}, "contentChanges": []m{{"text": "func seven() -> int { return \"7\" }\n"}}})
	if d := c.diagnostics(mainURI, 1).Diagnostics; len(d) != 1 || d[0].Range.Start != (pos{0, 7}) || d[0].RelatedInformation[0].Location.URI != libURI {
		t.Errorf("%+v", d)
	}
	// Renaming where it is declared reaches the importing text.
	c.tell("textDocument/didChange", m{"textDocument": m{"uri": libURI, "version": 3}, "contentChanges": []m{{"text": "func seven() -> int { return 7 }\n"}}})
	var w struct{ Changes map[string][]edit }
	c.ask("textDocument/rename", m{"textDocument": m{"uri": libURI}, "position": m{"line": 0, "character": 6}, "newName": "sept"}, &w)
	if got := apply(text, w.Changes[mainURI]); got != strings.Replace(text, "seven", "sept", 1) || len(w.Changes[libURI]) != 1 {
		t.Errorf("%+v", w)
	}
	// Without the editor's text the file counts again.
	c.tell("textDocument/didClose", m{"textDocument": m{"uri": libURI}})
	if d := c.diagnostics(mainURI, 1); len(d.Diagnostics) != 0 {
		t.Errorf("%+v", d)
	}
	c.leave()
}

// TestClosedImporters: renaming and references reach scripts that import the file and
// are not open, beside it and in the folders of the editor, and a name that is taken
// there is refused.
func TestClosedImporters(t *testing.T) {
	dir := t.TempDir()
	texts := map[string]string{
		"lib/vec.spu":       "func seven() -> int { return 7 }\n",
		"lib/beside.spu":    "import \"vec.spu\" as v\nprint(v.seven())\n",
		"top [1].spu":       "import \"lib/vec.spu\" as vec\nprint(vec.seven() + vec.seven())\n",
		"deep/er/all.spu":   "import \"../../lib/vec.spu\" as vec\nfunc seven() -> int { return vec.seven() }\nprint(seven())\n",
		".hidden/no.spu":    "import \"../lib/vec.spu\" as vec\nprint(vec.seven())\n",
		"broken.spu":        "import \"lib/vec.spu\" as vec\nlet = vec.seven()\n",
		"unrelated.spu":     "func seven() -> int { return 8 }\nprint(seven())\n",
		"not_a_script.text": "vec.spu\n",
	}
	for name, text := range texts {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string {
		return "file://" + strings.NewReplacer(" ", "%20", "[", "%5B", "]", "%5D").Replace(filepath.ToSlash(filepath.Join(dir, name)))
	}
	lib := at("lib/vec.spu")
	here := m{"textDocument": m{"uri": lib}, "position": m{"line": 0, "character": 6}}
	for _, x := range []struct {
		init m
		want string
		uses int
	}{
		{m{"rootUri": nil}, "lib/beside.spu lib/vec.spu", 2},
		{m{"rootUri": "file://" + filepath.ToSlash(dir)}, "deep/er/all.spu lib/beside.spu lib/vec.spu top [1].spu", 5},
		{m{"workspaceFolders": []m{{"uri": "file://" + filepath.ToSlash(dir), "name": "x"}, {"uri": "untitled:x"}}}, "deep/er/all.spu lib/beside.spu lib/vec.spu top [1].spu", 5},
	} {
		c := start(t)
		c.ask("initialize", x.init, nil)
		c.open(lib, texts["lib/vec.spu"])
		var w struct{ Changes map[string][]edit }
		c.ask("textDocument/rename", with(here, "newName", "sept"), &w)
		var got []string
		for name := range texts {
			if edits := w.Changes[at(name)]; edits != nil {
				got = append(got, name)
				if text := apply(texts[name], edits); strings.Contains(text, "vec.seven") || strings.Contains(text, "v.seven") {
					t.Errorf("%s becomes %s", name, text)
				}
			}
		}
		if slices.Sort(got); strings.Join(got, " ") != x.want || len(w.Changes) != len(got) {
			t.Errorf("with %v it changes %q, want %s; all: %v", x.init, got, x.want, w.Changes)
		}
		var uses []place
		c.ask("textDocument/references", with(here, "context", m{"includeDeclaration": true}), &uses)
		if len(uses) != x.uses {
			t.Errorf("with %v %d uses, want %d: %v", x.init, len(uses), x.uses, uses)
		}
		c.leave()
	}
}

func TestLifetime(t *testing.T) {
	c := start(t)
	c.refused(-32002, "textDocument/hover", m{})
	c.tell("textDocument/didOpen", m{"textDocument": m{"uri": uri, "text": "("}}) // too early: ignored
	var init struct {
		ServerInfo struct{ Name string }
	}
	c.ask("initialize", m{}, &init)
	if init.ServerInfo.Name != "starpush" {
		t.Errorf("%+v", init)
	}
	c.refused(-32600, "initialize", m{})
	c.refused(-32601, "textDocument/nothing", m{})
	c.refused(-32601, "$/nothing", m{})
	c.tell("$/nothing", m{})
	c.refused(-32602, "textDocument/hover", m{"textDocument": 3})
	c.refused(-32602, "textDocument/hover", m{"textDocument": m{"uri": "file:///not/open"}})
	c.tell("textDocument/didChange", "nonsense")
	c.ask("shutdown", nil, nil)
	c.refused(-32600, "textDocument/hover", m{})
	c.tell("exit", nil)
	c.ends(0)

	c = connect(t) // exit at once
	c.tell("exit", nil)
	c.ends(1)

	c = connect(t) // the editor is gone
	c.in.Close()
	c.ends(0)

	c = connect(t) // in the middle of a message
	c.raw("Content-Length: 100\r\n\r\n{\"json")
	c.in.Close()
	c.ends(0)
}

// TestBrokenMessages: each is answered, and the next message is understood.
func TestBrokenMessages(t *testing.T) {
	c := connect(t)
	for _, x := range []struct {
		text string
		code int
	}{
		{"Content-Length: 7\r\n\r\n{\"json\"", -32700},
		{"Content-Length: 2\r\n\r\n[]", -32600},
		{"Content-Length: 4\r\n\r\nnull", -32600},
		{"Content-Length: 0\r\n\r\n", -32700},
		{"Content-Length: many\r\n\r\n", -32700},
		{"Content-Length: -4\r\n\r\n", -32700},
		{"Content-Length: 99999999999999999999999\r\n\r\n", -32700},
		{"hello\r\n\r\n", -32700},
		{strings.Repeat("long", 10000) + "\n\n", -32700},
		{"Content-Length: 32\r\n\r\n{\"id\":{},\"method\":\"initialize\"}  ", -32600},
		{"content-length: 11\nOther: x\n\n{\"method\":1", -32700},
		{"Content-Length: 12\r\n\r\n{\"method\":1}", -32600},
	} {
		c.raw(x.text)
		r := c.read()
		if r.Error == nil || r.Error.Code != x.code || string(r.ID) != "null" {
			t.Errorf("%.60q: %+v", x.text, r)
		}
		c.open(uri, "print(1)\n")
		if d := c.diagnostics(uri, 1); len(d.Diagnostics) != 0 {
			t.Errorf("%.60q: %+v", x.text, d)
		}
	}
	body := `{"jsonrpc":"2.0","id":"s","method":"nothing"}`
	c.raw(fmt.Sprintf("left over from before Content-Length: %d\r\n\r\n%s", len(body), body))
	if r := c.read(); r.Error == nil {
		t.Errorf("%+v", r)
	}
	c.leave()
}

// TestCancel: a request whose cancellation has come before its turn is not worked on.
func TestCancel(t *testing.T) {
	c := connect(t)
	var big strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&big, "let v%d = %d\nprint(v%d)\n", i, i, i)
	}
	c.open(uri, big.String())
	first := c.request("textDocument/documentSymbol", m{"textDocument": m{"uri": uri}})
	var ids []int
	for range 50 {
		ids = append(ids, c.request("textDocument/hover", m{"textDocument": m{"uri": uri}, "position": m{"line": 5000, "character": 5}}))
	}
	for _, id := range ids {
		c.tell("$/cancelRequest", m{"id": id})
	}
	if r := c.answer(first); r.Error != nil {
		t.Errorf("%+v", r)
	}
	for _, id := range ids { // each is answered, one way or the other
		if r := c.answer(id); r.Error != nil && r.Error.Code != -32800 {
			t.Errorf("%+v", r)
		}
	}
	c.tell("$/cancelRequest", m{"id": 4711})
	c.tell("$/cancelRequest", m{"id": "none"})
	c.leave()
}

// TestOneLongLine: all uses of a name in a sum of many thousand are found, and answers
// do not take the square of its length: that took minutes.
func TestOneLongLine(t *testing.T) {
	c := connect(t)
	text := "let v = 1\nprint(\"😀\"" + strings.Repeat(", v", 10) + ", v" + strings.Repeat(" + v", 20_000) + ")\n"
	c.open(uri, text)
	var uses []place
	c.ask("textDocument/references", with(m{"textDocument": m{"uri": uri}, "position": m{"line": 0, "character": 4}}, "context", m{"includeDeclaration": false}), &uses)
	if len(uses) != 20_011 || uses[20_010].Range != (rng{pos{1, 10 + 10*3 + 2 + 20_000*4}, pos{1, 10 + 10*3 + 3 + 20_000*4}}) {
		t.Errorf("%d uses, the last %+v", len(uses), uses[len(uses)-1])
	}
	var w struct{ Changes map[string][]edit }
	c.ask("textDocument/rename", m{"textDocument": m{"uri": uri}, "position": m{"line": 0, "character": 4}, "newName": "w"}, &w)
	if len(w.Changes[uri]) != 20_012 {
		t.Errorf("%d edits", len(w.Changes[uri]))
	}
	c.leave()
}

// TestQuickEdits types a script letter by letter, with requests in between, and
// checks what the server has in the end.
func TestQuickEdits(t *testing.T) {
	c := connect(t)
	c.open(uri, "")
	text, version := []rune(strings.Replace(dot, "value(acc)", "valu(acc)", 1)), 1
	line, character := 0, 0
	methods := []string{"hover", "completion", "definition", "references", "documentSymbol", "formatting", "inlayHint", "codeAction", "prepareRename", "documentHighlight"}
	asked := map[int]string{}
	for i, r := range text {
		version++
		p := m{"line": line, "character": character}
		c.tell("textDocument/didChange", m{"textDocument": m{"uri": uri, "version": version},
			"contentChanges": []m{{"range": m{"start": p, "end": p}, "text": string(r)}}})
		switch {
		case r == '\n':
			line, character = line+1, 0
		case r > 0xffff:
			character += 2
		default:
			character++
		}
		if i%7 == 0 {
			method := "textDocument/" + methods[i/7%len(methods)]
			asked[c.request(method, m{"textDocument": m{"uri": uri}, "position": m{"line": line, "character": character}, "newName": "zz",
				"range": m{"start": m{"line": 0, "character": 0}, "end": p}})] = method
		}
	}
	for len(asked) > 0 {
		r := c.read()
		if r.Method != "" {
			continue
		}
		var id int
		json.Unmarshal(r.ID, &id)
		if r.Error != nil && r.Error.Code != -32803 {
			t.Errorf("%s: %+v", asked[id], r.Error)
		}
		delete(asked, id)
	}
	d := c.diagnostics(uri, version).Diagnostics
	if len(d) != 1 || d[0].Code != "E0201" || d[0].Range.Start.Line != 12 {
		t.Errorf("%+v", d)
	}
	c.leave()
}
