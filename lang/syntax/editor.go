package syntax

// Words at a place of a text that have no node in the tree, for editors.

import (
	"sort"
	"strings"

	"github.com/starpush/starpush/lang/syntax/token"
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

// TokenAt is TokenAt for a text that begins at base of the whole; offset counts from there.
func tokenAt(text string, base, offset int) (Token, bool) {
	toks := token.Scan(text).Tokens
	k := sort.Search(len(toks), func(i int) bool { return int(toks[i].Hi) >= offset })
	if k < len(toks) && int(toks[k].Hi) == offset && k+1 < len(toks) && int(toks[k+1].Lo) == offset && kindOf(toks[k+1]) != SignToken {
		k++ // of two that touch the one behind offset
	}
	if k >= len(toks) || int(toks[k].Lo) > offset || toks[k].Kind == token.EOF || toks[k].Lo == toks[k].Hi {
		return Token{}, false
	}
	t := toks[k]
	if t.Kind == token.FString {
		if lo, hi, ok := token.FieldAt(t.Text(text), offset-int(t.Lo)); ok {
			return tokenAt(text[int(t.Lo)+lo:int(t.Lo)+hi], base+int(t.Lo)+lo, offset-int(t.Lo)-lo)
		}
	}
	return Token{Span{Lo: t.Lo + int32(base), Hi: t.Hi + int32(base)}, kindOf(t), t.Text(text)}, true
}

func kindOf(t token.Token) TokenKind {
	switch t.Kind {
	case token.Ident:
		return NameToken
	case token.Keyword:
		return KeywordToken
	case token.Int, token.Float:
		return NumberToken
	case token.String, token.FString:
		return TextToken
	}
	return SignToken
}

// Tokens lists the tokens of text in its order, comments included. An f-string is the
// pieces of its text and the tokens of its expressions.
func Tokens(text string) []Token { return appendTokens(nil, text, 0) }

func appendTokens(out []Token, text string, base int) []Token {
	s := token.Scan(text)
	comments := s.Comments
	add := func(lo, hi int32, kind TokenKind) {
		if lo < hi {
			out = append(out, Token{Span{Lo: lo + int32(base), Hi: hi + int32(base)}, kind, text[lo:hi]})
		}
	}
	for _, t := range s.Tokens {
		for len(comments) > 0 && comments[0].Lo <= t.Lo {
			add(comments[0].Lo, comments[0].Hi, CommentToken)
			comments = comments[1:]
		}
		switch t.Kind {
		case token.NL, token.EOF, token.Bad:
		case token.FString:
			from := t.Lo
			token.Fields(t.Text(text), func(lo, hi int) bool {
				add(from, t.Lo+int32(lo), TextToken)
				out = appendTokens(out, text[t.Lo+int32(lo):t.Lo+int32(hi)], base+int(t.Lo)+lo)
				from = t.Lo + int32(hi)
				return true
			})
			add(from, t.Hi, TextToken)
		default:
			add(t.Lo, t.Hi, kindOf(t))
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
	s := token.Scan(text)
	for _, m := range s.Comments {
		if int(m.Lo) < offset && offset <= int(m.Hi) {
			return c, false
		}
	}
	toks := s.Tokens
	n := sort.Search(len(toks)-1, func(i int) bool { return int(toks[i].Hi) > offset })
	if n < len(toks) && toks[n].Kind == token.FString && int(toks[n].Lo) < offset {
		if lo, hi, in := token.FieldAt(toks[n].Text(text), offset-int(toks[n].Lo)); in {
			base := int(toks[n].Lo)
			if c, ok = EnclosingCall(text[base+lo:base+hi], offset-base-lo); ok {
				return c, true
			}
		}
	}
	depth := 0
	for k := n - 1; k >= 0; k-- {
		switch t := toks[k]; t.Text(text) {
		case ")", "]", "}":
			depth++
		case "[", "{":
			if depth--; depth < 0 {
				if t.Text(text) == "{" {
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
func endsCall(text string, toks []token.Token, k int) bool {
	if toks[k].Kind == token.EOF {
		return true
	}
	if toks[k].Kind != token.NL {
		return false
	}
	if toks[k].Text(text) == ";" || k+1 >= len(toks) {
		return true
	}
	switch word := toks[k+1].Text(text); word {
	case "if", "for", "each": // of expressions, too
		return false
	default:
		return toks[k+1].Kind == token.Keyword && token.IsStatementWord[word]
	}
}

// callBefore reads what is called, which ends toks.
func callBefore(text string, toks []token.Token) (c CallAt, ok bool) {
	k := len(toks) - 1
	is := func(i int, sign string) bool { return i >= 0 && toks[i].Text(text) == sign }
	name := func(i int) bool { return i >= 0 && toks[i].Kind == token.Ident }
	if is(k, "]") && name(k-1) && is(k-2, "[") && name(k-3) {
		c.Data = true
		k -= 3
	}
	if !name(k) {
		return c, false
	}
	c.Callee = toks[k].Text(text)
	for k--; is(k, ".") && name(k-1); k -= 2 {
		c.Callee = toks[k-1].Text(text) + "." + c.Callee
	}
	if k >= 0 && toks[k].Kind == token.Keyword {
		c.Before = toks[k].Text(text)
	}
	return c, true
}

// arguments reads the arguments of a call that begin toks.
func (c *CallAt) arguments(text string, toks []token.Token, offset int) {
	depth, first := 0, true
	for k, t := range toks {
		if t.Kind == token.NL && !endsCall(text, toks, k) {
			continue
		}
		if first {
			first = false
			name := ""
			if t.Kind == token.Ident && k+1 < len(toks) && toks[k+1].Text(text) == "=" {
				name = t.Text(text)
			}
			c.Args = append(c.Args, name)
		}
		switch t.Text(text) {
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
			if int(t.Hi) <= offset {
				c.Arg = len(c.Args)
			}
		default:
			if endsCall(text, toks, k) {
				return
			}
		}
	}
}

// IntValue is the value of an integer literal: 4Ki, 0xff, 1_000. ok is false for other
// texts, and above the largest int.
func IntValue(text string) (v int64, ok bool) {
	if strings.TrimLeft(text, "0123456789") == text {
		return 0, false
	}
	s := token.Scan(text)
	if len(s.Mistakes) > 0 || len(s.Tokens) != 2 || s.Tokens[0].Kind != token.Int {
		return 0, false
	}
	u, ok := token.IntValue(text)
	return int64(u), ok && u < 1<<63
}
