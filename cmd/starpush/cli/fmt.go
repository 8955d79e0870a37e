package cli

// starpush fmt: scripts in canonical layout.

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
