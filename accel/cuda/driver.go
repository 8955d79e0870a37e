//go:build cuda

package cuda

// The driver: which devices there are.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gorgonia.org/cu"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cuda/shim"
)

// LibsVariable names the folders in which CUDA's libraries are looked for first.
const LibsVariable = "STARPUSH_CUDA_LIBS"

// Driver finds NVIDIA devices. The zero value finds all of the machine.
type Driver struct {
	// Libs are folders, separated as in PATH, in which libcuda.so.1, cuBLAS and cuSOLVER
	// are looked for before the system's; "": those of STARPUSH_CUDA_LIBS.
	Libs string
	// Memory bounds the memory that is used of each device; 0: what is free,
	// less a reserve for the driver.
	Memory int64
	// Kernels is how many kernels each device is given at the same time; 0: one.
	// Several hide from each other that each is waited for, and disturb each other.
	Kernels int
}

// Name implements accel.Driver.
func (Driver) Name() string { return "cuda" }

// Open implements accel.Driver.
func (v Driver) Open() ([]accel.Device, error) {
	libs := v.Libs
	if libs == "" {
		libs = os.Getenv(LibsVariable)
	}
	if err := shim.Open(driverFolder(libs)); err != nil {
		return nil, unavailable(err)
	}
	n, err := cu.NumDevices()
	if err == nil && n == 0 {
		err = cu.NoDevice
	}
	if err != nil {
		return nil, unavailable(&Error{Call: "cuDeviceGetCount", Code: code(err)})
	}
	var devs []*Device
	for i := range n {
		d, err := openDevice(i, v, libs)
		if err != nil {
			for _, d := range devs {
				d.Close()
			}
			return nil, fmt.Errorf("cuda %d: %w", i, err)
		}
		devs = append(devs, d)
	}
	all := make([]accel.Device, len(devs))
	for i, d := range devs {
		for _, o := range devs {
			if o != d {
				d.connect(o)
			}
		}
		all[i] = d
	}
	return all, nil
}

// driverFolder is the first of the folders that has the driver; "" when none has.
func driverFolder(folders string) string {
	for _, dir := range filepath.SplitList(folders) {
		if _, err := os.Stat(filepath.Join(dir, "libcuda.so.1")); err == nil {
			return dir
		}
	}
	return ""
}

// unavailable says what would help.
func unavailable(err error) error {
	u := &accel.UnavailableError{Driver: "cuda", Reason: err.Error(), Err: err}
	var load *shim.LoadError
	switch {
	case errors.As(err, &load) && load.Missing:
		u.Remedy = "install the NVIDIA driver, or name the folder of libcuda.so.1 in " + LibsVariable
	default:
		u.Remedy = "nvidia-smi tells whether the driver sees a device"
	}
	return u
}
