// Command starpush runs, checks and formats starpush scripts, and has a prompt.
// The command line itself is package cli; the prompt is package repl.
package main

import (
	"os"
	"runtime"

	"github.com/starpush/starpush/cmd/starpush/cli"
)

// ballast puts the first garbage collection off. It would come when the heap has
// 4 MiB, in the middle of a script's first tasks, and cost as much as 16 000 of
// them. The block is never touched, so it takes addresses and no memory.
const ballast = 32 << 20

func main() {
	b := make([]byte, ballast)
	code := cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())
	runtime.KeepAlive(b)
	os.Exit(code)
}
