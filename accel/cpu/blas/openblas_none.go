//go:build !((linux || darwin) && !android && !ios && (amd64 || arm64 || riscv64 || loong64))

package blas

// Systems on which libraries are not loaded at run time.

import (
	"fmt"
	"runtime"
)

// OpenBLAS loads a library at run time, which is not possible on this system:
// it always returns an error.
func OpenBLAS(path string) (Provider, error) {
	return nil, fmt.Errorf("libraries cannot be loaded at run time on %s/%s", runtime.GOOS, runtime.GOARCH)
}
