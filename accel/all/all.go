// Package all is the table of drivers. Programs import it to use the devices of the
// machine, whatever their kind. Build tags choose the drivers in it.
package all

import (
	"slices"
	"strings"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/opencl"
)

// Drivers returns the drivers that this program is built with. The first is asked
// first.
func Drivers() []accel.Driver {
	return append(tagged(), opencl.Driver{})
}

// Open opens the devices of all drivers, and says why there are none of some kinds:
// an *accel.UnavailableError where the machine has nothing for a driver. A device
// that two drivers have is opened by the first.
func Open() (devices []accel.Device, without []error) {
	return open(Drivers())
}

func open(drivers []accel.Driver) (devices []accel.Device, without []error) {
	for _, v := range drivers {
		if o, ok := v.(opencl.Driver); ok && slices.ContainsFunc(devices, func(d accel.Device) bool { return d.Arch() == "cuda" }) {
			o.Filter = notNVIDIA
			v = o
		}
		found, err := v.Open()
		if err != nil {
			without = append(without, err)
			continue
		}
		devices = append(devices, found...)
	}
	return devices, without
}

// notNVIDIA leaves out what cuda has.
func notNVIDIA(i *opencl.Info) bool { return !strings.Contains(i.Vendor, "NVIDIA") }
