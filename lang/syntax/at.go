package syntax

// What stands at a place of a text, for editors: words that the tree has no node for.

import (
	"sort"
	"strings"
)

// TokenKind says what a Token is.
type TokenKind uint8

// The kinds of tokens that documentation is about.
const (
	SignToken    TokenKind = iota // operators, brackets, and what is no token at all
	NameToken                     // names, and words that mean something in some places only
	KeywordToken                  // reserved words
	NumberToken
	TextToken // "…", and f"…" outside of its expressions
)

// Token is a piece of a text.
type Token struct {
	Span
	Kind TokenKind
	Text string
}

// TokenAt is the token of text that offset lies in, or else ends at it; in f-strings
// the one of the expression there. ok is false in comments and between tokens.
func TokenAt(text string, offset int) (t Token, ok bool) { return tokenAt(text, 0, offset) }

// tokenAt is TokenAt for a text that begins at base of the whole; offset counts from there.
func tokenAt(text string, base, offset int) (Token, bool) {
	toks := scan(text).toks
	k := sort.Search(len(toks), func(i int) bool { return int(toks[i].hi) >= offset })
	if k < len(toks) && int(toks[k].hi) == offset && k+1 < len(toks) && int(toks[k+1].lo) == offset && kindOf(toks[k+1]) != SignToken {
		k++ // of two that touch the one behind offset
	}
	if k >= len(toks) || int(toks[k].lo) > offset || toks[k].kind == tokEOF || toks[k].lo == toks[k].hi {
		return Token{}, false
	}
	t := toks[k]
	if t.kind == tokFString {
		if lo, hi, ok := fieldAt(t.text(text), offset-int(t.lo)); ok {
			return tokenAt(text[int(t.lo)+lo:int(t.lo)+hi], base+int(t.lo)+lo, offset-int(t.lo)-lo)
		}
	}
	return Token{Span{t.lo + int32(base), t.hi + int32(base)}, kindOf(t), t.text(text)}, true
}

func kindOf(t token) TokenKind {
	switch t.kind {
	case tokIdent:
		return NameToken
	case tokKeyword:
		return KeywordToken
	case tokInt, tokFloat:
		return NumberToken
	case tokString, tokFString:
		return TextToken
	}
	return SignToken
}

// fieldAt finds the expression of the f-string s that offset lies in.
func fieldAt(s string, offset int) (lo, hi int, ok bool) {
	for i := len(`f"`); i < len(s) && i <= offset; {
		switch {
		case (s[i] == '{' || s[i] == '}') && i+1 < len(s) && s[i+1] == s[i]:
			i += 2
		case s[i] == '{':
			colon, end := fieldEnd(s, i+1)
			if end < 0 {
				return 0, 0, false
			}
			stop := end
			if colon >= 0 {
				stop = colon
			}
			if offset > i && offset <= stop {
				return i + 1, stop, true
			}
			i = end + 1
		default:
			i++
		}
	}
	return 0, 0, false
}

// IntValue is the value of an integer literal: 4Ki, 0xff, 1_000. ok is false for other
// texts, and above the largest int.
func IntValue(text string) (v int64, ok bool) {
	if strings.TrimLeft(text, "0123456789") == text {
		return 0, false
	}
	s := scan(text)
	if len(s.mistakes) > 0 || len(s.toks) != 2 || s.toks[0].kind != tokInt {
		return 0, false
	}
	u, ok := intValue(text)
	return int64(u), ok && u < 1<<63
}
