package cli

// Documentation in the terminal: starpush doc, explain, help and man.

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fatih/color"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/starpush/starpush/cmd/starpush/repl"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/vocab"
	"github.com/starpush/starpush/stdlib"
)

// starpush doc: documentation in the terminal.

func docCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doc [NAME]",
		Short: "Show what a name, a module or a topic of the language is",
		Long: `Without a name it lists what there is. A name is a module (blas), something in
one (blas.gemm), a builtin (print), a type, a filter (blocks), an option
(priority), a word of the language (REDUX, partition), a diagnostic (E0401), or a
topic: ` + strings.Join(repl.Topics(), ", ") + ".",
		Example: "  starpush doc blas.gemm\n  starpush doc filters",
		Args:    arity(0, 1, "one name"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return docNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			comp, err := a.compiler(lang.WarningSet{})
			if err != nil {
				return err
			}
			rt, err := engine.New(engine.Options{Workers: 1})
			if err != nil {
				return err
			}
			defer rt.Close()
			session := comp.NewSession(rt)
			defer session.Close()
			for _, name := range moduleNames() {
				if _, err := session.Eval(cmd.Context(), fmt.Sprintf("import %q as %s", name, path.Base(name))); err != nil {
					return err
				}
			}
			if len(args) == 0 {
				return a.docList()
			}
			return a.docOf(cmd.Root(), session, args[0])
		},
	}
}

// moduleNames lists the modules of the library.
func moduleNames() []string {
	var names []string
	for name := range stdlib.Modules() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// docNames lists what doc is likely to be asked for.
func docNames() []string {
	names := repl.Topics()
	for name, module := range stdlib.Modules() {
		names = append(names, path.Base(name))
		for _, c := range module.Codelets {
			names = append(names, path.Base(name)+"."+c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// docSections are what there is besides modules: names by what they are.
func docSections() []docSection {
	entries := func(list []vocab.Entry) (names []string) {
		for _, e := range list {
			names = append(names, e.Name)
		}
		return names
	}
	var values, filters, options []string
	for _, v := range check.BuiltinValues {
		values = append(values, v.Name)
	}
	for _, f := range check.FilterTable {
		filters = append(filters, f.Name)
	}
	for _, set := range vocab.Options {
		for _, o := range set.Options {
			if !slices.Contains(options, o.Name) {
				options = append(options, o.Name)
			}
		}
	}
	slices.Sort(options)
	return []docSection{
		{"builtin", append(repl.Builtins(), entries(vocab.BodyFuncs)...)},
		{"values", values},
		{"types", append(entries(vocab.TypeNames), entries(vocab.ElemNames)...)},
		{"modes", entries(vocab.Modes)},
		{"filters", filters},
		{"options", options},
		{"words", entries(vocab.Words)},
		{"topics", repl.Topics()},
	}
}

type docSection struct {
	title string
	names []string
}

// docList shows the modules with what is in them, and the topics.
func (a *app) docList() error {
	modules := stdlib.Modules()
	type entry struct {
		T     string   `json:"t"`
		Name  string   `json:"name"`
		Names []string `json:"names"`
	}
	for _, name := range moduleNames() {
		var members []string
		for _, c := range modules[name].Codelets {
			members = append(members, c.Name)
		}
		slices.Sort(members)
		if a.json != nil {
			a.json.line(entry{"doc", name, members})
			continue
		}
		fmt.Fprintf(a.con.out, "import %q as %s\n%s\n%s\n", name, path.Base(name), wrapped(modules[name].Doc, "  ", 78), wrapped(strings.Join(members, " "), "    ", 78))
	}
	for _, s := range docSections() {
		if a.json != nil {
			name := s.title
			if name == "builtin" {
				name = ""
			}
			a.json.line(entry{"doc", name, s.names})
			continue
		}
		fmt.Fprintf(a.con.out, "%s\n%s\n", s.title, wrapped(strings.Join(s.names, " "), "    ", 78))
	}
	if a.json == nil {
		fmt.Fprintln(a.con.out, "`starpush doc NAME` shows one of them, `starpush explain CODE` a diagnostic")
	}
	return nil
}

// wrapped breaks text between words into lines of at most width columns.
func wrapped(text, indent string, width int) string {
	var b strings.Builder
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(indent)+len(line)+1+len(w) > width {
			b.WriteString(indent + line + "\n")
			line = ""
		}
		line = strings.TrimSpace(line + " " + w)
	}
	return b.String() + indent + line
}

// docOf shows one name. A codelet may be named without its module.
func (a *app) docOf(root *cobra.Command, session *lang.Session, name string) error {
	if name == "" {
		return usagef("the name is empty; `starpush doc` lists what there is")
	}
	names := append(docNames(), repl.Builtins()...)
	full := map[string]string{} // of members: with their module
	for _, n := range names {
		if _, member, ok := strings.Cut(n, "."); ok {
			full[member] = n
		}
	}
	if slices.Contains(moduleNames(), name) { // std/blas
		name = path.Base(name)
	}
	width := a.con.out.width(a.env)
	text, ok := session.Doc(name)
	if !ok && full[name] != "" {
		name = full[name]
		text, ok = session.Doc(name)
	}
	if ok { // of the import above
		text, _, _ = strings.Cut(text, "\ndefined at <entry")
		text = repl.Plain(text, width, a.painter(a.con.out, color.Bold))
		if more, is := repl.Topic(repl.TopicOf(name), width); is { // of a word of the language
			text += "\n\n" + more
		}
	} else if text, ok = lang.Explain(strings.ToUpper(name)); ok {
		text = repl.Plain(text, width, a.painter(a.con.out, color.Bold))
	} else {
		topic := name
		if of := repl.TopicOf(name); of != "" { // what files and data have in common
			topic = of
		}
		text, ok = repl.Topic(topic, width)
	}
	if !ok {
		for _, s := range docSections() {
			names = append(names, s.names...)
		}
		for _, c := range root.Commands() {
			if c.Name() == name {
				return usagef("`%s` is a command: `starpush help %[1]s` shows what it does; `starpush doc` lists words of the language and topics", name)
			}
		}
		near, found := diag.Nearest(name, slices.AppendSeq(names, maps.Keys(full)))
		switch {
		case found && full[near] != "":
			near = full[near]
		case !found:
			return usagef("there is no `%s`; `starpush doc` lists what there is", name)
		}
		return usagef("there is no `%s`; did you mean `%s`?", name, near)
	}
	if a.json != nil {
		a.json.line(struct {
			T    string `json:"t"`
			Name string `json:"name"`
			Page string `json:"page"`
		}{"doc", name, text})
		return nil
	}
	fmt.Fprintln(a.con.out, strings.TrimRight(text, "\n"))
	return nil
}

// Descriptions of the words of the language, for starpush doc.

// words are the reserved words.
var words = func() map[string]bool {
	m := map[string]bool{}
	for _, e := range vocab.Words {
		m[e.Name] = true
	}
	return m
}()

// starpush explain: the page about a diagnostic.

// codesWith lists the codes with the number that is meant by 401 or 0401; nil for other texts.
func codesWith(text string) (codes []string) {
	for _, c := range diag.Codes() {
		if number := c.Code[1:]; text == number || text == strings.TrimPrefix(number, "0") {
			codes = append(codes, c.Code)
		}
	}
	return codes
}

func explainCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "explain CODE",
		Short:   "Show what a diagnostic such as E0401 means",
		Example: "  starpush explain E0401",
		Args:    arity(1, 1, "one code, such as E0401"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return codeCompletions(""), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			code := strings.ToUpper(args[0])
			page, ok := lang.Explain(code)
			if !ok && len(code) == 4 { // e401
				code = code[:1] + "0" + code[1:]
				page, ok = lang.Explain(code)
			}
			if !ok {
				if found := codesWith(args[0]); len(found) > 0 {
					return usagef("there is no diagnostic `%s`; did you mean %s?", args[0], strings.Join(found, " or "))
				}
			}
			if !ok {
				return usagef("there is no diagnostic `%s`; codes look like E0401, W0201 or R0101", args[0])
			}
			if a.json != nil {
				a.json.line(struct {
					T    string `json:"t"`
					Code string `json:"code"`
					Page string `json:"page"`
				}{"explain", code, page})
				return nil
			}
			io.WriteString(a.con.out, strings.TrimRight(page, "\n")+"\n")
			return nil
		},
	}
}

// Topics of starpush help that are about no command: what tables mean.

// helpTopics are shown by "starpush help NAME" and are sections of the manual page.
var helpTopics = []struct{ name, short, long string }{
	{"stats", "Meaning of the tables of --stats and --profile", `--stats counts the tasks of a run and, on machines with more than one memory, copies:

  at most           the peak of main memory, which is "ram" in the table of memories
  inserted tasks    those of the script. The engine adds others, such as (reduce) for
                    REDUX: they are in plans, --profile and --report only
  codelet, worker   tasks whose kernel ended, the time in kernels of all workers
                    together, and the mean; "all cpu" adds up the workers of a kind.
                    Below a microsecond a task times are estimated
  GFLOP/s, GB/s     of one worker, while it runs kernels of the codelet: operations as
                    far as the codelet or its insert says how many, and bytes of the
                    operands, once for R, W and COMMUTE of W, twice for RW, COMMUTE
                    of RW and REDUX. – is not known
  memory
    peak            the most memory of data at one time, copies included. Each memory
                    has its own peak, so they need not be of the same moment.
                    Memory of the host program, and lists and other values of a script,
                    do not count. ":stats reset" leaves it as it is
    evictions       copies of data taken away so that a task had room; evicted: their size
    arrived         bytes copied there from other memories
    needed          the part of it that would be needed with room for everything:
                    each value once that tasks read there and that was not made there.
                    If more arrived, it had been evicted before, or stopped there on its
                    way; if less, it lay there from the beginning. 0 bytes for main
                    memory means that all that came back had been evicted. A disk has –,
                    because no task reads there
  link              copies, the sum of their times, and their size. "within sim 0": from
                    one place of that memory to another, where views overlap: parts
                    of data are put together for a kernel, or taken apart again
  copies under way  how long at least one copy from or to a memory was, and for how much
                    of that kernels ran there: hidden, it costs nothing

--profile measures every task:

  total to max      time in kernels
  waiting           from its insert until all it depends on had ended
  queued            from then until a worker took it
  fetching          until its data was there
  starting          until its kernel began
  releasing         until those that depend on it knew; all five on average
  stddev            of kernels, all of them: a few that take long (outliers), such as
                    first ones on cold caches, raise it, the mean and max, and min is
                    near the usual time. "starpush perf show" has medians, which
                    outliers do not move; there it counts as one what is further from
                    the middle half of the times than one and a half times its width
  busy, sleeping    of a worker: in kernels, and without work; overhead is the rest

--advise, and --profile, too, say which inserts make tasks that are too short or too
few, and why a body is slow. With --json all of it is in the line "summary".`},
}

// helpWidth is how wide help is where standard output is no terminal.
const helpWidth = 80

// foldHelp makes the help of all commands break lines between words, at the width of the
// terminal: a terminal breaks them anywhere.
func (a *app) foldHelp(root *cobra.Command) {
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		text := c.Long
		if text == "" {
			text = c.Short
		}
		text = strings.TrimRight(text, " \n") + "\n\n"
		if c.Runnable() || c.HasSubCommands() {
			text += c.UsageString()
		}
		width := (&stream{w: a.help.w, tty: isTerminal(a.help.w)}).width(a.env)
		if width == 0 {
			width = helpWidth
		}
		io.WriteString(c.OutOrStdout(), folded(text, max(width, 40)))
	})
}

// folded breaks the lines of text that are longer than width, in front of words. Lines that
// are not indented are filled anew as a paragraph; what follows an indented one is
// below its last column, where it is a row of a table.
func folded(text string, width int) string {
	var b strings.Builder
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); {
		n := 1
		for prose(lines[i]) && i+n < len(lines) && prose(lines[i+n]) {
			n++
		}
		long := slices.ContainsFunc(lines[i:i+n], func(l string) bool { return utf8.RuneCountInString(l) > width })
		switch {
		case !long:
			b.WriteString(strings.Join(lines[i:i+n], "\n"))
		case prose(lines[i]):
			b.WriteString(wrapped(strings.Join(lines[i:i+n], " "), "", width))
		default:
			at := lastColumn(lines[i])
			line, hang := string([]rune(lines[i])[:at]), at
			if hang > 2*width/3 {
				hang = len(line) - len(strings.TrimLeft(line, " ")) + 4
			}
			gap := ""
			for _, w := range strings.Fields(string([]rune(lines[i])[at:])) {
				if gap != "" && utf8.RuneCountInString(line+gap+w) > width {
					b.WriteString(line + "\n")
					line, gap = strings.Repeat(" ", hang), ""
				}
				line += gap + w
				gap = " "
			}
			b.WriteString(line)
		}
		if i += n; i < len(lines) {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// prose reports whether a line is part of a paragraph.
func prose(line string) bool { return line != "" && line[0] != ' ' }

// lastColumn is where the last column of a row of a table begins: behind the last two
// spaces in a row.
func lastColumn(line string) int {
	text := strings.TrimRight(line, " ")
	return utf8.RuneCountInString(text[:strings.LastIndex(text, "  ")+2])
}

// mendHelp makes help answer words that it does not know with an error, instead of
// the page of all commands, and makes shells complete its topics.
func mendHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil || help.ValidArgsFunction == nil {
		return
	}
	help.Run = nil
	help.RunE = func(c *cobra.Command, args []string) error {
		about, rest, err := root.Find(args)
		if err != nil || about == root && len(args) > 0 || len(rest) > 0 {
			text := "`starpush help` lists commands and topics"
			if _, ok := repl.Topic(args[0], 0); ok || words[args[0]] || repl.TopicOf(args[0]) != "" {
				text = fmt.Sprintf("`starpush doc %s` shows what it is", args[0])
			} else if near := meant(root, args[0]); strings.Contains(near, "did you mean `starpush ") && !strings.Contains(near, ".spu") {
				text = strings.TrimPrefix(strings.Replace(near, "`starpush ", "`starpush help ", 1), "; ")
			}
			return usagef("there is no help about `%s`; %s", strings.Join(args, " "), text)
		}
		about.InitDefaultHelpFlag() // it is listed, too
		return about.Help()
	}
	commands := help.ValidArgsFunction
	help.ValidArgsFunction = func(c *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		out, directive := commands(c, args, text)
		for _, t := range helpTopics {
			if len(args) == 0 && strings.HasPrefix(t.name, text) {
				out = append(out, cobra.CompletionWithDesc(t.name, t.short))
			}
		}
		return out, directive
	}
}

// topicCommands are the topics as cobra wants them: commands that do nothing.
func topicCommands() (all []*cobra.Command) {
	for _, t := range helpTopics {
		all = append(all, &cobra.Command{Use: t.name, Short: t.short, Long: t.long})
	}
	return all
}

// starpush man: the manual page, made from the commands and their flags.

func manCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "Write the manual page",
		Long: `Writes the manual page starpush(1) in the format of man: "starpush man | man -l -"
shows it, and what installs starpush writes it where man looks.`,
		Args: arity(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.json != nil {
				return usagef("the manual page is no JSON")
			}
			io.WriteString(a.con.out, manPage(cmd.Root())) // finish says what is wrong with standard output
			return nil
		},
	}
}

// exitStatuses are the statuses of the command, for people.
var exitStatuses = []struct {
	code    int
	meaning string
}{
	{exitOK, "Success. Warnings are none, unless --deny says so."},
	{exitFailed, "The script ran and failed; fmt --check found changes; a test failed; a plan is not as expected."},
	{exitUsage, "Wrong usage: flags, a file that is missing, a param that is unknown, missing or of the wrong type, an extern without data."},
	{exitInvalid, "The script is invalid: nothing ran."},
	{exitLimit, "A limit was reached: time, steps, tasks, memory."},
	{exitDevice, "No device can run it, or a device is missing or was lost."},
	{exitInt, "Interrupted, after an orderly cancel; a second signal ends it at once."},
	{exitTerm, "Terminated, likewise."},
}

// manFiles are the files that the command looks at, and variables that move them.
var manFiles = [][2]string{
	{"$XDG_CONFIG_HOME/starpush/init.spu", "Runs when the prompt opens, unless --no-init is given."},
	{"$XDG_STATE_HOME/starpush/history", "The entries of the prompt."},
	{"$STARPUSH_PERF_DIR", "Performance models; by default in the cache folder of the user."},
	{"$STARPUSH_BUS_DIR", "Bandwidths as measured; likewise."},
	{"$STARPUSH_BLAS", "The BLAS to use: gonum, or the file of a library."},
	{"$NO_COLOR", "Where it is set nothing is coloured by itself."},
	{"$VISUAL, $EDITOR", "The editor of :edit."},
}

// manPage writes all commands as one page.
func manPage(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH STARPUSH 1 \"\" \"starpush %s\" \"User Commands\"\n", Version)
	b.WriteString(".SH NAME\nstarpush \\- " + roff(lowerFirst(root.Short)) + "\n.SH SYNOPSIS\n")
	b.WriteString(".B starpush\n[\\fIFILE.spu\\fR] [\\fIflags\\fR]\n")
	for _, c := range root.Commands() {
		if documented(c) {
			b.WriteString(strings.TrimRight(".br\n.B starpush "+roff(c.Name())+"\n"+roffArgs(c), "\n") + "\n")
		}
	}
	b.WriteString(".SH DESCRIPTION\n" + roffText(root.Long) + roffExample(root))
	b.WriteString(".SH OPTIONS\n" + roffFlags(root.NonInheritedFlags(), root.PersistentFlags()))
	b.WriteString(".SH GLOBAL OPTIONS\nThese work with every command.\n" + roffFlags(root.PersistentFlags(), nil))
	b.WriteString(".SH COMMANDS\n")
	for _, c := range root.Commands() {
		if documented(c) {
			roffCommand(&b, c, "")
		}
	}
	for _, t := range helpTopics {
		b.WriteString(".SH " + roff(strings.ToUpper(t.name)) + "\n" + roffText(t.long))
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range exitStatuses {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", e.code, roff(e.meaning))
	}
	b.WriteString(".SH FILES AND ENVIRONMENT\n")
	for _, f := range manFiles {
		fmt.Fprintf(&b, ".TP\n.I %s\n%s\n", roff(f[0]), roff(f[1]))
	}
	b.WriteString(".SH SEE ALSO\nlang/SPEC.md, the language; docs/cli.md, this command; \\fBstarpush doc\\fR, what modules have.\n")
	return b.String()
}

// documented reports whether the page has c: what only shells call has no place there.
func documented(c *cobra.Command) bool { return c.IsAvailableCommand() && c.Name() != "help" }

// roffCommand writes one command, and those below it.
func roffCommand(b *strings.Builder, c *cobra.Command, above string) {
	name := strings.TrimSpace(above + " " + c.Name())
	fmt.Fprintf(b, ".SS %s %s\n", roff(name), roffArgs(c))
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	b.WriteString(roffText(text) + roffFlags(c.NonInheritedFlags(), nil) + roffExample(c))
	for _, sub := range c.Commands() {
		if documented(sub) {
			roffCommand(b, sub, name)
		}
	}
}

// roffArgs are the arguments of a command, without its name.
func roffArgs(c *cobra.Command) string {
	_, args, _ := strings.Cut(c.Use, " ")
	if args == "" {
		return ""
	}
	return "\\fI" + roff(args) + "\\fR"
}

// roffFlags lists flags that are not in but.
func roffFlags(fs, but *pflag.FlagSet) string {
	var b strings.Builder
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || but != nil && but.Lookup(f.Name) != nil {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(&b, "\\fB\\-%s\\fR, ", f.Shorthand)
		}
		b.WriteString("\\fB\\-\\-" + roff(f.Name) + "\\fR")
		if value != "" {
			b.WriteString(" \\fI" + roff(value) + "\\fR")
		}
		lines := strings.Split(usage, "\n")
		text := lines[0]
		if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "[]" && d != "0s" && !strings.Contains(text, "default") {
			text += " (default " + d + ")"
		}
		b.WriteString("\n" + roff(text) + "\n")
		for _, l := range lines[1:] { // a list
			name, about, _ := strings.Cut(strings.TrimSpace(l), " ")
			b.WriteString(".br\n\\fB" + roff(name) + "\\fR: " + roff(strings.TrimSpace(about)) + "\n")
		}
	})
	return b.String()
}

// roffText writes paragraphs; what is indented stays as it is.
func roffText(text string) string {
	var b strings.Builder
	literal := false
	for line := range strings.Lines(strings.Trim(text, "\n") + "\n") {
		line = strings.TrimRight(line, "\n")
		indented := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
		switch {
		case indented && !literal:
			b.WriteString(".PP\n.nf\n")
			literal = true
		case !indented && literal && line != "":
			b.WriteString(".fi\n.PP\n")
			literal = false
		}
		if line == "" && !literal {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roff(line) + "\n")
	}
	if literal {
		b.WriteString(".fi\n")
	}
	return b.String()
}

func roffExample(c *cobra.Command) string {
	if c.Example == "" {
		return ""
	}
	return ".PP\nExamples:\n" + roffText(c.Example)
}

// roff escapes text: no character of it is a request or a quotation mark of roff.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
