package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const featuresFile = "../FEATURES.md"

// featureTest is a test that a row names, after the folder of its package: `engine:
// TestBlock`, or with a subtest `engine: TestSteps/halo`.
var featureTest = regexp.MustCompile("`([a-z0-9_/]+): (Test\\w+)(?:/[^`]+)?`")

// TestFeatures holds the tables of FEATURES.md against the code. A row has three cells, and
// shows its feature by tests that exist, or says "not yet", or why the feature is void. The
// names of the Go API in it exist, too.
func TestFeatures(t *testing.T) {
	text, err := os.ReadFile(featuresFile)
	if err != nil {
		t.Fatal(err)
	}
	rows, tests := 0, 0
	for i, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| StarPU |") {
			continue
		}
		rows++
		place := fmt.Sprintf("%s:%d", featuresFile, i+1)
		form, named, err := featureRow(line)
		if err != nil {
			t.Errorf("%s: %v", place, err)
			continue
		}
		lookUp(t, place, form)
		for _, n := range named {
			tests++
			if !hasTest(t, n[0], n[1]) {
				t.Errorf("%s: package %s has no %s; name another test that shows the feature", place, n[0], n[1])
			}
		}
	}
	if rows == 0 || tests == 0 {
		t.Fatalf("%s: found %d rows and %d tests", featuresFile, rows, tests)
	}
}

// featureRow returns the form of a feature, and its tests, each a folder and a name.
func featureRow(line string) (form string, named [][2]string, err error) {
	cells := strings.Split(strings.Trim(line, "|"), "|")
	if len(cells) != 3 {
		return "", nil, fmt.Errorf("%d cells, want 3: what StarPU calls it, the form here, the test", len(cells))
	}
	form = strings.TrimSpace(cells[1])
	for _, m := range featureTest.FindAllStringSubmatch(cells[2], -1) {
		named = append(named, [2]string{m[1], m[2]})
	}
	reason, void := strings.CutPrefix(form, "void: ")
	switch rest := strings.Trim(featureTest.ReplaceAllString(cells[2], ""), " ,"); {
	case rest != "" && rest != "–":
		return "", nil, fmt.Errorf("%q names no test; write `folder: TestName`", rest)
	case strings.TrimSpace(cells[0]) == "" || form == "" || void && reason == "":
		return "", nil, fmt.Errorf("the name, the form or the reason is missing")
	case form == "not yet" && named != nil:
		return "", nil, fmt.Errorf("there is a test, so the feature is there: write its form")
	case form != "not yet" && !void && named == nil:
		return "", nil, fmt.Errorf("name a test that shows it, or write `not yet`, or `void:` and a reason")
	}
	return form, named, nil
}

// hasTest reports whether a package declares a test, in any of its builds.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains("\n"+string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}

// TestFeatureRow gives featureRow rows that say too little, or something else.
func TestFeatureRow(t *testing.T) {
	for _, c := range []struct {
		line, form, err string
		tests           int
	}{
		{"| a | `b` | `engine: TestC` |", "`b`", "", 1},
		{"| a | `b` | `engine: TestC/d e`, `lang: TestF` |", "`b`", "", 2},
		{"| a | not yet | – |", "not yet", "", 0},
		{"| a | void: it is | – |", "void: it is", "", 0},
		{"| a | void: it is | `lang: TestF` |", "void: it is", "", 1},
		{"| a | `b` | – |", "", "name a test", 0},
		{"| a | `b` | |", "", "name a test", 0},
		{"| a | `b` | TestC |", "", "names no test", 0},
		{"| a | not yet | `engine: TestC` |", "", "write its form", 0},
		{"| a | void: | – |", "", "name a test", 0},
		{"| a | | `engine: TestC` |", "", "is missing", 0},
		{"| a | `b` |", "", "2 cells", 0},
	} {
		form, named, err := featureRow(c.line)
		if form != c.form || len(named) != c.tests || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v, %v", c.line, form, named, err)
		}
	}
}
