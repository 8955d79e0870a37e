package cli

// starpush repl, with its editor, its pager and :top.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/fatih/color"
	"github.com/spf13/cobra"
	"github.com/starpush/starpush/cmd/starpush/repl"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/trace"
	"github.com/starpush/starpush/lang"
	"golang.org/x/term"
)

// starpush repl: the prompt, on a terminal or fed from a pipe.

func replCommand(a *app) *cobra.Command {
	var o runFlags
	c := &cobra.Command{
		Use:   "repl",
		Short: "Open the prompt",
		Long: `Opens the prompt. Standard input may also be a file or a pipe: its lines are
then entries, without prompts.`,
		Args: arity(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.prompt(cmd.Context(), &o, nil) },
	}
	f := c.Flags()
	registerCPUs(f, &o.cpus)
	f.StringVar(&o.sched, "sched", "", schedUsage())
	registerRanks(c, &o.ranks, "one session of `N` processes of this machine, through mpirun of Open MPI or MPICH")
	f.BoolVar(&o.sequential, "sequential", false, "run each task inside its insert: the reference")
	f.BoolVar(&o.deterministic, "deterministic", false, "the same bits for any number of workers and any policy")
	f.BoolVar(&o.verify, "verify", false, "check that codelets keep to the access modes of their operands")
	registerTimeout(f, &o.timeout, "stop a statement after this wall `TIME`")
	o.deviceFlags.register(c, "none")
	o.memoryFlags.register(c)
	o.registerPerf(c)
	o.progress = "auto"
	return c
}

// runThenPrompt is "starpush -i FILE" and "starpush -i -e CODE": what runs first
// does so in the session.
func (a *app) runThenPrompt(ctx context.Context, o *runFlags, args []string) error {
	if len(o.save) > 0 {
		return usagef("--save has no meaning with -i: save at the prompt")
	}
	for flag, values := range map[string][]string{"-p": o.params, "--data": o.data} {
		if len(values) > 0 && len(args) == 0 {
			return usagef("%s needs a script", flag)
		}
	}
	return a.prompt(ctx, o, args)
}

// prompt holds a conversation; the scripts in files and the code of -e run first.
func (a *app) prompt(ctx context.Context, o *runFlags, files []string) error {
	if err := a.check(o); err != nil {
		return err
	}
	if a.json != nil {
		return usagef("--json has no meaning at the prompt")
	}
	if err := checkOutputs("", o.outputs(nil)...); err != nil {
		return err
	}
	if o.ranks > 1 {
		return a.startRanks(ctx, o.ranks, nil, isTerminal(a.in))
	}
	ranks, err := a.joinRanks(ctx, o)
	if err != nil {
		return err
	}
	return a.leave(ranks, a.promptHere(ctx, o, ranks, files))
}

// promptHere is prompt for this process, which may be a rank: others than rank 0 do what that one does.
func (a *app) promptHere(ctx context.Context, o *runFlags, ranks *ranks, files []string) (err error) {
	warnings, err := o.warningFlags.set()
	if err != nil {
		return err
	}
	if a.flags.quiet {
		warnings.Silence = []string{"W"}
	}
	comp, err := a.compiler(warnings)
	if err != nil {
		return err
	}
	o.recent = &trace.Recent{}
	rt, err := a.runtime(o)
	if err != nil {
		return err
	}
	defer func() { err = a.endRuntime(rt, o, err) }()
	defer func() {
		if p, ok := rt.Profile(); ok && o.profile {
			a.showProfile(p)
		}
		err = a.writeTraces(ctx, o, "session", nil, err)
	}()

	opts := slices.Concat(o.observe(), ranks.options(o), []lang.Option{lang.Stdout(a.con.out), lang.Digits(int(o.digits))})
	if o.timeout > 0 {
		opts = append(opts, lang.WithLimits(lang.Limits{Timeout: o.timeout}))
	}
	session := comp.NewSession(rt, opts...)
	if ranks != nil && ranks.world.Rank() > 0 {
		return session.Follow(ctx)
	}

	interactive := isTerminal(a.in)
	history, err := repl.OpenHistory(a.historyFile(interactive))
	if err != nil {
		a.sayError(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m := &machine{rt: rt, session: session, recent: o.recent}
	shell := repl.New(repl.Config{
		Session: session, Machine: m, Recent: o.recent, Grain: o.grain, Runtime: rt, Deterministic: o.deterministic, Digits: int(o.digits),
		Out: a.con.out, Err: a.con.err, Style: a.style,
		Paint: repl.Paint{
			Prompt: a.painter(a.con.out, color.FgCyan),
			Strong: a.painter(a.con.out, color.Bold),
			Faint:  a.painter(a.con.out, color.Faint),
		},
		History: history, Echo: interactive,
		ReadFile: func(ctx context.Context, name string) ([]byte, error) {
			ctx, cancel := reading(ctx, o.timeout)
			defer cancel()
			return readSource(ctx, name, a.maxSource())
		},
		WriteFile: func(ctx context.Context, name string, data []byte) error {
			if o.timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, errors.New("not written within --timeout"))
				defer cancel()
			}
			return writeFileNow(ctx, name, data)
		},
		Check: func(ctx context.Context, name string, src []byte) lang.Diagnostics {
			_, diags := comp.Compile(ctx, name, src)
			return diags
		},
		Bind: func(ctx context.Context, name string, src []byte, b repl.Bindings) ([]lang.Option, error) {
			prog, diags := comp.Compile(ctx, name, src)
			if prog == nil {
				return nil, diags
			}
			opts, err := paramOptions(prog, b.Params)
			if err != nil {
				return nil, err
			}
			files, err := bindFiles(prog, b.Data)
			return append(opts, files...), err
		},
	})
	if o.recorder == nil { // else the session is recorded as a whole
		shell.Listen = rt.Listen
	}
	shell.Size = a.screenSize
	shell.Color = a.setColor
	if file := a.settingsFile(); file != "" {
		shell.SaveSettings = func(text string) (string, error) { return file, saveSettings(file, text) }
	}
	if interactive {
		shell.Edit = a.edit
		if a.con.out.tty && !a.dumb() { // pagers ask for a key there before they show a line
			shell.Page = a.page
		}
		shell.Top = func(ctx context.Context) error { return a.top(ctx, m) }
		shell.Progress = func() func() {
			return a.showProgress(o, rt, func() (engine.Stats, bool) { return session.Stats(), true }).stop
		}
	}
	stop := a.listen(shell, interactive, cancel)
	defer stop()
	code := a.converse(ctx, o, ranks, shell, rt, history, interactive, files)
	shell.Finish(ctx)
	var sig *signalError
	if errors.As(context.Cause(ctx), &sig) {
		code = sig.code()
	}
	if !shell.Abandoned() { // a statement that was left behind still holds it
		if err := session.Close(); err != nil && code == exitOK && !interactive {
			a.say(err)
		}
		return status(code)
	}
	a.exitNow(code)
	return status(code)
}

// converse runs init.spu, what the command line brought, and the conversation.
func (a *app) converse(ctx context.Context, o *runFlags, ranks *ranks, shell *repl.Shell, rt *engine.Runtime, history *repl.History, interactive bool, files []string) int {
	if interactive && !a.flags.quiet {
		between, width := "  ·  ", a.con.out.width(a.env)
		machine := machineLine(rt)
		if ranks != nil {
			machine = fmt.Sprintf("%d ranks, here %s", ranks.world.Size(), machine)
		}
		parts := []string{"starpush " + Version, machine, ":help for commands, Ctrl-D leaves"}
		if width > 0 && utf8.RuneCountInString(strings.Join(parts, between)) > width {
			between = "\n  "
		}
		parts[0] = a.con.out.paint(parts[0], color.Bold)
		fmt.Fprintln(a.con.out, repl.Fold(strings.Join(parts, between), width))
	}
	if !a.flags.noInit {
		if file := a.settingsFile(); file != "" {
			if text, err := os.ReadFile(file); err == nil {
				shell.Configure(file, string(text))
			} else if !errors.Is(err, fs.ErrNotExist) {
				a.sayError(err)
			}
		}
		if file := a.initFile(); file != "" {
			a.verbosef("running %s", file)
			shell.Load(ctx, file, repl.Bindings{})
		}
	}
	for _, file := range files {
		shell.Load(ctx, file, repl.Bindings{Params: o.params, Data: o.data})
	}
	for _, code := range o.code {
		shell.Entry(ctx, code)
	}
	if code, leaving := shell.Leaving(); leaving {
		return code
	}
	if !interactive {
		return shell.Run(ctx, repl.NewLines(a.in))
	}
	t, err := repl.NewTerminal(history, shell.Complete, shell.Size, !a.dumb(), waiting(os.Stdin))
	if err != nil {
		a.sayError(fmt.Errorf("the terminal has no line editing: %w", err))
		return shell.Run(ctx, repl.NewLines(bufio.NewReader(a.in)))
	}
	a.restore = restorer(a.in)
	defer t.Close()
	return shell.Run(ctx, t)
}

// listen handles signals during a conversation. At a terminal, SIGINT goes to the Shell
// while a statement runs. SIGTERM, and SIGINT without a terminal, end the conversation:
// at once when nothing runs, else after an orderly cancel; a second one ends the process.
func (a *app) listen(shell *repl.Shell, interactive bool, cancel context.CancelCauseFunc) (stop func()) {
	interrupts := make(chan struct{}, 4)
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	shell.Interrupts = interrupts
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ending := false
		for {
			select {
			case <-done:
				return
			case s := <-ch:
				if interactive && s == os.Interrupt {
					select {
					case interrupts <- struct{}{}:
					default: // four presses wait to be heard
					}
					continue
				}
				e := &signalError{sig: s.(syscall.Signal)}
				cancel(e)
				if ending || !shell.Busy() {
					a.exitNow(e.code())
					return
				}
				ending = true
			}
		}
	})
	return func() {
		signal.Stop(ch)
		close(done)
		wg.Wait()
	}
}

func (a *app) painter(s *stream, attrs ...color.Attribute) func(string) string {
	return func(text string) string { return s.paint(text, attrs...) }
}

// historyFile is where a person's entries are kept; "" for pipes.
func (a *app) historyFile(interactive bool) string {
	dir := a.xdg("XDG_STATE_HOME", ".local/state")
	if !interactive || dir == "" {
		return ""
	}
	return filepath.Join(dir, "starpush", "history")
}

// settingsFile is where :set save keeps what it has changed, "" without a home.
func (a *app) settingsFile() string {
	dir := a.xdg("XDG_CONFIG_HOME", ".config")
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "starpush", "settings")
}

func saveSettings(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return writeFile(file, []byte(text))
}

// initPath is where the user's init.spu would be, "" without a home.
func (a *app) initPath() string {
	dir := a.xdg("XDG_CONFIG_HOME", ".config")
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "starpush", "init.spu")
}

// initFile is the user's init.spu, "" when there is none.
func (a *app) initFile() string {
	file := a.initPath()
	if _, err := os.Stat(file); file == "" || err != nil {
		return ""
	}
	return file
}

// restorer returns what puts a terminal back as it is now.
func restorer(in any) func() {
	f, ok := in.(*os.File)
	if !ok {
		return nil
	}
	state, err := term.GetState(int(f.Fd()))
	if err != nil {
		return nil
	}
	return func() { term.Restore(int(f.Fd()), state) }
}

// xdg is a folder of the XDG base directory specification, which says that
// relative paths in these variables are to be ignored. "" without a home.
func (a *app) xdg(variable, fallback string) string {
	if dir := a.env[variable]; filepath.IsAbs(dir) {
		return dir
	}
	if home := a.env["HOME"]; home != "" {
		return filepath.Join(home, fallback)
	}
	return ""
}

// machine is what the Shell shows of the runtime.
type machine struct {
	rt      *engine.Runtime
	session *lang.Session
	recent  *trace.Recent
	base    engine.Stats // what :stats reset has taken away
}

// Workers lists the workers.
func (m *machine) Workers() []string {
	lines := make([]string, m.rt.Workers())
	for i := range lines {
		if w, err := m.rt.Worker(i); err == nil {
			lines[i] = w.Name
		}
	}
	return lines
}

// Nodes lists the memory nodes.
func (m *machine) Nodes() []string {
	var lines []string
	for _, n := range m.rt.Nodes() {
		lines = append(lines, fmt.Sprintf("%s  %s, %s used for data", n.Name, bytesText(n.Capacity), bytesText(n.Allocated)))
	}
	return lines
}

// Stats is the table of counts and times.
func (m *machine) Stats(width int) string {
	return statsText(sinceStats(m.session.Stats(), m.base), width)
}

// ResetStats makes Stats begin anew.
func (m *machine) ResetStats() { m.base = m.session.Stats() }

// The editor that :edit opens.

// edit lets the person change text in $VISUAL or $EDITOR and returns what is left
// of it. Ctrl-C is the editor's meanwhile.
func (a *app) edit(ctx context.Context, text string) (string, error) {
	command := a.env["VISUAL"]
	if command == "" {
		command = a.env["EDITOR"]
	}
	if command == "" {
		for _, name := range []string{"sensible-editor", "nano", "vi"} {
			if _, err := exec.LookPath(name); err == nil {
				command = name
				break
			}
		}
	}
	if strings.TrimSpace(command) == "" {
		return "", errors.New("no editor: set VISUAL or EDITOR to one")
	}
	dir, err := os.MkdirTemp("", "starpush")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "entry.spu")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	words := append(strings.Fields(command), file)
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Stdin, c.Stdout, c.Stderr = a.in, os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s: %w; nothing was run", words[0], err)
	}
	edited, err := os.ReadFile(file)
	return string(edited), err
}

// The terminal of the prompt: its size, its colours, and the pager for long texts.

// dumb reports whether the terminal does no more than show text.
func (a *app) dumb() bool { return a.env["TERM"] == "" || a.env["TERM"] == "dumb" }

// screenSize is how many columns and rows the terminal of standard output has; 0, 0
// without one.
func (a *app) screenSize() (columns, rows int) {
	columns = a.con.out.width(a.env)
	if f, ok := a.con.out.w.(*os.File); ok && columns > 0 {
		_, rows, _ = term.GetSize(int(f.Fd())) // 0 if not known
	}
	return columns, rows
}

// setColor switches colours: "auto", "on", "off".
func (a *app) setColor(mode string) {
	mode = map[string]string{"on": "always", "off": "never", "auto": a.flags.color}[mode]
	a.con.out.col = newStream(a.con, a.con.out.w, a.env, mode).col
	a.con.err.col = newStream(a.con, a.con.err.w, a.env, mode).col
}

// page shows text in $PAGER, else in less or more; without any, and with an empty PAGER,
// it is written. Ctrl-C is the pager's meanwhile.
func (a *app) page(ctx context.Context, text string) error {
	command, set := a.env["PAGER"]
	if !set {
		for _, name := range []string{"less", "more"} {
			if _, err := exec.LookPath(name); err == nil {
				command = name
				break
			}
		}
	}
	words := strings.Fields(command)
	if len(words) == 0 {
		_, err := a.con.out.Write([]byte(text))
		return err
	}
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Env = os.Environ()
	if a.env["LESS"] == "" {
		c.Env = append(c.Env, "LESS=FRX") // gone when it fits, colours, the text stays on the screen
	}
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(text), os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		return fmt.Errorf("%s: %w; PAGER names another pager, and an empty PAGER none", words[0], err)
	}
	_ = c.Wait() // pagers end as they like, as when q is pressed before the end of the text
	return nil
}

// :top: what workers, tasks, memories and links do right now.

// topFrame is how often :top is drawn.
const topFrame = 500 * time.Millisecond

// topText is one picture of m, beside what it was a while before.
func (m *machine) topText(now, before engine.Stats, since time.Duration) string {
	var b strings.Builder
	left := now.Submitted - ended(now)
	running := m.recent.Running()
	fmt.Fprintf(&b, "tasks   %d of %d ended, %d running, %d ready, %d waiting", ended(now), now.Submitted, len(running),
		max(0, m.rt.Ready()-len(running)), max(0, left-int64(max(m.rt.Ready(), len(running)))))
	if now.Failed+now.Cancelled > 0 {
		fmt.Fprintf(&b, "; %d failed, %d cancelled", now.Failed, now.Cancelled)
	}
	b.WriteString("\n")
	rows := [][]string{{"worker", "runs", "since", "tasks", "busy"}}
	for i, w := range now.Workers {
		busy := w.Time
		if i < len(before.Workers) {
			busy -= before.Workers[i].Time
		}
		what, age := "", ""
		for _, r := range running {
			if r.Worker == i {
				ran := time.Since(r.Since)
				what, age = fmt.Sprintf("%s %d", r.Codelet, r.ID), durationText(ran)
				busy = max(busy, min(ran, since)) // it counts when it ends
			}
		}
		share := min(1, max(0, busy.Seconds()/max(since.Seconds(), 1e-9)))
		rows = append(rows, []string{w.Name, what, age, fmt.Sprint(w.Tasks), fmt.Sprintf("%.0f %%", 100*share)})
	}
	writeTable(&b, rows)
	rows = [][]string{{"memory", "in use", "of", ""}}
	for _, n := range m.rt.Nodes() {
		share := ""
		if n.Capacity > 0 {
			share = fmt.Sprintf("%.0f %%", 100*float64(n.Allocated)/float64(n.Capacity))
		}
		rows = append(rows, []string{n.Name, bytesText(n.Allocated), bytesText(n.Capacity), share})
	}
	writeTable(&b, rows)
	rows = [][]string{{"link", "copies", "size", "now"}}
	for i, l := range now.Buses {
		bytes := l.Bytes
		if i < len(before.Buses) && before.Buses[i].From == l.From && before.Buses[i].To == l.To {
			bytes -= before.Buses[i].Bytes
		}
		rows = append(rows, []string{linkText(l), fmt.Sprint(l.Copies), bytesText(l.Bytes), bytesText(int64(float64(bytes)/max(since.Seconds(), 1e-9))) + "/s"})
	}
	writeTable(&b, rows)
	return b.String()
}

// Top is one picture of what goes on.
func (m *machine) Top() string {
	return m.topText(m.session.Stats(), engine.Stats{}, time.Since(m.rt.Began()))
}

// top shows pictures until a key is pressed.
func (a *app) top(ctx context.Context, m *machine) error {
	in, ok := a.in.(*os.File)
	if !ok {
		_, err := io.WriteString(a.con.out, m.Top())
		return err
	}
	state, err := term.MakeRaw(int(in.Fd())) // Ctrl-C is a key, too
	if err != nil {
		return err
	}
	defer term.Restore(int(in.Fd()), state)
	io.WriteString(a.con.out, "\x1b[?1049h\x1b[?25l") // a screen of its own, no cursor
	defer io.WriteString(a.con.out, "\x1b[?25h\x1b[?1049l")
	before, last := m.session.Stats(), time.Now()
	for {
		now, at := m.session.Stats(), time.Now()
		text := m.topText(now, before, at.Sub(last)) + "\nany key leaves\n"
		before, last = now, at
		width, height, err := term.GetSize(int(in.Fd()))
		if err != nil || width <= 0 {
			width, height = 80, 24
		}
		io.WriteString(a.con.out, "\x1b[H"+screen(text, width, height)+"\x1b[J")
		if key, err := waitKey(ctx, in, topFrame); key || err != nil {
			return err
		}
	}
}

// screen cuts text to what a terminal shows, with ends of lines for raw mode.
func screen(text string, width, height int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > height {
		lines = lines[:height]
	}
	for i, l := range lines {
		if r := []rune(l); len(r) > width {
			l = string(r[:width])
		}
		lines[i] = l + "\x1b[K"
	}
	return strings.Join(lines, "\r\n")
}
