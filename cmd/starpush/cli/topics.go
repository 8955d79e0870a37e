package cli

// Topics of starpush help that are about no command: what tables mean.

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/starpush/starpush/cmd/starpush/repl"
)

// helpTopics are shown by "starpush help NAME" and are sections of the manual page.
var helpTopics = []struct{ name, short, long string }{
	{"stats", "What the tables of --stats and --profile mean", `--stats counts the tasks of a run and, on machines with more than one memory, copies:

  at most           the peak of main memory, which is "ram" in the table of memories
  codelet, worker   tasks whose kernel ended, seconds in kernels of all workers
                    together, and the mean; "all cpu" adds up the workers of a kind.
                    Below a microsecond a task times are estimated
  GFLOP/s, GB/s     of one worker, while it runs kernels of the codelet: operations as
                    far as the codelet or its insert says how many, and bytes of the
                    operands, once for R and W, twice for RW, COMMUTE and REDUX. – is
                    not known
  memory
    peak            the most that data took there at one time, copies included: of each
                    memory for itself, so that one may be above or below the others.
                    What belongs to the host program and what a script holds, such as
                    lists, does not count. ":stats reset" leaves it as it is
    evictions       copies of data taken away so that a task had room; evicted: their size
    arrived         what was copied there from other memories
    needed          what of that there had to be if there were room for everything:
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
