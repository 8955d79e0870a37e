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
	TextToken    // "…", and f"…" outside of its expressions
	CommentToken // of Tokens only
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

// Tokens lists the tokens of text in its order, comments included. An f-string is the
// pieces of its text and the tokens of its expressions.
func Tokens(text string) []Token { return appendTokens(nil, text, 0) }

func appendTokens(out []Token, text string, base int) []Token {
	s := scan(text)
	comments := s.comments
	add := func(lo, hi int32, kind TokenKind) {
		if lo < hi {
			out = append(out, Token{Span{lo + int32(base), hi + int32(base)}, kind, text[lo:hi]})
		}
	}
	for _, t := range s.toks {
		for len(comments) > 0 && comments[0].Lo <= t.lo {
			add(comments[0].Lo, comments[0].Hi, CommentToken)
			comments = comments[1:]
		}
		switch t.kind {
		case tokNL, tokEOF, tokBad:
		case tokFString:
			from := t.lo
			fields(t.text(text), func(lo, hi int) bool {
				add(from, t.lo+int32(lo), TextToken)
				out = appendTokens(out, text[t.lo+int32(lo):t.lo+int32(hi)], base+int(t.lo)+lo)
				from = t.lo + int32(hi)
				return true
			})
			add(from, t.hi, TextToken)
		default:
			add(t.lo, t.hi, kindOf(t))
		}
	}
	return out
}

// A CallAt is a call around a place of a text, which may lack its end.
type CallAt struct {
	Before string // the reserved word in front of it: "insert", "by", "then", "codelet"; "" for others
	Callee string // "dot", "blas.gemm"; "vector" of vector[f64](…)
	Data   bool   // it is a constructor, with an element type in brackets
	Args   []string
	Arg    int // which of Args the place lies in
}

// EnclosingCall is the innermost call of text whose arguments offset lies in. Args are the names
// that the arguments are given by, "" for those without. ok is false in comments, and
// where there is no call.
func EnclosingCall(text string, offset int) (c CallAt, ok bool) {
	s := scan(text)
	for _, m := range s.comments {
		if int(m.Lo) < offset && offset <= int(m.Hi) {
			return c, false
		}
	}
	toks := s.toks
	n := sort.Search(len(toks)-1, func(i int) bool { return int(toks[i].hi) > offset })
	if n < len(toks) && toks[n].kind == tokFString && int(toks[n].lo) < offset {
		if lo, hi, in := fieldAt(toks[n].text(text), offset-int(toks[n].lo)); in {
			base := int(toks[n].lo)
			if c, ok = EnclosingCall(text[base+lo:base+hi], offset-base-lo); ok {
				return c, true
			}
		}
	}
	depth := 0
	for k := n - 1; k >= 0; k-- {
		switch t := toks[k]; t.text(text) {
		case ")", "]", "}":
			depth++
		case "[", "{":
			if depth--; depth < 0 {
				if t.text(text) == "{" {
					return c, false
				}
				depth = 0 // a list, or an index, of an argument
			}
		case "(":
			if depth--; depth < 0 {
				depth = 0
				if c, ok = callBefore(text, toks[:k]); ok {
					c.arguments(text, toks[k+1:], offset)
					return c, true
				}
			}
		default:
			if endsCall(text, toks, k) && depth == 0 {
				return c, false
			}
		}
	}
	return c, false
}

// endsCall reports whether no call goes on beyond token k: behind a semicolon, and from
// one line to a statement in the next.
func endsCall(text string, toks []token, k int) bool {
	if toks[k].kind == tokEOF {
		return true
	}
	if toks[k].kind != tokNL {
		return false
	}
	if toks[k].text(text) == ";" || k+1 >= len(toks) {
		return true
	}
	switch word := toks[k+1].text(text); word {
	case "if", "for", "each": // of expressions, too
		return false
	default:
		return toks[k+1].kind == tokKeyword && isStatementWord[word]
	}
}

// callBefore reads what is called, which ends toks.
func callBefore(text string, toks []token) (c CallAt, ok bool) {
	k := len(toks) - 1
	is := func(i int, sign string) bool { return i >= 0 && toks[i].text(text) == sign }
	name := func(i int) bool { return i >= 0 && toks[i].kind == tokIdent }
	if is(k, "]") && name(k-1) && is(k-2, "[") && name(k-3) {
		c.Data = true
		k -= 3
	}
	if !name(k) {
		return c, false
	}
	c.Callee = toks[k].text(text)
	for k--; is(k, ".") && name(k-1); k -= 2 {
		c.Callee = toks[k-1].text(text) + "." + c.Callee
	}
	if k >= 0 && toks[k].kind == tokKeyword {
		c.Before = toks[k].text(text)
	}
	return c, true
}

// arguments reads the arguments of a call that begin toks.
func (c *CallAt) arguments(text string, toks []token, offset int) {
	depth, first := 0, true
	for k, t := range toks {
		if t.kind == tokNL && !endsCall(text, toks, k) {
			continue
		}
		if first {
			first = false
			name := ""
			if t.kind == tokIdent && k+1 < len(toks) && toks[k+1].text(text) == "=" {
				name = t.text(text)
			}
			c.Args = append(c.Args, name)
		}
		switch t.text(text) {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth < 0 {
				return
			}
		case ",":
			if depth > 0 {
				break
			}
			first = true
			if int(t.hi) <= offset {
				c.Arg = len(c.Args)
			}
		default:
			if endsCall(text, toks, k) {
				return
			}
		}
	}
}

// fieldAt finds the expression of the f-string s that offset lies in.
func fieldAt(s string, offset int) (lo, hi int, ok bool) {
	fields(s, func(from, to int) bool {
		if offset >= from && offset <= to {
			lo, hi, ok = from, to, true
		}
		return offset > to
	})
	return lo, hi, ok
}

// fields calls f with the place of each expression of the f-string s until f returns false.
func fields(s string, f func(lo, hi int) bool) {
	for i := len(`f"`); i < len(s); {
		switch {
		case (s[i] == '{' || s[i] == '}') && i+1 < len(s) && s[i+1] == s[i]:
			i += 2
		case s[i] == '{':
			colon, end := fieldEnd(s, i+1)
			if end < 0 {
				return
			}
			stop := end
			if colon >= 0 {
				stop = colon
			}
			if !f(i+1, stop) {
				return
			}
			i = end + 1
		default:
			i++
		}
	}
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
