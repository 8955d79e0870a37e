package syntax

// Sources: where expressions are read from.

import "github.com/alecthomas/participle/v2/lexer"

// source is a list of tokens with a place in it.
type source interface {
	Peek() *lexer.Token
	Next() *lexer.Token
	ahead(n int) *lexer.Token // the token n places behind the next one
}

// peeking is the lexer that participle hands over.
type peeking struct{ *lexer.PeekingLexer }

func (l peeking) ahead(n int) *lexer.Token {
	back := l.MakeCheckpoint()
	for range n {
		l.Next()
	}
	t := l.Peek()
	l.LoadCheckpoint(back)
	return t
}

// stream is the tokens of one statement; the last is EOF.
type stream struct {
	toks []lexer.Token
	pos  int
}

func (s *stream) Peek() *lexer.Token { return &s.toks[s.pos] }

func (s *stream) Next() *lexer.Token {
	t := &s.toks[s.pos]
	if s.pos < len(s.toks)-1 {
		s.pos++
	}
	return t
}

func (s *stream) ahead(n int) *lexer.Token { return &s.toks[min(s.pos+n, len(s.toks)-1)] }
