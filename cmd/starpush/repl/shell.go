package repl

// The conversation, and how it shows errors and notes.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/starpush/starpush/cmd/starpush/grain"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/trace"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
)

// The conversation: lines become entries, entries become statements or commands.

// The prompts.
const (
	promptFirst = "> "
	promptMore  = ". "
)

// A LineReader gives the Shell its lines.
type LineReader interface {
	// ReadLine shows prompt and returns a line without its newline, or several. The error is io.EOF at the
	// end of input, ErrInterrupted when Ctrl-C cleared the line, and ErrEdit, with the
	// line, when the entry is wanted in an editor.
	ReadLine(prompt string) (string, error)
}

// Config is what a Shell talks to.
type Config struct {
	Session *lang.Session
	Machine Machine
	Out     io.Writer         // values, listings
	Err     io.Writer         // diagnostics
	Style   func() lang.Style // of diagnostics, asked for each
	Paint   Paint
	History *History
	// Interrupts gets one value for each Ctrl-C while a statement runs. It may be nil.
	Interrupts <-chan struct{}
	// ReadFile reads a file for :load and :check, WriteFile writes one for :save, :graph and
	// :trace. Nil forbids it. The end of ctx ends a read or write of a pipe.
	ReadFile  func(ctx context.Context, name string) ([]byte, error)
	WriteFile func(ctx context.Context, name string, data []byte) error
	// Bind turns what a script is given that :load runs into options; nil forbids it.
	Bind func(ctx context.Context, name string, src []byte, b Bindings) ([]lang.Option, error)
	// Check compiles a script for :check.
	Check func(ctx context.Context, name string, src []byte) lang.Diagnostics
	// Recent listens to the tasks of Runtime, for :explain; it may be nil.
	Recent *trace.Recent
	// Grain listens to them, too, for :explain granularity; it may be nil.
	Grain *grain.Listener
	// Deterministic says that the session began so.
	Deterministic bool
	// Digits is the Digits of the session.
	Digits  int
	Runtime *engine.Runtime
	// Listen sets the listener to tasks, for :trace; nil forbids it.
	Listen func(engine.Listener) error
	// Size returns the columns and rows of the terminal. Nil, or 0: not known.
	Size func() (columns, rows int)
	// Page shows a text that is longer than the screen; nil: it is written as others are.
	Page func(ctx context.Context, text string) error
	// Color switches colours: "auto", "on", "off". Nil: there are none.
	Color func(mode string)
	// SaveSettings keeps the text of settings for later sessions, and says where; nil
	// forbids it. [Shell.Configure] reads it again.
	SaveSettings func(text string) (file string, err error)
	// Edit lets the person change a text in an editor; nil: there is none.
	Edit func(ctx context.Context, text string) (string, error)
	// Top shows live what goes on until a key is pressed; nil: :top shows one picture.
	Top func(ctx context.Context) error
	// Progress, if not nil, starts to show how a statement gets on, and returns what
	// ends that.
	Progress func() (stop func())
	// Echo says that the terminal shows ^C when that key cancels a statement.
	Echo bool
}

// Paint colours what the Shell writes; the zero value writes plain text.
type Paint struct {
	Prompt, Strong, Faint func(string) string
}

func paint(f func(string) string, s string) string {
	if f == nil {
		return s
	}
	return f(s)
}

// A Shell is one conversation. Use it from one goroutine.
type Shell struct {
	Config
	presses presses
	entries []string     // entries of this session, numbered from 1 for :!n
	timing  bool         // :time on
	silent  bool         // :set autoprint off
	bell    bool         // :set bell on
	width   int          // :set width, 0: that of the terminal
	pending chan outcome // a statement that Ctrl-C left behind, nil when there is none
	lost    []string     // the data that had lost its value when the statement began
	leave   *int         // exit status once the conversation is over
	now     func() time.Time
	busy    atomic.Bool // a statement runs
	tracing *tracing    // :trace start
	stopped bool        // Ctrl-C ended the entry
	failed  bool        // the entry ended with an error
	elide   int         // :set elide, 0: as print does
	digits  int         // :set digits, 0: all
	colors  string      // :set color
	fixed   bool        // :set deterministic
	memory  string      // :set explain
}

// New makes a Shell.
func New(c Config) *Shell {
	if c.History == nil {
		c.History = &History{}
	}
	if c.Style == nil {
		c.Style = func() lang.Style { return lang.Style{} }
	}
	s := &Shell{Config: c, presses: presses{now: time.Now}, now: time.Now, colors: "auto", memory: "on", fixed: c.Deterministic, digits: c.Digits}
	s.Style = func() lang.Style {
		st := c.Style()
		if s.width > 0 {
			st.Width = s.width
		}
		return st
	}
	return s
}

// Run talks until the input ends or a command leaves, and returns the exit
// status. ctx ends the conversation between two statements and cancels one that runs.
func (s *Shell) Run(ctx context.Context, r LineReader) int {
	if b, ok := r.(blockReader); ok {
		b.Continues(func(entry string) bool { return s.incomplete(entry) || elseFollows(r, entry) })
	}
	for s.leave == nil && ctx.Err() == nil {
		if s.hearPresses(); s.leave != nil {
			break
		}
		entry, err := s.readEntry(r)
		if s.hearPresses(); s.leave != nil {
			break
		}
		switch {
		case errors.Is(err, ErrInterrupted):
			if s.pending != nil { // the line editor heard the third press
				s.presses.next()
				s.leaveIfPressedAgain()
			}
			continue
		case errors.Is(err, ErrEdit):
			s.attend()
			s.editText(ctx, entry)
			continue
		case err != nil && strings.TrimSpace(entry) == "":
			if !errors.Is(err, io.EOF) {
				fmt.Fprintf(s.Err, "starpush: reading the terminal: %v\n", err)
				return 1
			}
			return s.status()
		}
		s.Entry(ctx, entry)
		if p, ok := r.(pasteReader); ok && s.stopped {
			p.DropInput() // what was pasted behind it goes, too
		} else if ok && s.failed {
			s.leaveOut(p.DropPaste())
		}
		s.stopped, s.failed = false, false
	}
	return s.status()
}

func (s *Shell) status() int {
	if s.leave == nil {
		return 0
	}
	return *s.leave
}

// Leaving reports whether a command or the third Ctrl-C ended the conversation,
// and with which exit status.
func (s *Shell) Leaving() (status int, ok bool) { return s.status(), s.leave != nil }

// Busy reports whether a statement runs. It may be called from any goroutine.
func (s *Shell) Busy() bool { return s.busy.Load() }

// Abandoned reports whether a statement that was left behind still holds the session, so
// that closing it would hang.
func (s *Shell) Abandoned() bool { return s.pending != nil && s.Busy() }

// readEntry reads lines until they are an entry. The parser decides.
func (s *Shell) readEntry(r LineReader) (string, error) {
	line, err := r.ReadLine(paint(s.Paint.Prompt, promptFirst))
	entry := line
	for err == nil && (s.incomplete(entry) || elseFollows(r, entry)) {
		line, err = r.ReadLine(paint(s.Paint.Prompt, promptMore))
		if errors.Is(err, ErrInterrupted) {
			return "", err
		}
		entry += "\n" + line
	}
	return strings.TrimRight(entry, "\n"), err
}

// A blockReader is a LineReader that edits entries of several lines. It calls more to ask
// whether an entry is incomplete.
type blockReader interface {
	Continues(more func(entry string) bool)
}

// A pasteReader is a LineReader that knows what was pasted.
type pasteReader interface {
	DropInput()
	DropPaste() (lines int)
}

// An aheadReader is a LineReader that may know lines before they are read.
type aheadReader interface {
	// NextLine is the next line with text, "" when none is known.
	NextLine() string
}

// elseFollows reports whether the next line goes on with the `if` that the entry ends
// with: with a user who types that is not known, and such an entry ends there.
func elseFollows(r LineReader, entry string) bool {
	a, ok := r.(aheadReader)
	if !ok || !strings.Contains(entry, "}") {
		return false
	}
	if _, wrong := syntax.ParseEntry(diag.NewSource("", entry+"\nelse { }")); wrong.Err() != nil {
		return false
	}
	word, ok := strings.CutPrefix(strings.TrimSpace(a.NextLine()), "else")
	return ok && (word == "" || notWord([]rune(word)[0]))
}

// leaveOut says how many lines that were pasted behind an error do not run: they may
// need what the entry was to do.
func (s *Shell) leaveOut(lines int) {
	switch {
	case lines == 1:
		s.complain("1 pasted line behind this error was left out")
	case lines > 1:
		s.complain("%d pasted lines behind this error were left out", lines)
	}
}

// incomplete reports whether an entry asks for more lines. Of commands only
// those that take a statement do.
func (s *Shell) incomplete(entry string) bool {
	if name, rest, ok := splitCommand(entry); ok {
		c, _ := findCommand(name)
		if c == nil || !c.statement {
			return false
		}
		entry = rest
	}
	if _, ok := docRequest(entry); ok {
		return false
	}
	if strings.TrimSpace(entry) == "cd .." { // to the language a range without its end
		return false
	}
	last := strings.TrimSpace(entry[strings.LastIndexByte(entry, '\n')+1:])
	if strings.HasPrefix(last, "##") {
		return true // documentation belongs to the declaration below it
	}
	return strings.TrimSpace(entry) != "" && s.Session.Incomplete(entry)
}

// Entry runs one entry: a command or statements.
func (s *Shell) Entry(ctx context.Context, entry string) {
	if strings.TrimSpace(entry) == "" {
		return
	}
	s.attend()
	name, rest, isCommand := splitCommand(entry)
	if strings.HasPrefix(name, "!") { // the entry it names is what the history gets
		s.again(ctx, name, rest)
		return
	}
	s.remember(entry)
	switch doc, ok := docRequest(entry); {
	case isCommand:
		s.command(ctx, name, rest)
	case ok && doc == "":
		s.command(ctx, "help", "")
	case ok:
		s.command(ctx, "doc", doc)
	default:
		s.statement(ctx, entry)
	}
}

// attend makes the memory of tasks listen again, which stops when they come too fast.
func (s *Shell) attend() {
	switch {
	case s.Recent == nil:
	case s.memory == "on":
		s.Recent.Attend(s.Runtime)
	default:
		s.Recent.Attend(nil)
	}
}

// remember puts an entry into the history.
func (s *Shell) remember(entry string) {
	if keeps(entry) {
		s.entries = append(s.entries, entry)
	}
	if err := s.History.Add(entry); err != nil {
		fmt.Fprintf(s.Err, "starpush: history: %v\n", err)
	}
}

// docRequest recognises "NAME?" and "?NAME".
func docRequest(entry string) (name string, ok bool) {
	entry = strings.TrimSpace(entry)
	name, ok = strings.CutSuffix(entry, "?")
	if !ok {
		name, ok = strings.CutPrefix(entry, "?")
	}
	name = strings.TrimSpace(name)
	for _, r := range name {
		if r != '.' && notWord(r) {
			return "", false
		}
	}
	return name, ok
}

// statement runs an entry in the session and shows what comes of it. It reports
// whether that went well.
func (s *Shell) statement(ctx context.Context, src string) bool {
	return s.outcome(ctx, src, func(ctx context.Context) (lang.Result, error) { return s.Session.Eval(ctx, src) })
}

// bellAfter is how long a statement takes that a person may have turned away from.
const bellAfter = 5 * time.Second

// outcome runs statements, whose text is src, and shows what comes of them.
func (s *Shell) outcome(ctx context.Context, src string, run func(context.Context) (lang.Result, error)) bool {
	before := s.Session.Stats()
	res, took, err := s.supervise(ctx, run)
	if err != nil {
		s.fail(src, before, err)
		return false
	}
	if len(res.Warnings) > 0 {
		s.show(src, res.Warnings)
	}
	if res.Inserted > 0 {
		fmt.Fprintln(s.Out, plural(int64(res.Inserted), "task")+" inserted")
	}
	if s.bell && took >= bellAfter {
		fmt.Fprint(s.Err, "\a")
	}
	if res.Value != "" && !s.silent {
		s.page(ctx, res.Value)
	}
	s.unwritten(res.Unwritten)
	s.replaced(res.Replaced)
	if s.timing {
		fmt.Fprintln(s.Out, paint(s.Paint.Faint, duration(took)))
	}
	return true
}

// plural writes "1 task", "16 tasks".
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// duration writes a time with three digits: "1.24 ms".
func duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g µs", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", float64(d)/1e6)
	case d < 1000*time.Second:
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// Errors at the prompt: one line where that says it all, else the full form.

// show writes why an entry failed.
func (s *Shell) show(src string, err error) {
	var ds lang.Diagnostics
	var one *lang.Diagnostic
	switch {
	case errors.As(err, &ds):
	case errors.As(err, &one):
		ds = lang.Diagnostics{*one}
	default:
		fmt.Fprintln(s.Err, err)
		return
	}
	if hint := s.hint(src, ds); hint != "" {
		s.complain("%s", hint)
		return
	}
	st := s.Style()
	if line, ok := short(src, ds, st.Width); ok {
		if st.Color {
			head, rest, _ := strings.Cut(line, ":")
			line = "\x1b[1;31m" + head + "\x1b[0m:" + rest
		}
		fmt.Fprintln(s.Err, line)
		return
	}
	s.render(ds)
}

// short writes a diagnostic on one line of at most width columns (0: 100):
// "error[E0203]: module `blas` has no codelet `scla`; did you mean `scal`?". Only
// one about an entry of one line can do without its place; a failed task needs
// its notes.
func short(src string, ds lang.Diagnostics, width int) (string, bool) {
	if len(ds) != 1 || strings.Contains(strings.TrimSpace(src), "\n") {
		return "", false
	}
	d := &ds[0]
	if d.Span.File != "" && !strings.HasPrefix(d.Span.File, "<") {
		return "", false // of a file: the place is not in sight
	}
	if d.Task != nil || len(d.Stack) > 0 || len(d.Help) > 1 {
		return "", false
	}
	text := fmt.Sprintf("%v[%s]: %s", d.Severity, d.Code, d.Message)
	if len(d.Help) == 1 {
		text += "; " + d.Help[0]
	}
	if width <= 0 {
		width = 100
	}
	if len([]rune(text)) > width || strings.Contains(text, "\n") {
		return "", false
	}
	return text, true
}

// Notes about a statement that succeeded, but may not have done what the user meant.

// note writes a remark about the statement that ran.
func (s *Shell) note(text string) {
	fmt.Fprintln(s.Out, paint(s.Paint.Faint, Fold("note: "+text, s.columns())))
}

// unwritten says what "?" stands for, where it was shown.
func (s *Shell) unwritten(names []string) {
	if len(names) == 0 {
		return
	}
	for i, n := range names {
		names[i] = "`" + n + "`"
	}
	what := strings.Join(names, ", ")
	if len(names) > 3 {
		what = strings.Join(names[:3], ", ") + " and others"
	}
	s.note("nothing has written " + what + " where ? is shown; a task that writes it (W) gives it a value, or `fill =` where it is registered")
}

// replaced says that data has another default view now, and how it could have had both.
func (s *Shell) replaced(views []lang.ReplacedView) {
	for _, v := range views {
		s.note(fmt.Sprintf("`%s` is split by %s now instead of %s; to have both, name them: `partition v = %s by %s`", v.Name, v.New, v.Old, v.Name, v.New))
	}
}
