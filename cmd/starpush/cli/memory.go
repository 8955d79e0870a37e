package cli

// Main memory: how much of it data may take, and where the rest goes.

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/disk"
)

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
			return 0, usagef("--ram: %v", err)
		}
		if bytes <= 0 {
			return 0, usagef("--ram must be positive, and `%s` is not", o.ram)
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
