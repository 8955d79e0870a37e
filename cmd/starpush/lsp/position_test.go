package lsp

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPositions holds places in texts with long lines, all kinds of characters, bytes
// that are none, and all ends of lines against counting from the beginning.
func TestPositions(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 30 {
		var b strings.Builder
		pieces := []string{"a", "bc ", "é", "😀", "\xff", "漢", "\r"}
		if rnd.IntN(3) == 0 {
			pieces = []string{"😀", "\xf0\x9f", "\x80"}
		}
		for range rnd.IntN(4) + 1 {
			for range rnd.IntN(3000) {
				p := pieces[rnd.IntN(len(pieces))]
				if p == "\r" && rnd.IntN(500) > 0 {
					p = "x"
				}
				b.WriteString(p)
			}
			b.WriteString([]string{"\n", "\r\n", ""}[rnd.IntN(3)])
		}
		text := b.String()
		lines := newLineTable(text)
		// The position of each byte, counted.
		line, units := 0, 0
		for i := 0; i < len(text); {
			r, n := utf8.DecodeRuneInString(text[i:])
			want := position{line, units}
			ends := r == '\n' || r == '\r'
			if got := lines.position(i); got != want && !(r == '\n' && i > 0 && text[i-1] == '\r') {
				t.Fatalf("offset %d is at %+v, want %+v", i, got, want)
			}
			if got := lines.offset(want); got != i && !(ends && r == '\n' && i > 0 && text[i-1] == '\r') {
				t.Fatalf("%+v is offset %d, want %d", want, got, i)
			}
			if r > 0xffff {
				if got := lines.offset(position{line, units + 1}); got != i {
					t.Fatalf("the middle of the character at %d is offset %d", i, got)
				}
			}
			i += n
			units += utf16Len(r)
			if r == '\n' || r == '\r' && (i == len(text) || text[i] != '\n') {
				line, units = line+1, 0
			}
		}
		for _, p := range []position{{-1, 5}, {1 << 30, 0}, {0, -7}, {0, 1 << 30}} {
			if got := lines.offset(p); got < 0 || got > len(text) {
				t.Errorf("%+v is offset %d of %d", p, got, len(text))
			}
		}
	}
}
