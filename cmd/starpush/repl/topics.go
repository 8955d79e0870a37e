package repl

// The topics of :help.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/starpush/starpush/lang/check"
)

var topics = map[string]func(width int) string{
	"keys":       fixed(keysTopic),
	"modes":      modesTopic,
	"statements": fixed(statementsTopic),
	"codelets":   fixed(codeletsTopic),
	"files":      fixed(filesTopic),
	"filters":    filtersTopic,
	"options":    optionsTopic,
	"names":      fixed(scriptTopics["names"]),
	"control":    fixed(scriptTopics["control"]),
	"functions":  fixed(scriptTopics["functions"]),
	"access":     fixed(scriptTopics["access"]),
	"limits":     fixed(limitsTopic),
	"plans":      fixed(plansTopic),
	"models":     fixed(modelsTopic),
}

// ScriptTopics lists the topics whose text is a script, indented by two blanks.
func ScriptTopics() []string { return slices.Sorted(maps.Keys(scriptTopics)) }

// TopicOf is the topic of :help that a word of the language belongs to, "" for other words.
func TopicOf(word string) string {
	switch word {
	case "R", "W", "RW", "COMMUTE", "REDUX", "SCRATCH":
		return "modes"
	case "register", "partition", "unpartition", "insert", "invalidate", "unregister", "fill":
		return "statements"
	case "let", "param":
		return "names"
	case "if", "else", "for", "in", "while", "break", "continue", "assert":
		return "control"
	case "func", "return":
		return "functions"
	case "acquire", "release", "wait", "value", "busy":
		return "access"
	case "expect", "check", "graph":
		return "plans"
	case "perf", "calibrate":
		return "models"
	case "timeout":
		return "limits"
	case "load", "file", "csv", "npy", "mtx", "bin", "data":
		return "files"
	case "codelet", "each":
		return "codelets"
	case "halo", "by", "then", "filter":
		return "filters"
	case "with":
		return "options"
	}
	return ""
}

const keysTopic = `  Enter        runs a complete entry, else goes on in a new line of it
  Alt-Enter    a new line in any case
  Tab          completes names, fields, codelets, modes, options, files; lists what fits,
               a second time with types and documentation
  Up, Down     the line above or below; from the first or last one, earlier entries that
               begin with what is typed (Ctrl-P, Ctrl-N from any line)
  Ctrl-R       searches in the earlier entries
  Ctrl-C       clears the line; while a statement runs: cancels it, a second time
               within 2 s stops waiting for it, a third time leaves
  Ctrl-L       clears the screen
  Ctrl-D       on an empty line leaves
  A line that starts with a space is not kept in the history.
`

const statementsTopic = `  register x = vector[f32](n, fill = 1)     data: variable, vector, matrix, block, void
  register A = matrix[f64](load = "A.npy")  from a file: .npy, .mtx, .csv or .bin
  partition x by blocks(8)                  then x[i] is a part; partition v = x by … names the view
  insert blas.scal(2.5, RW x[0])            a task; its order follows from the modes
  acquire RW x as xs { xs[0] = 1.0 }        the data itself, in the script
  wait · wait x · wait t                    for all tasks, for those that use x, for one
  print(x) · value(s) · save(x, "x.npy")    wait for what they need
  invalidate x · unregister x · unpartition x
  let · if · for · while · func · codelet · assert
`

const filesTopic = `  register x = vector[f64](load = "x.npy")  a file; its sizes are those of the data
  extern x: vector[f64]                     the same, named outside: --data x=x.npy
  save(x, "x.csv")                          what the tasks left; or outside: --save x=x.csv
  .npy   NumPy
  .csv   rows of numbers, without a line of titles
  .mtx   MatrixMarket
  .bin   elements alone; the sizes are said: matrix[f64](3, 2, load = "x.bin")
`

const codeletsTopic = `  codelet axpy(a: T, x: R vector[T], y: RW vector[T]) {
      each i in y { y[i] += a * x[i] }
  }
  insert axpy(2.0, R x, RW y)

  each runs its rounds in any order; for runs in order. sum prod min max fold:
      acc += sum i in x { x[i] * y[i] }
  T stands for any element type. std/blas is there as blas at the prompt, a
  script imports it: import "std/blas", "std/reduce", "std/random". Tab after blas. lists codelets, :doc blas.gemm shows one.
`

// fixed is a topic whose lines are written here, broken where a terminal is narrower.
func fixed(text string) func(int) string { return func(width int) string { return Fold(text, width) } }

func modesTopic(width int) string {
	var rows [][2]string
	for _, m := range check.Modes {
		rows = append(rows, [2]string{m.Name, m.Doc})
	}
	return table(rows, width, nil) + Fold("  "+check.ModesNote+"\n", width)
}

func filtersTopic(width int) string {
	var rows [][2]string
	for _, f := range check.FilterTable {
		rows = append(rows, [2]string{f.Syntax, f.Doc})
	}
	return table(rows, width, nil) + Fold(
		"  partition x by f gives x[i]; partition v = x by f then g applies g to every part of f\n"+
			"  halo = h: the first and the last h elements are a border; p splits what is between, and\n"+
			"  each part has h more on both sides\n", width)
}

func optionsTopic(width int) string {
	var b strings.Builder
	for _, set := range check.Options {
		fmt.Fprintf(&b, "%s … with\n", set.On)
		var rows [][2]string
		for _, o := range set.Options {
			rows = append(rows, [2]string{o.Name, fmt.Sprintf("%s; %v", o.Doc, o.Type)})
		}
		b.WriteString(table(rows, width, nil))
	}
	return b.String()
}

// Topics lists the topics of :help, sorted.
func Topics() []string { return topicNames() }

// Topic is the text of a topic of :help, which may be named in the singular, at most
// width columns wide (0: any width).
func Topic(name string, width int) (text string, ok bool) {
	for _, n := range []string{name, name + "s"} {
		if f := topics[n]; f != nil {
			return f(width), true
		}
	}
	return "", false
}

// Builtins lists the functions that are there without an import.
func Builtins() []string {
	var names []string
	for _, b := range check.Builtins {
		names = append(names, b.Name)
	}
	return names
}
