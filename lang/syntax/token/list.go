package token

// Lists of tokens, with the questions that the parser and its advice ask of them.

import (
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
)

// List is the tokens of a text. The last is EOF.
type List struct {
	Text   string
	Tokens []Token

	// Made when the first mistake needs them: a text of mistakes asks often.
	declared map[[2]string]bool // each keyword with the word after it
	meant    map[string]string  // of Meant
}

// Is reports whether token i is the sign or word text.
func (l *List) Is(i int, text string) bool {
	switch t := l.Tokens[i]; t.Kind {
	case Keyword, Op, Assign, Ident:
		return t.Text(l.Text) == text
	case Open:
		return text == "{"
	}
	return false
}

// Span is the range of token i.
func (l *List) Span(i int) Span { return Span{l.Tokens[i].Lo, l.Tokens[i].Hi} }

// TokenAt is token i as participle sees it.
func (l *List) TokenAt(i int) *lexer.Token {
	t := l.Tokens[i]
	return &lexer.Token{Type: lexer.TokenType(t.Kind), Value: t.Text(l.Text), Pos: lexer.Position{Offset: int(t.Lo)}}
}

// BlockEnd reports whether a block ends at token i.
func (l *List) BlockEnd(i int) bool {
	return l.Tokens[i].Kind == Virtual || l.Is(i, "}") && !l.Tokens[i].Open
}

// ClipTo shortens a text for a message.
func ClipTo(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}

// Kind is the kind of token i, EOF outside.
func (l *List) Kind(i int) int8 {
	if i < 0 || i >= len(l.Tokens) {
		return EOF
	}
	return l.Tokens[i].Kind
}

// Has reports whether token i exists and is the sign or word text.
func (l *List) Has(i int, text string) bool {
	return i >= 0 && i < len(l.Tokens) && l.Is(i, text)
}

// Str is the text of token i, "" outside.
func (l *List) Str(i int) string {
	if i < 0 || i >= len(l.Tokens) {
		return ""
	}
	return l.Tokens[i].Text(l.Text)
}

// Touching reports whether there is nothing between the tokens i and i+1.
func (l *List) Touching(i int) bool {
	return i >= 0 && i+1 < len(l.Tokens) && l.Tokens[i].Hi == l.Tokens[i+1].Lo
}

// LineEnds reports whether a line ends behind token i.
func (l *List) LineEnds(i int) bool {
	rest := strings.TrimLeft(l.Text[l.Tokens[i].Hi:], " \t\r")
	return rest == "" || rest[0] == '\n' || rest[0] == '#'
}

// EndsOperand reports whether an operand may end with token i.
func (l *List) EndsOperand(i int) bool {
	return i >= 0 && operandEnd(l.Text, l.Tokens[i])
}

// Opens reports whether token i is an opening bracket of expressions.
func (l *List) Opens(i int) bool { return l.Has(i, "(") || l.Has(i, "[") || l.Has(i, "{") }

// Closes reports whether token i is a closing bracket of expressions.
func (l *List) Closes(i int) bool { return l.Has(i, ")") || l.Has(i, "]") || l.Has(i, "}") }

// IsFold reports whether token i of toks is the word of a fold: a name follows.
func IsFold(text string, toks []Token, i int) bool {
	t := toks[i]
	if t.Kind != Ident || toks[i+1].Kind != Ident || !FoldWords[t.Text(text)] {
		return false
	}
	return i == 0 || toks[i-1].Kind != Op || toks[i-1].Text(text) != "."
}

// StartsStatement reports whether token i most likely begins a statement.
func (l *List) StartsStatement(i int) bool {
	switch t := l.Tokens[i]; t.Kind {
	case Keyword:
		return IsStatementWord[t.Text(l.Text)]
	case Ident:
		next := l.Tokens[i+1]
		return next.Kind == Assign || next.Kind == Op && (l.Is(i+1, "(") || l.Is(i+1, ".") || l.Is(i+1, "["))
	}
	return false
}

// HeadEnd finds the end of the statement, or of its head when a block follows, that
// goes on at token i. bad says that it holds something reported already.
func (l *List) HeadEnd(i int) (end int, bad bool) {
	folds, depth := 0, 0
	for ; ; i++ {
		t := l.Tokens[i]
		switch t.Kind {
		case EOF:
			return i, bad
		case NL:
			if depth == 0 {
				return i, bad
			}
		case Virtual:
			if depth == 0 {
				return i, bad
			}
			depth--
		case Open:
			if depth == 0 && folds == 0 {
				return i, bad
			}
			folds--
			depth++
			bad = bad || t.Open
		case Bad:
			bad = true
		case Ident:
			if IsFold(l.Text, l.Tokens, i) {
				folds++
			}
		case Op:
			switch l.Text[t.Lo] {
			case '{':
				if depth == 0 && folds == 0 {
					return i, bad
				}
				folds = max(0, folds-1) // a choice in brackets may have braces, too
				depth++
				bad = bad || t.Open
			case '(', '[':
				if t.Open {
					bad = true
				} else {
					depth++
				}
			case '}':
				if t.Open {
					bad = true
				} else if depth == 0 {
					return i, bad
				} else {
					depth--
				}
			case ')', ']':
				if t.Open {
					bad = true
				} else {
					depth--
				}
			}
		}
	}
}

// Indent is the white space at the start of the line of token i.
func (l *List) Indent(i int) string {
	lo := int(l.Tokens[i].Lo)
	line := l.Text[strings.LastIndexByte(l.Text[:lo], '\n')+1:]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// BlockHead reports whether the statement at token i has a block.
func (l *List) BlockHead(i int) bool {
	if l.Kind(i) == Ident {
		switch l.Str(i) {
		case "def", "elif", "foreach", "function", "fn":
			return true
		}
	}
	return l.Kind(i) == Keyword && blockWords[l.Str(i)]
}

// DeclaredBy reports whether the word declares name somewhere in the text.
func (l *List) DeclaredBy(word, name string) bool {
	if l.declared == nil {
		l.declared = map[[2]string]bool{}
		for i := range l.Tokens {
			if l.Kind(i) == Keyword && i+1 < len(l.Tokens) {
				l.declared[[2]string{l.Str(i), l.Str(i + 1)}] = true
			}
		}
	}
	return l.declared[[2]string{word, name}]
}

// Meant returns what f returns for word, and calls it once for each word of the text.
func (l *List) Meant(word string, f func(word string) string) string {
	meant, known := l.meant[word]
	if !known {
		meant = f(word)
		if l.meant == nil {
			l.meant = map[string]string{}
		}
		l.meant[word] = meant
	}
	return meant
}
