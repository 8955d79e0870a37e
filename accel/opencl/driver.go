package opencl

// Which devices there are.

import (
	"cmp"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/dynlib"
)

// Info describes a device before it is opened.
type Info struct {
	Name     string // "opencl 0": its place among all devices, whatever is left out
	Kind     string // "gpu", "cpu", "accelerator", "other"
	Model    string // as its driver calls it
	Vendor   string
	Platform string // of the driver
	Version  string // of OpenCL, such as "OpenCL 3.0 CUDA"
	Driver   string // version of the driver

	Units     int   // compute units
	Global    int64 // bytes of memory
	Largest   int64 // bytes of the largest allocation that the driver promises
	Local     int64 // bytes of local memory of a work-group
	WorkGroup int   // most work-items of a work-group
	Unified   bool  // its memory is main memory
	Doubles   bool  // kernels may use double

	platform platformID
	id       deviceID
}

// Driver finds the devices of all OpenCL drivers that are installed.
type Driver struct {
	// Filter says which devices to open; nil: all.
	Filter func(*Info) bool
	// Capacity bounds the memory of each device, in bytes; 0: 15/16 of what the
	// device has, and where that is main memory a half, shared out among all such
	// devices.
	Capacity int64
}

// Name implements accel.Driver.
func (Driver) Name() string { return "opencl" }

// Open implements accel.Driver.
func (d Driver) Open() ([]accel.Device, error) {
	a, err := library()
	if err != nil {
		return nil, err
	}
	all, err := a.devices()
	if err != nil {
		return nil, err
	}
	unified := int64(0)
	for i := range all {
		if all[i].Unified {
			unified++
		}
	}
	var out []accel.Device
	for i := range all {
		in := &all[i]
		if d.Filter != nil && !d.Filter(in) {
			continue
		}
		capacity := in.Global / 16 * 15
		if in.Unified {
			capacity = in.Global / 2 / unified
		}
		if d.Capacity > 0 {
			capacity = min(d.Capacity, in.Global)
		}
		dev, err := a.open(in, capacity)
		if err != nil {
			for _, o := range out {
				_ = o.Close()
			}
			return nil, &accel.UnavailableError{Driver: "opencl", Err: err,
				Reason: fmt.Sprintf("%s (%s) cannot be opened: %v", in.Name, in.Model, err),
				Remedy: "leave it out by a filter, or mend its driver"}
		}
		out = append(out, dev)
	}
	if len(out) == 0 {
		return nil, &accel.UnavailableError{Driver: "opencl",
			Reason: fmt.Sprintf("the filter leaves none of the devices (%d) that there are", len(all)), Remedy: "ask for another kind"}
	}
	return out, nil
}

// Devices tells about all devices, without opening them, always in one order.
func Devices() ([]Info, error) {
	a, err := library()
	if err != nil {
		return nil, err
	}
	return a.devices()
}

// devices lists those that can be used.
func (a *api) devices() ([]Info, error) {
	none := func(err error, format string, args ...any) error {
		return &accel.UnavailableError{Driver: "opencl", Err: err, Reason: fmt.Sprintf(format, args...), Remedy: remedy}
	}
	var n uint32
	c := code(int32(dynlib.Call(a.getPlatformIDs, 0, 0, uintptr(ptr(&n)))))
	if c != success && c != platformNotFound {
		return nil, none(c.err("clGetPlatformIDs"), "%v", c.err("clGetPlatformIDs"))
	}
	if n == 0 {
		return nil, none(nil, "the library is there, and no driver")
	}
	platforms := make([]platformID, n)
	if err := code(int32(dynlib.Call(a.getPlatformIDs, uintptr(n), uintptr(ptr(&platforms[0])), 0))).err("clGetPlatformIDs"); err != nil {
		return nil, none(err, "%v", err)
	}
	var found []Info
	var old []string // why devices are left out
	for _, p := range platforms {
		name, err := text(info(a.getPlatformInfo, "clGetPlatformInfo", uintptr(p), platformName))
		if err != nil {
			old = append(old, err.Error())
			continue
		}
		infos, why := a.platformDevices(p, name)
		found = append(found, infos...)
		old = append(old, why...)
	}
	if len(found) == 0 {
		if len(old) == 0 {
			return nil, none(nil, "the drivers have no devices")
		}
		return nil, none(nil, "no device can be used: %s", strings.Join(old, "; "))
	}
	// Loaders list drivers as their files lie in a folder.
	slices.SortStableFunc(found, func(x, y Info) int { return cmp.Compare(x.Platform, y.Platform) })
	for i := range found {
		found[i].Name = "opencl " + strconv.Itoa(i)
	}
	return found, nil
}

// platformDevices lists the devices of one driver, and says why some are left out.
func (a *api) platformDevices(p platformID, name string) (infos []Info, left []string) {
	var n uint32
	c := code(int32(dynlib.Call(a.getDeviceIDs, uintptr(p), deviceTypeAll, 0, 0, uintptr(ptr(&n)))))
	if c == deviceNotFound || c == success && n == 0 {
		return nil, nil
	}
	if err := c.err("clGetDeviceIDs"); err != nil {
		return nil, []string{name + ": " + err.Error()}
	}
	ids := make([]deviceID, n)
	if err := code(int32(dynlib.Call(a.getDeviceIDs, uintptr(p), deviceTypeAll, uintptr(n), uintptr(ptr(&ids[0])), 0))).err("clGetDeviceIDs"); err != nil {
		return nil, []string{name + ": " + err.Error()}
	}
	for _, id := range ids {
		in, err := a.describe(id)
		in.platform, in.Platform = p, name
		if err == nil {
			err = in.usable()
		}
		if err != nil {
			left = append(left, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		infos = append(infos, in.Info)
	}
	return infos, left
}

// described is an Info with what decides whether the device can be used.
type described struct {
	Info
	available, compiler bool
}

func (d *described) usable() error {
	var major, minor int
	if _, err := fmt.Sscanf(d.Version, "OpenCL %d.%d", &major, &minor); err != nil {
		return fmt.Errorf("%s has the version %q", d.Model, d.Version)
	}
	switch {
	case !d.available:
		return fmt.Errorf("%s is not available", d.Model)
	case !d.compiler:
		return fmt.Errorf("%s has no compiler", d.Model)
	case major < 1 || major == 1 && minor < 2:
		return fmt.Errorf("%s has OpenCL %d.%d, and 1.2 is needed", d.Model, major, minor)
	case d.Kind == "cpu" && d.Platform == "Portable Computing Language":
		// PoCL ends the process when it cannot link a kernel.
		if _, err := exec.LookPath("ld"); err != nil {
			return fmt.Errorf("PoCL links kernels by ld, which is not there (Debian: apt-get install binutils)")
		}
	}
	return nil
}

// describe asks a device about itself.
func (a *api) describe(id deviceID) (described, error) {
	d := described{Info: Info{id: id}}
	var err error
	str := func(what uintptr) (s string) {
		if err == nil {
			s, err = text(info(a.getDeviceInfo, "clGetDeviceInfo", uintptr(id), what))
		}
		return s
	}
	num := func(what uintptr) (v uint64) {
		if err == nil {
			v, err = number(info(a.getDeviceInfo, "clGetDeviceInfo", uintptr(id), what))
		}
		return v
	}
	d.Model, d.Vendor, d.Version, d.Driver = str(deviceName), str(deviceVendor), str(deviceVersion), str(driverVersion)
	switch kind := num(deviceType); {
	case kind&deviceTypeGPU != 0:
		d.Kind = "gpu"
	case kind&deviceTypeCPU != 0:
		d.Kind = "cpu"
	case kind&deviceTypeAccelerator != 0:
		d.Kind = "accelerator"
	default:
		d.Kind = "other"
	}
	d.Units, d.WorkGroup = int(num(deviceMaxComputeUnits)), int(num(deviceMaxWorkGroup))
	d.Global, d.Largest, d.Local = int64(num(deviceGlobalMem)), int64(num(deviceMaxAlloc)), int64(num(deviceLocalMem))
	d.Unified, d.available, d.compiler = num(deviceUnifiedMem) != 0, num(deviceAvailable) != 0, num(deviceCompilerAvail) != 0
	d.Doubles = slices.Contains(strings.Fields(str(deviceExtensions)), "cl_khr_fp64")
	return d, err
}
