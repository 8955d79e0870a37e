package cli

// starpush fmt, and the differences that --diff shows.

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/starpush/starpush/lang"
)

// starpush fmt: scripts in canonical layout.

func fmtCommand(a *app) *cobra.Command {
	var check, diff bool
	c := &cobra.Command{
		Use:   "fmt [FILE|FOLDER]...",
		Short: "Write scripts in canonical layout",
		Long: `Rewrites the files in place, of a folder all scripts in it and below. "-" reads
standard input and writes standard output, and so does a command without files;
where standard input is a terminal that formats the scripts of this folder.
With --check nothing is written: the names of files that would change are
listed, and the exit status is 1 if there are any. --diff shows the changes and
writes nothing. A file that does not parse is left alone.`,
		ValidArgsFunction: scriptFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			worst := exitOK
			if len(args) == 0 {
				var err error
				if args, err = a.fmtDefault(); err != nil {
					return err
				}
			}
			files, err := scriptFilesIn(args)
			if err != nil {
				return err
			}
			for _, name := range files {
				code, err := a.formatFile(cmd.Context(), name, check, diff)
				if cmd.Context().Err() != nil {
					return err
				}
				if err != nil {
					a.sayError(err)
				}
				worst = max(worst, code)
			}
			return status(worst)
		},
	}
	c.Flags().BoolVar(&check, "check", false, "list files that are not formatted and exit with 1")
	c.Flags().BoolVar(&diff, "diff", false, "show what would change")
	return c
}

// fmtDefault is what is formatted where no file is named: standard input, or this folder
// at a terminal. Nothing on standard input is no script, but a command that runs without
// one, as those of other programs do: its --check would find nothing for ever.
func (a *app) fmtDefault() ([]string, error) {
	if isTerminal(a.in) {
		return []string{"."}, nil
	}
	in := bufio.NewReader(a.in)
	if _, err := in.Peek(1); err == io.EOF {
		return nil, usagef("standard input is empty: `starpush fmt .` formats the scripts of this folder, `starpush fmt FILE` a file")
	}
	a.in = in
	return []string{"-"}, nil
}

// scriptFilesIn lists the files that args name, or that lie in folders they name.
func scriptFilesIn(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		if fi, err := os.Stat(arg); err != nil || !fi.IsDir() {
			files = append(files, arg)
			continue
		}
		found, err := scriptsBelow(arg, func(path string) bool { return strings.HasSuffix(path, ".spu") })
		if err != nil {
			return nil, usagef("%s", folderError(arg, err))
		}
		if len(found) == 0 {
			return nil, usagef("no scripts: no file below %s ends in .spu", arg)
		}
		files = append(files, found...)
	}
	return files, nil
}

// formatFile formats one file and returns the exit status that it asks for.
func (a *app) formatFile(ctx context.Context, name string, check, diff bool) (int, error) {
	shown, src, err := a.readScript(ctx, name)
	if err != nil {
		return exitUsage, err
	}
	out, err := lang.Format(shown, src)
	if err != nil {
		if ds := diagnosticsOf(err); len(ds) > 0 {
			a.report(ds)
			return exitInvalid, nil
		}
		return exitFailed, fmt.Errorf("%s: %w", shown, err)
	}
	changed := !bytes.Equal(src, out)
	code := exitOK
	if check && changed {
		code = exitFailed
	}
	if a.json != nil {
		a.json.line(struct {
			T       string `json:"t"`
			File    string `json:"file"`
			Changed bool   `json:"changed"`
			Diff    string `json:"diff,omitempty"`
		}{"format", shown, changed, diffIf(diff, shown, src, out)})
	}
	switch {
	case check || diff:
		text := diffIf(diff, shown, src, out)
		if check && !diff && changed {
			text = shown + "\n"
		}
		if a.json == nil {
			io.WriteString(a.con.out, text)
		}
		return code, nil
	case name == "-":
		if a.json == nil {
			a.con.out.Write(out)
		}
		return code, nil
	case !changed:
		return code, nil
	}
	if err := writeFile(name, out); err != nil {
		return exitFailed, fmt.Errorf("%s is unchanged: %w", shown, err)
	}
	a.verbosef("%s: formatted", shown)
	return code, nil
}

func diffIf(diff bool, name string, src, out []byte) string {
	if !diff {
		return ""
	}
	return unifiedDiff(name, name+" (formatted)", string(src), string(out))
}

// Unified differences of two texts, for fmt --diff.

// diffContext is the number of equal lines around a change.
const diffContext = 3

// An edit is a line and what became of it: ' ' kept, '-' removed, '+' added.
type edit struct {
	op   byte
	line string
}

// unifiedDiff returns the changes from a to b as `diff -u` writes them, "" when
// the texts are equal.
func unifiedDiff(nameA, nameB, a, b string) string {
	if a == b {
		return ""
	}
	edits := diffLines(splitLines(a), splitLines(b))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", nameA, nameB)
	lineA, lineB := 1, 1
	for i := 0; i < len(edits); {
		if edits[i].op == ' ' {
			i, lineA, lineB = i+1, lineA+1, lineB+1
			continue
		}
		// The hunk reaches back over the context and on to the last change that
		// is at most twice the context away from the one before.
		lo := i
		for lo > 0 && edits[lo-1].op == ' ' && i-lo < diffContext {
			lo--
		}
		hi, quiet := i, 0
		for j := i; j < len(edits) && quiet <= 2*diffContext; j++ {
			if edits[j].op == ' ' {
				quiet++
			} else {
				hi, quiet = j+1, 0
			}
		}
		end := hi
		for end < len(edits) && edits[end].op == ' ' && end-hi < diffContext {
			end++
		}
		startA, startB := lineA-(i-lo), lineB-(i-lo)
		countA, countB := 0, 0
		var body strings.Builder
		for _, e := range edits[lo:end] {
			if e.op != '+' {
				countA++
			}
			if e.op != '-' {
				countB++
			}
			body.WriteByte(e.op)
			body.WriteString(e.line)
			if !strings.HasSuffix(e.line, "\n") {
				body.WriteString("\n\\ No newline at end of file\n")
			}
		}
		fmt.Fprintf(&out, "@@ -%s +%s @@\n%s", hunkRange(startA, countA), hunkRange(startB, countB), body.String())
		lineA, lineB, i = startA+countA, startB+countB, end
	}
	return out.String()
}

func hunkRange(start, count int) string {
	if count == 0 {
		start--
	}
	if count == 1 {
		return fmt.Sprint(start)
	}
	return fmt.Sprintf("%d,%d", start, count)
}

// splitLines cuts behind every newline.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// diffLines finds a shortest edit script after Myers, greedy and forward. Its
// memory grows with the square of the number of changes, so beyond maxChanges
// the middle is replaced as a whole.
func diffLines(a, b []string) []edit {
	const maxChanges = 1000
	pre := 0
	for pre < len(a) && pre < len(b) && a[pre] == b[pre] {
		pre++
	}
	post := 0
	for post < len(a)-pre && post < len(b)-pre && a[len(a)-1-post] == b[len(b)-1-post] {
		post++
	}
	var out []edit
	keep := func(lines []string) {
		for _, l := range lines {
			out = append(out, edit{' ', l})
		}
	}
	keep(a[:pre])
	mid, ok := myers(a[pre:len(a)-post], b[pre:len(b)-post], maxChanges)
	if !ok {
		for _, l := range a[pre : len(a)-post] {
			mid = append(mid, edit{'-', l})
		}
		for _, l := range b[pre : len(b)-post] {
			mid = append(mid, edit{'+', l})
		}
	}
	out = append(out, mid...)
	keep(a[len(a)-post:])
	return out
}

// myers returns the edits, or false when more than limit are needed.
func myers(a, b []string, limit int) ([]edit, bool) {
	n, m := len(a), len(b)
	limit = min(limit, n+m)
	v := make([]int, 2*limit+3) // v[limit+1+k]: furthest x on diagonal k
	at := func(k int) int { return limit + 1 + k }
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int(nil), v...))
		for k := -d; k <= d; k += 2 {
			x := 0
			if k == -d || k != d && v[at(k-1)] < v[at(k+1)] {
				x = v[at(k+1)]
			} else {
				x = v[at(k-1)] + 1
			}
			for x < n && x-k < m && x-k >= 0 && a[x] == b[x-k] {
				x++
			}
			v[at(k)] = x
			if x >= n && x-k >= m {
				return backtrack(a, b, trace, at), true
			}
		}
	}
	return nil, false
}

// backtrack walks from the end of both texts to their start.
func backtrack(a, b []string, trace [][]int, at func(int) int) []edit {
	var rev []edit
	x, y := len(a), len(b)
	for d := len(trace) - 1; d >= 0; d-- {
		v, k := trace[d], x-y
		prev := k - 1
		if k == -d || k != d && v[at(k-1)] < v[at(k+1)] {
			prev = k + 1
		}
		px := v[at(prev)]
		py := px - prev
		if d == 0 {
			px, py = 0, 0
		}
		for x > px && y > py {
			x, y = x-1, y-1
			rev = append(rev, edit{' ', a[x]})
		}
		if d == 0 {
			break
		}
		if x == px {
			y--
			rev = append(rev, edit{'+', b[y]})
		} else {
			x--
			rev = append(rev, edit{'-', a[x]})
		}
	}
	for i, j := 0, len(rev)-1; i < j; i, j = i+1, j-1 {
		rev[i], rev[j] = rev[j], rev[i]
	}
	return rev
}
