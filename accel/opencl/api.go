package opencl

// The functions of OpenCL that are used, version 1.2.

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/dynlib"
)

// Handles of OpenCL: addresses of its objects.
type (
	platformID uintptr
	deviceID   uintptr
	clContext  uintptr
	clQueue    uintptr
	clMem      uintptr
	clProgram  uintptr
	clKernel   uintptr
	clEvent    uintptr
)

// api holds the functions of a loaded library.
type api struct {
	getPlatformIDs, getPlatformInfo, getDeviceIDs, getDeviceInfo,
	createContext, releaseContext, createCommandQueue, releaseCommandQueue, flush, finish,
	createBuffer, releaseMemObject, migrate,
	read, write, copy, readRect, writeRect, copyRect,
	marker, barrier, waitForEvents, getEventInfo, getProfiling, retainEvent, releaseEvent,
	createProgram, buildProgram, getBuildInfo, releaseProgram,
	createKernel, releaseKernel, setKernelArg, getKernelInfo, getKernelArgInfo, getWorkGroupInfo, launch uintptr
}

func (a *api) table() map[string]*uintptr {
	return map[string]*uintptr{
		"clGetPlatformIDs": &a.getPlatformIDs, "clGetPlatformInfo": &a.getPlatformInfo,
		"clGetDeviceIDs": &a.getDeviceIDs, "clGetDeviceInfo": &a.getDeviceInfo,
		"clCreateContext": &a.createContext, "clReleaseContext": &a.releaseContext,
		"clCreateCommandQueue": &a.createCommandQueue, "clReleaseCommandQueue": &a.releaseCommandQueue,
		"clFlush": &a.flush, "clFinish": &a.finish,
		"clCreateBuffer": &a.createBuffer, "clReleaseMemObject": &a.releaseMemObject, "clEnqueueMigrateMemObjects": &a.migrate,
		"clEnqueueReadBuffer": &a.read, "clEnqueueWriteBuffer": &a.write, "clEnqueueCopyBuffer": &a.copy,
		"clEnqueueReadBufferRect": &a.readRect, "clEnqueueWriteBufferRect": &a.writeRect, "clEnqueueCopyBufferRect": &a.copyRect,
		"clEnqueueMarkerWithWaitList": &a.marker, "clEnqueueBarrierWithWaitList": &a.barrier,
		"clWaitForEvents": &a.waitForEvents, "clGetEventInfo": &a.getEventInfo, "clGetEventProfilingInfo": &a.getProfiling,
		"clRetainEvent": &a.retainEvent, "clReleaseEvent": &a.releaseEvent,
		"clCreateProgramWithSource": &a.createProgram, "clBuildProgram": &a.buildProgram,
		"clGetProgramBuildInfo": &a.getBuildInfo, "clReleaseProgram": &a.releaseProgram,
		"clCreateKernel": &a.createKernel, "clReleaseKernel": &a.releaseKernel, "clSetKernelArg": &a.setKernelArg,
		"clGetKernelInfo": &a.getKernelInfo, "clGetKernelArgInfo": &a.getKernelArgInfo,
		"clGetKernelWorkGroupInfo": &a.getWorkGroupInfo, "clEnqueueNDRangeKernel": &a.launch,
	}
}

const remedy = "install an OpenCL driver (Debian, for the processor: apt-get install ocl-icd-libopencl1 pocl-opencl-icd)"

// library is loaded once: drivers do not like to be unloaded.
var library = sync.OnceValues(func() (*api, error) { return load(libraryNames()) })

// libraryNames are tried in this order.
func libraryNames() []string {
	if runtime.GOOS == "darwin" {
		return []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
	}
	return []string{"libOpenCL.so.1", "libOpenCL.so"}
}

// load loads the first library there is of names.
func load(names []string) (*api, error) {
	var failed []string
	for _, name := range names {
		lib, err := dynlib.Open(name, dynlib.Global)
		if err != nil {
			failed = append(failed, err.Error())
			continue
		}
		a := new(api)
		for symbol, to := range a.table() {
			fn, err := dynlib.Symbol(lib, symbol)
			if err != nil {
				_ = dynlib.Close(lib)
				return nil, &accel.UnavailableError{Driver: "opencl", Err: err,
					Reason: fmt.Sprintf("%s lacks %s, a function of OpenCL 1.2", name, symbol), Remedy: remedy}
			}
			*to = fn
		}
		return a, nil
	}
	err := errors.New(strings.Join(failed, "; "))
	return nil, &accel.UnavailableError{Driver: "opencl", Err: err,
		Reason: names[0] + " was not found", Remedy: remedy}
}

// ptr is the address of a value for the argument list of call, in which it must
// be converted to uintptr.
func ptr[T any](p *T) unsafe.Pointer { return unsafe.Pointer(p) }

// info calls one of the clGet…Info functions, which all end with a size, a place
// and where to store the size that there is. before are its other arguments.
func info(fn uintptr, name string, before ...uintptr) ([]byte, error) {
	var size uintptr
	get := func(n uintptr, to, size unsafe.Pointer) code {
		switch len(before) {
		case 2:
			return code(int32(dynlib.Call(fn, before[0], before[1], n, uintptr(to), uintptr(size))))
		default:
			return code(int32(dynlib.Call(fn, before[0], before[1], before[2], n, uintptr(to), uintptr(size))))
		}
	}
	if err := get(0, nil, ptr(&size)).err(name); err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, nil
	}
	out := make([]byte, size)
	if err := get(size, ptr(&out[0]), nil).err(name); err != nil {
		return nil, err
	}
	return out, nil
}

// text is what info tells as a string.
func text(b []byte, err error) (string, error) {
	return strings.TrimSpace(strings.TrimRight(string(b), "\x00")), err
}

// number is what info tells as an integer of any size.
func number(b []byte, err error) (uint64, error) {
	var v uint64
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v, err
}
