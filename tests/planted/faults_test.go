package main

import (
	"bytes"
	"go/parser"
	"go/token"
	"testing"
)

// Every fault still finds its place in the source, and what it makes of it is Go.
func TestFaultsApply(t *testing.T) {
	names := map[string]bool{}
	for i := range faults {
		f := &faults[i]
		if names[f.name] || f.name == "" || f.breaks == "" || f.old == f.new {
			t.Errorf("fault %d, %q: its name is taken, or it says or changes nothing", i, f.name)
		}
		names[f.name] = true
		src, err := f.apply("../..")
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), f.file, bytes.NewReader(src), 0); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
	}
	for n := range hints {
		if !names[n] {
			t.Errorf("a hint for %q, which is no fault", n)
		}
	}
	if len(faults) < 25 {
		t.Errorf("only %d faults", len(faults))
	}
}

// The report says which test noticed a fault, or how the tests ended.
func TestReportNamesTheTest(t *testing.T) {
	for out, want := range map[string]string{
		"=== RUN x\n    --- FAIL: TestX/y (0.1s)\nFAIL\n":                "TestX/y",
		"seed 4 hangs under {}\ngoroutine 1\n":                           "seed 4 hangs under {}",
		"panic: runtime error\n\ngoroutine 3 [running]:\nFAIL\tx 0.1s\n": "panic: runtime error",
	} {
		if got := by([]byte(out)); got != want {
			t.Errorf("%q: %q, want %q", out, got, want)
		}
	}
}
