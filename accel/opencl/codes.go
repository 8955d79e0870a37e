package opencl

// Numbers of the OpenCL headers, and what they mean.

import "fmt"

const (
	deviceTypeCPU         = 1 << 1
	deviceTypeGPU         = 1 << 2
	deviceTypeAccelerator = 1 << 3
	deviceTypeAll         = 0xFFFFFFFF

	platformVersion = 0x0901
	platformName    = 0x0902

	deviceType            = 0x1000
	deviceMaxComputeUnits = 0x1002
	deviceMaxWorkGroup    = 0x1004
	deviceMaxAlloc        = 0x1010
	deviceGlobalMem       = 0x101F
	deviceLocalMem        = 0x1023
	deviceAvailable       = 0x1027
	deviceName            = 0x102B
	deviceVendor          = 0x102C
	driverVersion         = 0x102D
	deviceVersion         = 0x102F
	deviceExtensions      = 0x1030
	deviceUnifiedMem      = 0x1035
	deviceCompilerAvail   = 0x1028

	memReadWrite              = 1 << 0
	migrateContentUndefined   = 1 << 1
	queueProfiling            = 1 << 1
	eventExecutionStatus      = 0x11D3
	profilingEnd              = 0x1283
	programBuildLog           = 0x1183
	kernelNumArgs             = 0x1191
	kernelArgAddressQualifier = 0x1196
	kernelArgTypeName         = 0x1198
	kernelWorkGroupSize       = 0x11B0

	addressGlobal   = 0x119B
	addressLocal    = 0x119C
	addressConstant = 0x119D
	addressPrivate  = 0x119E
)

// code is a result of an OpenCL function; negative ones are errors.
type code int32

const (
	success               code = 0
	deviceNotFound        code = -1
	deviceNotAvailable    code = -2
	allocationFailure     code = -4
	outOfResources        code = -5
	outOfHostMemory       code = -6
	memCopyOverlap        code = -8
	buildProgramFailure   code = -11
	invalidValue          code = -30
	invalidContext        code = -34
	invalidQueue          code = -36
	invalidArgIndex       code = -49
	invalidArgValue       code = -50
	invalidArgSize        code = -51
	invalidBufferSize     code = -61
	platformNotFound      code = -1001
	illegalReadOrWriteNV  code = -9999
	eventComplete         code = 0 // as an execution status
	waitListFailed        code = -14
	invalidKernelName     code = -46
	invalidWorkGroupSize  code = -54
	profilingNotAvailable code = -7
)

var codeNames = map[code]string{
	-1: "DEVICE_NOT_FOUND", -2: "DEVICE_NOT_AVAILABLE", -3: "COMPILER_NOT_AVAILABLE", -4: "MEM_OBJECT_ALLOCATION_FAILURE",
	-5: "OUT_OF_RESOURCES", -6: "OUT_OF_HOST_MEMORY", -7: "PROFILING_INFO_NOT_AVAILABLE", -8: "MEM_COPY_OVERLAP",
	-11: "BUILD_PROGRAM_FAILURE", -12: "MAP_FAILURE", -13: "MISALIGNED_SUB_BUFFER_OFFSET",
	-14: "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", -15: "COMPILE_PROGRAM_FAILURE", -16: "LINKER_NOT_AVAILABLE",
	-17: "LINK_PROGRAM_FAILURE", -19: "KERNEL_ARG_INFO_NOT_AVAILABLE",
	-30: "INVALID_VALUE", -31: "INVALID_DEVICE_TYPE", -32: "INVALID_PLATFORM", -33: "INVALID_DEVICE", -34: "INVALID_CONTEXT",
	-35: "INVALID_QUEUE_PROPERTIES", -36: "INVALID_COMMAND_QUEUE", -37: "INVALID_HOST_PTR", -38: "INVALID_MEM_OBJECT",
	-43: "INVALID_BUILD_OPTIONS", -44: "INVALID_PROGRAM", -45: "INVALID_PROGRAM_EXECUTABLE", -46: "INVALID_KERNEL_NAME",
	-47: "INVALID_KERNEL_DEFINITION", -48: "INVALID_KERNEL", -49: "INVALID_ARG_INDEX", -50: "INVALID_ARG_VALUE",
	-51: "INVALID_ARG_SIZE", -52: "INVALID_KERNEL_ARGS", -53: "INVALID_WORK_DIMENSION", -54: "INVALID_WORK_GROUP_SIZE",
	-55: "INVALID_WORK_ITEM_SIZE", -56: "INVALID_GLOBAL_OFFSET", -57: "INVALID_EVENT_WAIT_LIST", -58: "INVALID_EVENT",
	-59: "INVALID_OPERATION", -61: "INVALID_BUFFER_SIZE", -63: "INVALID_GLOBAL_WORK_SIZE", -1001: "PLATFORM_NOT_FOUND",
	-9999: "illegal read or write by a kernel",
}

// Error is a result of an OpenCL function that is not success.
type Error struct {
	Call string // "clCreateBuffer"
	Code int    // "-5"
}

func (e *Error) Error() string {
	if n, ok := codeNames[code(e.Code)]; ok {
		return fmt.Sprintf("%s: %s (%d)", e.Call, n, e.Code)
	}
	return fmt.Sprintf("%s: error %d", e.Call, e.Code)
}

// err makes a result of the function an error.
func (c code) err(call string) error {
	if c >= 0 {
		return nil
	}
	return &Error{call, int(c)}
}

// lost reports whether a command that ended with c took the device along.
// OUT_OF_RESOURCES is what some drivers say of a kernel that was stopped for an
// access outside its buffers; when a command is handed over it says less.
func (c code) lost(ended bool) bool {
	switch c {
	case deviceNotAvailable, invalidContext, invalidQueue, illegalReadOrWriteNV:
		return true
	case outOfResources:
		return ended
	}
	return false
}
