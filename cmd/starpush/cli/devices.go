package cli

// Devices: those of this machine that --gpus asks for, or a simulated machine.

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/all"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/lang/diag"
)

// deviceFlags say what runs tasks beside the CPUs.
type deviceFlags struct {
	machine string
	gpus    string
}

func (o *deviceFlags) register(c *cobra.Command, gpus string) {
	f := c.Flags()
	f.StringVar(&o.machine, "machine", "", "run on a simulated `MACHINE`, such as sim:cpu2gpu1: "+strings.Join(machineNames(), ", "))
	f.StringVar(&o.gpus, "gpus", gpus, "devices of this machine to use, `WHICH`: none, all, found (all, and none is no error), a number, or drivers, such as opencl or opencl:1")
}

func machineNames() (names []string) {
	for _, m := range sim.Presets() {
		names = append(names, m.Title)
	}
	return names
}

// deviceSet is what the flags ask for.
type deviceSet struct {
	devices []accel.Device
	cpus    int     // of a simulated machine; else 0
	name    string  // of a simulated machine
	without []error // why there are no devices of some drivers
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

// open opens what the flags ask for.
func (o *deviceFlags) open() (*deviceSet, error) {
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
				_ = d.Close() // nobody has used it
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

// add opens the devices of a driver, "opencl", or so many of them, "opencl:2".
func (s *deviceSet) add(word string, drivers []accel.Driver) error {
	name, count, counted := strings.Cut(word, ":")
	if name == "sim" {
		return usagef("--gpus %s: simulated devices come with a machine, as in --machine sim:cpu2gpu1", word)
	}
	want := 1
	if counted {
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 {
			return usagef("--gpus %s: behind the colon stands how many devices, not which: %s:1 is the first, %s is all of them; `starpush info` lists them", word, name, name)
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
			_ = d.Close() // nobody has used it
		}
		return missing("--gpus %s: %s", word, haveText(len(found)))
	}
	if counted {
		for _, d := range found[want:] {
			_ = d.Close() // nobody has used it
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
