// Package lang compiles starpush scripts and runs them on an engine.
//
// A script inserts tasks with their data and access modes; order, transfers and devices
// follow from these. A Go program embeds it in four steps:
//
//	comp, _ := lang.NewCompiler(lang.Config{Codelets: …})   // what scripts may use
//	prog, diags := comp.Compile(ctx, "step.spu", source)    // once; immutable
//	inst, err := prog.Run(ctx, rt, lang.Bind("x", lang.VectorOf(x)))
//	defer inst.Close()                                      // data lands in x
//
// [Compiler] holds everything that scripts can reach: host codelets ([NewCodelet]), host
// functions ([NewFunc]), host filters ([NewFilter]), modules ([ModuleOf]), files and
// limits. Nothing is reachable unless configured: no clock, no randomness, no files.
// [Program] is compiled code; any number of goroutines may run it. [Instance] is one run:
// its functions can be called from Go, its handles read. [Session] evaluates one entry
// after the other and keeps names between them, for prompts and editors.
//
// # Data
//
// [VectorOf], [MatrixOf] and [VariableOf] make Go memory the home of a handle, without a
// copy. The memory must not be touched between Bind and Close except through [Acquire];
// what the script writes lands in it at Close or Acquire.
//
// Bound memory stays the host's. It is kept alive until Close, and the same [Data] may be
// bound again afterwards. Until then another instance, on any runtime, that binds
// overlapping memory is refused, unless both are [ReadOnly]: neither could order the
// accesses of the other. Handles belong to their instance and end with it. [Alloc] gives
// memory that devices copy from fastest. Sizes count elements, not bytes.
//
// # Concurrency
//
// A [Compiler], [Program], [Plan], [Codelet], [Func], [Filter] and [Module] never change
// and serve any number of goroutines at once. An [Instance], a [Session], and their
// handles and accesses serve one goroutine at a time, apart from Stats; different
// instances on one runtime are independent. Host functions run on the goroutine that
// called into the script, and may call the instance again from there. Kernels run on
// workers, several at a time, and cannot use the instance. [OnEvent] calls its function
// on a goroutine of its own, one event at a time.
//
// Close instances and sessions before their runtime, and the runtime before its devices.
//
// # Plans
//
// [Program.Plan] runs a script without kernels and gives the tasks that it would submit,
// with predictions for a machine; [Sizes] stands for data that does not exist yet.
// Expectations of a script about its plan are comments, see [Plan.Expectations].
//
// # Errors
//
// No function of the package panics on any script or host error: a panic of a kernel or a
// host function becomes a *[Diagnostic] with the position in the script. Its message is
// one line; %+v of it and [PanicError] have the stack. Errors of Compile are
// [Diagnostics]; errors of a run are *[Diagnostic] or [Diagnostics] when several tasks
// failed. Use errors.As for *[LimitError] and for host errors, which stay in the chain.
// Cancellation errors wrap context.Cause of the context. Misuse by the host is defined,
// too: a nil context never ends, and values that are nil, closed, or not made by this
// package are an error that says so.
//
// # Cancellation and limits
//
// The context given to Run, Call, Wait and Eval reaches host functions, kernels and
// waits. It is looked at on back edges, calls, every insert, and inside builtins that
// loop. [Limits] bound a run, and each Call and Eval after it by itself; [Totals] bound
// all of them together. Bytes are counted before they are allocated, and never given
// back. Limits guard against mistakes; untrusted scripts still belong in a process with a
// limit of the operating system.
package lang
