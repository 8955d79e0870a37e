package cli

// The host of scripts: modules, files, a runtime, devices and memory.

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
	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/all"
	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/accel/disk"
	"github.com/starpush/starpush/accel/numa"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/sched"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/stdlib"
)

// The surroundings of scripts of the command line: modules, files, a runtime.

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
		Kernels: a.flags.kernels, KernelCache: a.kernelDir(),
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
	if len(a.flags.limits) > 0 {
		if err := parseLimits(&l, a.flags.limits...); err != nil {
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
	if a.devices, err = o.deviceFlags.open(o.cpus); err != nil {
		return nil, err
	}
	if a.disk, err = o.memoryFlags.open(); err != nil {
		_ = a.devices.close() // not used yet
		return nil, err
	}
	cpus := int(o.cpus)
	if cpus == 0 || o.numa {
		cpus = a.devices.cpus
	}
	table, _ := a.bus(false) // without one, usual figures do: `starpush info` says what is wrong
	opts := engine.Options{Workers: cpus, Processors: a.devices.processors, Devices: a.devices.devices, Bus: table, Policy: o.sched, Sequential: o.sequential, Deterministic: o.deterministic, Verify: o.verify, Profile: o.profile || o.advise || o.trace != "" || o.report != "", Listener: o.listener(),
		Calibrate: level, PerfDir: dir}
	if a.disk != nil {
		opts.RAM, opts.Disk = ram, a.disk
	}
	rt, err := engine.New(opts)
	if err != nil {
		_ = a.devices.close() // not used yet
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

// Devices: those of this machine that --gpus asks for, or a simulated machine.

// deviceFlags say what runs tasks beside the CPUs.
type deviceFlags struct {
	machine string
	gpus    string
	numa    bool
	bind    string
}

func (o *deviceFlags) register(c *cobra.Command, gpus string) {
	f := c.Flags()
	f.StringVar(&o.machine, "machine", "", "run on a simulated `MACHINE`, such as sim:cpu2gpu1: "+strings.Join(machineNames(), ", "))
	f.StringVar(&o.gpus, "gpus", gpus, "devices of this machine to use, `WHICH`: none, all, found (all, and none is no error), a number, or drivers, such as opencl or opencl:1")
	f.BoolVar(&o.numa, "numa", false, "make each NUMA node of this machine a memory node, with CPU workers bound to its processors")
	f.StringVar(&o.bind, "bind", "", "bind CPU workers to processors, `WHERE`: cores (all, first one of each core), or a list such as 0-3,8")
}

func machineNames() (names []string) {
	for _, m := range sim.Presets() {
		names = append(names, m.Title)
	}
	return names
}

// deviceSet is what the flags ask for.
type deviceSet struct {
	devices    []accel.Device
	cpus       int     // of a simulated machine, or in main memory with NUMA nodes; else 0
	processors []int   // to which the workers in main memory are bound; nil: to none
	name       string  // of a simulated machine
	without    []error // why there are no devices of some drivers
}

// close gives the devices up; the runtime that used them is closed.
func (s *deviceSet) close() (err error) {
	for _, d := range s.devices {
		err = errors.Join(err, d.Close())
	}
	return err
}

// check looks at what needs no device.
func (o *deviceFlags) check(sequential bool) error {
	if err := o.checkBinding(sequential); err != nil {
		return err
	}
	asked := o.gpus != "" && o.gpus != "none" && o.gpus != "0"
	if n, err := strconv.Atoi(o.gpus); err == nil && n < 0 {
		return usagef("--gpus must not be negative, as %d is; --gpus none uses none", n)
	}
	switch {
	case o.machine != "" && asked:
		return usagef("--machine says which devices there are: leave out --gpus")
	case o.machine != "" && sequential:
		return usagef("--sequential runs every task inside its insert, without devices: leave out --machine")
	case asked && sequential:
		return usagef("--sequential runs every task inside its insert, without devices: leave out --gpus")
	}
	if o.machine != "" {
		_, err := parseMachine(o.machine)
		return err
	}
	return nil
}

// checkBinding looks at --numa and --bind.
func (o *deviceFlags) checkBinding(sequential bool) error {
	switch {
	case o.numa && o.machine != "":
		return usagef("--machine says which memories there are: leave out --numa, or simulate NUMA nodes by --machine sim:numa2")
	case o.bind != "" && o.machine != "":
		return usagef("--machine says how many CPUs there are: leave out --bind")
	case o.numa && o.bind != "":
		return usagef("--numa binds workers to the processors of their nodes: leave out --bind")
	case sequential && (o.numa || o.bind != ""):
		return usagef("--sequential runs every task inside its insert, without workers: leave out --numa and --bind")
	case o.bind == "" || o.bind == "cores":
		return nil
	}
	if _, err := numa.ParseList(o.bind); err != nil {
		return usagef("--bind takes cores, or processors, such as 0-3,8: %v", err)
	}
	return nil
}

// processors are those of --bind; nil: workers are not bound.
func (o *deviceFlags) processors() ([]int, error) {
	switch o.bind {
	case "":
		return nil, nil
	case "cores":
		t, err := numa.Local()
		if err != nil {
			return nil, missing("--bind cores: %v", err)
		}
		return t.Processors(), nil
	}
	all, err := numa.ParseList(o.bind)
	if err != nil {
		return nil, usagef("--bind: %v", err)
	}
	may, err := cpu.Processors()
	if err != nil {
		return nil, missing("--bind %s: %v; leave it out", o.bind, err)
	}
	for _, p := range all {
		if !slices.Contains(may, p) {
			return nil, usagef("--bind %s: this program may not use processor %d; it may use %s", o.bind, p, numa.ListText(may))
		}
	}
	return all, nil
}

// addNUMA puts the NUMA nodes of this machine in front of the devices.
func (s *deviceSet) addNUMA(cpus int64) error {
	m, err := numa.Open(int(cpus))
	if err != nil {
		return missing("--numa: %v", err)
	}
	s.cpus, s.processors, s.devices = m.Workers, m.Processors, slices.Concat(m.Devices, s.devices)
	return nil
}

// parseMachine reads --machine.
func parseMachine(text string) (*sim.Machine, error) {
	kind, rest, _ := strings.Cut(text, ":")
	name, _, _ := strings.Cut(rest, ":")
	if !strings.EqualFold(kind, "sim") { // perhaps the name alone
		name = kind
	}
	if near, exact := nearMachine(name); kind != "sim" || !exact {
		there := "simulated machines are sim:" + strings.Join(machineNames(), ", sim:")
		switch {
		case near != "":
			return nil, usagef("--machine %s: did you mean sim:%s? The %s", text, near, there)
		case kind == "gpu" || kind == "cuda" || slices.ContainsFunc(all.Drivers(), func(d accel.Driver) bool { return d.Name() == kind }):
			return nil, usagef("--machine %s: devices of this machine are for --gpus, as in --gpus all; %s", text, there)
		}
		return nil, usagef("--machine %s: there is no such machine; %s", text, there)
	}
	m, err := sim.Parse(text)
	if err != nil {
		return nil, usagef("--machine: %v", err)
	}
	return m, nil
}

// nearMachine is the simulated machine that name means, "" if none; exact: it is its name.
func nearMachine(name string) (near string, exact bool) {
	for _, n := range machineNames() {
		if strings.EqualFold(n, name) {
			return n, n == name
		}
	}
	near, _ = diag.Nearest(name, machineNames())
	return near, false
}

// open opens what the flags ask for, with a number of CPU workers where NUMA nodes share them,
// 0 for one on each processor.
func (o *deviceFlags) open(cpus int64) (*deviceSet, error) {
	processors, err := o.processors()
	if err != nil {
		return nil, err
	}
	s, err := o.openDevices()
	if err != nil {
		return nil, err
	}
	if processors != nil { // a worker for each
		s.processors, s.cpus = processors, min(len(processors), max(goruntime.GOMAXPROCS(0), 1))
	}
	if o.numa {
		if err := s.addNUMA(cpus); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (o *deviceFlags) openDevices() (*deviceSet, error) {
	if o.machine == "" {
		return openGPUs(o.gpus, all.Drivers())
	}
	m, err := parseMachine(o.machine)
	if err != nil {
		return nil, err
	}
	s := &deviceSet{cpus: m.Workers, name: o.machine}
	if s.devices, err = m.Open(); err != nil {
		return nil, usagef("--machine: %v", err)
	}
	return s, nil
}

// missing ends a command because a device is not there.
func missing(format string, args ...any) error {
	return &exitError{code: exitDevice, err: fmt.Errorf(format, args...)}
}

// openGPUs opens the devices that --gpus asks for.
func openGPUs(which string, drivers []accel.Driver) (*deviceSet, error) {
	s := &deviceSet{}
	n, notNumber := strconv.Atoi(which)
	switch {
	case which == "" || which == "none" || notNumber == nil && n == 0:
		return s, nil
	case notNumber == nil || which == "all" || which == "found":
		s.devices, s.without = all.Open()
		want := n
		if which == "all" {
			want = max(1, len(s.devices))
		}
		if len(s.devices) < want {
			err := missing("--gpus %s: %s%s", which, haveText(len(s.devices)), reasons(s.without))
			return nil, errors.Join(err, s.close())
		}
		if notNumber == nil {
			for _, d := range s.devices[n:] {
				_ = d.Close() // not used yet
			}
			s.devices = s.devices[:n]
		}
		return s, nil
	}
	for word := range strings.SplitSeq(which, ",") {
		if err := s.add(word, drivers); err != nil {
			_ = s.close() // the error that counts is err
			return nil, err
		}
	}
	return s, nil
}

// add opens the devices of a driver: all of them for "opencl", two for "opencl:2".
func (s *deviceSet) add(word string, drivers []accel.Driver) error {
	name, count, counted := strings.Cut(word, ":")
	if name == "sim" {
		return usagef("--gpus %s: simulated devices come with a machine, as in --machine sim:cpu2gpu1", word)
	}
	want := 1
	if counted {
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 {
			return usagef("--gpus %s: the number behind the colon counts devices, and does not name one: %s:1 is the first, %s is all of them; `starpush info` lists them", word, name, name)
		}
		want = n
	}
	k := slices.IndexFunc(drivers, func(d accel.Driver) bool { return d.Name() == name })
	if k < 0 {
		var names []string
		for _, d := range drivers {
			names = append(names, d.Name())
		}
		if name == "cuda" {
			return missing("--gpus %s: this starpush was built without CUDA; build it with -tags cuda, as CONTRIBUTING.md says", word)
		}
		if name == "cpu" || name == "cpus" {
			return usagef("--gpus %s: CPU workers are for --cpus, as in --cpus 4", word)
		}
		meant := ""
		if near, ok := diag.Nearest(name, append(names, "none", "all", "found")); ok {
			meant = "; did you mean " + near + "?"
		}
		return usagef("--gpus takes none, all, found, a number, or drivers (%s), with how many of them if need be (%s:1), not `%s`%s", strings.Join(names, ", "), names[0], word, meant)
	}
	if slices.ContainsFunc(s.devices, func(d accel.Device) bool { return d.Arch() == name }) {
		return usagef("--gpus names %s twice", name)
	}
	found, err := drivers[k].Open()
	if err != nil {
		return missing("--gpus %s: %v", word, err)
	}
	if len(found) < want {
		for _, d := range found {
			_ = d.Close() // not used yet
		}
		return missing("--gpus %s: %s", word, haveText(len(found)))
	}
	if counted {
		for _, d := range found[want:] {
			_ = d.Close() // not used yet
		}
		found = found[:want]
	}
	s.devices = append(s.devices, found...)
	return nil
}

func haveText(n int) string {
	switch n {
	case 0:
		return "this machine has no device"
	case 1:
		return "this machine has 1 device; `starpush info` shows it"
	}
	return fmt.Sprintf("this machine has %d devices; `starpush info` lists them", n)
}

// reasons says why there are no devices, each with its remedy.
func reasons(errs []error) string {
	text := ""
	for _, err := range errs {
		text += " (" + err.Error() + ")"
	}
	return text
}

// Main memory: how much of it data may take, and where the rest goes.

// memoryFlags bound main memory.
type memoryFlags struct{ ram, disk string }

func (o *memoryFlags) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.ram, "ram", "", "main memory for data, `SIZE` such as 4Gi: what no task uses then goes to --disk (default: no bound)")
	f.StringVar(&o.disk, "disk", "", "folder `DIR` for the data that --ram has no room for")
	if err := c.RegisterFlagCompletionFunc("ram", cobra.NoFileCompletions); err != nil {
		panic(err) // it is not registered above
	}
	if err := c.MarkFlagDirname("disk"); err != nil {
		panic(err)
	}
}

// check looks at what needs no disk. It returns the size, 0 for no bound.
func (o *memoryFlags) check(sequential bool) (bytes int64, err error) {
	if o.ram != "" {
		if bytes, err = parseCount(o.ram); err != nil {
			return 0, usagef("--ram: %v", withUnits(err))
		}
		if bytes <= 0 {
			return 0, usagef("--ram must be positive, and `%s` is not; write a size such as 4Gi", o.ram)
		}
	}
	switch {
	case o.ram == "" && o.disk == "":
		return 0, nil
	case o.ram == "":
		return 0, usagef("--disk is for data that main memory has no room for: say with --ram how much it has")
	case o.disk == "":
		return 0, usagef("--ram needs --disk DIR, for the data that it has no room for")
	case sequential:
		return 0, usagef("--sequential is the reference, without a bound of main memory: leave out --ram")
	}
	return bytes, nil
}

// open opens the disk; nil: none is asked for.
func (o *memoryFlags) open() (*disk.Device, error) {
	if o.disk == "" {
		return nil, nil
	}
	d, err := disk.Open(o.disk)
	var none *accel.UnavailableError
	if errors.As(err, &none) {
		return nil, missing("--disk: %s; %s", none.Reason, none.Remedy)
	}
	if err != nil {
		return nil, missing("--disk: %v", err)
	}
	return d, nil
}

// closeDisk gives the disk up; the runtime that used it is closed.
func (a *app) closeDisk() {
	if a.disk == nil {
		return
	}
	if err := a.disk.Close(); err != nil && !a.flags.quiet {
		a.sayError(err)
	}
	a.disk = nil
}
