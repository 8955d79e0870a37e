//go:build !unix

package cli

import (
	"io"
	"os"
	"os/exec"
)

const streamsVariable = "STARPUSH_STREAMS"

// streams is for systems where processes pass files to each other; here ranks have the pipes of mpirun.
type streams struct{ done chan struct{} }

func offerStreams(io.Reader) *streams { return nil }

func (*streams) prepare(*exec.Cmd) {}

func (*streams) forward(bool, func(os.Signal)) (stop func()) { return func() {} }

func (*streams) close() (code int, ok bool) { return 0, false }

func takeStreams(string) (end func(code int)) { return nil }
