// Package editors holds what editors need for scripts. The test writes the
// grammar from the tables of the language, and tells when it is out of date.
package editors

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/syntax"
)

const grammarFile = "vscode/syntaxes/starpush.tmLanguage.json"

type rule struct {
	Name     string `json:"name,omitempty"`
	Match    string `json:"match,omitempty"`
	Begin    string `json:"begin,omitempty"`
	End      string `json:"end,omitempty"`
	Include  string `json:"include,omitempty"`
	Patterns []rule `json:"patterns,omitempty"`
}

// words matches each of the words alone.
func words(list []string) string {
	list = slices.Clone(list)
	slices.Sort(list)
	return `\b(` + strings.Join(slices.Compact(list), "|") + `)\b`
}

func names(lists ...[]check.Entry) (out []string) {
	for _, l := range lists {
		for _, e := range l {
			out = append(out, e.Name)
		}
	}
	return out
}

var modes = []string{"R", "W", "RW", "COMMUTE", "REDUX", "SCRATCH"}

// grammar is the TextMate grammar, from the tables.
func grammar() any {
	constants := []string{"true", "false", "none"}
	keywords := slices.DeleteFunc(syntax.Keywords(), func(w string) bool { return slices.Contains(constants, w) })
	for _, v := range check.BuiltinValues {
		if !slices.ContainsFunc(check.Builtins, func(b check.Entry) bool { return b.Name == v.Name }) {
			constants = append(constants, v.Name)
		}
	}
	escape := rule{Name: "constant.character.escape.starpush", Match: `\\.`}
	hole := rule{Name: "meta.embedded.starpush", Begin: `\{(?!\{)`, End: `\}|(?=")`, Patterns: []rule{{Include: "$self"}}}
	return struct {
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
		{Name: "storage.type.starpush", Match: words(names(check.TypeNames, check.ElemNames)) + `(?!\s*\()`},
		{Name: "support.function.starpush", Match: words(names(check.Builtins)) + `(?=\s*\()`},
		{Name: "constant.language.starpush", Match: words(constants)},
		{Name: "keyword.operator.starpush", Match: `->|\.\.=?|==|!=|<=|>=|[-+*/]=|\*\*|//|[-+*/%<>=@]`},
	}}
}

func TestGrammarIsUpToDate(t *testing.T) {
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(grammar()); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("STARPUSH_UPDATE") != "" {
		if err := os.WriteFile(grammarFile, want.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(grammarFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not what the tables of the language give: run this test with STARPUSH_UPDATE=1", grammarFile)
	}
}

// TestKeywordsAreColoured looks each reserved word up in the grammar as it is on disk.
func TestKeywordsAreColoured(t *testing.T) {
	text, err := os.ReadFile(grammarFile)
	if err != nil {
		t.Fatal(err)
	}
	var g struct{ Patterns []rule }
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	for _, w := range append(syntax.Keywords(), modes...) {
		if !slices.ContainsFunc(g.Patterns, func(r rule) bool {
			return strings.HasPrefix(r.Match, `\b(`) && !strings.Contains(r.Match, "(?") && regexp.MustCompile("^(?:"+r.Match+")$").MatchString(w)
		}) {
			t.Errorf("nothing colours %s", w)
		}
	}
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
