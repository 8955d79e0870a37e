package repl

// Words from other prompts and shells, and commands without their colon.

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
)

// elsewhere answers words that mean something at other prompts.
func elsewhere(word string) string {
	switch word {
	case "exit", "quit", "q", "bye", "logout":
		return "`:quit` leaves, and so does Ctrl-D"
	case "help", "h", "man":
		return "`:help` lists commands; `NAME?` shows the documentation of a name"
	case "clear", "cls", "clc":
		return "Ctrl-L clears the screen; `:reset` forgets all names"
	case "vars", "who", "whos", "dir", "names", "globals", "locals":
		return "`:ls` lists data, `:ls all` all names"
	case "lambda":
		return "functions have names: `func twice(n: int) -> int { return 2 * n }`"
	case "cd", "chdir", "pwd":
		return folder() + "; it stays that: write paths from there"
	}
	return ""
}

func folder() string {
	dir, err := os.Getwd()
	if err != nil {
		return "files are looked for in the folder where starpush was started"
	}
	return "files are looked for in " + dir + ", where starpush was started"
}

// hint says what an entry was meant to be that is no statement of the language; "" when
// it does not look like anything else. ds is what the language says of it.
func (s *Shell) hint(src string, ds lang.Diagnostics) string {
	if !slices.ContainsFunc(ds, func(d lang.Diagnostic) bool {
		return strings.HasPrefix(d.Span.File, "<entry") && (strings.HasPrefix(d.Code, "E01") || d.Code == "E0201" && d.Span.Start.Line == 1 &&
			d.Span.Start.Col == len(src)-len(strings.TrimLeft(src, " \t"))+1)
	}) {
		return ""
	}
	src = strings.TrimSpace(src)
	if first, _, more := strings.Cut(src, "\n"); more {
		src = first + " …"
	}
	if strings.HasPrefix(src, "!") {
		return "commands of a shell run outside: Ctrl-Z stops the prompt, `fg` brings it back; `:!N` runs entry N again"
	}
	word := firstWord(src)
	rest, called := called(src[len(word):])
	if word == "" || slices.Contains(s.names(), word) {
		return ""
	}
	if word == "help" || word == "man" { // a topic, a command, a name: :help knows them all
		switch {
		case rest == "":
			return elsewhere(word)
		case isArgument(rest):
			return "commands begin with a colon: `:help " + rest + "`"
		}
		return ""
	}
	if c, _ := findCommand(word); c != nil && c.name == word && fitsCommand(word, rest) {
		if !called && !strings.HasPrefix(src[len(word):], " ") && rest != "" {
			return ""
		}
		if word == "quit" {
			return elsewhere(word)
		}
		return fmt.Sprintf("commands begin with a colon: `%s`", strings.TrimSpace(":"+word+" "+rest))
	}
	if rest == "" || strings.HasPrefix(src[len(word):], " ") && isArgument(rest) || called {
		return elsewhere(word)
	}
	return ""
}

// called takes the parentheses off what follows a word.
func called(rest string) (args string, ok bool) {
	if inner, found := strings.CutPrefix(rest, "("); found && strings.HasSuffix(inner, ")") {
		return strings.TrimSpace(strings.TrimSuffix(inner, ")")), true
	}
	return strings.TrimSpace(rest), false
}

// isArgument tells words from what goes on with an expression.
func isArgument(rest string) bool {
	return strings.IndexByte("=+*%,;)]}[<", rest[0]) < 0 && !strings.HasPrefix(rest, "- ")
}

// fitsCommand reports whether rest can be what a command takes. Some are words that the
// language has something to say about, too.
func fitsCommand(name, rest string) bool {
	first, _, more := strings.Cut(rest, " ")
	switch name {
	case "load", "save":
		return strings.HasSuffix(strings.Trim(first, `"`), ".spu")
	case "set":
		return rest == "" || slices.Contains(settingNames(), first) || rest == "save"
	case "type":
		return rest != "" && !more && isArgument(rest)
	}
	return rest == "" || isArgument(rest)
}

// unknown says what is known of a command that there is not.
func unknown(name string) string {
	if text := elsewhere(name); text != "" {
		return text
	}
	var names []string
	for _, c := range commandTable() {
		names = append(names, c.name)
	}
	if near, ok := diag.Nearest(name, names); ok {
		return "did you mean `:" + near + "`?"
	}
	return "`:help` lists them"
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
