package lang

// Limits of a run, and the error that reports one.

import "github.com/starpush/starpush/lang/interp"

// Limits bound one run; 0 means the default shown.
//
//	Steps       interpreter steps: statements and loop rounds; no limit
//	CallDepth   script call depth; 256, and 10000 at most
//	Tasks       tasks inserted in total; no limit
//	InFlight    tasks not finished: insert blocks above this; 65536
//	DataBytes   bytes registered by the script, with 512 for each datum and each part of a view, cumulative; no limit
//	ScriptBytes bytes ever allocated for lists and strings, cumulative; 1 GiB
//	SourceBytes bytes of text that one compilation reads, imports included; a 256th of ScriptBytes where that is set, but 64 KiB at least, else 64 MiB
//	Output      bytes printed; no limit
//	Timeout     wall time of Run, and of each Call and Eval; none
//
// In a session each entry counts as a run of its own. SourceBytes is a limit of the
// compiler: of what a run is given it has no effect. A byte of text takes up to 250
// bytes of memory while it is compiled.
type Limits = interp.Limits

// LimitError says which limit was reached, and where. It is a target of errors.As.
type LimitError = interp.LimitError
