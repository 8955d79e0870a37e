package opencl

import (
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/dynlib"
)

// Program is OpenCL C built for a device. It lives as long as the device, and may
// be used by many goroutines.
type Program struct {
	dev    *Device
	handle clProgram
	mu     struct {
		sync.Mutex
		kernels map[string]*Kernel
	}
}

type programKey struct{ source, options string }

// buildOnce is a place in a device's cache.
type buildOnce struct {
	once sync.Once
	p    *Program
	err  error
}

// Build compiles OpenCL C for the device, once for each source and options, which
// are those of clBuildProgram: "-DT=float -cl-mad-enable". The error of a program
// that does not compile is a *BuildError.
func (d *Device) Build(source, options string) (*Program, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	if d.mu.closed {
		d.mu.Unlock()
		return nil, accel.ErrClosed
	}
	key := programKey{source, options}
	b := d.mu.programs[key]
	if b == nil {
		b = new(buildOnce)
		d.mu.programs[key] = b
	}
	d.mu.Unlock()
	b.once.Do(func() { b.p, b.err = d.build(source, options) })
	return b.p, b.err
}

func (d *Device) build(source, options string) (*Program, error) {
	a := d.api
	if strings.ContainsRune(options, 0) {
		return nil, &BuildError{Device: d.Name(), Err: fmt.Errorf("the options hold a zero byte")}
	}
	var c int32
	src := append([]byte(source), 0)
	at, length := unsafe.Pointer(&src[0]), uintptr(len(source))
	prog := clProgram(dynlib.Call(a.createProgram, uintptr(d.ctx), 1, uintptr(ptr(&at)), uintptr(ptr(&length)), uintptr(ptr(&c))))
	if err := d.failed(code(c), "clCreateProgramWithSource", false); err != nil {
		return nil, err
	}
	// Drivers tell the types of parameters when they are asked to keep them.
	opts := append([]byte(options+" -cl-kernel-arg-info"), 0)
	id := d.info.id
	r := code(int32(dynlib.Call(a.buildProgram, uintptr(prog), 1, uintptr(ptr(&id)), uintptr(ptr(&opts[0])), 0, 0)))
	if err := d.failed(r, "clBuildProgram", false); err != nil {
		log, _ := text(info(a.getBuildInfo, "clGetProgramBuildInfo", uintptr(prog), uintptr(id), programBuildLog))
		dynlib.Call(a.releaseProgram, uintptr(prog))
		if _, ok := err.(*Error); !ok {
			return nil, err
		}
		return nil, &BuildError{Device: d.Name(), Log: log, Err: err}
	}
	p := &Program{dev: d, handle: prog}
	p.mu.kernels = map[string]*Kernel{}
	return p, nil
}

// release gives up the program and its kernels.
func (b *buildOnce) release() {
	b.once.Do(func() { b.err = accel.ErrClosed })
	if b.p == nil {
		return
	}
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	for _, k := range b.p.mu.kernels {
		dynlib.Call(b.p.dev.api.releaseKernel, uintptr(k.handle))
	}
	b.p.mu.kernels = nil
	dynlib.Call(b.p.dev.api.releaseProgram, uintptr(b.p.handle))
}

// Kernel is a kernel function of a program. It may be used by many goroutines.
type Kernel struct {
	dev     *Device
	name    string
	handle  clKernel
	params  []param
	largest int // work-items of a work-group
	// mu: arguments are set one by one, and belong to the kernel until it is launched.
	mu sync.Mutex
}

// param is what the driver tells about a parameter.
type param struct {
	space uint64 // addressGlobal, …; 0: unknown
	typ   string // "float*"; "": unknown
}

// Name returns the name of the function.
func (k *Kernel) Name() string { return k.name }

// WorkGroup returns the largest number of work-items that a work-group of the
// kernel can have.
func (k *Kernel) WorkGroup() int { return k.largest }

// Kernel returns a kernel by its name; the same one each time.
func (p *Program) Kernel(name string) (*Kernel, error) {
	if err := p.dev.usable(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.kernels == nil {
		return nil, accel.ErrClosed
	}
	if k := p.mu.kernels[name]; k != nil {
		return k, nil
	}
	k, err := p.load(name)
	if err != nil {
		return nil, err
	}
	p.mu.kernels[name] = k
	return k, nil
}

func (p *Program) load(name string) (*Kernel, error) {
	a, d := p.dev.api, p.dev
	if strings.ContainsRune(name, 0) {
		return nil, &ArgError{name, -1, "the program has no such kernel"}
	}
	var c int32
	z := append([]byte(name), 0)
	k := &Kernel{dev: d, name: name}
	k.handle = clKernel(dynlib.Call(a.createKernel, uintptr(p.handle), uintptr(ptr(&z[0])), uintptr(ptr(&c))))
	if code(c) == invalidKernelName {
		return nil, &ArgError{name, -1, "the program has no such kernel"}
	}
	if err := d.failed(code(c), "clCreateKernel", false); err != nil {
		return nil, err
	}
	n, err := number(info(a.getKernelInfo, "clGetKernelInfo", uintptr(k.handle), kernelNumArgs))
	if err == nil {
		var most uint64
		most, err = number(info(a.getWorkGroupInfo, "clGetKernelWorkGroupInfo", uintptr(k.handle), uintptr(d.info.id), kernelWorkGroupSize))
		k.largest = int(most)
	}
	if err != nil {
		dynlib.Call(a.releaseKernel, uintptr(k.handle))
		return nil, err
	}
	k.params = make([]param, n)
	for i := range k.params {
		q := &k.params[i]
		// Not every driver tells.
		q.space, _ = number(info(a.getKernelArgInfo, "clGetKernelArgInfo", uintptr(k.handle), uintptr(i), kernelArgAddressQualifier))
		q.typ, _ = text(info(a.getKernelArgInfo, "clGetKernelArgInfo", uintptr(k.handle), uintptr(i), kernelArgTypeName))
	}
	return k, nil
}
