// Package editors holds what editors need for scripts. The tests write the lists of words
// in its files from the tables of the language, and tell when they are out of date.
package editors

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/vocab"
)

const (
	grammarFile = "vscode/syntaxes/starpush.tmLanguage.json"
	vimFile     = "vim/syntax/starpush.vim"
	emacsFile   = "emacs/starpush-mode.el"
	helixFile   = "helix/runtime/queries/starpush/highlights.scm"
)

// The words of the language, by how they are coloured. A word may be in several lists.
var (
	keywords  = slices.DeleteFunc(token.Keywords(), func(w string) bool { return slices.Contains(literals, w) })
	literals  = []string{"true", "false", "none"}
	modes     = names(vocab.Modes)
	typeWords = slices.DeleteFunc(names(vocab.TypeNames, vocab.ElemNames), func(w string) bool { return slices.Contains(literals, w) })
	functions = sorted(names(vocab.Builtins, vocab.BodyFuncs), filters()) // in front of (
	folds     = sorted(names(vocab.Folds, vocab.Clauses))                 // in front of a name
	constants = sorted(literals, values())
)

func names(lists ...[]vocab.Entry) (out []string) {
	for _, l := range lists {
		for _, e := range l {
			out = append(out, e.Name)
		}
	}
	return sorted(out)
}

func filters() (out []string) {
	for _, f := range check.FilterTable {
		out = append(out, f.Name)
	}
	return out
}

func values() (out []string) {
	for _, v := range check.BuiltinValues {
		out = append(out, v.Name)
	}
	return out
}

func sorted(lists ...[]string) []string {
	out := slices.Concat(lists...)
	slices.Sort(out)
	return slices.Compact(out)
}

type rule struct {
	Name     string `json:"name,omitempty"`
	Match    string `json:"match,omitempty"`
	Begin    string `json:"begin,omitempty"`
	End      string `json:"end,omitempty"`
	Include  string `json:"include,omitempty"`
	Patterns []rule `json:"patterns,omitempty"`
}

// words matches each of the words alone.
func words(list []string) string { return `\b(` + strings.Join(list, "|") + `)\b` }

// grammar is the TextMate grammar, from the tables.
func grammar() []byte {
	escape := rule{Name: "constant.character.escape.starpush", Match: `\\.`}
	hole := rule{Name: "meta.embedded.starpush", Begin: `\{(?!\{)`, End: `\}|(?=")`, Patterns: []rule{{Include: "$self"}}}
	g := struct {
		Name      string   `json:"name"`
		ScopeName string   `json:"scopeName"`
		FileTypes []string `json:"fileTypes"`
		Patterns  []rule   `json:"patterns"`
	}{"starpush", "source.starpush", []string{"spu"}, []rule{
		{Name: "comment.block.documentation.starpush", Match: `##.*$`},
		{Name: "comment.line.number-sign.starpush", Match: `#.*$`},
		{Name: "string.interpolated.starpush", Begin: `\bf"`, End: `"|$`, Patterns: []rule{escape, {Match: `\{\{`}, hole}},
		{Name: "string.quoted.double.starpush", Begin: `"`, End: `"|$`, Patterns: []rule{escape}},
		{Name: "constant.numeric.starpush", Match: `\b(0[xX][0-9a-fA-F_]+|[0-9][0-9_]*(\.[0-9][0-9_]*)?([eE][+-]?[0-9]+)?([KMG]i)?)\b`},
		{Name: "storage.modifier.starpush", Match: words(modes)},
		{Name: "keyword.control.starpush", Match: words(keywords)},
		{Name: "keyword.control.fold.starpush", Match: words(folds) + `(?=\s+[\p{L}_])`},
		{Name: "storage.type.starpush", Match: words(typeWords) + `(?!\s*\()`},
		{Name: "support.function.starpush", Match: words(functions) + `(?=\s*\()`},
		{Name: "constant.language.starpush", Match: words(constants)},
		{Name: "keyword.operator.starpush", Match: `->|\.\.=?|==|!=|<=|>=|[-+*/]=|\*\*|//|[-+*/%<>=@]`},
	}}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(g); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// vimWords are the lists of words in Vim's language. Of matches that begin at one place
// the last one wins, and keywords win over matches.
func vimWords() string {
	var b strings.Builder
	match := func(group string, list []string, before string) {
		fmt.Fprintf(&b, "syn match %s \"\\<\\%%(%s\\)\\>%s\"\n", group, strings.Join(list, `\|`), before)
	}
	fmt.Fprintf(&b, "syn keyword starpushKeyword %s\n", strings.Join(keywords, " "))
	fmt.Fprintf(&b, "syn keyword starpushMode %s\n", strings.Join(modes, " "))
	match("starpushType", typeWords, "")
	match("starpushConstant", constants, "")
	match("starpushKeyword", folds, `\ze\s\+\h`)
	match("starpushFunction", functions, `\ze\s*(`)
	return b.String()
}

// emacsWords are the lists of words in Emacs Lisp.
func emacsWords() string {
	var b strings.Builder
	for _, l := range []struct {
		name, doc string
		words     []string
	}{{"keywords", "Reserved words.", keywords}, {"modes", "Access modes.", modes}, {"types", "Types.", typeWords},
		{"functions", "Builtin functions and filters.", functions}, {"constants", "Predeclared values.", constants},
		{"folds", "Words that are keywords in front of a name.", folds}} {
		fmt.Fprintf(&b, "(defconst starpush-%s\n  '(\"%s\")\n  \"%s\")\n", l.name, strings.Join(l.words, `" "`), l.doc)
	}
	return b.String()
}

// helixWords are the lists of words as a query. A word has the colour of the first list
// that it is in: which of two patterns wins depends on the version of Helix.
func helixWords() string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, l := range []struct {
		name  string
		words []string
	}{{"keyword", sorted(keywords, names(vocab.Clauses))}, {"keyword.storage.modifier", modes}, {"type.builtin", typeWords},
		{"function.builtin", functions}, {"constant.builtin", constants}} {
		var list []string
		for _, w := range l.words {
			if !seen[w] {
				seen[w] = true
				list = append(list, w)
			}
		}
		fmt.Fprintf(&b, "((identifier) @%s (#match? @%s\n  \"^(%s)$\"))\n", l.name, l.name, strings.Join(list, "|"))
	}
	return b.String()
}

// between replaces what is between the marks of a file.
func between(t *testing.T, file, words string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), "words begin\n")
	_, tail, ok2 := strings.Cut(rest, "words end\n")
	if !ok || !ok2 {
		t.Fatalf("%s lacks its marks", file)
	}
	mark := head[strings.LastIndexByte(head, '\n')+1:] // of a comment
	return []byte(head + "words begin\n" + words + mark + "words end\n" + tail)
}

// TestWordsAreUpToDate: the lists of words in the files are those of the language.
func TestWordsAreUpToDate(t *testing.T) {
	for file, want := range map[string][]byte{
		grammarFile: grammar(),
		vimFile:     between(t, vimFile, vimWords()),
		emacsFile:   between(t, emacsFile, emacsWords()),
		helixFile:   between(t, helixFile, helixWords()),
	} {
		if os.Getenv("STARPUSH_UPDATE") != "" {
			if err := os.WriteFile(file, want, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the tables of the language give: run this test with STARPUSH_UPDATE=1", file)
		}
	}
}

// A use is a line with a word of the language.
type use struct {
	text, word, group string
	at                int // where word is in text
}

// coloured are uses of every word of the language, and the group of colours of each.
func coloured() (out []use) {
	add := func(list []string, group, format string) {
		for _, w := range list {
			out = append(out, use{fmt.Sprintf(format, w), w, group, strings.Index(format, "%s")})
		}
	}
	add(keywords, "keyword", "%s x")
	add(modes, "mode", "insert c(%s x)")
	add(typeWords, "type", "let x: %s = y")
	add(functions, "function", "y = %s(3)")
	add(values(), "constant", "y = %s")
	add(literals, "constant", "y = %s")
	add(folds, "keyword", "y = %s i in x")
	return out
}

// TestGrammarColoursWords looks each word up in the TextMate grammar as it is on disk: the
// first rule that matches colours it.
func TestGrammarColoursWords(t *testing.T) {
	text, err := os.ReadFile(grammarFile)
	if err != nil {
		t.Fatal(err)
	}
	var g struct{ Patterns []rule }
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	// what follows a word is looked at in Go's syntax: by matching it
	ahead := strings.NewReplacer(`(?!\s*\()`, `(?:[^(]|$)`, `(?=\s*\()`, `\s*\(`, `(?=\s+[\p{L}_])`, `\s+[\p{L}_]`)
	for _, c := range coloured() {
		group := ""
		for _, r := range g.Patterns {
			if strings.HasPrefix(r.Match, `\b(`) && regexp.MustCompile("^(?:"+ahead.Replace(r.Match)+")").MatchString(c.text[c.at:]) {
				group = r.Name
				break
			}
		}
		want := map[string]string{"keyword": "keyword.control", "mode": "storage.modifier", "type": "storage.type",
			"function": "support.function", "constant": "constant.language"}[c.group]
		if !strings.HasPrefix(group, want) {
			t.Errorf("%s in %q has the colour of %q, want %s", c.word, c.text, group, want)
		}
	}
}

// TestHelixListsWords looks each word up in the query as it is on disk.
func TestHelixListsWords(t *testing.T) {
	text, err := os.ReadFile(helixFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range coloured() {
		_, lists, _ := strings.Cut(string(text), "words begin")
		lists, _, _ = strings.Cut(lists, "words end")
		if n := len(regexp.MustCompile(`[(|]`+c.word+`[|)]`).FindAllString(lists, -1)); n != 1 {
			t.Errorf("%s lists %s %d times", helixFile, c.word, n)
		}
	}
}

// script writes the uses of coloured to a file, a line each.
func script(t *testing.T) (file string) {
	t.Helper()
	var b strings.Builder
	for _, c := range coloured() {
		b.WriteString(c.text + "\n")
	}
	file = filepath.Join(t.TempDir(), "words.spu")
	if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// editor finds an editor, or skips the test.
func editor(t *testing.T, programs ...string) string {
	t.Helper()
	for _, p := range programs {
		if path, err := exec.LookPath(p); err == nil {
			return path
		}
	}
	t.Skipf("there is no %s here", strings.Join(programs, ", and no "))
	return ""
}

// compare holds the groups that an editor gave the words, a line each, against what they
// should be.
func compare(t *testing.T, out string, groups map[string]string) {
	t.Helper()
	got := strings.Split(strings.TrimSpace(strings.ReplaceAll(out, "\r", "")), "\n")
	all := coloured()
	if len(got) != len(all) {
		t.Fatalf("%d lines for %d words:\n%s", len(got), len(all), out)
	}
	for k, c := range all {
		if got[k] != groups[c.group] {
			t.Errorf("%s in %q has the colour of %q, want %q", c.word, c.text, got[k], groups[c.group])
		}
	}
}

// TestVim opens a script in Neovim or Vim, which colours every word and indents by brackets.
func TestVim(t *testing.T) {
	vim := editor(t, "nvim", "vim")
	file := script(t)
	out := filepath.Join(t.TempDir(), "groups")
	var b strings.Builder
	b.WriteString("let g = []\n")
	for k, c := range coloured() {
		fmt.Fprintf(&b, "call add(g, synIDattr(synID(%d, %d, 1), 'name'))\n", k+1, c.at+1)
	}
	fmt.Fprintf(&b, "call writefile(g, '%s')\nqall!\n", out)
	here, err := filepath.Abs("vim")
	if err != nil {
		t.Fatal(err)
	}
	run := func(commands, file string) {
		script := filepath.Join(t.TempDir(), "commands.vim")
		if err := os.WriteFile(script, []byte(commands), 0o666); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(vim, "-u", "NONE", "-i", "NONE", "-n", "-es", "--cmd", "set nocompatible runtimepath^="+here,
			"--cmd", "filetype plugin on", "--cmd", "syntax on", file, "-S", script)
		cmd.Env = append(os.Environ(), "TERM=dumb")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	run(b.String(), file)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, string(text), map[string]string{"keyword": "starpushKeyword", "mode": "starpushMode", "type": "starpushType",
		"function": "starpushFunction", "constant": "starpushConstant"})

	// scripts that are laid out stay as they are
	for _, file := range scripts(t) {
		run(fmt.Sprintf("normal gg=G\nwrite! %s\nqall!\n", out), file)
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, want) {
			t.Errorf("Vim indents %s otherwise: %v\n%s", file, err, got)
		}
	}
}

// TestEmacs opens a script in Emacs, which colours every word and indents by brackets.
func TestEmacs(t *testing.T) {
	emacs := editor(t, "emacs")
	file := script(t)
	var places []string
	for k, c := range coloured() {
		places = append(places, fmt.Sprintf("(%d . %d)", k+1, c.at))
	}
	here, err := filepath.Abs(emacsFile)
	if err != nil {
		t.Fatal(err)
	}
	run := func(program string) string {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, emacs, "-Q", "--batch", "--load", here, "--eval", program)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
		}
		return string(out)
	}
	out := run(fmt.Sprintf(`(progn (find-file %q) (font-lock-ensure)
		(unless (eq major-mode 'starpush-mode) (error "mode %%s" major-mode))
		(dolist (at '(%s)) (goto-char (point-min)) (forward-line (1- (car at))) (forward-char (cdr at))
			(princ (format "%%s\n" (get-text-property (point) 'face)))))`, file, strings.Join(places, " ")))
	compare(t, out, map[string]string{"keyword": "font-lock-keyword-face", "mode": "font-lock-builtin-face", "type": "font-lock-type-face",
		"function": "font-lock-builtin-face", "constant": "font-lock-constant-face"})

	// scripts that are laid out stay as they are, and expressions in f-strings are not text
	out = run(fmt.Sprintf(`(dolist (file '("%s")) (find-file file) (font-lock-ensure) (indent-region (point-min) (point-max))
		(goto-char (point-min))
		(while (re-search-forward "f\"[^\"]*{\\([a-z]\\)" nil t)
			(unless (eq (get-text-property (match-beginning 1) 'face) 'font-lock-variable-name-face) (princ (format "%%s: no hole at %%d" file (point)))))
		(when (buffer-modified-p) (princ (format "%%s:\n%%s" file (buffer-string)))))`, strings.Join(scripts(t), `" "`)))
	if out != "" {
		t.Errorf("Emacs indents otherwise:\n%s", out)
	}
}

// scripts are files whose layout is that of starpush fmt.
func scripts(t *testing.T) []string {
	t.Helper()
	here, err := filepath.Abs("../../../scripts")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(here, "*.spu"))
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	return files
}

// TestExtension: its files are JSON, and those that it names exist.
func TestExtension(t *testing.T) {
	for _, f := range []string{"package.json", "language-configuration.json"} {
		text, err := os.ReadFile(filepath.Join("vscode", f))
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		for _, m := range regexp.MustCompile(`"\./([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join("vscode", m[1])); err != nil {
				t.Errorf("%s names %v", f, err)
			}
		}
	}
}
