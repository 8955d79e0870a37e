package cli

// What scripts of the command line reach: modules, files, a runtime.

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/sched"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/stdlib"
)

// compiler makes the compiler with everything that the command offers.
func (a *app) compiler(warnings lang.WarningSet) (*lang.Compiler, error) {
	return a.compilerWith(osLoader{&a.read, a.maxSource()}, warnings)
}

// compilerWith is compiler with other sources of modules.
func (a *app) compilerWith(files lang.Loader, warnings lang.WarningSet, codelets ...*lang.Codelet) (*lang.Compiler, error) {
	limits, err := a.limits()
	if err != nil {
		return nil, err
	}
	return lang.NewCompiler(lang.Config{
		Codelets: codelets, Modules: stdlib.Modules(), Loader: files, Files: osFiles{}, Limits: limits, Warnings: warnings,
	})
}

// withExterns compiles a script again for a plan, with the codelets that the host would
// bring: a plan needs their signatures only. Where there are none prog is as it was.
func (a *app) withExterns(ctx context.Context, prog *lang.Program, name string, src []byte, warnings lang.WarningSet) *lang.Program {
	var stubs []*lang.Codelet
	for _, x := range prog.Externs() {
		if !x.Codelet {
			continue
		}
		stub, err := lang.NewCodelet(x.Type, lang.CPU(func(*lang.Task) error { return errors.New("plans run no kernels") }))
		if err != nil {
			return prog // what is wrong with it the plan says
		}
		stubs = append(stubs, stub)
	}
	if len(stubs) == 0 {
		return prog
	}
	comp, err := a.compilerWith(osLoader{&a.read, a.maxSource()}, warnings, stubs...)
	if err != nil {
		return prog
	}
	if again, _ := comp.Compile(ctx, name, src); again != nil {
		return again
	}
	return prog
}

// limits reads --limits.
func (a *app) limits() (lang.Limits, error) {
	var l lang.Limits
	for _, text := range a.flags.limits {
		if err := parseLimits(&l, text); err != nil {
			return l, err
		}
	}
	holdMemory(l)
	return l, nil
}

// spare is what the command itself may take while the memory of a script is limited,
// with the 32 MiB of addresses that main holds to put the first collection off.
const spare = 36 << 20

// holdMemory makes the collector hold the process to what the limits grant the
// script: without, garbage may take as much again.
func holdMemory(l lang.Limits) {
	if l.ScriptBytes > 0 && l.DataBytes > 0 && l.ScriptBytes < 1<<60-l.DataBytes {
		debug.SetMemoryLimit(spare + l.ScriptBytes + l.DataBytes)
	}
}

// warningFlags are --deny and --allow.
type warningFlags struct {
	deny, allow []string
	used        []string // names of --save
}

func (w *warningFlags) register(c *cobra.Command) {
	c.Flags().StringSliceVar(&w.deny, "deny", nil, "treat warnings as errors: `WHAT` is warnings, or codes such as W0201")
	c.Flags().StringSliceVar(&w.allow, "allow", nil, "leave warnings out: `WHAT` is warnings, or codes such as W1004; so does a comment \"# allow W1004\" at its line")
}

// set checks the flags.
func (w *warningFlags) set() (set lang.WarningSet, err error) {
	set.Used = w.used
	if set.Deny, err = warningCodes("--deny", w.deny); err != nil {
		return set, err
	}
	if set.Silence, err = warningCodes("--allow", w.allow); err != nil {
		return set, err
	}
	for _, code := range set.Deny {
		if slices.Contains(set.Silence, code) {
			what := code
			if code == "W" {
				what = "warnings"
			}
			return set, usagef("--deny and --allow both name %s; leave one of them out", what)
		}
	}
	return set, nil
}

// warningCodes reads the value of --deny or --allow.
func warningCodes(flag string, words []string) (codes []string, err error) {
	var all []string
	for _, c := range diag.Codes() {
		if strings.HasPrefix(c.Code, "W") {
			all = append(all, c.Code)
		}
	}
	for _, word := range words {
		code := strings.ToUpper(strings.TrimSpace(word))
		_, known := diag.Explain(code)
		switch {
		case slices.Contains(all, code):
			codes = append(codes, code)
		case code == "WARNINGS":
			codes = append(codes, "W")
		case known:
			return nil, usagef("%s takes codes of warnings, and %s is an error: it always ends the command", flag, code)
		case len(code) == 5 && code[0] == 'W':
			help := "; codes: " + strings.Join(all, ", ")
			if near, ok := diag.Nearest(code, all); ok {
				help = "; did you mean " + near + "?" + help
			}
			return nil, usagef("%s: there is no warning `%s`%s", flag, word, help)
		default:
			return nil, usagef("%s takes `warnings` or codes such as W0201, not `%s`", flag, word)
		}
	}
	return codes, nil
}

// runtime opens devices and starts the engine as the flags say; endRuntime closes
// both.
func (a *app) runtime(o *runFlags) (*engine.Runtime, error) {
	if err := checkCPUs(o.cpus, goruntime.NumCPU()); err != nil {
		return nil, err
	}
	if err := checkPolicy(o.sched); err != nil {
		return nil, err
	}
	level, err := a.calibration(o)
	if err != nil {
		return nil, err
	}
	dir, err := a.perfDir(o.perfDir)
	if err != nil && level > 0 {
		return nil, err
	}
	ram, err := o.memoryFlags.check(o.sequential)
	if err != nil {
		return nil, err
	}
	if a.devices, err = o.deviceFlags.open(); err != nil {
		return nil, err
	}
	if a.disk, err = o.memoryFlags.open(); err != nil {
		_ = a.devices.close() // nobody has used them
		return nil, err
	}
	cpus := int(o.cpus)
	if cpus == 0 {
		cpus = a.devices.cpus
	}
	table, _ := a.bus(false) // without one, usual figures do: `starpush info` says what is wrong
	opts := engine.Options{Workers: cpus, Devices: a.devices.devices, Bus: table, Policy: o.sched, Sequential: o.sequential, Deterministic: o.deterministic, Verify: o.verify, Profile: o.profile || o.advise || o.trace != "" || o.report != "", Listener: o.listener(),
		Calibrate: level, PerfDir: dir}
	if a.disk != nil {
		opts.RAM, opts.Disk = ram, a.disk
	}
	rt, err := engine.New(opts)
	if err != nil {
		_ = a.devices.close() // nobody has used them
		a.closeDisk()
		return nil, usagef("%v", err)
	}
	a.verbosef("%s, policy %s%s", machineLine(rt), rt.Policy(), map[bool]string{true: ", sequential"}[rt.Sequential()])
	return rt, nil
}

// checkPolicy looks at --sched.
func checkPolicy(text string) error {
	if text == "" {
		return nil
	}
	_, err := sched.Parse(text)
	var unknown *sched.UnknownError
	if errors.As(err, &unknown) {
		help := "policies: " + strings.Join(sched.Names(), ", ")
		if near, ok := diag.Nearest(unknown.Name, sched.Names()); ok {
			help = "did you mean `" + near + "`?"
		}
		if strings.HasSuffix(strings.ToLower(unknown.Name), "heft") {
			help = "`dmda` places each task where it is expected to end first, `dmdas` goes by priority, too"
		}
		return usagef("--sched: there is no policy `%s`; %s", unknown.Name, help)
	}
	if err != nil {
		return usagef("--sched: %v", err)
	}
	return nil
}

// schedUsage is the help of --sched.
func schedUsage() string {
	text := "scheduling `POLICY`, with options if need be, as in dmda:beta=2"
	for _, e := range sched.Table() {
		text += fmt.Sprintf("\n  %-10s  %s", e.Name, e.Doc)
		for _, o := range e.Options {
			text += fmt.Sprintf("; %s=%s", o.Name, strconv.FormatFloat(o.Default, 'f', -1, 64))
		}
	}
	return text
}

// say reports an error: as diagnostics when it is some.
func (a *app) say(err error) {
	if ds := diagnosticsOf(err); len(ds) > 0 {
		a.report(ds)
		return
	}
	a.sayError(err)
}
