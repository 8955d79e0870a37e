//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || riscv64 || loong64)

package opencl

// Systems on which the library is loaded at run time.

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// libraryNames are tried in this order.
func libraryNames() []string {
	if runtime.GOOS == "darwin" {
		return []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
	}
	return []string{"libOpenCL.so.1", "libOpenCL.so"}
}

func dlopen(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
}

func dlsym(lib uintptr, name string) (uintptr, error) { return purego.Dlsym(lib, name) }

func dlclose(lib uintptr) { _ = purego.Dlclose(lib) }

// call calls a C function whose arguments are integers and addresses. An object
// passed as uintptr(unsafe.Pointer(p)) in the argument list does not move until call
// returns.
//
//go:uintptrescapes
func call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}
