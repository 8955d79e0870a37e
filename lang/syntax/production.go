package syntax

// Productions: the participle parsers of grammar.go, one for each kind of statement.

import (
	"sync"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// postfix is an expression without operators in front or between: x, x[i], f(x).
type postfix interface{ Expr }

// args are the arguments of a call, with their parentheses.
type args interface{ list() []*Arg }

type argList []*Arg

func (a argList) list() []*Arg { return a }

// root is the parser of the whole grammar. It looks no token ahead: once a token
// of an alternative is read, what follows must fit, so errors point at the first
// token that does not. The few places that need more say so in their tags.
var root = sync.OnceValue(func() *participle.Parser[statement] {
	return participle.MustBuild[statement](
		participle.Lexer(definition{}),
		participle.UseLookahead(0),
		participle.ParseTypeWith(readExpr),
		participle.ParseTypeWith(readPostfix),
		participle.ParseTypeWith(readArgs),
	)
})

// production reads the production P of the grammar from l, which is left behind
// its last token.
func production[P any](l *lexer.PeekingLexer) (*P, error) {
	p, err := participle.ParserForProduction[P](root())
	if err != nil {
		return nil, err
	}
	return p.ParseFromLexer(l, participle.AllowTrailing(true))
}
