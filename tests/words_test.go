package tests

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// bannedWords are the turns of phrase that CONTRIBUTING's style page replaces,
// because a reader has to read a sentence with them twice.
var bannedWords = []struct {
	name    string
	pattern *regexp.Regexp
	allowed *regexp.Regexp // matches that are plain English
}{
	// "who wants to know asks": a relative clause without its noun.
	{"who", regexp.MustCompile(`(?i)[\w*\])]+[,;:.(]? who(ever)?\b|^who(ever)? `),
		regexp.MustCompile(`(?i)(users?|people|engineers?|readers?|programmers?|those|someone|anyone|newcomers?|person|strangers?) who$`)},
	// Nobody with a capital inside a sentence is a name of package sched.
	{"nobody", regexp.MustCompile(`\bnobody\b|(?:^|[.:] )Nobody [a-z]`), nil},
	// "an element stands behind the mode": things are, come, lie or follow.
	{"stand", regexp.MustCompile(`(?i)\bstands? (alone|already|at|before|behind|below|beside|between|above|here|in|on|open|there|under|within)\b`), nil},
	{"told", regexp.MustCompile(`(?i)\b(is|are|was|were|be|been|being) told\b`), nil},
	// "three devices of which two reach each other": two of the three devices …
	{"of which", regexp.MustCompile(`(?i)\bof which\b`), nil},
	{"so many", regexp.MustCompile(`(?i)\bso (many|much)\b`), nil},
	// "What needs it is cancelled": a sentence whose subject is a clause.
	{"what first", regexp.MustCompile(`(?:^|[.:] )What [^.?]*(?:[.:]|$)`), nil},
}

// TestWords counts the banned turns of phrase in the comments and strings of each
// folder. The counts in testdata/words.txt only fall: a change may not add one, and
// STARPUSH_UPDATE=1 writes what is left.
func TestWords(t *testing.T) {
	const golden = "testdata/words.txt"
	found, places := map[string]int{}, map[string][]string{}
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && strings.HasPrefix(e.Name(), ".") && e.Name() != ".." {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, "words_test.go") {
			return nil
		}
		dir := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, "../")))
		return phrases(path, func(kind string, line int, text string) {
			for _, b := range bannedWords {
				for _, m := range b.pattern.FindAllString(text, -1) {
					if b.allowed != nil && b.allowed.MatchString(m) {
						continue
					}
					key := dir + " " + kind
					found[key]++
					places[key] = append(places[key], fmt.Sprintf("%s:%d: %s: %q", path, line, b.name, m))
				}
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]int{}
	data, err := os.ReadFile(golden)
	if err != nil && os.Getenv("STARPUSH_UPDATE") != "" {
		allowed = maps.Clone(found) // the first count
	}
	{
		for s := bufio.NewScanner(strings.NewReader(string(data))); s.Scan(); {
			f := strings.Fields(s.Text())
			if len(f) != 3 {
				t.Fatalf("%s: %q: want a folder, a kind and a count", golden, s.Text())
			}
			if allowed[f[0]+" "+f[1]], err = strconv.Atoi(f[2]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if os.Getenv("STARPUSH_WORDS") != "" {
		for _, key := range slices.Sorted(maps.Keys(places)) {
			t.Logf("%s %d\n%s", key, found[key], strings.Join(places[key], "\n"))
		}
	}
	for key, n := range found {
		if n > allowed[key] {
			t.Errorf("%s: %d banned phrases, %d allowed; say it plainly (CONTRIBUTING.md, Style):\n%s",
				key, n, allowed[key], strings.Join(places[key], "\n"))
		}
	}
	if os.Getenv("STARPUSH_UPDATE") == "" || t.Failed() {
		return
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&b, "%s %d\n", key, found[key])
	}
	if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// phrases calls f with every comment and every string of a Go file, and with every
// paragraph of a Markdown file outside its blocks of code; kind is "test", "comment",
// "message" or "document". CONTRIBUTING.md quotes what it replaces and is left out.
func phrases(path string, f func(kind string, line int, text string)) error {
	switch {
	case filepath.Ext(path) == ".md" && filepath.Base(path) != "CONTRIBUTING.md":
		text, err := os.ReadFile(path)
		code, line := false, 1
		for paragraph := range strings.SplitSeq(string(text), "\n\n") {
			lines := strings.Split(paragraph, "\n")
			lines = slices.DeleteFunc(lines, func(s string) bool {
				fence := strings.HasPrefix(strings.TrimSpace(s), "```")
				code = code != fence
				return fence || code || strings.HasPrefix(s, "    ")
			})
			f("document", line, strings.Join(strings.Fields(strings.Join(lines, " ")), " "))
			line += strings.Count(paragraph, "\n") + 2
		}
		return err
	case filepath.Ext(path) != ".go":
		return nil
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	kind := func(k string) string {
		if strings.HasSuffix(path, "_test.go") {
			return "test"
		}
		return k
	}
	for _, g := range file.Comments {
		f(kind("comment"), files.Position(g.Pos()).Line, strings.Join(strings.Fields(g.Text()), " "))
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				f(kind("message"), files.Position(lit.Pos()).Line, strings.Join(strings.Fields(text), " "))
			}
		}
		return true
	})
	return nil
}
