package check

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/diag"
)

var expectation = regexp.MustCompile(`###(.*)$`)

// TestCases runs the scripts of testdata/cases. Scripts are separated by lines
// of three dashes. What must be reported stands on its line after ###, as
// CODE: a part of the message; several are separated by |. Nothing else may be
// reported.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.spu")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases, err %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first := 1
		for _, script := range strings.Split(string(text), "\n---\n") {
			at := first
			first += strings.Count(script, "\n") + 2
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(file), at), func(t *testing.T) {
				checkCase(t, script)
			})
		}
	}
}

func checkCase(t *testing.T, script string) {
	var want, source []string
	for i, line := range strings.Split(script, "\n") {
		if m := expectation.FindStringSubmatch(line); m != nil {
			for _, w := range strings.Split(m[1], " | ") {
				want = append(want, fmt.Sprintf("%d: %s", i+1, strings.TrimSpace(w)))
			}
			line = expectation.ReplaceAllString(line, "")
		}
		source = append(source, line)
	}
	prog, ds := Check(testEnv(t, "testdata/modules"), diag.NewSource("case.spu", strings.Join(source, "\n")))
	if (prog == nil) != (ds.Err() != nil) {
		t.Errorf("program %v with error %v", prog != nil, ds.Err())
	}
	used := make([]bool, len(ds))
	said := func(d diag.Diagnostic) string {
		parts := append([]string{d.Message, d.Label}, append(d.Notes, d.Help...)...)
		for _, l := range d.Labels {
			parts = append(parts, l.Text)
		}
		return strings.Join(parts, "\n")
	}
	for _, w := range want {
		line, rest, _ := strings.Cut(w, ": ")
		code, text, _ := strings.Cut(rest, ": ")
		found := false
		for i, d := range ds {
			if !used[i] && fmt.Sprint(d.Span.Start.Line) == line && d.Code == code && strings.Contains(said(d), text) {
				used[i], found = true, true
				break
			}
		}
		if !found {
			t.Errorf("not reported: line %s", w)
		}
	}
	for i, d := range ds {
		if !used[i] {
			t.Errorf("not expected:\n%s", render(t, diag.Diagnostics{d}))
		}
		if d.Message == "" || strings.HasSuffix(d.Message, ".") || strings.Contains(d.Message, "%!") {
			t.Errorf("message %q", d.Message)
		}
	}
	if !sort.SliceIsSorted(ds, func(i, j int) bool {
		return ds[i].Span.File == ds[j].Span.File && ds[i].Span.Start.Offset < ds[j].Span.Start.Offset
	}) {
		t.Error("diagnostics are not in the order of the text")
	}
}
