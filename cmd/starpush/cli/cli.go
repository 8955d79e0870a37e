// Package cli is the command line of starpush: the subcommands, and the streams,
// flags, signals and exit statuses that they share.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/starpush/starpush/accel/disk"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
)

// Version is the version of the command.
const Version = "0.1"

// Main runs one command line, args without the name of the program, and returns
// its exit status. env is the environment as os.Environ gives it. Main takes
// SIGINT and SIGTERM while something runs; a second signal ends the process.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	a := &app{args: args, in: stdin, env: map[string]string{}, exit: os.Exit, start: time.Now()}
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok {
			a.env[k] = v
		}
	}
	end := a.beRank(&stdout)
	code := a.main(args, stdout, stderr)
	end(code)
	return code
}

// main is Main for the process as it is.
func (a *app) main(args []string, stdout, stderr io.Writer) int {
	root := a.rootCommand()
	root.SetArgs(longFlags(root, args))
	root.SetIn(a.in)
	a.help.w = stdout
	root.SetOut(&a.help)
	root.SetErr(stderr)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := a.open(stdout, stderr); err != nil {
			return err
		}
		if err := noEmptyFlags(cmd); err != nil {
			return err
		}
		return noFlagFiles(cmd)
	}
	cmd, err := root.ExecuteContextC(context.Background())
	if a.con == nil { // the command line was wrong before anything started
		a.flags.json = a.flags.json || slices.Contains(args, "--json")
		if openErr := a.open(stdout, stderr); err == nil && openErr != nil {
			err = openErr
		}
		if err == nil { // help, completion: cobra did it all
			err = a.help.err
		}
		if err == nil {
			return exitOK
		}
	}
	return a.finish(cmd, err)
}

// longFlags writes the names of long flags with two dashes where they have one, as those
// of Go's tools: -run, -stats=false. Else -version would be -v and -e with the code "rsion".
func longFlags(root *cobra.Command, args []string) []string {
	long := map[string]bool{"help": true, "version": true}
	var collect func(c *cobra.Command)
	collect = func(c *cobra.Command) {
		for _, fs := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
			fs.VisitAll(func(f *pflag.Flag) { long[f.Name] = len(f.Name) > 1 })
		}
		for _, sub := range c.Commands() {
			collect(sub)
		}
	}
	collect(root)
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "="); strings.HasPrefix(arg, "-") && long[name] {
			args[i] = "-" + arg
		}
	}
	return args
}

// A checkedWriter remembers the first error of writing.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if err != nil && c.err == nil {
		c.err = &exitError{code: exitFailed, err: fmt.Errorf("standard output: %w", cause(err))}
	}
	return n, err
}

// app is one command line being run.
type app struct {
	args     []string
	in       io.Reader
	env      map[string]string
	flags    globalFlags
	con      *console
	json     *jsonWriter   // nil without --json
	exit     func(int)     // ends the process; tests replace it
	read     readFiles     // for --watch
	watching bool          // --watch hears signals
	onRanks  bool          // this process is one of several ranks
	rankEnds func(int)     // sends the exit status of rank 0 to the command that started it
	help     checkedWriter // what cobra writes
	restore  func()        // puts the terminal back, nil when nothing changed it
	start    time.Time
	reported bool         // a diagnostic was shown
	tasks    int64        // that ended, for the summary
	stats    any          // for the summary, nil without --stats
	profile  any          // for the summary, nil without --profile
	advice   []string     // for the summary, nil without --advise and --profile
	devices  *deviceSet   // of the runtime
	disk     *disk.Device // of the runtime; nil: it has none
}

// globalFlags work with every subcommand.
type globalFlags struct {
	json    bool
	color   string
	quiet   bool
	verbose bool
	noInit  bool
	limits  []string
	kernels lang.Kernels
}

// open makes the console once the flags are known.
func (a *app) open(stdout, stderr io.Writer) error {
	if a.con != nil {
		return nil
	}
	mode := a.flags.color
	a.con = newConsole(stdout, stderr, a.env, mode)
	if a.flags.json {
		a.json = newJSONWriter(a.con.out)
	}
	if !slices.Contains([]string{"", "auto", "always", "never"}, mode) {
		return usagef("--color is auto, always or never, not `%s`", mode)
	}
	if a.flags.quiet && a.flags.verbose {
		return usagef("-q and -v exclude each other")
	}
	return nil
}

// finish says what is left to say and returns the exit status.
func (a *app) finish(cmd *cobra.Command, err error) int {
	code := exitOK
	if err != nil {
		var e *exitError
		hint := false
		if !errors.As(err, &e) { // cobra's own: unknown flags, wrong arguments
			e, hint = &exitError{code: exitUsage, err: err}, true
		}
		code = e.code
		switch {
		case errors.Is(err, syscall.EPIPE): // its reader has gone
			code = exitPipe
		case e.err != nil:
			a.sayError(e)
			if hint && cmd != nil && a.json == nil {
				fmt.Fprintf(a.con.err, "`%s --help` shows the usage\n", cmd.CommandPath())
			}
		}
	}
	if err == nil && a.help.err != nil {
		return a.finish(cmd, a.help.err)
	}
	if wrote := a.con.out.failed(); wrote != nil && a.json == nil && code == exitOK {
		a.sayError(fmt.Errorf("standard output: %v", cause(wrote)))
		code = exitFailed
	}
	if a.json != nil {
		a.json.line(struct {
			jsonSummary
			Stats   any `json:"stats,omitempty"`
			Profile any `json:"profile,omitempty"`
			Advice  any `json:"advice,omitempty"`
		}{jsonSummary{"summary", code, a.tasks, time.Since(a.start).Seconds()}, a.stats, a.profile, adviceField(a.advice)})
		if err := a.json.failed(); err != nil && !errors.Is(err, syscall.EPIPE) {
			fmt.Fprintf(a.con.err, "starpush: writing standard output: %v\n", err)
			code = max(code, exitFailed)
		}
	}
	return code
}

// sayError reports an error that is no diagnostic.
func (a *app) sayError(err error) {
	if a.json != nil {
		a.json.diagnostic(&lang.Diagnostic{Severity: lang.Error, Message: plainText(err)})
		return
	}
	fmt.Fprintf(a.con.err, "%s %s\n", a.con.err.paint("starpush:", color.FgRed, color.Bold), plainText(err))
}

// plainText returns the text of an error without the name of a package of starpush in front, which is for Go programs.
func plainText(err error) string {
	text := err.Error()
	for _, name := range []string{"lang: ", "engine: "} {
		text = strings.TrimPrefix(text, name)
	}
	return text
}

// paint colours text when the stream shows colours.
func (s *stream) paint(text string, attrs ...color.Attribute) string {
	c := color.New(attrs...)
	if s.col {
		c.EnableColor()
	} else {
		c.DisableColor()
	}
	return c.Sprint(text)
}

// style is how diagnostics look on standard error.
func (a *app) style() lang.Style {
	return lang.Style{Color: a.con.err.col, Width: a.con.err.width(a.env)}
}

// report shows diagnostics; -q leaves warnings out.
func (a *app) report(ds lang.Diagnostics) {
	if a.flags.quiet {
		ds = slices.DeleteFunc(slices.Clone(ds), func(d lang.Diagnostic) bool { return d.Severity == lang.Warning })
	}
	if a.json != nil {
		for i := range ds {
			a.json.diagnostic(&ds[i])
		}
		return
	}
	if len(ds) > 0 {
		if a.reported { // an empty line between diagnostics, as within one report
			fmt.Fprintln(a.con.err)
		}
		a.reported = true
		ds.Render(a.con.err, a.style())
		for i := range ds {
			if stack := ds[i].GoStack(); stack != "" && a.flags.verbose {
				fmt.Fprintf(a.con.err, "\n%s", stack)
			}
		}
	}
}

// verbosef says something that only -v wants to know.
func (a *app) verbosef(format string, args ...any) {
	if a.flags.verbose && a.json == nil {
		fmt.Fprintf(a.con.err, "starpush: "+format+"\n", args...)
	}
}

// rootCommand is the tree of commands.
func (a *app) rootCommand() *cobra.Command {
	var o runFlags
	root := &cobra.Command{
		Use:   "starpush [FILE.spu]",
		Short: "Run, check and format starpush scripts",
		Long: `starpush runs task-graph scripts: a script says what runs on which data with
which access, and order, transfers and devices follow.

Without arguments it opens the prompt, or runs standard input when that is no
terminal. With a file it runs the file, so "#!/usr/bin/env starpush" works.`,
		Example: `  starpush                          the prompt
  starpush scale.spu -p n=1Mi       run a script
  starpush -e 'print(1 + 1)'        run code`,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       Version,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runRoot(cmd, &o, args)
		},
	}
	root.SetFlagErrorFunc(a.flagError)
	root.SetVersionTemplate(versionLine() + "\n")
	o.register(a, root)
	root.ValidArgsFunction = scriptNames
	root.Flags().BoolVarP(&o.interactive, "interactive", "i", false, "open the prompt after FILE or -e")
	g := root.PersistentFlags()
	g.BoolVar(&a.flags.json, "json", false, "one JSON object per line on standard output")
	g.StringVar(&a.flags.color, "color", "auto", "colour `WHEN`: auto, always or never")
	g.BoolVarP(&a.flags.quiet, "quiet", "q", false, "no warnings, no progress, nothing about files that were written")
	g.BoolVarP(&a.flags.verbose, "verbose", "v", false, "say what is used: workers, policy, files; the stack where Go code panicked")
	g.BoolVar(&a.flags.noInit, "no-init", false, "the prompt does not run init.spu")
	g.Var(&kernelsFlag{&a.flags.kernels}, "kernels", "how bodies of codelets run on CPU workers, `HOW`: auto, strips or native")
	g.StringArrayVar(&a.flags.limits, "limits", nil, "`LIST` of limits, such as steps=1Mi,tasks=100: steps, depth, tasks, inflight, data, mem, output, source, workers")
	for _, c := range subcommands {
		root.AddCommand(c(a))
	}
	root.AddCommand(topicCommands()...)
	a.foldHelp(root)
	mendHelp(root)
	a.registerWatch(root)
	a.completeFlags(root)
	return root
}

// subcommands lists what follows "starpush"; help is cobra's.
var subcommands = []func(*app) *cobra.Command{
	runCommand, checkCommand, planCommand, graphCommand, simCommand, fmtCommand, testCommand, benchCommand, replCommand, docCommand, explainCommand, examplesCommand, infoCommand, perfCommand, lspCommand, completionCommand, manCommand, versionCommand,
}

// arity makes a check of the number of arguments: at least lo, at most hi (-1: any).
func arity(lo, hi int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < lo:
			return fmt.Errorf("%s needs %s", cmd.Name(), what)
		case hi >= 0 && len(args) > hi:
			return fmt.Errorf("%s takes %s; `%s` is too much", cmd.Name(), what, args[hi])
		}
		return nil
	}
}

// runRoot is "starpush" without a subcommand.
func (a *app) runRoot(cmd *cobra.Command, o *runFlags, args []string) error {
	switch {
	case len(o.code) > 0 && len(args) > 0:
		return usagef("-e and a file exclude each other: `%s`", args[0])
	case len(args) > 0 && args[0] == "":
		return usagef("the name of the script is empty")
	case len(args) > 0 && !couldBeScript(args[0]):
		return usagef("`%s` is neither a command nor a file%s", args[0], meant(cmd.Root(), args[0]))
	case len(args) > 1:
		return usagef("one script at a time: `%s` is too much; values for params are written -p name=value", args[1])
	case o.interactive:
		return a.runThenPrompt(cmd.Context(), o, args)
	case len(o.code) > 0:
		return a.runCode(cmd.Context(), o, args)
	case len(args) == 1:
		return a.runFile(cmd.Context(), o, args[0])
	case isTerminal(a.in):
		return a.prompt(cmd.Context(), o, nil)
	}
	return a.runFile(cmd.Context(), o, "-")
}

// meant guesses what a word that is nothing was meant to be, as the end of a sentence.
func meant(root *cobra.Command, word string) string {
	if _, err := os.Stat(word + ".spu"); err == nil {
		return fmt.Sprintf("; did you mean `starpush %s.spu`?", word)
	}
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if near, ok := diag.Nearest(word, names); ok {
		return fmt.Sprintf("; did you mean `starpush %s`?", near)
	}
	if near, ok := nearScript(word); ok {
		return fmt.Sprintf("; did you mean `starpush %s`?", near)
	}
	return "; `starpush help` lists the commands"
}

// couldBeScript tells a file, existing or not, from a misspelt command.
func couldBeScript(name string) bool {
	_, err := os.Stat(name)
	return err == nil || name == "-" || strings.HasSuffix(name, ".spu") || strings.ContainsRune(name, os.PathSeparator)
}
