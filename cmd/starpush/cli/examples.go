package cli

// starpush examples: scripts to start from, which the command carries with it.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/scripts"
)

func examplesCommand(a *app) *cobra.Command {
	var folder string
	c := &cobra.Command{
		Use:   "examples [NAME]...",
		Short: "List scripts to start from, or write some of them",
		Long: `Lists the scripts that come with starpush, or writes those that are named to standard
output. With -o they are written to files in a folder, with the modules that they
import; without a name, all of them. A file that is there and differs is left as it is,
and the exit status is 1.`,
		Example: `  starpush examples
  starpush examples cg > cg.spu
  starpush examples -o examples`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var out []cobra.Completion
			for _, name := range exampleNames() {
				out = append(out, cobra.CompletionWithDesc(name, aboutExample(name)))
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			var files []string
			for _, arg := range args {
				file, err := exampleFile(arg)
				if err != nil {
					return err
				}
				files = append(files, file)
			}
			switch {
			case folder != "":
				if len(files) == 0 {
					for _, name := range exampleNames() {
						files = append(files, name+".spu")
					}
				}
				return a.writeExamples(folder, files)
			case len(files) == 0:
				return a.listExamples()
			}
			return a.showExamples(files)
		},
	}
	c.Flags().StringVarP(&folder, "output", "o", "", "write files to `FOLDER`, which is made if it is not there")
	return c
}

// exampleNames lists the scripts, sorted, without .spu.
func exampleNames() (names []string) {
	files, err := fs.Glob(scripts.Files, "*.spu")
	if err != nil {
		panic(err) // the pattern is malformed
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f, ".spu"))
	}
	return names
}

// exampleFile is the file that an argument names: cg, cg.spu, scripts/cg.spu, lib/vec.spu.
func exampleFile(arg string) (string, error) {
	name := strings.TrimPrefix(filepath.ToSlash(arg), "scripts/")
	file := strings.TrimSuffix(name, ".spu") + ".spu"
	if fs.ValidPath(file) {
		if _, err := fs.Stat(scripts.Files, file); err == nil {
			return file, nil
		}
	}
	if near, ok := diag.Nearest(strings.TrimSuffix(name, ".spu"), exampleNames()); ok {
		return "", usagef("there is no example `%s`; did you mean `%s`?", arg, near)
	}
	return "", usagef("there is no example `%s`; `starpush examples` lists them", arg)
}

func readExample(file string) []byte {
	text, err := scripts.Files.ReadFile(file)
	if err != nil {
		panic(err) // an embedded file can be read
	}
	return text
}

func parseExample(file string) *syntax.File {
	f, _ := syntax.Parse(diag.NewSource(file, string(readExample(file))))
	return f
}

// aboutExample is the first sentence of the documentation of a script.
func aboutExample(name string) string {
	text := strings.Join(strings.Fields(parseExample(name+".spu").Doc), " ")
	first, _, more := strings.Cut(text, ". ")
	if more {
		return first
	}
	return strings.TrimSuffix(text, ".")
}

// importedExamples are the modules that an example imports from files, as it names them.
func importedExamples(file string) (files []string) {
	for _, st := range parseExample(file).Stmts {
		if im, ok := st.(*syntax.Import); ok && im.Path != nil && strings.HasSuffix(im.Path.Value, ".spu") {
			files = append(files, path.Join(path.Dir(file), im.Path.Value))
		}
	}
	return files
}

// jsonExample is a line about an example.
type jsonExample struct {
	T     string `json:"t"`
	File  string `json:"file"`
	About string `json:"about,omitempty"`
	Text  string `json:"text,omitempty"`
}

func (a *app) listExamples() error {
	names := exampleNames()
	wide := 0
	for _, name := range names {
		wide = max(wide, len(name))
	}
	for _, name := range names {
		if a.json != nil {
			a.json.line(jsonExample{T: "example", File: name + ".spu", About: aboutExample(name)})
			continue
		}
		indent := strings.Repeat(" ", wide+2)
		text := wrapped(aboutExample(name), indent, 80)
		fmt.Fprintf(a.con.out, "%-*s  %s\n", wide, name, strings.TrimPrefix(text, indent))
	}
	if a.json == nil {
		fmt.Fprintf(a.con.out, "\n`starpush examples %s > %[1]s.spu` writes one, `starpush examples -o FOLDER` all of them\n", "cg")
	}
	return nil
}

func (a *app) showExamples(files []string) error {
	for _, file := range files {
		if a.json != nil {
			a.json.line(jsonExample{T: "example", File: file, Text: string(readExample(file))})
			continue
		}
		a.con.out.Write(readExample(file)) // finish says what is wrong with standard output
		for _, needs := range importedExamples(file) {
			if !a.flags.quiet {
				fmt.Fprintf(a.con.err, "starpush: %s imports %s: `starpush examples %s -o .` writes both\n", file, needs, strings.TrimSuffix(file, ".spu"))
			}
		}
	}
	return nil
}

// writeExamples writes files, and what they import, below a folder.
func (a *app) writeExamples(folder string, files []string) error {
	for i := 0; i < len(files); i++ {
		for _, needs := range importedExamples(files[i]) {
			if !slices.Contains(files, needs) {
				files = append(files, needs)
			}
		}
	}
	kept := 0
	for _, file := range files {
		name, text := filepath.Join(folder, filepath.FromSlash(file)), readExample(file)
		switch old, err := os.ReadFile(name); {
		case err == nil && string(old) == string(text):
			continue
		case err == nil:
			a.sayError(fmt.Errorf("%s is there and differs, so it is left as it is; remove it, or name another folder", name))
			kept++
			continue
		case !errors.Is(err, fs.ErrNotExist):
			return &exitError{code: exitFailed, err: fmt.Errorf("%s was not written: %v", name, cause(err))}
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return &exitError{code: exitFailed, err: fmt.Errorf("%s was not written: %v", name, cause(err))}
		}
		if err := a.writeOutput(context.Background(), name, text, -1); err != nil {
			return err
		}
	}
	if kept > 0 {
		return status(exitFailed)
	}
	return nil
}
