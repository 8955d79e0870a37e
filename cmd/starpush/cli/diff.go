package cli

// Unified differences of two texts, for fmt --diff.

import (
	"fmt"
	"strings"
)

// diffContext is the number of equal lines around a change.
const diffContext = 3

// An edit is a line and what became of it: ' ' kept, '-' removed, '+' added.
type edit struct {
	op   byte
	line string
}

// unifiedDiff returns the changes from a to b as `diff -u` writes them, "" when
// the texts are equal.
func unifiedDiff(nameA, nameB, a, b string) string {
	if a == b {
		return ""
	}
	edits := diffLines(splitLines(a), splitLines(b))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", nameA, nameB)
	lineA, lineB := 1, 1
	for i := 0; i < len(edits); {
		if edits[i].op == ' ' {
			i, lineA, lineB = i+1, lineA+1, lineB+1
			continue
		}
		// The hunk reaches back over the context and on to the last change that
		// is at most twice the context away from the one before.
		lo := i
		for lo > 0 && edits[lo-1].op == ' ' && i-lo < diffContext {
			lo--
		}
		hi, quiet := i, 0
		for j := i; j < len(edits) && quiet <= 2*diffContext; j++ {
			if edits[j].op == ' ' {
				quiet++
			} else {
				hi, quiet = j+1, 0
			}
		}
		end := hi
		for end < len(edits) && edits[end].op == ' ' && end-hi < diffContext {
			end++
		}
		startA, startB := lineA-(i-lo), lineB-(i-lo)
		countA, countB := 0, 0
		var body strings.Builder
		for _, e := range edits[lo:end] {
			if e.op != '+' {
				countA++
			}
			if e.op != '-' {
				countB++
			}
			body.WriteByte(e.op)
			body.WriteString(e.line)
			if !strings.HasSuffix(e.line, "\n") {
				body.WriteString("\n\\ No newline at end of file\n")
			}
		}
		fmt.Fprintf(&out, "@@ -%s +%s @@\n%s", hunkRange(startA, countA), hunkRange(startB, countB), body.String())
		lineA, lineB, i = startA+countA, startB+countB, end
	}
	return out.String()
}

func hunkRange(start, count int) string {
	if count == 0 {
		start--
	}
	if count == 1 {
		return fmt.Sprint(start)
	}
	return fmt.Sprintf("%d,%d", start, count)
}

// splitLines cuts behind every newline.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// diffLines finds a shortest edit script after Myers, greedy and forward. Its
// memory grows with the square of the number of changes, so beyond maxChanges
// the middle is replaced as a whole.
func diffLines(a, b []string) []edit {
	const maxChanges = 1000
	pre := 0
	for pre < len(a) && pre < len(b) && a[pre] == b[pre] {
		pre++
	}
	post := 0
	for post < len(a)-pre && post < len(b)-pre && a[len(a)-1-post] == b[len(b)-1-post] {
		post++
	}
	var out []edit
	keep := func(lines []string) {
		for _, l := range lines {
			out = append(out, edit{' ', l})
		}
	}
	keep(a[:pre])
	mid, ok := myers(a[pre:len(a)-post], b[pre:len(b)-post], maxChanges)
	if !ok {
		for _, l := range a[pre : len(a)-post] {
			mid = append(mid, edit{'-', l})
		}
		for _, l := range b[pre : len(b)-post] {
			mid = append(mid, edit{'+', l})
		}
	}
	out = append(out, mid...)
	keep(a[len(a)-post:])
	return out
}

// myers returns the edits, or false when more than limit are needed.
func myers(a, b []string, limit int) ([]edit, bool) {
	n, m := len(a), len(b)
	limit = min(limit, n+m)
	v := make([]int, 2*limit+3) // v[limit+1+k]: furthest x on diagonal k
	at := func(k int) int { return limit + 1 + k }
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int(nil), v...))
		for k := -d; k <= d; k += 2 {
			x := 0
			if k == -d || k != d && v[at(k-1)] < v[at(k+1)] {
				x = v[at(k+1)]
			} else {
				x = v[at(k-1)] + 1
			}
			for x < n && x-k < m && x-k >= 0 && a[x] == b[x-k] {
				x++
			}
			v[at(k)] = x
			if x >= n && x-k >= m {
				return backtrack(a, b, trace, at), true
			}
		}
	}
	return nil, false
}

// backtrack walks from the end of both texts to their start.
func backtrack(a, b []string, trace [][]int, at func(int) int) []edit {
	var rev []edit
	x, y := len(a), len(b)
	for d := len(trace) - 1; d >= 0; d-- {
		v, k := trace[d], x-y
		prev := k - 1
		if k == -d || k != d && v[at(k-1)] < v[at(k+1)] {
			prev = k + 1
		}
		px := v[at(prev)]
		py := px - prev
		if d == 0 {
			px, py = 0, 0
		}
		for x > px && y > py {
			x, y = x-1, y-1
			rev = append(rev, edit{' ', a[x]})
		}
		if d == 0 {
			break
		}
		if x == px {
			y--
			rev = append(rev, edit{'+', b[y]})
		} else {
			x--
			rev = append(rev, edit{'-', a[x]})
		}
	}
	for i, j := 0, len(rev)-1; i < j; i, j = i+1, j-1 {
		rev[i], rev[j] = rev[j], rev[i]
	}
	return rev
}
