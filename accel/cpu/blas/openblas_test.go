//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || riscv64 || loong64)

package blas

import (
	"runtime"
	"testing"
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
