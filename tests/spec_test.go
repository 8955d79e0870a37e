package tests

// lang/SPEC.md, lang/STARPU.md, README.md and docs/*.md are executed: every program in
// them runs and prints what follows it, every transcript is replayed, every Go declaration
// is compared.
//
//	```spu [NAME [unformatted]]
//	                    a complete program, in the layout of starpush fmt;
//	                    output and diagnostic below are exact
//	```output           what the program above prints; without it, nothing
//	```diagnostic       what check and run say about it; without it, nothing
//	```console          commands after $, and what they write
//	```prompt           entries after > and ., and what the prompt answers
//	```go               package main: run; package lang: compared with the package
//	```text, ```ebnf    not executed
//
// Blocks under one heading share a folder, so that a program can import or load
// what a block above it has made.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/cmd/starpush/cli"
	"github.com/starpush/starpush/lang"
)

const specFile = "../lang/SPEC.md"

// specModes are the ways in which every program of the specification runs.
var specModes = []mode{{workers: 1, policy: "lws"}, {workers: 3, policy: "lws"}, sequential}

// specBlocks is the least number of programs: a reader that loses blocks fails.
const specBlocks = 80

func TestSpec(t *testing.T) { execute(t, specFile, specBlocks) }

// TestDiagnostics compares diagnostics to the letter, with their sources and carets.
func TestDiagnostics(t *testing.T) { execute(t, "testdata/diagnostics.md", 70) }

// execute runs the blocks of a document, which has that many programs or more, and
// compares their output. STARPUSH_UPDATE=1 writes what they print and say.
func execute(t *testing.T, file string, least int) {
	t.Helper()
	doc, err := readDocument(file)
	if err != nil {
		t.Fatal(err)
	}
	e := edit{map[*block]string{}, map[*block]string{}}
	dirs := map[string]string{}
	dir := func(section int, what string) string {
		key := fmt.Sprint(section, what)
		if dirs[key] == "" {
			dirs[key] = t.TempDir()
		}
		return dirs[key]
	}
	programs := 0
	for _, b := range doc.blocks { // what programs may import, before any runs
		if b.kind == "spu" && b.name != "" {
			for _, m := range append(specModes, mode{}) {
				writeFile(t, filepath.Join(dir(b.section, m.String()), b.name), b.text)
			}
		}
	}
	for i, b := range doc.blocks {
		name := fmt.Sprintf("line%d_%s", b.line, strings.ReplaceAll(b.name, "/", "_"))
		switch b.kind {
		case "spu":
			programs++
			s := specProgram{block: b, last: b}
			for _, next := range doc.blocks[i+1:] {
				if next.kind == "output" && s.output == nil && s.diagnostic == nil {
					s.output = next
				} else if next.kind == "diagnostic" && s.diagnostic == nil {
					s.diagnostic = next
				} else {
					break
				}
			}
			modes := specModes
			if testing.Short() || update {
				modes = specModes[:1]
			}
			if b.name != "" { // for the commands of this section
				writeFile(t, filepath.Join(dir(b.section, mode{}.String()), b.name), b.text)
			}
			t.Run(name, func(t *testing.T) {
				s.canonical(t, e)
				for _, m := range modes {
					s.check(t, dir(b.section, m.String()), m, e)
				}
			})
		case "console":
			t.Run(name, func(t *testing.T) {
				compareBlock(t, b, e, runConsole(t, b.text, dir(b.section, mode{}.String())))
			})
		case "prompt":
			t.Run(name, func(t *testing.T) {
				compareBlock(t, b, e, converse(t, b.text, dir(b.section, mode{}.String())))
			})
		case "go":
			t.Run(name, func(t *testing.T) {
				var output *block
				if i+1 < len(doc.blocks) && doc.blocks[i+1].kind == "output" {
					output = doc.blocks[i+1]
				}
				checkGo(t, b, output, e)
			})
		case "output", "diagnostic", "text", "ebnf", "sh":
		default:
			t.Errorf("%s:%d: a block of kind %q is not executed: use text", doc.file, b.line, b.kind)
		}
	}
	if programs < least {
		t.Errorf("%s has %d programs, expected %d or more", doc.file, programs, least)
	}
	if update {
		if err := doc.write(e); err != nil {
			t.Error(err)
		}
	}
}

// specProgram is a program with what it should print and say.
type specProgram struct {
	*block
	output, diagnostic *block
	last               *block // new blocks go behind it
}

// canonical wants the layout that starpush fmt gives. The flag unformatted is for
// programs that show another one.
func (s *specProgram) canonical(t *testing.T, e edit) {
	t.Helper()
	text, err := lang.Format(s.name, []byte(s.text))
	if err != nil || s.flag == "unformatted" || string(text) == s.text {
		return // what does not parse has no layout
	}
	if update {
		s.text = string(text)
		e.replace[s.block] = s.text
		return
	}
	t.Errorf("%s:%d: not as starpush fmt writes it (-here +fmt):\n%s", s.file, s.line, cmp.Diff(s.text, string(text)))
}

func (s *specProgram) check(t *testing.T, dir string, m mode, e edit) {
	t.Helper()
	name := s.name
	if name == "" {
		name = "example.spu"
	}
	if s.name != "" {
		writeFile(t, filepath.Join(dir, name), s.text)
	}
	got := program{dir: dir, name: name, source: s.text}.run(t, m)
	s.compare(t, m, "output", &s.output, got.stdout, e)
	s.compare(t, m, "diagnostic", &s.diagnostic, strings.TrimRight(got.diags, "\n"), e)
}

func (s *specProgram) compare(t *testing.T, m mode, kind string, want **block, got string, e edit) {
	t.Helper()
	if got != "" && !strings.HasSuffix(got, "\n") {
		got += "\n"
	}
	text := ""
	if *want != nil {
		text = (*want).text
		s.last = *want
	}
	switch {
	case text == got:
	case update && *want != nil:
		e.replace[*want] = got
	case update:
		e.insert[s.last] += "```" + kind + "\n" + got + "```\n"
	default:
		t.Errorf("%s:%d, %v: the %s differs (-want +got):\n%s", s.file, s.line, m, kind, cmp.Diff(text, got))
	}
}

// compareBlock holds a block against what it should be.
func compareBlock(t *testing.T, b *block, e edit, got string) {
	t.Helper()
	if b.text == got {
		return
	}
	if update {
		e.replace[b] = got
		return
	}
	t.Errorf("%s:%d: the %s block differs (-want +got):\n%s", b.file, b.line, b.kind, cmp.Diff(b.text, got))
}

// runConsole runs the commands that stand after "$ " and returns the transcript.
// A command that fails leaves a line "[exit N]".
func runConsole(t *testing.T, text, dir string) string {
	t.Helper()
	t.Chdir(dir)
	var out strings.Builder
	for line := range strings.Lines(text) {
		command, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "$ ")
		if !ok {
			continue
		}
		fmt.Fprintf(&out, "$ %s\n", command)
		args := shellWords(command)
		if len(args) == 0 || args[0] != "starpush" {
			t.Fatalf("%q: only starpush is run here", command)
		}
		var screen bytes.Buffer
		env := []string{"HOME=" + dir, "COLUMNS=100", "NO_COLOR=1"}
		code := cli.Main(args[1:], strings.NewReader(""), &screen, &screen, env)
		out.WriteString(neutral(screen.String()))
		if code != 0 {
			fmt.Fprintf(&out, "[exit %d]\n", code)
		}
	}
	return out.String()
}

// shellWords splits a command at spaces outside single quotes.
func shellWords(s string) []string {
	var words []string
	for i, part := range strings.Split(s, "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

// checkGo runs a Go program, or compares declarations with package lang.
func checkGo(t *testing.T, b, output *block, e edit) {
	t.Helper()
	if strings.Contains(b.text, "\npackage lang\n") || strings.HasPrefix(b.text, "package lang\n") {
		compareAPI(t, b)
		return
	}
	if testing.Short() {
		t.Skip("building a program takes seconds")
	}
	got := runGo(t, b.text)
	switch {
	case output == nil && got != "":
		if update {
			e.insert[b] += "```output\n" + got + "```\n"
			return
		}
		t.Errorf("%s:%d: prints %q and has no output block", b.file, b.line, got)
	case output != nil:
		compareBlock(t, output, e, got)
	}
}

// runGo builds and runs a program as a package of this module. An overlay shows
// it to the go command without writing into the tree.
func runGo(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	main := filepath.Join(dir, "main.go")
	writeFile(t, main, source)
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(root, "tests", "specexample", "main.go"): main,
	}})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "overlay.json"), string(overlay))
	cmd := exec.CommandContext(t.Context(), "go", "run", "-overlay", filepath.Join(dir, "overlay.json"), "./tests/specexample")
	cmd.Dir = root
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	if stderr.Len() > 0 {
		t.Errorf("the program writes to standard error:\n%s", stderr.String())
	}
	return stdout.String()
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestReadme runs the programs of README.md; TestDocs those of docs.
func TestReadme(t *testing.T) { execute(t, "../README.md", 1) }

func TestDocs(t *testing.T) {
	files, err := filepath.Glob("../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		if filepath.Base(file) == "diagnostics.md" {
			continue // TestDiagnosticPages writes it
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".md"), func(t *testing.T) { execute(t, file, 0) })
	}
}
