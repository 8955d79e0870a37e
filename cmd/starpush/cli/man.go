package cli

// starpush man: the manual page, made from the commands and their flags.

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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
	b.WriteString(".SH SEE ALSO\nlang/SPEC.md, the language; \\fBstarpush doc\\fR, what modules have.\n")
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
