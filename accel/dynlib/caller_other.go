//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || riscv64 || loong64) && !(linux && amd64)

package dynlib

import "github.com/ebitengine/purego"

// call calls the function with n arguments.
func (c *Caller) call(n int) { c.result, _, _ = purego.SyscallN(c.fn, c.args[:n]...) }
