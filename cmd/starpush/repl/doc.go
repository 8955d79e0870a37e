// Package repl is the prompt of starpush.
//
// A [Shell] is the conversation: it asks a [LineReader] for lines, puts them together to
// entries, and hands those to a lang.Session or runs them as commands (":ls"). It needs
// no terminal: tests drive it with transcripts. [Terminal] is the LineReader for people,
// with editing, history and completion.
//
// One goroutine, the caller of Shell.Run, owns the Shell and its LineReader. While a
// statement runs this goroutine handles Ctrl-C. The statement has a goroutine of its own,
// which the Shell waits for unless the user leaves it behind.
package repl
