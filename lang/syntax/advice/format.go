package advice

import (
	"regexp"
	"strconv"
	"strings"
)

// Formats of C, Go and Python, and the f-strings that say the same.

// verb is a place for a value in a format of C, Go or Python, or a brace.
var verb = regexp.MustCompile(`%%|%([-+ 0#]*)([0-9]*)(\.[0-9]+)?(?:hh|h|ll|l|z)?([a-zA-Z])|\{([0-9]*)(?::([^{}]*))?\}|[{}]`)

var verbOfC = regexp.MustCompile(`%[-+0#]*[0-9.]*(?:hh|h|ll|l|z)?[dDifFeEgGsvxXu](?:[^a-zA-Z]|$)`)

// IsFormat reports whether a text has verbs such as %d in it.
func IsFormat(text string) bool { return verbOfC.MatchString(text) }

// Interpolated writes a format of other languages, which is the text of a string
// literal, with values for its verbs %d or its fields {} as an f-string; "" when they
// do not fit together.
func Interpolated(literal string, args []string) string {
	text := strings.TrimPrefix(strings.TrimSuffix(literal, `"`), `"`)
	printf, used, ok := IsFormat(literal), 0, true
	field := func(i int, format string) string {
		if i >= len(args) || strings.ContainsAny(args[i], "\"{}\n") {
			ok = false
			return ""
		}
		used = max(used, i+1)
		if format != "" {
			return "{" + args[i] + ":" + format + "}"
		}
		return "{" + args[i] + "}"
	}
	next := 0
	out := verb.ReplaceAllStringFunc(text, func(s string) string {
		m := verb.FindStringSubmatch(s)
		switch {
		case s == "%%" && printf:
			return "%"
		case s[0] == '%' && printf:
			format := m[1] + m[2] + m[3] // flags, width and precision
			switch letter := m[4]; letter {
			case "f", "e", "E", "g", "G", "x", "X", "o", "c":
				format += letter
			case "F":
				format += "f"
			case "d", "i", "u":
				if format != "" {
					format += "d"
				}
			case "s", "v":
				if format != "" {
					format += "s"
				}
			default:
				ok = false
			}
			next++
			return field(next-1, format)
		case s[0] == '{' && len(s) > 1 && !printf:
			i := next
			if m[5] != "" {
				i, _ = strconv.Atoi(m[5])
			}
			next++
			if strings.ContainsAny(m[6], "<>^,") {
				ok = false
			}
			return field(i, m[6])
		case s == "{" || s == "}":
			return s + s
		case s[0] == '{':
			return "{" + s + "}"
		}
		return s
	})
	if !ok || used != len(args) || used == 0 {
		return ""
	}
	return `f"` + out + `"`
}

// WithoutNewline is a literal without the newline at its end, for print, which writes one.
func WithoutNewline(literal string) string {
	text, ok := strings.CutSuffix(literal, `\n"`)
	if before := strings.TrimRight(text, `\`); !ok || (len(text)-len(before))%2 == 1 { // "\\n"
		return literal
	}
	return text + `"`
}
