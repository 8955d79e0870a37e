package lang

// Limits of a run, and the error that reports one.

import "github.com/starpush/starpush/lang/interp"

// Limits bound one run: what Run or Start executes, and each Instance.Call, Session.Eval
// and Load after it, which begin to count anew; Totals bound all of them together. A
// Call that a host function makes counts as part of the call that it was called from.
// 0 means the default shown.
//
//	Steps       statements, rounds of loops and comprehensions, calls of script functions, items that are looked at; no limit
//	CallDepth   script call depth; 256, and 10000 at most
//	Tasks       tasks inserted in total; no limit
//	InFlight    tasks not finished: insert waits above this; 65536, and no more than take a quarter of ScriptBytes at 1 KiB each, but 1024
//	DataBytes   bytes of registered data, and what it takes beside its elements, cumulative; no limit
//	ScriptBytes bytes ever taken by lists, strings, tasks, gates and other values, cumulative; 1 GiB
//	SourceBytes bytes of text that one compilation reads, imports included; a 256th of ScriptBytes where that is set, but 64 KiB at least, else 64 MiB
//	Output      bytes printed; no limit
//	Timeout     wall time of Run, of each Call and Eval, and of a plan; none
//
// Counting is exact: what needs n steps runs with Steps: n, and fails with n-1, at the
// same place each time; so do Tasks and the bytes. What fails for its limit had the
// effects of what came before. SourceBytes is a limit of the
// compiler: of what a run is given it has no effect. A byte of text takes up to 250
// bytes of memory while it is compiled.
//
// DataBytes counts 1024 for each datum, 512 for each part of a view, and 256 for each piece
// beyond one a part that a view cuts the data into: views that cross cut it into as many
// pieces as the product of their parts. A REDUX or SCRATCH operand counts its elements once
// more for each worker.
//
// ScriptBytes counts what values take: a list 96 and 8 for each number, 16 for each other
// item, a string 32 and its bytes, a gate 192, a task that insert gives as a value 384. A plan
// counts what it records, 640 for each task, and the dependencies between them.
//
// In the window of InFlight a task counts as one more for every 16 accesses and explicit dependencies.
// Waiting is in vain where all tasks in flight wait for the script, behind a gate that is
// closed or for data that it holds: then insert goes on, and the tasks above the limit count
// 1 KiB of ScriptBytes each.
type Limits = interp.Limits

// Totals bound what an Instance or a Session does from the first statement to Close, all
// calls together; 0 means no limit. Each field counts as that of Limits does, and what
// a call used counts also when it failed. A host that keeps an instance for long bounds
// each call by Limits, so that it ends, and by Totals what may pile up: lists at the top
// level, data that functions return. Once a total is used up further calls fail with a
// *[LimitError] whose Total is true. Session.Reset begins to count anew.
//
//	Steps       as in Limits
//	Tasks       as in Limits
//	DataBytes   as in Limits: bytes ever registered
//	ScriptBytes as in Limits: bytes ever taken by values
//	Output      as in Limits
type Totals = interp.Totals

// LimitError says which limit was reached, and where. It is a target of errors.As, and
// so is the [Diagnostic] that it stands for: Error and Render write that one, R0111.
type LimitError = interp.LimitError
