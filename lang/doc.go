// Package lang compiles starpush scripts and runs them on an engine.
//
// A script says what runs on which data with which access; order, transfers
// and devices follow. A Go program embeds it in four steps:
//
//	comp, _ := lang.NewCompiler(lang.Config{Codelets: …})   // what scripts may use
//	prog, diags := comp.Compile(ctx, "step.spu", source)    // once; immutable
//	inst, err := prog.Run(ctx, rt, lang.Bind("x", lang.VectorOf(x)))
//	defer inst.Close()                                      // data lands in x
//
// [Compiler] holds what scripts can reach: host codelets ([NewCodelet]), host
// functions ([NewFunc]), host filters ([NewFilter]), modules ([ModuleOf]), files
// and limits. Nothing is reachable unless configured: no clock, no randomness,
// no files. [Program] is compiled code; any number of goroutines may run it.
// [Instance] is one run: its functions can be called from Go, its handles read.
// [Session] evaluates one entry after the other and keeps names between them,
// for prompts and editors.
//
// # Data
//
// [VectorOf], [MatrixOf] and [VariableOf] make Go memory the home of a handle,
// without a copy. The memory must not be touched between Bind and Close except
// through [Acquire]; what the script writes lands in it at Close or Acquire.
//
// # Errors
//
// No function of the package panics on any script or host error: a host panic
// becomes a *[Diagnostic] with the position in the script. Errors of Compile are
// [Diagnostics]; errors of a run are *[Diagnostic] or [Diagnostics] when several
// tasks failed. Use errors.As for *[LimitError] and for host errors, which stay
// in the chain. Cancellation errors wrap context.Cause of the context.
//
// # Cancellation and limits
//
// The context given to Run, Call, Wait and Eval reaches host functions, kernels
// and waits. It is looked at on back edges, calls, every insert, and inside
// builtins that loop. [Limits] bound a run; [Limits.ScriptBytes] is cumulative
// and checked before allocating. Limits guard against mistakes; untrusted scripts
// still belong in a process with a limit of the operating system.
package lang
