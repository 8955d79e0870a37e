package dynlib

// Caller calls C functions as Call does, with up to 7 arguments. It takes no memory for a call, and on Linux and amd64 less time: 28 ns instead of 74 to
// 100. It is for functions that are called all the time, such as those that poll, and belongs to one goroutine at a time. The functions must
// not call Go. The caller keeps the objects alive whose addresses it passes, and passes no addresses of its stack, which may move.
type Caller struct {
	// The layout is that of callC.
	fn     uintptr
	result uintptr
	args   [7]uintptr
}

// Call calls fn. Arguments that are left out are 0, or what an earlier call had.
func (c *Caller) Call(fn uintptr, args ...uintptr) uintptr {
	c.fn = fn
	n := copy(c.args[:], args)
	if n < len(args) {
		panic("dynlib: a Caller passes 7 arguments at most: use Call")
	}
	c.call(n)
	return c.result
}
