//go:build linux && amd64

package llvm

// The LLVM library of the machine.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"github.com/starpush/starpush/accel/dynlib"
)

// libraryNames are the files that are tried, the first that loads is used. LLVM 14 and older
// have typed pointers and cannot read the text.
var libraryNames = []string{
	"libLLVM-15.so.1", "libLLVM-16.so.1", "libLLVM-17.so.1", "libLLVM.so.18.1", "libLLVM-18.so.1",
	"libLLVM.so.19.1", "libLLVM.so.20.1", "libLLVM.so.21.1",
}

// LibraryVariable is the environment variable that names the library to load, a file or a
// path; "none" makes the package work as on a machine without one.
const LibraryVariable = "STARPUSH_LLVM"

// Library is the LLVM library of the machine. Its methods are safe for concurrent use; it
// compiles one body at a time.
type Library struct {
	name      string // of the file
	version   string
	handle    uintptr
	functions map[string]uintptr
	processor string
	features  string
	hasNVPTX  bool

	mu struct {
		sync.Mutex
		broken error // LLVM ended with a fatal error; its thread never returns
	}
	fatal chan string
}

// opened is the library, once somebody has asked for it.
var opened struct {
	sync.Once
	lib *Library
	err error
}

// Open loads the library at the first call. Every call returns the same.
func Open() (*Library, error) {
	opened.Do(func() { opened.lib, opened.err = open() })
	return opened.lib, opened.err
}

// Loaded reports whether Open has been called, with success.
func Loaded() bool { return opened.lib != nil }

func open() (*Library, error) {
	names := libraryNames
	switch v := os.Getenv(LibraryVariable); v {
	case "":
	case "none":
		return nil, fmt.Errorf("the environment variable %s is none", LibraryVariable)
	default:
		names = []string{v}
	}
	var first error
	for _, name := range names {
		handle, err := dynlib.Open(name, dynlib.Local)
		if err != nil {
			first = errors.Join(first, err)
			continue
		}
		l := &Library{name: name, handle: handle, functions: map[string]uintptr{}, fatal: make(chan string, 1)}
		if err := l.initialise(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return l, nil
	}
	if len(names) > 1 {
		return nil, fmt.Errorf("no LLVM library (%s to %s)", names[0], names[len(names)-1])
	}
	return nil, first
}

// functionNames are the functions of LLVM's C API that the package calls.
var functionNames = strings.Fields(`LLVMInitializeX86TargetInfo LLVMInitializeX86Target LLVMInitializeX86TargetMC
	LLVMInitializeX86AsmPrinter LLVMContextCreate LLVMContextDispose LLVMContextSetDiagnosticHandler
	LLVMCreateMemoryBufferWithMemoryRangeCopy LLVMParseIRInContext LLVMVerifyModule LLVMDisposeModule
	LLVMGetDefaultTargetTriple LLVMGetTargetFromTriple LLVMGetHostCPUName LLVMGetHostCPUFeatures LLVMCreateTargetMachine
	LLVMDisposeTargetMachine LLVMCreateTargetDataLayout LLVMSetModuleDataLayout LLVMDisposeTargetData LLVMSetTarget
	LLVMGetFirstFunction LLVMGetNextFunction LLVMIsDeclaration LLVMAddTargetDependentFunctionAttr LLVMCreatePassBuilderOptions
	LLVMDisposePassBuilderOptions LLVMRunPasses LLVMGetErrorMessage LLVMDisposeErrorMessage LLVMTargetMachineEmitToMemoryBuffer
	LLVMGetBufferStart LLVMGetBufferSize LLVMDisposeMemoryBuffer LLVMDisposeMessage LLVMInstallFatalErrorHandler
	LLVMGetDiagInfoSeverity LLVMGetDiagInfoDescription`)

// initialise finds the functions and asks for the processor.
func (l *Library) initialise() error {
	for _, n := range functionNames {
		f, err := dynlib.Symbol(l.handle, n)
		if err != nil {
			return err
		}
		l.functions[n] = f
	}
	if f, err := dynlib.Symbol(l.handle, "LLVMGetVersion"); err == nil {
		var v [3]uint32
		dynlib.Call(f, uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1])), uintptr(unsafe.Pointer(&v[2])))
		l.version = fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
	}
	for _, n := range functionNames[:4] {
		l.call(n)
	}
	l.hasNVPTX = true
	var nvptx []uintptr
	for _, n := range []string{"LLVMInitializeNVPTXTargetInfo", "LLVMInitializeNVPTXTarget", "LLVMInitializeNVPTXTargetMC", "LLVMInitializeNVPTXAsmPrinter"} {
		f, err := dynlib.Symbol(l.handle, n)
		l.hasNVPTX = l.hasNVPTX && err == nil
		nvptx = append(nvptx, f)
	}
	for _, f := range nvptx {
		if l.hasNVPTX {
			dynlib.Call(f)
		}
	}
	// A fatal error ends the process when its handler returns, so the handler does not. The
	// thread and what it holds are lost, and Compile refuses further work.
	l.call("LLVMInstallFatalErrorHandler", dynlib.Callback(func(text uintptr) uintptr {
		select {
		case l.fatal <- goString(text):
		default:
		}
		select {}
	}))
	l.processor, l.features = l.message(l.call("LLVMGetHostCPUName")), l.message(l.call("LLVMGetHostCPUFeatures"))
	for _, f := range []string{"+avx2", "+fma"} {
		if !strings.Contains(","+l.features+",", ","+f+",") {
			return fmt.Errorf("the processor %s lacks %s", l.processor, f[1:])
		}
	}
	return nil
}

// record describes the file of the library.
func (l *Library) record() (libraryRecord, error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return libraryRecord{}, err
	}
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		if len(fields) == 6 && strings.Contains(filepath.Base(fields[5]), "LLVM") {
			return recordOf(fields[5], l.version)
		}
	}
	return libraryRecord{}, fs.ErrNotExist
}

// trusted returns an error if another user than this one could have written a file or a
// folder.
func trusted(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(s.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s belongs to another user, or another user may write it", path)
	}
	return nil
}

// String returns the name of the library's file, its version if it tells, and the processor.
func (l *Library) String() string {
	s := l.name
	if l.version != "" {
		s += ", version " + l.version
	}
	return s + ", for " + l.processor
}

// call calls a function of the library. Memory whose address is converted in the argument list
// stays in place.
//
//go:uintptrescapes
func (l *Library) call(name string, args ...uintptr) uintptr {
	r := dynlib.Call(l.functions[name], args...)
	return r
}

// goString returns a copy of a C string.
func goString(p uintptr) string {
	if p == 0 {
		return ""
	}
	at := *(*unsafe.Pointer)(unsafe.Pointer(&p)) // memory of C
	n := 0
	for *(*byte)(unsafe.Add(at, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(at), n))
}

// message returns a string of the library, and frees it.
func (l *Library) message(p uintptr) string {
	s := goString(p)
	if p != 0 {
		l.call("LLVMDisposeMessage", p)
	}
	return s
}

// cText returns s as a C string.
func cText(s string) *byte { return unsafe.StringData(s + "\x00") }

// target is what the library makes code for.
type target struct {
	triple, processor, features string
	file                        uintptr // one of LLVM's kinds of files
}

const assemblyFile, objectFile = 0, 1

// Compile compiles a module to an object file for this processor. It does not return
// before the library has, and the library cannot be interrupted: bodies take 5 to 50 ms.
func (l *Library) Compile(text string) (object []byte, err error) {
	return l.compileFor(text, target{"", l.processor, l.features, objectFile})
}

// PTX compiles a module to PTX, for NVIDIA devices of compute capability 7.5 and later.
func (l *Library) PTX(text string) (string, error) {
	if !l.hasNVPTX {
		return "", fmt.Errorf("%s makes no code for NVIDIA devices", l.name)
	}
	out, err := l.compileFor(text, target{"nvptx64-nvidia-cuda", "sm_75", "", assemblyFile})
	return string(out), err
}

func (l *Library) compileFor(text string, to target) (out []byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.broken != nil {
		return nil, l.mu.broken
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		out, err = l.compile(text, to)
	}()
	select {
	case <-done:
		return out, err
	case msg := <-l.fatal:
		l.mu.broken = fmt.Errorf("LLVM ended with a fatal error: %s", msg)
		return nil, l.mu.broken
	}
}

// diagnostics collects what the library has to say about a module.
var diagnostics struct {
	sync.Mutex
	text []string
	once sync.Once
	f    uintptr
}

func (l *Library) compile(text string, to target) ([]byte, error) {
	diagnostics.once.Do(func() {
		diagnostics.f = dynlib.Callback(func(info, _ uintptr) uintptr {
			if l.call("LLVMGetDiagInfoSeverity", info)&0xFF == 0 { // an error
				diagnostics.Lock()
				diagnostics.text = append(diagnostics.text, l.message(l.call("LLVMGetDiagInfoDescription", info)))
				diagnostics.Unlock()
			}
			return 0
		})
	})
	diagnostics.text = nil
	ctx := l.call("LLVMContextCreate")
	defer l.call("LLVMContextDispose", ctx)
	l.call("LLVMContextSetDiagnosticHandler", ctx, diagnostics.f, 0)
	var module, target, msg, buffer uintptr
	source := l.call("LLVMCreateMemoryBufferWithMemoryRangeCopy", uintptr(unsafe.Pointer(cText(text))), uintptr(len(text)), uintptr(unsafe.Pointer(cText("body"))))
	if uint32(l.call("LLVMParseIRInContext", ctx, source, uintptr(unsafe.Pointer(&module)), uintptr(unsafe.Pointer(&msg)))) != 0 {
		return nil, fmt.Errorf("LLVM cannot read the module: %s", l.message(msg))
	}
	defer l.call("LLVMDisposeModule", module)
	if uint32(l.call("LLVMVerifyModule", module, 2, uintptr(unsafe.Pointer(&msg)))) != 0 {
		return nil, fmt.Errorf("LLVM refuses the module: %s", l.message(msg))
	}
	l.call("LLVMDisposeMessage", msg)
	triple := uintptr(unsafe.Pointer(cText(to.triple)))
	if to.triple == "" {
		triple = l.call("LLVMGetDefaultTargetTriple")
		defer l.call("LLVMDisposeMessage", triple)
	}
	if uint32(l.call("LLVMGetTargetFromTriple", triple, uintptr(unsafe.Pointer(&target)), uintptr(unsafe.Pointer(&msg)))) != 0 {
		return nil, fmt.Errorf("LLVM has no target: %s", l.message(msg))
	}
	processor, features := uintptr(unsafe.Pointer(cText(to.processor))), uintptr(unsafe.Pointer(cText(to.features)))
	const aggressive, positionIndependent, defaultModel = 3, 2, 0
	machine := l.call("LLVMCreateTargetMachine", target, triple, processor, features, aggressive, positionIndependent, defaultModel)
	defer l.call("LLVMDisposeTargetMachine", machine)
	data := l.call("LLVMCreateTargetDataLayout", machine)
	defer l.call("LLVMDisposeTargetData", data)
	l.call("LLVMSetModuleDataLayout", module, data)
	l.call("LLVMSetTarget", module, triple)
	for f := l.call("LLVMGetFirstFunction", module); f != 0; f = l.call("LLVMGetNextFunction", f) {
		if uint32(l.call("LLVMIsDeclaration", f)) == 0 {
			l.call("LLVMAddTargetDependentFunctionAttr", f, uintptr(unsafe.Pointer(cText("target-cpu"))), uintptr(unsafe.Pointer(cText(to.processor))))
			l.call("LLVMAddTargetDependentFunctionAttr", f, uintptr(unsafe.Pointer(cText("target-features"))), uintptr(unsafe.Pointer(cText(to.features))))
		}
	}
	options := l.call("LLVMCreatePassBuilderOptions")
	defer l.call("LLVMDisposePassBuilderOptions", options)
	if e := l.call("LLVMRunPasses", module, uintptr(unsafe.Pointer(cText("default<O3>"))), machine, options); e != 0 {
		text := l.call("LLVMGetErrorMessage", e)
		defer l.call("LLVMDisposeErrorMessage", text)
		return nil, fmt.Errorf("LLVM cannot optimise the module: %s", goString(text))
	}
	if uint32(l.call("LLVMTargetMachineEmitToMemoryBuffer", machine, module, to.file, uintptr(unsafe.Pointer(&msg)), uintptr(unsafe.Pointer(&buffer)))) != 0 {
		return nil, fmt.Errorf("LLVM makes no machine code: %s", l.message(msg))
	}
	defer l.call("LLVMDisposeMemoryBuffer", buffer)
	start, size := l.call("LLVMGetBufferStart", buffer), l.call("LLVMGetBufferSize", buffer)
	object := make([]byte, size)
	copy(object, unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&start))), size))
	diagnostics.Lock()
	defer diagnostics.Unlock()
	if len(diagnostics.text) > 0 {
		return nil, fmt.Errorf("LLVM: %s", strings.Join(diagnostics.text, "; "))
	}
	return object, nil
}
