package syntax

// Words: the reserved words of the language and those that mean something only
// where the grammar asks for them.

import (
	"sort"

	"github.com/starpush/starpush/datamgr/iface"
)

// reserved are the words that are never names.
var reserved = wordSet(
	"import", "as", "param", "extern", "codelet", "func", "let", "register", "partition", "unpartition", "by", "then",
	"insert", "with", "acquire", "release", "wait", "prefetch", "to", "hint", "invalidate", "unregister", "evict", "if",
	"else", "for", "in", "while", "return", "break", "continue", "assert", "each", "true", "false", "none", "and", "or", "not")

// statementWords begin a statement.
var statementWords = []string{
	"import", "param", "extern", "codelet", "func", "let", "register", "partition", "unpartition", "insert", "acquire",
	"release", "wait", "prefetch", "hint", "invalidate", "unregister", "evict", "if", "for", "while", "return", "break",
	"continue", "assert", "each",
}

var isStatementWord = wordSet(statementWords...)

// topLevelOnly begin the statements that are visible in the whole file.
var topLevelOnly = wordSet("import", "param", "extern", "codelet", "func")

// continues are the words that, at the start of a line, belong to the line before.
var continues = wordSet("with", "then", "else", "by", "and", "or")

// expectsMore are the words after which a newline is white space.
var expectsMore = wordSet("and", "or", "not", "in", "by", "then")

// foldWords begin a fold when a name follows.
var foldWords = wordSet("sum", "prod", "min", "max")

func wordSet(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// Keywords returns the reserved words, sorted.
func Keywords() []string {
	out := make([]string, 0, len(reserved))
	for w := range reserved {
		out = append(out, w)
	}
	sort.Strings(out)
	return out
}

// modeOf returns the access mode that word names, NoMode for other words.
func modeOf(word string) iface.AccessMode {
	if len(word) == 0 || word[0] < 'C' || word[0] > 'W' {
		return iface.NoMode
	}
	m, _ := iface.ModeByName(word)
	return m
}
