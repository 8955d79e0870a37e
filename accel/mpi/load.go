//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || riscv64 || loong64)

package mpi

// Systems on which the library is loaded at run time.

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// fileNames returns the files of each family, in the order in which they are tried. A name
// that two families use is the last of both: what the library exports decides.
func fileNames() map[family][]string {
	if runtime.GOOS == "darwin" {
		homes := []string{"", "/opt/homebrew/lib/", "/usr/local/lib/", "/opt/local/lib/"}
		files := map[family][]string{}
		for _, dir := range homes {
			files[openMPI] = append(files[openMPI], dir+"libmpi.40.dylib", dir+"libmpi.dylib")
			files[mpich] = append(files[mpich], dir+"libmpich.12.dylib", dir+"libmpi.12.dylib", dir+"libmpi.dylib")
		}
		return files
	}
	return map[family][]string{
		openMPI: {"libmpi.so.40", "libmpi.so"},
		mpich:   {"libmpich.so.12", "libmpi.so.12", "libmpich.so", "libmpi.so"},
	}
}

// dlopen makes the symbols global: Open MPI loads plug-ins that refer to them.
func dlopen(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
}

func dlsym(lib uintptr, name string) (uintptr, error) { return purego.Dlsym(lib, name) }

// systemSymbol returns a function of the C library.
func systemSymbol(name string) (uintptr, error) { return purego.Dlsym(purego.RTLD_DEFAULT, name) }

// call calls a C function whose arguments are integers and addresses. An object
// passed as uintptr(unsafe.Pointer(p)) in the argument list does not move until call
// returns.
//
//go:uintptrescapes
func call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}
