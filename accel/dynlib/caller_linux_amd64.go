//go:build !android

package dynlib

import "unsafe"

// call calls the function with all arguments, which is of no harm to those that have less.
func (c *Caller) call(int) { cgocall(callCAddress, unsafe.Pointer(c)) }

// cgocall calls a function of C that has one argument, on the stack of the system thread. Other goroutines go on meanwhile. The runtime keeps the name for packages
// such as purego.
//
//go:linkname cgocall runtime.cgocall
func cgocall(fn, arg unsafe.Pointer) int32

// callCAddress is the address of callC, in caller_linux_amd64.s.
var callCAddress unsafe.Pointer
