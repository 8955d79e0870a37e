// Command starpush runs, checks and formats starpush scripts, and has a prompt.
// The command line itself is package cli; the prompt is package repl.
package main

import (
	"os"

	"github.com/starpush/starpush/cmd/starpush/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}
