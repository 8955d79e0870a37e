//go:build cuda

package shim

import (
	"debug/elf"
	"errors"
	"os"
	"strings"
	"testing"

	"gorgonia.org/cu"
)

// TestStartsAnywhere: this program contains cu, and asks the loader for no part
// of CUDA. That it runs shows that cu's init does not end it.
func TestStartsAnywhere(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	libs, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, lib := range libs {
		if strings.Contains(lib, "cuda") || strings.Contains(lib, "nvidia") {
			t.Errorf("needs %s", lib)
		}
	}
	if len(libs) == 0 {
		t.Error("needs no library at all: a static program cannot load one")
	}
	// An exported cuMemAlloc would be found by cuBLAS in place of the driver's.
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if strings.HasPrefix(s.Name, "cu") {
			t.Errorf("exports or imports %s", s.Name)
		}
	}
}

// TestBeforeOpen: without a driver calls fail, and nothing else happens.
func TestBeforeOpen(t *testing.T) {
	if n, err := cu.NumDevices(); err != cu.NotInitialized {
		t.Errorf("%d devices, %v", n, err)
	}
	var missing *LoadError
	if err := Status(); !errors.As(err, &missing) || !missing.Missing {
		t.Errorf("status: %v", err)
	}
	dir := t.TempDir()
	if err := Open(dir); !errors.As(err, &missing) || !missing.Missing || !strings.Contains(err.Error(), "libcuda.so.1 was not found") {
		t.Errorf("no library: %v", err)
	}
	if err := os.WriteFile(dir+"/libcuda.so.1", []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Open(dir); !errors.As(err, &missing) || !strings.Contains(err.Error(), dir) {
		t.Errorf("no library, but a file: %v", err)
	}
	if Status() == nil {
		t.Error("status of a driver that was not found: nil")
	}
}
