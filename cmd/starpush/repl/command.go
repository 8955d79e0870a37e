package repl

// Commands of the prompt: the table, words from elsewhere, and the commands about the
// conversation, files and running tasks.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
)

// The commands of the prompt: a table, and what finds a command in it.

// A command is what ":name args" runs.
type command struct {
	name      string
	args      string // for :help
	doc       string
	statement bool // args are a statement, which may go on over lines
	run       func(s *Shell, ctx context.Context, args string)
}

// commandTable lists the commands in the order of :help. A function and not a
// variable, because :help reads the table.
func commandTable() []command {
	return []command{
		{name: "help", args: "[topic]", doc: "this list; topics: " + strings.Join(topicNames(), ", "), run: (*Shell).help},
		{name: "doc", args: "NAME", doc: "signature and documentation; also NAME?", run: (*Shell).doc},
		{name: "type", args: "EXPR", doc: "type of an expression; for data, its shape and views", run: (*Shell).typeOf},
		{name: "ls", args: "[KIND] [PATTERN]", doc: strings.Join(lsKinds, ", "), run: (*Shell).ls},
		{name: "show", args: "NAME [A..B, …]", doc: "value of data, elements A to B of it, or a part: A[0..2, 3]", run: (*Shell).showData},
		{name: "where", args: "NAME", doc: "where data is: memory nodes, views, tasks that have not ended", run: (*Shell).where},
		{name: "last", doc: "the last value again, complete", run: (*Shell).last},
		{name: "plan", args: "STATEMENT", doc: "what it would insert now; no kernel runs, but host functions do", statement: true, run: (*Shell).plan},
		{name: "graph", args: "[NAME] [--tasks] [> FILE]", doc: "tasks so far, or those that use NAME; FILE as .svg, .dot, .mmd, .json", run: (*Shell).graph},
		{name: "trace", args: "start FILE|stop", doc: "record what runs, for ui.perfetto.dev", run: (*Shell).trace},
		{name: "time", args: "on|off|STATEMENT", doc: "time of every statement, or of one with its tasks and copies", statement: true, run: (*Shell).time},
		{name: "bench", args: "STATEMENT", doc: "times of ten runs of a statement, each with its tasks", statement: true, run: (*Shell).bench},
		{name: "stats", args: "[reset]", doc: "tasks and times per codelet and worker; reset: count anew", run: (*Shell).stats},
		{name: "top", doc: "workers, tasks, memories and links as they are now, until a key is pressed", run: (*Shell).top},
		{name: "jobs", doc: "tasks that have not ended", run: (*Shell).jobs},
		{name: "cancel", doc: "drop the tasks that have not started", run: (*Shell).cancel},
		{name: "edit", args: "[N]", doc: "the last entry, or entry N, in $VISUAL or $EDITOR, and run it; Ctrl-X Ctrl-E: what is typed", run: (*Shell).edit},
		{name: "history", args: "[TEXT]", doc: "entries of this session that hold TEXT; :!N runs one again, :!! the last", run: (*Shell).history},
		{name: "load", args: "FILE [-p n=4] [--data x=FILE]", doc: "run a script here, with values for params and files for extern data", run: (*Shell).load},
		{name: "save", args: "FILE", doc: "write what the session did as a script", run: (*Shell).save},
		{name: "check", args: "FILE", doc: "what is wrong with a script, without running it", run: (*Shell).check},
		{name: "fmt", doc: "the last statement in canonical layout", run: (*Shell).format},
		{name: "explain", args: "CODE|task N|blocked|granularity", doc: "a diagnostic such as E0401; a task; what waits; sizes", run: (*Shell).explain},
		{name: "set", args: "[NAME VALUE|save]", doc: "how the prompt behaves; alone: what can be set, and as what; `save` keeps it", run: (*Shell).set},
		{name: "reset", args: "[handles]", doc: "forget all names, or the data only", run: (*Shell).reset},
		{name: "quit", args: "[STATUS]", doc: "leave; so does Ctrl-D", run: (*Shell).quit},
	}
}

// splitCommand cuts ":name rest".
func splitCommand(entry string) (name, rest string, ok bool) {
	text, ok := strings.CutPrefix(strings.TrimSpace(entry), ":")
	if !ok {
		return "", "", false
	}
	text = strings.TrimSpace(text)
	if i := strings.IndexAny(text, " \t\n"); i >= 0 {
		return text[:i], strings.TrimSpace(text[i:]), true
	}
	return text, "", true
}

// findCommand finds a command by its name or by a beginning that only it has.
// Without one it returns the names that were meant.
func findCommand(name string) (*command, []string) {
	var found []command
	for _, c := range commandTable() {
		if c.name == name {
			return &c, nil
		}
		if name != "" && strings.HasPrefix(c.name, name) {
			found = append(found, c)
		}
	}
	if len(found) == 1 {
		return &found[0], nil
	}
	var names []string
	for _, c := range found {
		names = append(names, ":"+c.name)
	}
	return nil, names
}

// command runs a command.
func (s *Shell) command(ctx context.Context, name, args string) {
	c, meant := findCommand(name)
	switch {
	case c != nil:
		c.run(s, ctx, args)
	case len(meant) > 0:
		s.complain("`:%s` may be %s", name, strings.Join(meant, ", "))
	default:
		s.complain("`:%s` is not a command; %s", name, unknown(name))
	}
}

// complain reports a wrong use of a command.
func (s *Shell) complain(format string, args ...any) {
	fmt.Fprintln(s.Err, Fold(fmt.Sprintf(format, args...), s.columns()))
}

// say writes a sentence to those who use the prompt.
func (s *Shell) say(format string, args ...any) {
	fmt.Fprintln(s.Out, Fold(fmt.Sprintf(format, args...), s.columns()))
}

// usage reports that a command was not given what it needs.
func (s *Shell) usage(name string) {
	c, _ := findCommand(name)
	s.complain("usage: :%s", strings.TrimSpace(c.name+" "+c.args))
}

func (s *Shell) help(ctx context.Context, topic string) {
	if topic != "" {
		s.helpAbout(ctx, topic)
		return
	}
	rows := make([][2]string, 0, len(commandTable()))
	for _, c := range commandTable() {
		rows = append(rows, [2]string{strings.TrimSpace(":" + c.name + " " + c.args), c.doc})
	}
	s.page(ctx, "Type a statement, an expression, or a command:\n"+table(rows, s.columns(), s.Paint.Strong))
}

// helpAbout explains a topic, a command, or a word of the language, and says where there is
// more when the word is several of these.
func (s *Shell) helpAbout(ctx context.Context, topic string) {
	if text, ok := Topic(topic, s.columns()); ok {
		s.page(ctx, text)
		return
	}
	name, isCommand := strings.CutPrefix(topic, ":")
	if c, _ := findCommand(name); c != nil {
		fmt.Fprintf(s.Out, "%s\n%s\n", strings.TrimSpace(":"+c.name+" "+c.args), Fold("    "+c.doc, s.columns()))
		if _, known := s.Session.Doc(name); known && !isCommand {
			more := fmt.Sprintf("`%s` is a word of the language, too: `:doc %s`", name, name)
			if about := TopicOf(name); about != "" {
				more += fmt.Sprintf(", `:help %s`", about)
			}
			s.say("%s", more)
		}
		return
	}
	if s.documented(ctx, topic) {
		return
	}
	if text, ok := Topic(TopicOf(topic), s.columns()); ok {
		s.page(ctx, text)
		return
	}
	s.complain("`%s` is neither a topic nor a name; topics: %s", topic, strings.Join(topicNames(), ", "))
}

func topicNames() []string {
	names := make([]string, 0, len(topics))
	for n := range topics {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Words from other prompts and shells, and commands without their colon.

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

// Commands about the conversation itself: time, history, files, leaving.

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

// top shows the current state of the run: live where a key can end it.
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

// isExpression reports whether entry is an expression that is a statement at the prompt
// only.
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

// Commands about what is under way, other files, and how the prompt behaves.

// jobs says what has not ended: a statement that was left behind, and tasks.
func (s *Shell) jobs(_ context.Context, args string) {
	if args != "" {
		s.usage("jobs")
		return
	}
	if s.pending != nil {
		if s.Busy() {
			fmt.Fprintln(s.Out, "a statement that was left behind: its kernels still run")
		} else {
			<-s.pending
			s.pending = nil
		}
	}
	st := s.Session.Stats()
	n := left(st)
	if n == 0 {
		fmt.Fprintln(s.Out, "no task is left")
		return
	}
	running := map[string]int{}
	var names []string
	for _, name := range st.Running {
		if running[name]++; running[name] == 1 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		if running[name] > 1 {
			names[i] = fmt.Sprintf("%s ×%d", name, running[name])
		}
	}
	text := plural(n, "task") + " left"
	if len(names) > 0 {
		text += ", running: " + strings.Join(names, ", ")
	}
	fmt.Fprintln(s.Out, text)
}

// cancel drops the tasks that have not started.
func (s *Shell) cancel(ctx context.Context, args string) {
	if args != "" && args != "all" {
		s.usage("cancel")
		return
	}
	if s.settle() != nil {
		return
	}
	before := s.Session.Stats()
	if left(before) == 0 {
		fmt.Fprintln(s.Out, "no task is left")
		return
	}
	_, _, err := s.supervise(ctx, func(ctx context.Context) (lang.Result, error) {
		ended, cancel := context.WithCancelCause(ctx)
		cancel(ErrInterrupted)
		return lang.Result{}, s.Session.Wait(ended)
	})
	switch {
	case errors.Is(err, errLeftBehind):
		s.fail("", before, err)
	default:
		fmt.Fprintln(s.Out, s.report("cancelled", before))
	}
}

// checked returns what Check finds; Ctrl-C ends it.
func (s *Shell) checked(ctx context.Context, file string, src []byte) (ds lang.Diagnostics) {
	_ = s.stoppable(ctx, func(ctx context.Context) error {
		ds = s.Check(ctx, file, src)
		return nil
	})
	return ds
}

// check reports what is wrong with a script, without running it.
func (s *Shell) check(ctx context.Context, file string) {
	switch {
	case file == "":
		s.usage("check")
		return
	case s.ReadFile == nil || s.Check == nil:
		s.complain("files cannot be read here")
		return
	}
	file = unquote(file)
	src, err := s.readFile(ctx, file)
	if err != nil {
		s.complain("%s", fileError(file, err))
		return
	}
	ds := s.checked(ctx, file, src)
	if len(ds) == 0 {
		fmt.Fprintln(s.Out, "nothing is wrong with "+file)
		return
	}
	s.render(ds)
}

// edit opens an entry in an editor and runs what comes back: ":edit", ":edit 3".
func (s *Shell) edit(ctx context.Context, args string) {
	if s.Edit == nil {
		s.complain("there is no editor here: it needs a terminal")
		return
	}
	// this very command is the last entry
	n := len(s.entries) - 1
	for n > 0 && strings.HasPrefix(strings.TrimSpace(s.entries[n-1]), ":") {
		n--
	}
	if args != "" {
		var err error
		if n, err = strconv.Atoi(args); err != nil {
			s.usage("edit")
			return
		}
		if n < 1 || n > len(s.entries) {
			s.complain("there is no entry %d; :history lists them", n)
			return
		}
	}
	text := ""
	if n > 0 {
		text = s.entries[n-1]
	}
	s.editText(ctx, text)
}

// editText opens text in the editor and runs what comes back.
func (s *Shell) editText(ctx context.Context, text string) {
	if s.Edit == nil {
		s.complain("there is no editor here: it needs a terminal")
		return
	}
	edited, err := s.Edit(ctx, text+"\n")
	s.forgetPresses()
	if err != nil {
		s.complain("%v", err)
		return
	}
	edited = strings.TrimRight(edited, " \t\r\n")
	switch {
	case edited == "":
		s.complain("nothing to run")
	case s.incomplete(edited):
		s.show(edited, errors.New("the entry is not complete; `:edit` opens it again"))
		s.remember(edited)
	default:
		fmt.Fprintln(s.Out, paint(s.Paint.Faint, edited))
		s.Entry(ctx, edited)
	}
}
