//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || riscv64 || loong64)

package blas

// OpenBLAS chooses its kernels by the model of the processor when it is loaded. For
// a model it does not know it takes those of 2004, or those of a predecessor with
// narrower vectors: a library that is older than the machine, as distributions have
// them, then runs at a fifth, or at half, of the machine's speed. So a library whose
// kernels use narrower vectors than the processor has is loaded again and told what
// to use. 0.3.21 on an AMD Zen 5, with the kernels for AVX2 (Haswell) and for AVX-512
// (SkylakeX): products of 192 in f64 281 and 197 µs, of 320 in f32 622 and 339, of 64 in
// f64 17.3 and 12.4.

import (
	"os"
	"runtime"
	"unsafe"

	"github.com/starpush/starpush/accel/dynlib"
	"golang.org/x/sys/cpu"
)

// envCore is what OpenBLAS reads when it is loaded.
const envCore = "OPENBLAS_CORETYPE"

// features is what matters of a processor.
type features struct{ avx2, avx512 bool }

func machineFeatures() features {
	x := &cpu.X86
	return features{
		avx2:   x.HasAVX2 && x.HasFMA,
		avx512: x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX512CD,
	}
}

// narrow lists kernels by name, by the widest vectors that they use; those that are
// not in it use AVX-512, or are for processors of another kind.
var narrow = map[string]features{
	"Generic": {}, "Unknown": {}, "Katmai": {}, "Coppermine": {}, "Northwood": {}, "Banias": {}, "Prescott": {},
	"Core2": {}, "Penryn": {}, "Dunnington": {}, "Nehalem": {}, "Atom": {}, "Nano": {}, "Athlon": {}, "Opteron": {},
	"Opteron(SSE3)": {}, "Opteron_SSE3": {}, "Barcelona": {}, "Bobcat": {},
	"Sandybridge": {}, "Bulldozer": {}, "Piledriver": {}, "Steamroller": {}, // AVX
	"Haswell": {avx2: true}, "Zen": {avx2: true}, "Excavator": {avx2: true},
}

// betterCore names the kernels for a processor that the library took for have;
// "" when have will do. The names are as old as the kernels, so that every
// library that has the kernels knows them.
func betterCore(have string, f features) string {
	used, ok := narrow[have]
	switch {
	case !ok:
		return ""
	case f.avx512:
		return "SkylakeX"
	case f.avx2 && !used.avx2:
		return "Haswell"
	}
	return ""
}

// coreName is what the library took the processor for; "" if it does not say.
func coreName(handle uintptr) string {
	fn, err := dynlib.Symbol(handle, "openblas_get_corename")
	if err != nil {
		return ""
	}
	r := dynlib.Call(fn)
	return cString(r)
}

// envThreads is how many threads OpenBLAS starts when it is loaded.
const envThreads = "OPENBLAS_NUM_THREADS"

// open loads a library. Settings that the user made in the environment take precedence.
//
// The library is loaded with one thread, because workers call it in parallel. Otherwise
// it starts a thread for each further processor, and these spin for 100 ms before they
// sleep, which takes the processors from the first tasks of a run.
func open(name string) (uintptr, error) {
	if os.Getenv(envThreads) == "" {
		defer setC(envThreads, "1")()
	}
	h, err := dynlib.Open(name, dynlib.Local)
	if err != nil || runtime.GOARCH != "amd64" || os.Getenv(envCore) != "" {
		return h, err
	}
	have := coreName(h)
	core := betterCore(have, machineFeatures())
	if core == "" || dynlib.Close(h) != nil {
		return h, nil
	}
	if h, err = openFor(name, core); err != nil || !narrower(coreName(h), have) {
		return h, err
	}
	// It does not know that name, and took the kernels of 2004: back to its own choice.
	if dynlib.Close(h) != nil {
		return h, nil
	}
	return dynlib.Open(name, dynlib.Local)
}

// openFor loads a library and makes it use the kernels for core.
func openFor(name, core string) (uintptr, error) {
	defer setC(envCore, core)()
	return dynlib.Open(name, dynlib.Local)
}

// narrower reports whether the kernels a use narrower vectors than the kernels b.
func narrower(a, b string) bool {
	fa, ok := narrow[a]
	fb, also := narrow[b]
	return ok && (!also || fb.avx2 && !fa.avx2)
}

// setC sets a variable in the environment of the C library, which is its own and
// only it looks at, and returns what takes it away again.
func setC(name, value string) (unset func()) {
	setenv, err := dynlib.SystemSymbol("setenv")
	if err != nil {
		return func() {}
	}
	key, val := []byte(name+"\x00"), []byte(value+"\x00")
	dynlib.Call(setenv, uintptr(unsafe.Pointer(&key[0])), uintptr(unsafe.Pointer(&val[0])), 1)
	return func() {
		if unsetenv, err := dynlib.SystemSymbol("unsetenv"); err == nil {
			dynlib.Call(unsetenv, uintptr(unsafe.Pointer(&key[0])))
		}
	}
}
