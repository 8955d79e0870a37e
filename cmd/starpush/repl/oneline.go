package repl

// Entries on one line, as the history keeps them: the line editor edits lines,
// so a loop comes back as "for i in 0..4 { insert f(RW x[i]) }".

import (
	"strings"
	"unicode"
)

// startsContinuation are the words a line may begin with that continue the one
// before, endsOpen those it may end with that ask for more (LANGUAGE §2.2).
var (
	startsContinuation = words("with then else by and or")
	endsOpen           = words("and or not in by then")
)

func words(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// oneLine writes an entry on one line: comments go, line ends become spaces or
// semicolons as the layout rules of the language have it.
func oneLine(entry string) string {
	if !strings.Contains(entry, "\n") {
		return entry
	}
	var out strings.Builder
	var open []byte // brackets that are open
	for line := range strings.SplitSeq(entry, "\n") {
		text, brackets := codeOf(line)
		if text == "" {
			continue
		}
		if out.Len() > 0 {
			out.WriteString(joint(out.String(), text, open))
		}
		out.WriteString(text)
		for _, b := range brackets {
			switch {
			case b == '(' || b == '[' || b == '{':
				open = append(open, byte(b))
			case len(open) > 0:
				open = open[:len(open)-1]
			}
		}
	}
	if entry != "" && entry[0] == ' ' {
		return " " + out.String() // still hidden
	}
	return out.String()
}

// joint is what stands between two lines.
func joint(before, next string, open []byte) string {
	last := before[len(before)-1]
	switch {
	case len(open) > 0 && open[len(open)-1] != '{': // a newline is white space there
		if last == '(' || last == '[' || next[0] == ')' || next[0] == ']' {
			return ""
		}
		return " "
	case strings.IndexByte("{,=<>+-*/%", last) >= 0, next[0] == '}', next[0] == '.':
		return " "
	case endsOpen[lastWord(before)], startsContinuation[firstWord(next)]:
		return " "
	}
	return "; "
}

func notWord(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }

func firstWord(s string) string {
	if i := strings.IndexFunc(s, notWord); i >= 0 {
		return s[:i]
	}
	return s
}

func lastWord(s string) string {
	return s[strings.LastIndexFunc(s, notWord)+1:]
}

// codeOf returns a line without comment and surrounding space, and the brackets
// in it, in order. What stands in strings does not count.
func codeOf(line string) (text, brackets string) {
	var b strings.Builder
	inString := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '#':
			return strings.TrimSpace(line[:i]), b.String()
		case strings.IndexByte("()[]{}", c) >= 0:
			b.WriteByte(c)
		}
	}
	return strings.TrimSpace(line), b.String()
}
