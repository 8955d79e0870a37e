package cli

// starpush test: scripts that assert, and what they print.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/starpush/starpush/lang"
)

// testSuffix ends the names of test scripts.
const testSuffix = "_test.spu"

func testCommand(a *app) *cobra.Command {
	var o runFlags
	var update bool
	c := &cobra.Command{
		Use:   "test [FILE|FOLDER]...",
		Short: "Run the test scripts below a folder",
		Long: `Runs every script whose name ends in _test.spu, in the folders given and below
(default: here). A test passes if the script ends without an error. If there is
a file x_test.out beside x_test.spu, it must also print just that; if there is
x_test.err, it must fail with just these messages. --update writes the .out of
scripts that print something, and the .err that are there.`,
		Example: `  starpush test
  starpush test lib --sched random --cpus 8`,
		ValidArgsFunction: scriptFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.test(cmd.Context(), &o, args, update)
		},
	}
	o.registerMachine(a, c)
	o.timeout = 10 * time.Minute
	c.Flags().Var(&timeFlag{p: &o.timeout}, "timeout", "fail a script after this wall `TIME`")
	c.Flags().BoolVar(&update, "update", false, "write what the scripts print to their .out files")
	a.registerWatch(c)
	return c
}

// testFiles lists the test scripts that args name or that lie below them, sorted
// within each of args and none twice.
func testFiles(args []string) ([]string, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	var files []string
	for _, arg := range args {
		found, err := scriptsBelow(arg, func(path string) bool { return path == arg || strings.HasSuffix(path, testSuffix) })
		if err != nil {
			return nil, usagef("%s", folderError(arg, err))
		}
		for _, f := range found {
			if !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
	}
	if len(files) == 0 {
		return nil, usagef("no tests: no file below %s ends in %s", strings.Join(args, ", "), testSuffix)
	}
	return files, nil
}

// scriptsBelow lists the files at root and below that fit, sorted. Folders whose name
// begins with a dot, and those called testdata, are left out.
func scriptsBelow(root string, fits func(path string) bool) (files []string, err error) {
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != root && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata"):
			return filepath.SkipDir
		case !e.IsDir() && fits(path):
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// tested is what came out of one test script.
type tested struct {
	printed  string
	messages lang.Diagnostics // of a script that failed
	err      error            // a failure that is no diagnostic
	seconds  float64
}

// test runs all tests. The exit status is 1 if one fails.
func (a *app) test(ctx context.Context, o *runFlags, args []string, update bool) error {
	if err := a.check(o); err != nil {
		return err
	}
	files, err := testFiles(args)
	if err != nil {
		return err
	}
	ctx, stop := a.withSignals(ctx)
	defer stop()
	failed := 0
	for _, file := range files {
		for _, name := range []string{".out", ".err"} {
			a.read.note(strings.TrimSuffix(file, ".spu") + name)
		}
		r, err := a.runTest(ctx, o, file)
		if err != nil {
			return err // of the flags: no test would do better
		}
		if ctx.Err() != nil {
			return status(codeOf(ctx, context.Cause(ctx), true))
		}
		wrong, err := a.judge(file, r, update)
		if err != nil {
			return err
		}
		if len(wrong) > 0 {
			failed++
		}
		a.sayTest(file, r, wrong)
	}
	if a.json == nil {
		fmt.Fprintf(a.con.out, "%d of %d passed\n", len(files)-failed, len(files))
	}
	if failed > 0 {
		return status(exitFailed)
	}
	return nil
}

// runTest runs one script on a runtime of its own. The error is one of the flags.
func (a *app) runTest(ctx context.Context, o *runFlags, file string) (r tested, err error) {
	began := time.Now()
	defer func() { r.seconds = time.Since(began).Seconds() }()
	shown, src, err := a.readScript(file)
	if err != nil {
		return r, err
	}
	comp, err := a.compiler(lang.WarningSet{})
	if err != nil {
		return r, err
	}
	prog, diags := comp.Compile(ctx, shown, src)
	if prog == nil {
		r.messages = diags
		return r, nil
	}
	opts, err := paramOptions(prog, o.params)
	if err != nil {
		if r.messages = diagnosticsOf(err); len(r.messages) > 0 {
			return r, nil
		}
		return r, err
	}
	rt, err := a.runtime(o)
	if err != nil {
		return r, err
	}
	var out bytes.Buffer
	opts = append(opts, lang.Stdout(&out), lang.WithLimits(lang.Limits{Timeout: o.timeout}))
	inst, err := prog.Run(ctx, rt, opts...)
	if err == nil {
		err = inst.Close()
	}
	err = a.endRuntime(rt, o, err)
	r.printed, r.messages = out.String(), diagnosticsOf(err)
	if err != nil && len(r.messages) == 0 {
		r.err = err
	}
	return r, nil
}

// judge says what is wrong with r, nothing if the test passes.
func (a *app) judge(file string, r tested, update bool) (string, error) {
	base := strings.TrimSuffix(file, ".spu")
	wantOut, err := golden(base + ".out")
	if err != nil {
		return "", err
	}
	wantErr, err := golden(base + ".err")
	if err != nil {
		return "", err
	}
	said := ""
	if len(r.messages) > 0 {
		var b strings.Builder
		r.messages.Render(&b, lang.Style{})
		said = b.String()
	} else if r.err != nil {
		said = r.err.Error() + "\n"
	}
	if update {
		if wantErr != nil && said != "" && said != *wantErr {
			if err := writeFile(base+".err", []byte(said)); err != nil {
				return "", err
			}
			wantErr = &said
		}
		if (said == "" || wantErr != nil) && (wantOut != nil || r.printed != "") {
			if err := writeFile(base+".out", []byte(r.printed)); err != nil {
				return "", err
			}
			wantOut = &r.printed
		}
	}
	var wrong strings.Builder
	switch {
	case wantErr == nil:
		wrong.WriteString(said)
	case said == "":
		fmt.Fprintf(&wrong, "it ended without the error that %s has\n", base+".err")
	default:
		wrong.WriteString(unifiedDiff(base+".err", "what it says", *wantErr, said))
	}
	if wantOut != nil && (said == "" || wantErr != nil) {
		wrong.WriteString(unifiedDiff(base+".out", "what it prints", *wantOut, r.printed))
	}
	return wrong.String(), nil
}

// golden reads an expected text, nil if there is none.
func golden(name string) (*string, error) {
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, usagef("%v", err)
	}
	s := string(text)
	return &s, nil
}

// sayTest reports one test.
func (a *app) sayTest(file string, r tested, wrong string) {
	if a.json != nil {
		a.json.line(struct {
			T       string  `json:"t"`
			File    string  `json:"file"`
			Ok      bool    `json:"ok"`
			Seconds float64 `json:"seconds"`
			Wrong   string  `json:"wrong,omitempty"`
		}{"test", file, wrong == "", r.seconds, wrong})
		return
	}
	if wrong == "" {
		fmt.Fprintf(a.con.out, "ok    %s  %s\n", file, timeText(r.seconds))
		return
	}
	fmt.Fprintf(a.con.out, "FAIL  %s  %s\n", file, timeText(r.seconds))
	for line := range strings.Lines(wrong) {
		fmt.Fprint(a.con.out, "      "+line)
	}
}
