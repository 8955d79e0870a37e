package tests

// The mistakes that TestWrongScripts makes.

import (
	"regexp"
	"slices"
	"strings"
)

// pieces cuts a script into words, signs, strings, comments and white space.
var pieces = regexp.MustCompile(`#[^\n]*|f?"[^"\n]*"|[\pL_][\pL\pN_]*|[0-9][0-9a-zA-Z_]*(\.[0-9]+)?(e-?[0-9]+)?|\.\.=?|->|[-+*/<>=!]+|[^\S\n]+|\n|.`)

// word is a name or a keyword.
var word = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

// text is a script in pieces.
type text []string

// line is the number of the line of piece i, from 1.
func (t text) line(i int) int { return 1 + strings.Count(strings.Join(t[:i], ""), "\n") }

// near is the piece d words or signs away from piece i, without white space.
func (t text) near(i, d int) string {
	step := 1
	if d < 0 {
		step = -1
	}
	for j := i + step; j >= 0 && j < len(t); j += step {
		if strings.TrimSpace(t[j]) == "" || strings.HasPrefix(t[j], "#") {
			continue
		}
		if d -= step; d == 0 {
			return t[j]
		}
	}
	return ""
}

// lineStart is the first word of the line of piece i.
func (t text) lineStart(i int) string {
	for i > 0 && t[i-1] != "\n" {
		i--
	}
	for i < len(t) && strings.TrimSpace(t[i]) == "" {
		i++
	}
	return t[i]
}

// behind reports whether word occurs in the line before piece i.
func (t text) behind(i int, word string) bool {
	for i--; i >= 0 && t[i] != "\n"; i-- {
		if t[i] == word {
			return true
		}
	}
	return false
}

// depth is how many brackets of the line are open at piece i.
func (t text) depth(i int) int {
	d := 0
	for i--; i >= 0 && t[i] != "\n"; i-- {
		switch t[i] {
		case "(", "[", "{":
			d++
		case ")", "]", "}":
			d--
		}
	}
	return d
}

// with is t with n pieces from i on replaced.
func (t text) with(i, n int, by string) string {
	return strings.Join(t[:i], "") + by + strings.Join(t[i+n:], "")
}

// args are the pieces between the arguments of the brackets that open at piece i:
// the bracket itself, the commas, the closing one.
func (t text) args(i int) (at []int) {
	depth := 0
	for j := i; j < len(t); j++ {
		switch t[j] {
		case "(", "[", "{":
			if depth++; depth == 1 {
				at = append(at, j)
			}
		case ")", "]", "}":
			if depth--; depth == 0 {
				return append(at, j)
			}
		case ",":
			if depth == 1 {
				at = append(at, j)
			}
		case "\n":
			return nil
		}
	}
	return nil
}

// mistake is one way to get a script wrong.
type mistake struct {
	kind string
	// at returns what stands for piece i when the mistake is made there, and
	// what the first line of the message, or else the lines below it, must
	// name; "" if it cannot be made there.
	at func(t text, i int) (by string, names []string)
	// further says that the message may be at another line: the one that a
	// missing bracket or a lost line leads to.
	further bool
	// pieces is how many pieces from i on are replaced; nil: one.
	pieces func(t text, i int) int
}

// size is the number of pieces that m replaces at i.
func (m *mistake) size(t text, i int) int {
	if m.pieces == nil {
		return 1
	}
	return m.pieces(t, i)
}

var modes = map[string][]string{"R": {"W", "RW"}, "W": {"R"}, "RW": {"R", "W"}, "REDUX": {"R", "W"}, "COMMUTE": {"R"}, "SCRATCH": {"R"}}

var statements = []string{"register", "partition", "insert", "codelet", "func", "import", "acquire", "param", "let", "for", "each", "assert", "evict", "unpartition", "wait", "print"}

var inner = []string{"by", "in", "as", "with", "then", "else", "and", "or", "not", "if", "sum", "max", "min", "return", "while", "true", "false", "none"}

// misspelt swaps two letters.
func misspelt(s string) string {
	for k := len(s) / 2; k > 0; k-- {
		if s[k] != s[k-1] && s[k]|s[k-1] < 0x80 {
			return s[:k-1] + string(s[k]) + string(s[k-1]) + s[k+1:]
		}
	}
	return ""
}

var mistakes = []mistake{
	{kind: "mode", at: func(t text, i int) (string, []string) {
		to, ok := modes[t[i]]
		if before := t.near(i, -1); !ok || before != "(" && before != "," || t.lineStart(i) == "codelet" || t.lineStart(i) == "extern" {
			return "", nil
		}
		return to[i%len(to)], []string{"this call passes it as " + to[i%len(to)] + "|`" + t.near(i, 1)}
	}},
	{kind: "no mode", at: func(t text, i int) (string, []string) {
		if before := t.near(i, -1); modes[t[i]] == nil || before != "(" && before != "," || t.lineStart(i) == "codelet" || t.lineStart(i) == "extern" {
			return "", nil
		}
		return " ", []string{"mode"}
	}},
	{kind: "name", at: func(t text, i int) (string, []string) {
		if len(t[i]) < 4 || !word.MatchString(t[i]) || slices.Contains(statements, t[i]) || slices.Contains(inner, t[i]) || modes[t[i]] != nil {
			return "", nil
		}
		switch before := t.near(i, -1); before {
		case "register", "param", "func", "codelet", "let", "as", "for", "partition", "," /* may define */ :
			return "", nil
		}
		if after := t.near(i, 1); after == ":" || after == "=" && t.near(i, -1) != "+" {
			return "", nil
		}
		m := misspelt(t[i])
		return m, []string{m, t[i]}
	}},
	{kind: "statement", at: func(t text, i int) (string, []string) {
		if !slices.Contains(statements, t[i]) || len(t[i]) < 3 || t.lineStart(i) != t[i] {
			return "", nil
		}
		m := misspelt(t[i])
		return m, []string{m, t[i]}
	}},
	{kind: "keyword", at: func(t text, i int) (string, []string) {
		if !slices.Contains(inner, t[i]) || len(t[i]) < 2 {
			return "", nil
		}
		m := misspelt(t[i])
		return m, []string{m, t[i]}
	}},
	{kind: "capital", at: func(t text, i int) (string, []string) {
		if !slices.Contains(statements, t[i]) || t.lineStart(i) != t[i] {
			return "", nil
		}
		m := strings.ToUpper(t[i][:1]) + t[i][1:]
		return m, []string{m, t[i]}
	}},
	{kind: "no closing", further: true, at: func(t text, i int) (string, []string) {
		open := map[string]string{")": "(", "]": "[", "}": "{"}[t[i]]
		if open == "" {
			return "", nil
		}
		return " ", []string{open, t[i]}
	}},
	{kind: "no opening", further: true, at: func(t text, i int) (string, []string) {
		closing := map[string]string{"(": ")", "[": "]", "{": "}"}[t[i]]
		if closing == "" {
			return "", nil
		}
		return " ", []string{closing, t[i]}
	}},
	{kind: "closing twice", further: true, at: func(t text, i int) (string, []string) {
		if !strings.Contains(")]}", t[i]) {
			return "", nil
		}
		return t[i] + t[i], []string{t[i]}
	}},
	{kind: "wrong closing", further: true, at: func(t text, i int) (string, []string) {
		by := map[string]string{")": "]", "]": ")", "}": ")"}[t[i]]
		if by == "" {
			return "", nil
		}
		return by, []string{by, t[i]}
	}},
	{kind: "no comma", at: func(t text, i int) (string, []string) {
		if t[i] != "," {
			return "", nil
		}
		return " ", []string{","}
	}},
	{kind: "no quote", further: true, at: func(t text, i int) (string, []string) {
		if !strings.HasSuffix(t[i], `"`) || len(t[i]) < 2 {
			return "", nil
		}
		return t[i][:len(t[i])-1], []string{`"`}
	}},
	{kind: "one part more", further: true, at: func(t text, i int) (string, []string) {
		if t.near(i, -1) != ".." || t.near(i, 1) != "{" {
			return "", nil
		}
		return t[i] + " + 1", []string{"parts|elements|rows|outside|range|columns"}
	}},
	{kind: "text for number", further: true, at: func(t text, i int) (string, []string) {
		if t[i][0] < '0' || t[i][0] > '9' {
			return "", nil
		}
		return `"two"`, []string{"str|\"two\""}
	}},
	{kind: "fraction for integer", further: true, at: func(t text, i int) (string, []string) {
		if t[i][0] < '1' || t[i][0] > '9' || strings.ContainsAny(t[i], ".e") {
			return "", nil
		}
		return "1.5", []string{"float|1.5|f64|f32"}
	}},
	{kind: "wrong type", at: func(t text, i int) (string, []string) {
		by := map[string]string{"vector": "matrix", "matrix": "vector", "variable": "vector"}[t[i]]
		if by == "" || t.near(i, 1) != "[" {
			return "", nil
		}
		return by, []string{"vector|matrix|index|indices|dimension"}
	}, further: true},
	{kind: "no such type", at: func(t text, i int) (string, []string) {
		by := map[string]string{"f64": "double", "f32": "f23", "i64": "int64", "i32": "int32", "T": "Q"}[t[i]]
		if by == "" {
			return "", nil
		}
		return by, []string{by}
	}},
	{kind: "argument lost", at: func(t text, i int) (string, []string) {
		if t.lineStart(i) != "insert" || t[i] != "," || t.depth(i) != 1 || t.behind(i, "with") {
			return "", nil
		}
		return ")\n#", []string{"needs"}
	}},
	{kind: "argument twice", at: func(t text, i int) (string, []string) {
		if t.lineStart(i) != "insert" || t[i] != ")" || t.depth(i) != 1 || t.near(i, -2) == "=" || t.behind(i, "with") {
			return "", nil
		}
		return ", 7)", []string{"argument|parameter|must be"}
	}},
	{kind: "= for ==", at: func(t text, i int) (string, []string) {
		if t[i] != "==" {
			return "", nil
		}
		return "=", []string{"="}
	}},
	{kind: "dots", at: func(t text, i int) (string, []string) {
		if t[i] != ".." {
			return "", nil
		}
		return []string{"...", ":", "to", "..="}[i%3], []string{"\\.\\.|:"}
	}},
	{kind: "operator of C", further: true, at: func(t text, i int) (string, []string) {
		by := map[string]string{"and": "&&", "or": "||", "not": "!", "then": "?", "+=": "++", "//": "/", "**": "^"}[t[i]]
		if by == "" {
			return "", nil
		}
		return by, []string{regexp.QuoteMeta(by)}
	}},
	{kind: "line lost", further: true, at: func(t text, i int) (string, []string) {
		if i > 0 && t[i-1] != "\n" || !slices.Contains([]string{"register", "partition", "import", "param"}, t[i]) {
			return "", nil
		}
		return "#", []string{t.near(i, 1)}
	}},
	{kind: "twice the same name", at: func(t text, i int) (string, []string) {
		if i > 0 && t[i-1] != "\n" || t[i] != "register" && t[i] != "codelet" && t[i] != "param" {
			return "", nil
		}
		return "let " + t.near(i, 1) + " = 1\n" + t[i], []string{t.near(i, 1)}
	}, further: true},
	{kind: "operands swapped", further: true, at: func(t text, i int) (string, []string) {
		a := t.operands(i)
		if len(a) < 3 {
			return "", nil
		}
		first, second := strings.TrimSpace(strings.Join(t[a[0]+1:a[1]], "")), strings.TrimSpace(strings.Join(t[a[1]+1:a[2]], ""))
		if strings.Contains(first+second, "=") || first == second {
			return "", nil
		}
		return "(" + second + ", " + first, []string{"order|is|sizes|reads|changes|overwrites|takes|appears"}
	}, pieces: func(t text, i int) int { a := t.operands(i); return a[2] - i }},
	{kind: "no operands", at: func(t text, i int) (string, []string) {
		if a := t.operands(i); len(a) < 2 || strings.TrimSpace(strings.Join(t[a[0]+1:a[len(a)-1]], "")) == "" {
			return "", nil
		}
		return "(", []string{"needs"}
	}, pieces: func(t text, i int) int { a := t.operands(i); return a[len(a)-1] - i }},
	{kind: "unit", at: func(t text, i int) (string, []string) {
		if t[i][0] < '1' || t[i][0] > '9' {
			return "", nil
		}
		by := t[i] + []string{"KB", "f", "k", "u", "L", "MB", "px"}[i%7]
		return by, []string{by}
	}},
	{kind: "number of another language", at: func(t text, i int) (string, []string) {
		if t[i][0] < '1' || t[i][0] > '9' || strings.ContainsAny(t[i], ".eKMG") {
			return "", nil
		}
		by := []string{"0b101", "'a'", "1,000", ".5", "1."}[i%5]
		return by, []string{regexp.QuoteMeta(by) + "|'|,|`\\.`|float"}
	}, further: true},
	{kind: "word of another language", at: func(t text, i int) (string, []string) {
		by := map[string][]string{
			"for": {"foreach", "loop"}, "in": {"of", "over"}, "insert": {"submit", "launch", "call"}, "let": {"var", "const", "auto"},
			"func": {"def", "fn", "function"}, "register": {"data", "create"}, "partition": {"split"}, "codelet": {"kernel"},
			"while": {"loop", "until"}, "import": {"use", "include", "from"}, "assert": {"check", "require"}, "as": {"into"}, "by": {"with", "into"},
			"true": {"True", "yes"}, "false": {"False"}, "none": {"null", "None"}, "each": {"forall", "foreach"}, "else": {"otherwise", "elif"},
		}[t[i]]
		if by == nil || strings.HasPrefix(t.lineStart(i), "#") {
			return "", nil
		}
		w := by[i%len(by)]
		return w, []string{"`" + w + "`"}
	}},
	{kind: "option", at: func(t text, i int) (string, []string) {
		if before := t.near(i, -1); !word.MatchString(t[i]) || len(t[i]) < 4 || t.near(i, 1) != "=" || before != "," && before != "(" && before != "with" || t.lineStart(i) == "codelet" || t.lineStart(i) == "register" && t.depth(i) == 0 {
			return "", nil
		}
		m := misspelt(t[i])
		return m, []string{m, t[i]}
	}},
	{kind: "no release", further: true, at: func(t text, i int) (string, []string) {
		if t[i] != "release" || t.lineStart(i) != "release" {
			return "", nil
		}
		return "#", []string{"release"}
	}},
	{kind: "counted from 1", further: true, at: func(t text, i int) (string, []string) {
		if t[i] != "0" || i+2 >= len(t) || t[i+1] != ".." || !word.MatchString(t[i+2]) {
			return "", nil
		}
		return "1..=" + t[i+2], []string{"part|element|index|row|column|runs|reads|unwritten|past|outside"}
	}, pieces: func(text, int) int { return 3 }},
	{kind: "brackets of another kind", further: true, at: func(t text, i int) (string, []string) {
		a := t.args(i)
		if t[i] != "[" || len(a) == 0 || i == 0 || !word.MatchString(t[i-1]) {
			return "", nil
		}
		return "(" + strings.Join(t[i+1:a[len(a)-1]], "") + ")", []string{t[i-1]}
	}, pieces: func(t text, i int) int { a := t.args(i); return a[len(a)-1] + 1 - i }},
	{kind: "semicolon for comma", at: func(t text, i int) (string, []string) {
		if t[i] != "," || t.depth(i) == 0 {
			return "", nil
		}
		return ";", []string{"`;`"}
	}},
	{kind: "colon and indentation", at: func(t text, i int) (string, []string) {
		if t[i] != "{" || t.near(i, 1) == "" || t.depth(i) > 0 {
			return "", nil
		}
		return ":", []string{"`:`|`{`"}
	}, further: true},
}

// operands are the args of an insert whose bracket is piece i.
func (t text) operands(i int) []int {
	if t[i] != "(" || t.lineStart(i) != "insert" || t.depth(i) != 0 {
		return nil
	}
	return t.args(i)
}
