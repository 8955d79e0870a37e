package diag

// Nearest: the name a reader most likely meant, by Damerau-Levenshtein distance.

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Nearest returns the candidate that name is most likely a misspelling of. The
// distance counts insertions, deletions, substitutions and swaps of neighbouring
// runes; a change of case alone counts as one. Up to a third of the longer name may
// differ, at least one rune for names of two or more. Of equally near candidates
// the first wins. ok is false when none is near enough or name is one of them.
func Nearest(name string, candidates []string) (string, bool) {
	best, bestDist := "", -1
	n := utf8.RuneCountInString(name)
	if n == 0 || n > maxNearest {
		return "", false
	}
	lower := strings.ToLower(name)
	for _, c := range candidates {
		if c == name {
			return "", false
		}
		m := utf8.RuneCountInString(c)
		if m == 0 || m > maxNearest {
			continue
		}
		limit := max(n, m) / 3
		if limit == 0 && max(n, m) >= 2 {
			limit = 1
		}
		if bestDist >= 0 && bestDist-1 < limit {
			limit = bestDist - 1
		}
		if limit < 0 || n-m > limit || m-n > limit {
			continue
		}
		d := distance(name, c)
		if d > 1 {
			d = min(d, 1+distance(lower, strings.ToLower(c)))
		}
		if d > limit || d >= max(n, m) {
			continue
		}
		best, bestDist = c, d
	}
	return best, bestDist >= 0
}

// maxNearest bounds the length of names that are compared at all: the time is
// quadratic in it.
const maxNearest = 64

// distance is the optimal string alignment distance of a and b.
func distance(a, b string) int {
	var bufA, bufB [maxNearest]rune
	x, y := append(bufA[:0], []rune(a)...), append(bufB[:0], []rune(b)...)
	var rows [3][]int
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
	}
	prev2, prev, cur := rows[0], rows[1], rows[2]
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(y)]
}

// Instead says what stands for the unknown name, behind "there is no x `name`": the one
// of have that is near, else all of them, or that there are none.
func Instead(name string, have []string) string {
	have = slices.Sorted(slices.Values(have)) // of equally near names the same one each time
	if n, ok := Nearest(name, have); ok {
		return "; did you mean `" + n + "`?"
	}
	switch n := len(have); {
	case n == 0:
		return ", nor another one"
	case n == 1:
		return ", only `" + have[0] + "`"
	case n <= 6:
		return ", only `" + strings.Join(have[:n-1], "`, `") + "` and `" + have[n-1] + "`"
	default:
		return fmt.Sprintf(", but `%s` and %d more", strings.Join(have[:4], "`, `"), n-4)
	}
}
