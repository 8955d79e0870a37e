package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// schemaRow is a row of the table of lines in lang/SPEC.md: a kind, and its fields.
var schemaRow = regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| (`.*`) \\|$")

// documentedLines reads the table: fields that end with "?" need not be there.
func documentedLines(t *testing.T) map[string][]string {
	t.Helper()
	spec, err := os.ReadFile("../../../lang/SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(spec), "| Line | Fields |")
	if !ok {
		t.Fatal("lang/SPEC.md has no table of lines")
	}
	text, _, _ = strings.Cut(text, "\n\n")
	all := map[string][]string{}
	for _, m := range schemaRow.FindAllStringSubmatch(text, -1) {
		all[m[1]] = append(all[m[1]], strings.Fields(strings.ReplaceAll(m[2], "`", ""))...)
	}
	return all
}

// TestSchema holds what --json writes against the table: each line has the fields that
// the schema promises, and none that it does not know. A field that is lost, or means
// something else, raises jsonSchema; a new one is added to the table.
func TestSchema(t *testing.T) {
	if jsonSchema != 1 {
		t.Fatal("the table is of schema 1")
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "a_test.spu")
	bad := filepath.Join(dir, "bad.spu")
	slow := filepath.Join(dir, "slow.spu")
	for name, text := range map[string]string{
		script: "register x = vector[f64](8)\npartition x by blocks(2)\ncodelet set(v: W vector[f64]) { each i in v { v[i] = 1.0 } }\n" +
			"for b in 0..2 { insert set(W x[b]) }\nprint(x)\n",
		bad:  "let unused=1\nprint( nothing )\n",
		slow: "codelet die(v: RW variable[i64], n: i64) { v = v / n }\nregister v = variable[i64](fill = 1)\nfunc f(h: variable[i64]) { for k in 0..1 { insert die(RW h, 0) }\n wait }\nf(v)\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"HOME=" + dir, "TERM=dumb", "STARPUSH_PERF_DIR=" + filepath.Join(dir, "perf"), "STARPUSH_BUS_DIR=" + filepath.Join(dir, "bus"), "STARPUSH_BLAS=gonum"}
	documented := documentedLines(t)
	seen := map[string]bool{"progress": true, "watch": true} // these take time; see below
	check := func(what, line string) {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Errorf("%s: %v in %s", what, err, line)
			return
		}
		kind := strings.Trim(string(fields["t"]), `"`)
		want, ok := documented[kind]
		if !ok {
			t.Errorf("%s: lines %q are not in lang/SPEC.md: %s", what, kind, line)
			return
		}
		seen[kind] = true
		for _, f := range want {
			name, optional := strings.CutSuffix(f, "?")
			if _, ok := fields[name]; !ok && !optional {
				t.Errorf("%s: a line %q has no %q: %s", what, kind, name, line)
			}
		}
		for name := range fields {
			if name != "t" && !slices.Contains(want, name) && !slices.Contains(want, name+"?") {
				t.Errorf("%s: %q of lines %q is not in lang/SPEC.md", what, name, kind)
			}
		}
	}
	for _, args := range [][]string{
		{"run", script, "--stats", "--profile", "--advise", "--calibrate", "1"}, {"run", bad}, {"run", slow}, {"run", "nowhere.spu"}, {"--nothing"},
		{"check", script, "--codelets"}, {"plan", script}, {"graph", script}, {"bench", script, "--runs", "2"}, {"test", dir},
		{"fmt", "--diff", bad}, {"fmt", "--check", bad}, {"explain", "E0401"}, {"examples"}, {"examples", "cg"}, {"doc"}, {"doc", "blas.gemm"}, {"info"}, {"version"},
		{"perf", "ls"}, {"perf", "show", "set"}, {"perf", "reset"},
	} {
		var out, errs bytes.Buffer
		Main(append([]string{"--json"}, args...), strings.NewReader(""), &out, &errs, env)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if lines[0] != `{"t":"hello","schema":1}` || !strings.HasPrefix(lines[len(lines)-1], `{"t":"summary",`) {
			t.Errorf("%v: begins with %s, ends with %s", args, lines[0], lines[len(lines)-1])
		}
		for _, line := range lines {
			check(fmt.Sprint(args), line)
		}
	}
	for _, v := range []any{jsonProgress{"progress", 1, 2, nil}, jsonWatch{"watch", 0, nil}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		check("table", string(b))
	}
	for kind := range documented {
		if !seen[kind] && kind != "fit" {
			t.Errorf("no command wrote a line %q", kind)
		}
	}
}
