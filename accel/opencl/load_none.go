//go:build !((linux || darwin) && !android && !ios && (amd64 || arm64 || riscv64 || loong64))

package opencl

// Systems on which libraries are not loaded at run time.

import (
	"fmt"
	"runtime"
)

func libraryNames() []string { return []string{"OpenCL"} }

func dlopen(string) (uintptr, error) {
	return 0, fmt.Errorf("libraries cannot be loaded at run time on %s/%s", runtime.GOOS, runtime.GOARCH)
}

func dlsym(uintptr, string) (uintptr, error) { panic("opencl: no library") }
func dlclose(uintptr)                        {}
func call(uintptr, ...uintptr) uintptr       { panic("opencl: no library") }
