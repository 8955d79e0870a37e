//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || riscv64 || loong64)

package blas

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/starpush/starpush/accel/dynlib"
)

func TestParseConfig(t *testing.T) {
	for _, c := range []struct {
		in, name string
		callers  int
	}{
		{"OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY SkylakeX MAX_THREADS=64", "OpenBLAS 0.3.21 SkylakeX", 64},
		{"OpenBLAS 0.3.28 DYNAMIC_ARCH NO_AFFINITY neoversen1 MAX_THREADS=128", "OpenBLAS 0.3.28 neoversen1", 128},
		{"OpenBLAS 0.3.28 MAX_THREADS=x", "OpenBLAS 0.3.28", 64},
		{"", "", 64},
	} {
		if name, n := parseConfig(c.in, 64); name != c.name || n != c.callers {
			t.Errorf("%q: %q, %d", c.in, name, n)
		}
	}
}

// TestNotBLAS: a library that is none is refused, and named.
func TestNotBLAS(t *testing.T) {
	lib := "libm.so.6"
	if runtime.GOOS == "darwin" {
		lib = "/usr/lib/libSystem.B.dylib"
	}
	if p, err := OpenBLAS(lib); err == nil {
		t.Errorf("%s became provider %s", lib, p.Name())
	}
}

// TestBetterCore: kernels are chosen only for a library that chose narrower ones than
// the processor has.
func TestBetterCore(t *testing.T) {
	wide, middle := features{avx2: true, avx512: true}, features{avx2: true}
	for _, c := range []struct {
		have, want string
		f          features
	}{
		{"Prescott", "SkylakeX", wide},
		{"Prescott", "Haswell", middle},
		{"Prescott", "", features{}},
		{"Haswell", "SkylakeX", wide},
		{"Zen", "SkylakeX", wide}, // what older ones take an AMD Zen 4 for
		{"Haswell", "", middle},
		{"Zen", "", middle},
		{"Sandybridge", "Haswell", middle},
		{"Cooperlake", "", wide},
		{"SapphireRapids", "", wide},
		{"", "", wide},
	} {
		if got := betterCore(c.have, c.f); got != c.want {
			t.Errorf("%q on %+v: %q, not %q", c.have, c.f, got, c.want)
		}
	}
}

// TestNarrower: a library that does not know the kernels asked for falls back further.
func TestNarrower(t *testing.T) {
	order := []string{"Prescott", "Haswell", "SkylakeX"}
	for i, a := range order {
		for k, b := range order {
			if narrower(a, b) != (i < k) {
				t.Errorf("%s and %s: %v", a, b, i >= k)
			}
		}
	}
}

// fresh is set in a process of a test in which nothing has loaded the library yet.
const fresh = "STARPUSH_TEST_FRESH"

// TestOpenFor: the library uses the kernels that openFor names, until it is closed. The
// test needs a process in which the library was not loaded before.
func TestOpenFor(t *testing.T) {
	if os.Getenv(fresh) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestOpenFor$", "-test.v")
		cmd.Env = append(os.Environ(), fresh+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if strings.Contains(string(out), "SKIP") {
			t.Skip(string(out))
		}
		return
	}
	name := libraryNames()[0]
	own, err := dynlib.Open(name, dynlib.Local)
	if err != nil || runtime.GOARCH != "amd64" {
		t.Skip("no OpenBLAS to tell: ", err)
	}
	before := coreName(own)
	if dynlib.Close(own) != nil {
		t.Skip("it cannot be closed")
	}
	for _, core := range []string{"Prescott", "nonsense", "Haswell"} {
		if core == "Haswell" && !machineFeatures().avx2 {
			continue
		}
		h, err := openFor(name, core)
		if err != nil {
			t.Fatal(err)
		}
		got := coreName(h)
		dynlib.Close(h)
		switch {
		case core == "nonsense": // its own choice, or the kernels of 2004
		case got == before && core != before:
			t.Skip("it stays loaded, or was built for one processor: ", got)
		case got != core:
			t.Errorf("told %s, it takes %s", core, got)
		}
	}
	h, err := open(name)
	if err != nil || narrower(coreName(h), before) {
		t.Errorf("%v; %s, and was %s", err, coreName(h), before)
	}
}

// TestCoreOfLibrary: what is loaded here uses the widest vectors that the processor
// has, unless the library was built for one kind of processor.
func TestCoreOfLibrary(t *testing.T) {
	h, err := open(libraryNames()[0])
	if err != nil {
		t.Skip(err)
	}
	config := ""
	if fn, err := dynlib.Symbol(h, "openblas_get_config"); err == nil {
		r := dynlib.Call(fn)
		config = cString(r)
	}
	if os.Getenv(envCore) == "" && runtime.GOARCH == "amd64" && strings.Contains(config, "DYNAMIC_ARCH") {
		if core := coreName(h); betterCore(core, machineFeatures()) != "" {
			t.Errorf("loaded for %s", core)
		}
	}
	if _, err := newLibrary(libraryNames()[0], h); err != nil {
		t.Error(err)
	}
}

// TestThreadsOfLibrary: the library starts no threads of its own, unless the user
// wants them. It takes a process in which nothing has loaded it yet.
func TestThreadsOfLibrary(t *testing.T) {
	if os.Getenv(fresh) != "" {
		h, err := open(libraryNames()[0])
		if err != nil {
			t.Skip(err)
		}
		count, err := dynlib.Symbol(h, "openblas_get_num_threads")
		if err != nil {
			t.Skip(err)
		}
		n := dynlib.Call(count)
		fmt.Printf("%d threads\n", int32(n))
		return
	}
	for set, want := range map[string]int{"": 1, "2": min(2, runtime.NumCPU())} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestThreadsOfLibrary$")
		cmd.Env = append(os.Environ(), fresh+"=1", envThreads+"="+set)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if !strings.Contains(string(out), "threads") {
			t.Skip("no such library")
		}
		if !strings.HasPrefix(string(out), fmt.Sprint(want, " threads")) {
			t.Errorf("with %s=%q, not %d: %s", envThreads, set, want, out)
		}
	}
}
