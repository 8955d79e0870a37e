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

// load runs a script: ":load FILE -p n=4".
func (s *Shell) load(ctx context.Context, args string) {
	file, rest, _ := strings.Cut(args, " -p ")
	if file == "" || strings.HasPrefix(file, "-p ") {
		s.usage("load")
		return
	}
	var params []string
	if rest != "" {
		for _, word := range strings.Split(" "+rest, " -p ") {
			params = append(params, strings.TrimSpace(word))
		}
	}
	s.Load(ctx, unquote(strings.TrimSpace(file)), params)
}

// Load runs the statements of a file in the session; params are "name=value" words.
// It reports whether all went well.
func (s *Shell) Load(ctx context.Context, file string, params []string) bool {
	if s.ReadFile == nil {
		s.complain("files cannot be read here")
		return false
	}
	src, err := s.ReadFile(file)
	if err != nil {
		s.complain("%s", fileError(file, err))
		return false
	}
	s.attend()
	var opts []lang.Option
	if len(params) > 0 {
		if s.Params == nil {
			s.complain("params cannot be given here")
			return false
		}
		if opts, err = s.Params(ctx, file, src, params); err != nil {
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

// save writes the statements that ran without error as a script.
func (s *Shell) save(_ context.Context, file string) {
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
	text, n := s.Session.Script()
	if n == 0 {
		s.complain("nothing to save: no statement has run yet")
		return
	}
	file = unquote(file)
	fi, err := os.Stat(file)
	replaced := ""
	if err == nil && fi.Mode().IsRegular() && fi.Size() > 0 {
		replaced = ", in place of what it held"
	}
	if err := s.WriteFile(file, []byte(text)); err != nil {
		s.complain("%s", fileError(file, err))
		return
	}
	s.say("%s written to %s%s", entries(n), file, replaced)
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
