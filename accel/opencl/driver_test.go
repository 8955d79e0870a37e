package opencl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/accel"
)

func TestDevices(t *testing.T) {
	devs := open(t, Driver{})
	infos, err := Devices()
	must(t, err)
	again, err := Devices()
	must(t, err)
	if !slices.Equal(infos, again) || len(devs) != len(infos) {
		t.Errorf("%d devices: %+v\nthen %+v", len(devs), infos, again)
	}
	for i, in := range infos {
		if in.Name != fmt.Sprintf("opencl %d", i) || in.Model == "" || in.Platform == "" || in.Kind == "" || in.Units < 1 || in.WorkGroup < 1 ||
			in.Global < 1<<20 || in.Largest < 1<<20 || in.Local < 1 || !strings.HasPrefix(in.Version, "OpenCL ") {
			t.Errorf("%+v", in)
		}
		d := devs[i]
		if d.Info() != in || d.Name() != in.Name || d.Arch() != "opencl" || d.Units() != 1 {
			t.Errorf("%+v is not %+v", d.Info(), in)
		}
		if c := d.mem.Capacity(); c <= 0 || c >= in.Global {
			t.Errorf("%s: a capacity of %d of %d", in.Name, c, in.Global)
		}
	}
}

func TestFilter(t *testing.T) {
	devs := open(t, Driver{})
	last := devs[len(devs)-1].Name()
	only := open(t, Driver{Filter: func(in *Info) bool { return in.Name == last }})
	if len(only) != 1 || only[0].Name() != last {
		t.Errorf("%v", only)
	}
	_, err := Driver{Filter: func(*Info) bool { return false }}.Open()
	var un *accel.UnavailableError
	if !errors.As(err, &un) || !strings.Contains(un.Reason, "filter") {
		t.Errorf("none: %v", err)
	}
}

// TestUnavailable: a machine without the library, and one with another library
// of that name.
func TestUnavailable(t *testing.T) {
	_, err := load([]string{"libOpenCL-that-is-nowhere.so"})
	var un *accel.UnavailableError
	if !errors.As(err, &un) || un.Driver != "opencl" || !strings.Contains(un.Reason, "not found") || un.Remedy == "" || un.Err == nil {
		t.Errorf("%v", err)
	}
	if un == nil || strings.Contains(un.Err.Error(), "cannot be loaded") {
		return // a system that loads none
	}
	_, err = load([]string{"libc.so.6", "libSystem.B.dylib"})
	if !errors.As(err, &un) || !strings.Contains(un.Reason, "lacks cl") {
		t.Errorf("another library: %v", err)
	}
}

// TestOld: devices that cannot be used are left out, with the reason.
func TestOld(t *testing.T) {
	for _, c := range []struct {
		d    described
		want string
	}{
		{described{Info{Model: "m", Version: "OpenCL 3.0 x"}, true, true}, ""},
		{described{Info{Model: "m", Version: "OpenCL 1.2"}, true, true}, ""},
		{described{Info{Model: "m", Version: "OpenCL 1.1 x"}, true, true}, "m has OpenCL 1.1, and 1.2 is needed"},
		{described{Info{Model: "m", Version: "3"}, true, true}, `m has the version "3"`},
		{described{Info{Model: "m", Version: "OpenCL 2.0"}, false, true}, "m is not available"},
		{described{Info{Model: "m", Version: "OpenCL 2.0"}, true, false}, "m has no compiler"},
	} {
		got := ""
		if err := c.d.usable(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v: %q", c.d, got)
		}
	}
}

// TestNoLinker: without ld PoCL would end the process when it builds a kernel.
func TestNoLinker(t *testing.T) {
	d := described{Info{Model: "m", Kind: "cpu", Platform: "Portable Computing Language", Version: "OpenCL 3.0 PoCL"}, true, true}
	t.Setenv("PATH", t.TempDir())
	if err := d.usable(); err == nil || !strings.Contains(err.Error(), "binutils") {
		t.Errorf("%v", err)
	}
}

func TestErrors(t *testing.T) {
	for want, err := range map[string]error{
		"clFinish: OUT_OF_RESOURCES (-5)":                           &Error{"clFinish", -5},
		"clFinish: error -7777":                                     &Error{"clFinish", -7777},
		"kernel f, argument 2: no":                                  &ArgError{"f", 2, "no"},
		"kernel f: no":                                              &ArgError{"f", -1, "no"},
		"a program does not compile for opencl 0: no\nline 4":       &BuildError{"opencl 0", "line 4", errors.New("no")},
		"8 bytes at 0x10 are not inside one allocation of opencl 0": &AddressError{"opencl 0", 16, 8},
	} {
		if err.Error() != want {
			t.Errorf("%q instead of %q", err, want)
		}
	}
}
