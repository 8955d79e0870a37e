package cli

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestUnifiedDiff(t *testing.T) {
	for _, tt := range []struct{ name, a, b, want string }{
		{"equal", "a\nb\n", "a\nb\n", ""},
		{"one line", "a\nb\nc\n", "a\nB\nc\n", "--- x\n+++ y\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"added at the end", "a\n", "a\nb\n", "--- x\n+++ y\n@@ -1 +1,2 @@\n a\n+b\n"},
		{"from nothing", "", "a\n", "--- x\n+++ y\n@@ -0,0 +1 @@\n+a\n"},
		{"newline added", "a", "a\n", "--- x\n+++ y\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"two hunks", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "0\n2\n3\n4\n5\n6\n7\n8\n9\n0\n",
			"--- x\n+++ y\n@@ -1,4 +1,4 @@\n-1\n+0\n 2\n 3\n 4\n@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-10\n+0\n"},
	} {
		if got := unifiedDiff("x", "y", tt.a, tt.b); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// TestDiffRebuilds checks that the edits lead from one text to the other, and
// that lines kept are as many as a longest common subsequence.
func TestDiffRebuilds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "d\n"})
		a := rapid.SliceOfN(line, 0, 12).Draw(t, "a")
		b := rapid.SliceOfN(line, 0, 12).Draw(t, "b")
		var from, to []string
		kept := 0
		for _, e := range diffLines(a, b) {
			if e.op != '+' {
				from = append(from, e.line)
			}
			if e.op != '-' {
				to = append(to, e.line)
			}
			if e.op == ' ' {
				kept++
			}
		}
		if strings.Join(from, "") != strings.Join(a, "") || strings.Join(to, "") != strings.Join(b, "") {
			t.Fatalf("edits do not rebuild the texts: %q -> %q", from, to)
		}
		if want := lcs(a, b); kept != want {
			t.Fatalf("%d lines kept, %d possible", kept, want)
		}
	})
}

func lcs(a, b []string) int {
	row := make([]int, len(b)+1)
	for i := range a {
		diag := 0
		for j := range b {
			up := row[j+1]
			if a[i] == b[j] {
				row[j+1] = diag + 1
			} else {
				row[j+1] = max(up, row[j])
			}
			diag = up
		}
	}
	return row[len(b)]
}
