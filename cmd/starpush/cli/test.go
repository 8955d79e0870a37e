package cli

// starpush test: functions and scripts that assert, and what scripts print.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/starpush/starpush/cmd/starpush/repl"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
)

// testSuffix ends the names of test scripts.
const testSuffix = "_test.spu"

func testCommand(a *app) *cobra.Command {
	var o runFlags
	var update bool
	var run string
	c := &cobra.Command{
		Use:   "test [FILE|FOLDER]...",
		Short: "Run the tests below a folder",
		Long: `Runs the tests of every script whose name ends in _test.spu, in the folders given
and below (default: here). A test is a function whose name begins with test_. Each is
called without arguments, in an instance of its own: the statements of the script
run before it, with new data. It passes if it ends without an error, and what it
printed is shown if it fails, with -v always.

A script without such functions is one test: it passes if it ends without an
error. If there is a file x_test.out beside x_test.spu, the script must also print just
that; if there is x_test.err, it must fail with just these messages. --update
writes the .out of scripts that print something and have no functions that are
tests, and all .out and .err that are there.

The exit status is 1 if a test fails, and if a file has no tests: no such function, and
nothing but declarations.`,
		Example: `  starpush test
  starpush test heat_test.spu --run 'conserves|steady' -v
  starpush test lib --sched random --cpus 8`,
		ValidArgsFunction: scriptFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			var choose *regexp.Regexp
			if run != "" {
				var err error
				if choose, err = regexp.Compile(run); err != nil {
					return usagef("--run takes a regular expression, as in test_heat or \"^test_(a|b)$\": %v", err)
				}
			}
			return a.test(cmd.Context(), &o, args, choose, update)
		},
	}
	o.registerMachine(a, c)
	o.timeout = 10 * time.Minute
	c.Flags().Var(&timeFlag{p: &o.timeout}, "timeout", "fail a test after this wall `TIME`")
	c.Flags().BoolVar(&update, "update", false, "write what the scripts print to their .out files")
	c.Flags().StringVar(&run, "run", "", "run only tests whose name matches `REGEXP`: that of the function, or of the file where the script is the test")
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

// A testCase is one thing that a test file asks for: one of its functions, or the script itself.
type testCase struct {
	name string // of the function, or of the file without .spu
	fn   bool
	bare bool // the function can be called without arguments
}

// tested is what came out of one test.
type tested struct {
	printed  string
	messages lang.Diagnostics // of a test that failed
	err      error            // a failure that is no diagnostic
	early    bool             // the statements of the script failed, and the function was not called
	seconds  float64
}

// testCount is how many tests of a file there are, and how many of them passed.
type testCount struct {
	tests, passed int
	empty         bool // the file has no tests at all
}

// test runs all tests. The exit status is 1 if one fails, or a file has none.
func (a *app) test(ctx context.Context, o *runFlags, args []string, choose *regexp.Regexp, update bool) error {
	if err := a.check(o); err != nil {
		return err
	}
	files, err := testFiles(args)
	if err != nil {
		return err
	}
	ctx, stop := a.withSignals(ctx)
	defer stop()
	var sum testCount
	empty := 0
	for _, file := range files {
		for _, name := range []string{".out", ".err"} {
			a.read.note(strings.TrimSuffix(file, ".spu") + name)
		}
		n, err := a.testFile(ctx, o, file, choose, update)
		if err != nil {
			return err
		}
		sum.tests += n.tests
		sum.passed += n.passed
		if n.empty {
			empty++
		}
	}
	if sum.tests+empty == 0 {
		return usagef("--run %s: no test has such a name; -v shows the names of tests", choose)
	}
	if a.json == nil {
		without := ""
		if empty > 0 {
			without = ", " + counted(empty, "file") + " without tests"
		}
		fmt.Fprintf(a.con.out, "%d of %d passed%s\n", sum.passed, sum.tests, without)
	}
	if sum.passed < sum.tests || empty > 0 {
		return status(exitFailed)
	}
	return nil
}

// testFile runs the tests of one file on a runtime of its own, each in an instance of
// its own. The error is one of the flags, with which no other file would do better, or the
// status of a signal.
func (a *app) testFile(ctx context.Context, o *runFlags, file string, choose *regexp.Regexp, update bool) (n testCount, err error) {
	began := time.Now()
	within, cancel := reading(ctx, o.timeout)
	defer cancel()
	shown, src, err := a.readScript(within, file)
	if err != nil {
		return n, err
	}
	base := strings.TrimSuffix(file, ".spu")
	expected := isFile(base+".out") || isFile(base+".err")
	comp, err := a.compiler(lang.WarningSet{})
	if err != nil {
		return n, err
	}
	prog, diags := comp.Compile(ctx, shown, src)
	var opts []lang.Option
	if prog != nil {
		if opts, err = paramOptions(prog, o.params); err != nil {
			if diags = diagnosticsOf(err); len(diags) == 0 {
				return n, err
			}
			prog = nil
		}
	}
	cases, acts := testFunctions(shown, src)
	script := testCase{name: filepath.Base(base)}
	switch {
	case prog == nil || expected || len(cases) == 0 && acts:
		cases = slices.Insert(cases, 0, script)
	case len(cases) == 0 && choose != nil:
		return n, nil
	case len(cases) == 0:
		a.sayNoTests(file)
		n.empty = true
		return n, nil
	}
	if choose != nil {
		cases = slices.DeleteFunc(cases, func(c testCase) bool { return !choose.MatchString(c.name) })
	}
	if len(cases) == 0 {
		return n, nil
	}
	if prog == nil {
		r := tested{messages: diags, seconds: time.Since(began).Seconds()}
		if cases[0] == script {
			cases = cases[1:]
		}
		wrong, err := a.judge(file, r, update)
		if err != nil {
			return n, err
		}
		n.count(wrong)
		a.sayTest(file, script, len(cases) == 0 || wrong != "", r, wrong)
		if wrong == "" {
			a.sayNotRun(file, cases, &n)
		}
		return n, nil
	}
	rt, err := a.runtime(o)
	if err != nil {
		return n, err
	}
	defer func() {
		if endErr := a.endRuntime(rt, o, nil); err == nil {
			err = endErr
		}
	}()
	for k, c := range cases {
		r, wrong := tested{}, ""
		if c.fn && !c.bare {
			wrong = fmt.Sprintf("`%s` has parameters without a default, and a test is called without arguments: give them defaults, or the function a name that does not begin with %s\n", c.name, testPrefix)
		} else if r, err = a.runTest(ctx, o, prog, rt, opts, c); err != nil {
			return n, err
		}
		if ctx.Err() != nil {
			return n, status(codeOf(ctx, context.Cause(ctx), true))
		}
		switch {
		case c.fn && wrong == "":
			wrong = r.said()
		case !c.fn:
			if wrong, err = a.judge(file, r, update); err != nil {
				return n, err
			}
		}
		n.count(wrong)
		a.sayTest(file, c, len(cases) == 1 && !c.fn, r, wrong)
		if r.early {
			a.sayNotRun(file, cases[k+1:], &n)
			break
		}
	}
	if len(cases) > 1 || cases[0].fn {
		a.sayFile(file, n, time.Since(began).Seconds())
	}
	return n, nil
}

// count adds a test that passed if nothing is wrong.
func (n *testCount) count(wrong string) {
	n.tests++
	if wrong == "" {
		n.passed++
	}
}

// testPrefix begins the names of functions that are tests.
const testPrefix = "test_"

// testFunctions lists the functions of a script that are tests, in the order of the text.
// acts reports whether the script does anything when it runs: other statements than
// declarations, or a declaration that calls something. Of a text that does not parse it
// lists what could be read.
func testFunctions(name string, src []byte) (tests []testCase, acts bool) {
	file, _ := syntax.Parse(diag.NewSource(name, string(src)))
	for _, st := range file.Stmts {
		switch st := st.(type) {
		case *syntax.Func:
			if st.Name != nil && strings.HasPrefix(st.Name.Name, testPrefix) {
				bare := !slices.ContainsFunc(st.Params, func(p *syntax.FuncParam) bool { return p.Default == nil })
				tests = append(tests, testCase{name: st.Name.Name, fn: true, bare: bare})
			}
		case *syntax.Import, *syntax.Param, *syntax.ExternData, *syntax.Struct, *syntax.Codelet:
		case *syntax.Let, *syntax.Register, *syntax.Partition:
			syntax.Walk(&syntax.File{Stmts: []syntax.Stmt{st}}, func(n syntax.Node, _ []syntax.Node) {
				if call, ok := n.(*syntax.Call); ok {
					acts = acts || callsFunction(call)
				}
			})
		default:
			acts = true
		}
	}
	return tests, acts
}

// callsFunction reports whether a call is one of a function of a script or a module, and
// not of a builtin or a constructor of data.
func callsFunction(call *syntax.Call) bool {
	switch fn := call.Fn.(type) {
	case *syntax.Ident:
		return !slices.Contains(repl.Builtins(), fn.Name)
	case *syntax.Selector:
		return true
	}
	return false
}

// runTest runs the script in a new instance, and calls the function of c there. The error
// is one of the flags.
func (a *app) runTest(ctx context.Context, o *runFlags, prog *lang.Program, rt *engine.Runtime, opts []lang.Option, c testCase) (r tested, err error) {
	began := time.Now()
	limits, err := a.limits()
	if err != nil {
		return r, err
	}
	var out bytes.Buffer
	bounds := lang.Limits{Timeout: o.timeout}
	if limits.Output == 0 {
		bounds.Output = testOutput
	}
	inst, err := prog.Run(ctx, rt, append(slices.Clone(opts), lang.WithCheckpoints(checkpointFolder), lang.Stdout(&out), lang.WithLimits(bounds))...)
	r.early = err != nil
	if err == nil && c.fn {
		if _, err = inst.Call(ctx, c.name); err == nil {
			err = inst.Wait(ctx)
		}
	}
	if inst != nil {
		if closeErr := inst.Close(); err == nil {
			err = closeErr
		}
	}
	r.seconds = time.Since(began).Seconds()
	r.printed, r.messages = out.String(), diagnosticsOf(err)
	if err != nil && len(r.messages) == 0 {
		r.err = err
	}
	return r, nil
}

// testOutput is how many bytes a test may print where --limits does not say: what it prints
// is kept until it ends.
const testOutput = 64 << 20

// failed reports whether the test ended with an error.
func (r *tested) failed() bool { return len(r.messages) > 0 || r.err != nil }

// said is the text of the error that the test ended with, "" if there was none.
func (r *tested) said() string {
	if len(r.messages) > 0 {
		var b strings.Builder
		r.messages.Render(&b, lang.Style{})
		return b.String()
	}
	if r.err != nil {
		return r.err.Error() + "\n"
	}
	return ""
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
	said := r.said()
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

// sayNotRun reports tests that did not run because the script of their file fails.
func (a *app) sayNotRun(file string, cases []testCase, n *testCount) {
	if len(cases) == 0 {
		return
	}
	const why = "not run: the script itself fails, before a test is called"
	var names []string
	for _, c := range cases {
		n.count(why)
		names = append(names, c.name)
		if a.json != nil {
			a.json.line(jsonTest{T: "test", File: file, Name: c.name, Wrong: why + "\n"})
		}
	}
	if a.json == nil {
		fmt.Fprintf(a.con.out, "--- FAIL: %s\n    %s\n", strings.Join(names, ", "), why)
	}
}

// jsonTest is the line of a test.
type jsonTest struct {
	T       string  `json:"t"`
	File    string  `json:"file"`
	Name    string  `json:"name,omitempty"` // of the function; "" for the script itself
	Ok      bool    `json:"ok"`
	Seconds float64 `json:"seconds"`
	Printed string  `json:"printed,omitempty"` // of a test that failed
	Wrong   string  `json:"wrong,omitempty"`
}

// sayTest reports one test. alone says that the file has no other, and gets no line of its own.
func (a *app) sayTest(file string, c testCase, alone bool, r tested, wrong string) {
	if a.json != nil {
		line := jsonTest{T: "test", File: file, Ok: wrong == "", Seconds: r.seconds, Wrong: wrong}
		if c.fn {
			line.Name = c.name
		}
		if wrong != "" {
			line.Printed = r.printed
		}
		a.json.line(line)
		return
	}
	state, indent := map[bool]string{true: "--- PASS: ", false: "--- FAIL: "}[wrong == ""]+c.name, "    "
	if alone {
		state, indent = map[bool]string{true: "ok    ", false: "FAIL  "}[wrong == ""]+file, "      "
	}
	if alone || wrong != "" || a.flags.verbose {
		fmt.Fprintf(a.con.out, "%s  %s\n", state, timeText(r.seconds))
	}
	for line := range strings.Lines(wrong) {
		fmt.Fprint(a.con.out, indent+line)
	}
	if r.printed != "" && (c.fn && (wrong != "" || a.flags.verbose) || !c.fn && r.failed()) {
		fmt.Fprint(a.con.out, indent+"it printed:\n")
		lines := strings.SplitAfter(strings.TrimSuffix(r.printed, "\n"), "\n")
		if more := len(lines) - testLines; more > 0 {
			fmt.Fprintf(a.con.out, "%s  … %s before\n", indent, counted(more, "line"))
			lines = lines[more:]
		}
		for _, line := range lines {
			fmt.Fprint(a.con.out, indent+"  "+strings.TrimSuffix(line, "\n")+"\n")
		}
	}
}

// testLines is how many lines that a test printed are shown, the last ones.
const testLines = 40

// sayFile reports the tests of one file together.
func (a *app) sayFile(file string, n testCount, seconds float64) {
	switch {
	case a.json != nil:
	case n.passed == n.tests:
		fmt.Fprintf(a.con.out, "ok    %s  %s  %s\n", file, timeText(seconds), counted(n.tests, "test"))
	default:
		fmt.Fprintf(a.con.out, "FAIL  %s  %s  %d of %s failed\n", file, timeText(seconds), n.tests-n.passed, counted(n.tests, "test"))
	}
}

// sayNoTests reports a file that tests nothing.
func (a *app) sayNoTests(file string) {
	const why = "no tests: no function has a name that begins with " + testPrefix + ", and nothing runs but declarations"
	if a.json != nil {
		a.json.line(jsonTest{T: "test", File: file, Wrong: why + "\n"})
		return
	}
	fmt.Fprintf(a.con.out, "?     %s  %s\n", file, why)
}
