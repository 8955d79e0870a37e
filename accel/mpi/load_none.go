//go:build !((linux || darwin) && !android && !ios && (amd64 || arm64 || riscv64 || loong64))

package mpi

// Systems on which libraries are not loaded at run time.

import (
	"fmt"
	"runtime"
)

func fileNames() map[family][]string {
	return map[family][]string{openMPI: {"libmpi"}, mpich: {"libmpich"}}
}

func dlopen(string) (uintptr, error) {
	return 0, fmt.Errorf("libraries cannot be loaded at run time on %s/%s", runtime.GOOS, runtime.GOARCH)
}

func dlsym(uintptr, string) (uintptr, error) { panic("mpi: no library") }
func systemSymbol(string) (uintptr, error)   { panic("mpi: no library") }
func call(uintptr, ...uintptr) uintptr       { panic("mpi: no library") }
