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

// with is t with piece i replaced.
func (t text) with(i int, by string) string {
	c := slices.Clone(t)
	c[i] = by
	return strings.Join(c, "")
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
	{kind: "fraction for integer", at: func(t text, i int) (string, []string) {
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
		if t.lineStart(i) != "insert" || t[i] != "," || t.depth(i) != 1 {
			return "", nil
		}
		return ")\n#", []string{"needs"}
	}},
	{kind: "argument twice", at: func(t text, i int) (string, []string) {
		if t.lineStart(i) != "insert" || t[i] != ")" || t.depth(i) != 1 || t.near(i, -2) == "=" {
			return "", nil
		}
		return ", 7)", []string{"argument|parameter"}
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
	{kind: "operator of C", at: func(t text, i int) (string, []string) {
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
}
