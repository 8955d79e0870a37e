package repl

// Commands about the conversation itself: time, history, files, leaving.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// copies says what was copied between memories from one look to the next, a line each.
func copies(before, after []engine.BusProfile) string {
	var b strings.Builder
	for _, l := range after {
		for _, was := range before {
			if was.From == l.From && was.To == l.To {
				l.Copies, l.Bytes, l.Time = l.Copies-was.Copies, l.Bytes-was.Bytes, l.Time-was.Time
			}
		}
		if l.Copies > 0 {
			word := "copies"
			if l.Copies == 1 {
				word = "copy"
			}
			link := l.From + " → " + l.To
			if l.From == l.To { // from one place to another, where views overlap
				link = "within " + l.From
			}
			fmt.Fprintf(&b, "  %s  %d %s, %s in %s\n", link, l.Copies, word, accel.Bytes(l.Bytes), duration(l.Time))
		}
	}
	return b.String()
}

func (s *Shell) stats(_ context.Context, args string) {
	switch args {
	case "":
		fmt.Fprint(s.Out, s.Machine.Stats(s.columns()))
	case "reset":
		s.Machine.ResetStats()
	default:
		s.usage("stats")
	}
}

// top shows what goes on: live where somebody can press a key.
func (s *Shell) top(ctx context.Context, args string) {
	switch {
	case args != "":
		s.usage("top")
	case s.Top == nil:
		fmt.Fprint(s.Out, s.Machine.Top())
	default:
		if err := s.Top(ctx); err != nil && ctx.Err() == nil {
			s.complain("%v", err)
		}
	}
}

// history lists the entries of this session.
func (s *Shell) history(_ context.Context, text string) {
	for i, e := range s.entries {
		if strings.Contains(e, text) {
			fmt.Fprintf(s.Out, "%4d  %s\n", i+1, strings.ReplaceAll(e, "\n", "\n      "))
		}
	}
}

// again runs entry n: ":!3", ":!!" for the last.
func (s *Shell) again(ctx context.Context, name, rest string) {
	n := len(s.entries)
	if name != "!!" {
		var err error
		n, err = strconv.Atoi(strings.TrimPrefix(name, "!"))
		if err != nil || rest != "" {
			s.complain("usage: :!N, with N from :history; :!! is the last entry")
			return
		}
	}
	if n < 1 || n > len(s.entries) {
		s.complain("there is no entry %d; :history lists them", n)
		return
	}
	entry := s.entries[n-1]
	fmt.Fprintln(s.Out, paint(s.Paint.Faint, entry))
	s.Entry(ctx, entry)
}

// load runs a script: ":load FILE -p n=4 --data x=x.npy".
func (s *Shell) load(ctx context.Context, args string) {
	file, b, err := loadArgs(args)
	switch {
	case err != nil:
		s.complain("%v", err)
	case file == "":
		s.usage("load")
	default:
		s.Load(ctx, file, b)
	}
}

// Bindings are what a script is given: "name=value" for params, "name=file" for extern data.
type Bindings struct{ Params, Data []string }

// loadArgs takes the arguments of :load apart.
func loadArgs(args string) (file string, b Bindings, err error) {
	list, err := shellWords(args)
	if err != nil {
		return "", b, err
	}
	for len(list) > 0 {
		word := list[0]
		list = list[1:]
		var to *[]string
		flag, value, given := word, "", false
		switch {
		case word == "-p" || word == "--data":
		case strings.HasPrefix(word, "--data="):
			flag, value, given = "--data", strings.TrimPrefix(word, "--data="), true
		case strings.HasPrefix(word, "-p"):
			flag, value, given = "-p", strings.TrimPrefix(word, "-p"), true
		case strings.HasPrefix(word, "-"):
			return "", b, fmt.Errorf("`%s` is no option of :load; it takes `-p NAME=VALUE` and `--data NAME=FILE`", word)
		case file != "":
			return "", b, fmt.Errorf("one file at a time: `%s` is too much; put a name with spaces in quotes", word)
		default:
			file = word
			continue
		}
		if to = &b.Params; flag == "--data" {
			to = &b.Data
		}
		if !given {
			if len(list) == 0 {
				return "", b, fmt.Errorf("`%s` needs a value: `%s`", flag, map[string]string{"-p": "-p NAME=VALUE", "--data": "--data NAME=FILE"}[flag])
			}
			value, list = list[0], list[1:]
		}
		*to = append(*to, value)
	}
	return file, b, nil
}

// shellWords splits text at blanks that are not within double quotes.
func shellWords(text string) (list []string, err error) {
	for {
		text = strings.TrimLeft(text, " \t\n")
		if text == "" {
			return list, nil
		}
		word := ""
		for text != "" && !strings.ContainsRune(" \t\n", rune(text[0])) {
			if text[0] != '"' {
				word += text[:1]
				text = text[1:]
				continue
			}
			quoted, e := strconv.QuotedPrefix(text)
			if e != nil {
				return nil, fmt.Errorf("a quote has no end: %s", text)
			}
			inner, _ := strconv.Unquote(quoted)
			word += inner
			text = text[len(quoted):]
		}
		list = append(list, word)
	}
}

// Load runs the statements of a file in the session. It reports whether all went well.
func (s *Shell) Load(ctx context.Context, file string, b Bindings) bool {
	if s.ReadFile == nil {
		s.complain("files cannot be read here")
		return false
	}
	src, err := s.readFile(ctx, file)
	if err != nil {
		s.complain("%s", fileError(file, err))
		return false
	}
	s.attend()
	var opts []lang.Option
	if len(b.Params)+len(b.Data) > 0 {
		if s.Bind == nil {
			s.complain("params and data cannot be given here")
			return false
		}
		err := s.stoppable(ctx, func(ctx context.Context) (err error) { // it reads modules
			opts, err = s.Bind(ctx, file, src, b)
			return err
		})
		if err != nil {
			s.show(string(src), err)
			return false
		}
	}
	return s.outcome(ctx, string(src), func(ctx context.Context) (lang.Result, error) {
		return s.Session.Load(ctx, file, src, opts...)
	})
}

// fileError is an error of a file without repeating its name.
func fileError(file string, err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return file + ": " + err.Error()
}

// unquote takes the quotes off a file name that was written with them.
func unquote(file string) string {
	if text, err := strconv.Unquote(file); err == nil {
		return text
	}
	return file
}

// save writes what the session did as a script.
func (s *Shell) save(ctx context.Context, file string) {
	switch {
	case file == "":
		s.usage("save")
		return
	case s.WriteFile == nil:
		s.complain("files cannot be written here")
		return
	}
	if s.settle() != nil {
		return
	}
	file = unquote(file)
	text, n := s.Session.Script(file)
	if n == 0 {
		s.complain("nothing to save: no statement has run yet")
		return
	}
	fi, err := os.Stat(file)
	replaced := ""
	if err == nil && fi.Mode().IsRegular() && fi.Size() > 0 {
		replaced = ", in place of what it held"
	}
	if err := s.writeFile(ctx, file, []byte(text)); err != nil {
		s.complain("%s", fileError(file, err))
		return
	}
	s.say("%s written to %s%s", entries(n), file, replaced)
	if s.Check != nil { // what is wrong in a script may have gone well entry by entry
		if ds := s.checked(ctx, file, []byte(text)); ds.Err() != nil {
			s.note("as a script it is wrong, and needs a change before it runs; `:check " + file + "` says where")
		}
	}
}

// isExpression says whether entry is an expression that stands alone at the prompt only.
func isExpression(entry string) bool {
	if _, err := lang.Format("prompt", []byte(entry)); err == nil {
		return false
	}
	_, err := lang.Format("prompt", []byte(inPrint(entry)))
	return err == nil
}

// inPrint is the statement that prints the expression entry, which may end in a comment.
func inPrint(entry string) string { return "print(" + entry + "\n)" }

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// format writes the last statement in canonical layout.
func (s *Shell) format(_ context.Context, args string) {
	if args != "" {
		s.usage("fmt")
		return
	}
	for i := len(s.entries) - 1; i >= 0; i-- {
		_, _, isCommand := splitCommand(s.entries[i])
		if _, isQuestion := docRequest(s.entries[i]); isCommand || isQuestion {
			continue
		}
		out, err := lang.Format("prompt", []byte(s.entries[i]))
		if isExpression(s.entries[i]) {
			out, err = lang.Format("prompt", []byte("let _ = "+s.entries[i]))
			out = bytes.TrimPrefix(out, []byte("let _ = "))
		}
		if err != nil {
			s.show(s.entries[i], err)
			return
		}
		fmt.Fprintln(s.Out, strings.TrimSuffix(string(out), "\n"))
		return
	}
	s.complain("there is no statement yet")
}

// reset forgets names.
func (s *Shell) reset(_ context.Context, args string) {
	if args != "" && args != "handles" {
		s.usage("reset")
		return
	}
	if s.settle() != nil {
		return
	}
	if err := s.Session.Reset(args == "handles"); err != nil {
		s.show("", err)
	}
	if args == "" {
		s.Machine.ResetStats() // counts begin anew
	}
}

// quit leaves.
func (s *Shell) quit(_ context.Context, args string) {
	code := 0
	if args != "" {
		n, err := strconv.Atoi(args)
		if err != nil || n < 0 || n > 255 {
			s.usage("quit")
			return
		}
		code = n
	}
	s.leave = &code
}
