package repl

// Help: the topics of :help, and :explain.

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/starpush/starpush/cmd/starpush/grain"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/trace"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/interp"
	"github.com/starpush/starpush/lang/vocab"
)

// The topics of :help.

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
	case "register", "partition", "unpartition", "insert", "invalidate", "unregister", "fill", "struct", "checkpoint":
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
	case "load", "file", "csv", "npy", "npz", "mtx", "bin", "png", "pgm", "image", "data":
		return "files"
	case "codelet", "each":
		return "codelets"
	case "halo", "by", "then", "over", "filter":
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

const statementsTopic = `  register x = vector[f32](n, fill = 1)     data: variable, vector, matrix, block, tensor, void
  register A = matrix[f64](load = "A.npy")  from a file; :help files has the formats
  struct P { x: f64; id: i32 }              elements with fields: vector[P](n), and then p[i].x
  partition x by blocks(8)                  then x[i] is a part; partition v = x by … names the view
  insert blas.scal(2.5, RW x[0])            a task; its order follows from the modes
  acquire RW x as xs { xs[0] = 1.0 }        the data itself, in the script
  wait · wait x · wait t                    for all tasks, for those that use x, for one
  print(x) · value(s) · save(x, "x.npy")    wait for what they need
  invalidate x · unregister x · unpartition x
  checkpoint "dir"                          all data to files: starpush run --resume dir
  let · if · for · while · func · codelet · assert
`

const filesTopic = `  register x = vector[f64](load = "x.npy")  a file; its sizes are those of the data
  extern x: vector[f64]                     the same, named outside: --data x=x.npy
  save(x, "x.csv")                          what the tasks left; or outside: --save x=x.csv
  .npy   NumPy
  .npz   several arrays of NumPy: load = "a.npz:x", save(x, "a.npz:x")
  .csv   rows of numbers, below a line of titles or without one; columns by
         their titles: load = "t.csv:time,price"
  .mtx   MatrixMarket
  .png   an image: matrix[u8] or [u16] in grey, block[u8] or [u16] in colour,
         rows x columns x 3 or 4
  .pgm   an image in grey
  .bin   elements alone; the sizes are said: matrix[f64](3, 2, load = "x.bin")
`

const codeletsTopic = `  codelet axpy(a: T, x: R vector[T], y: RW vector[T]) {
      each i in y { y[i] += a * x[i] }
  }
  insert axpy(2.0, R x, RW y)

  each runs its rounds in any order; for runs in order. sum prod min max fold:
      acc += sum i in x { x[i] * y[i] }
  T stands for any element type. std/blas is there as blas at the prompt, a
  script imports it: import "std/blas", "std/reduce", "std/random", "std/sparse". Tab after blas. lists codelets, :doc blas.gemm shows one.
`

// fixed is a topic whose lines are written here, broken where a terminal is narrower.
func fixed(text string) func(int) string { return func(width int) string { return Fold(text, width) } }

func modesTopic(width int) string {
	var rows [][2]string
	for _, m := range vocab.Modes {
		rows = append(rows, [2]string{m.Name, m.Doc})
	}
	return table(rows, width, nil) + Fold("  "+vocab.ModesNote+"\n", width)
}

func filtersTopic(width int) string {
	var rows [][2]string
	for _, f := range check.FilterTable {
		rows = append(rows, [2]string{f.Syntax, f.Doc})
	}
	return table(rows, width, nil) + Fold(
		"  partition x by f gives x[i]; partition v = x by f then g applies g to every part of f\n"+
			"  halo = h: the first and the last h elements are a border; p splits what is between, and\n"+
			"  each part has h more on both sides; inside = h: the same parts without that\n"+
			"  partition v = x[a..b] by f splits a slice of x\n"+
			"  partition v = A by f over grid(p, q) deals the parts over the ranks of mpirun\n", width)
}

func optionsTopic(width int) string {
	var b strings.Builder
	for _, set := range vocab.Options {
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
	for _, b := range vocab.Builtins {
		names = append(names, b.Name)
	}
	return names
}

// Topics of :help and starpush doc that are scripts, or about the command. A test runs
// the scripts.

// scriptTopics are those whose text is a script.
var scriptTopics = map[string]string{
	"names": `  let n = 4                      # a name for a value, here an int
  let eps: float = 1             # with its type, where the value shows another
  n = n + 1                      # another value of that type; n += 1 is the same
  let sizes = [1, 2, 3]          # a list; sizes[0] is its first item
  sizes[0] = 10
  let big = 1_000_000 + 64Ki     # Ki, Mi and Gi count by 1024
  let text = f"{n} of {big}"     # a string with values in it
  if n > 3 {
      let inner = n              # known up to the closing brace
      n = inner + 1              # without let: the n above
  }
  print(text, n, eps, sizes)
  # param n: int = 4 at the top of a script is a value for the command line: -p n=8
`,
	"control": `  for b in 0..8 { print(b) }     # a range: 0 to 7
  for x in [1.5, 2.5] { print(x) }
  for i, j in grid(2, 3) { print(i, j) }     # lists within a list are taken apart
  let n = 3
  while n > 0 { n -= 1 }         # as long as the condition holds
  if n == 0 { print("none") } else if n < 0 { print("less") } else { print("some") }
  let word = if n == 0 then "none" else "some"
  let squares = [k * k for k in 0..4]
  for b in 0..8 {
      if b == 2 { continue }     # to the next round
      if b == 5 { break }        # out of the loop
  }
  assert n == 0, f"n is {n}"     # ends the script where it is false
  print(word, squares)
`,
	"functions": `  ## The part that each worker gets; such comments are shown by doc.
  func share(n: int, parts: int = 4) -> int { return (n + parts - 1) // parts }
  print(share(10), share(10, parts = 3))

  func report(x: vector[f64]) { print(x) }   # without -> it gives nothing
  register v = vector[f64](4, fill = 1)
  report(v)                      # data is passed as it is, without a copy
  # Functions are declared at the top level; they may call each other, and
  # themselves. Tasks that a function inserts join those of the script; it does not
  # wait for them.
  # What tasks do is not a func but a codelet: starpush doc codelets
`,
	"access": `  codelet twice(x: RW vector[f64]) { each i in x { x[i] *= 2.0 } }
  register x = vector[f64](4, fill = 1)
  register s = variable[f64](fill = 3)
  insert twice(RW x)
  acquire RW x as a, R s as t {  # waits for their tasks, then here is the data
      a[0] = t[0]
  }                              # from here tasks may use it again
  acquire R x as b               # without a block: until release
  print(b[0], b.n)
  release b
  print(value(s))                # a variable, read at once
  wait x                         # until the tasks that use x have ended
  wait                           # all tasks
  print(busy(x))                 # whether wait x would wait now
`,
}

const limitsTopic = `  A run that reaches a limit ends with R0111, and the command with status 4.
  So do a check, a plan and a graph.

  --timeout 10m                  wall time
  --limits steps=1Mi,tasks=1000  several, with commas between them:
    steps     statements, rounds of loops, calls, items looked at; no limit
    depth     calls within calls; 256
    tasks     tasks inserted; no limit
    inflight  tasks that have not ended: insert waits above that; 65536, and no
              more than take a quarter of mem at 1 KiB each, but 1024. A task
              counts as one more for every 16 accesses and dependencies. Where
              all wait for the script, as behind a gate, insert goes on, and
              each one above it counts 1 KiB of mem
    data      bytes registered; no limit. A datum counts 1 KiB more, a part of
              a view 512, a piece that crossing views cut further 256; a REDUX
              or SCRATCH operand once more for each worker
    mem       bytes of lists, strings, tasks and gates, all together; 1Gi. A
              list counts 96, and 8 for each number, 16 for each other item; a
              gate 192; a task that is kept 384; in a plan each task 640
    output    bytes printed; no limit
    source    bytes of the text with all imports; a 256th of mem where that is
              given, but 64Ki, else 64Mi
    workers   workers that run its tasks at a time; all. Other tasks wait
  --ram 4Gi --disk DIR           no limit: data that main memory has no room for
                                 goes to a file
  In Go programs these are lang.Limits, and lang.Totals for all calls together.
`

const plansTopic = `  starpush plan x.spu            the tasks of a run, without running them: how many,
                                 the longest path, what is copied, how much memory
  starpush plan x.spu --run      asks, and runs it
  starpush graph x.spu -o x.svg  draws them
  starpush check x.spu           plans, too, and reports errors only
  :plan                          at the prompt

  A plan computes nothing: what a script reads from data prints as ? and decides
  nothing; both ways are looked at, and lines that are printed after that begin
  with ?, because a run may print others. For data that does not exist yet sizes
  will do: --data x=1000, --data A=100x50.
  Comments in a script say what its plan must be:
    # expect tasks <= 100
    # expect peak(ram) <= 4Gi
  of tasks, length, width, transfers, bytes, seconds, peak(ram), peak(gpu(0)).
`

const modelsTopic = `  starpush run --calibrate 1 x.spu   times every task, and adds to what is known
  starpush run --calibrate 2 x.spu   forgets what is known of its codelets first
  starpush perf ls                   the codelets that were measured
  starpush perf show gemm            measurements of one, by sizes, and the curve
  starpush perf plot gemm -o g.svg   the same as a picture
  starpush perf reset gemm           away with them

  The policies dm, dmda and so on (--sched dmda) place a task where it is expected
  to end first, by these; plans tell how long a run should take. They lie in
  STARPUSH_PERF_DIR, for each model of CPU. Times of a run: --stats, --profile,
  --report page.html.
`

// :explain: what a diagnostic means, why a task ran where it did, what waits for
// what, and whether tasks are of a good size.

// explainWords are what :explain takes besides codes.
var explainWords = []string{"task", "blocked", "granularity"}

func (s *Shell) explain(ctx context.Context, args string) {
	word, rest, _ := strings.Cut(args, " ")
	switch rest = strings.TrimSpace(rest); {
	case args == "":
		s.usage("explain")
	case word == "task":
		s.explainTask(rest)
	case word == "blocked" && rest == "":
		if s.remembers() {
			s.blocked()
		}
	case word == "granularity" && rest == "":
		if s.remembers() {
			s.granularity()
		}
	default:
		page, ok := lang.Explain(strings.ToUpper(args))
		if !ok {
			s.complain("there is no diagnostic `%s`; codes look like E0401; or: task N, blocked, granularity", args)
			return
		}
		s.page(ctx, s.markdown(page))
	}
}

// granularity is ":explain granularity".
func (s *Shell) granularity() {
	var text string
	if s.Grain != nil {
		for _, a := range s.Grain.Advice(grain.Asked{Workers: s.Runtime.Workers(), Duration: duration, Numbers: interp.Computed, Device: grain.DevicesOf(s.Runtime)}) {
			text += a + "\n"
		}
	}
	s.tell(text, "no insert makes tasks that are too short, or too few for the workers")
}

// blocked is ":explain blocked".
func (s *Shell) blocked() {
	text := s.Recent.Blocked(s.Runtime)
	known, _ := s.Recent.Left()
	if n := left(s.Session.Stats()) - int64(known); n > 0 {
		s.tell(text, "")
		s.say("%s left that came too fast to be remembered; `:set explain all` makes the session remember each", areTasks(n))
		return
	}
	s.tell(text, "no task is left, and the script holds no data")
}

// areTasks writes "1 task is", "2 tasks are".
func areTasks(n int64) string {
	if n == 1 {
		return "1 task is"
	}
	return plural(n, "task") + " are"
}

// explainTask is ":explain task 3".
func (s *Shell) explainTask(number string) {
	id, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil:
		s.complain("usage: :explain task N, with the number of a task; `let t = insert …` and `t` show one")
	case s.remembers():
		text, err := s.Recent.Explain(s.Runtime, id, duration)
		if err != nil {
			s.complain("%v", err)
			return
		}
		io.WriteString(s.Out, text)
	}
}

// remembers reports whether there is something to go by, and says so if not.
func (s *Shell) remembers() bool {
	switch {
	case s.Recent == nil || s.Runtime == nil:
		s.complain("this session remembers nothing of its tasks")
	case s.memory == "off":
		s.complain("`:set explain on` makes the session remember its tasks")
	default:
		return true
	}
	return false
}

func (s *Shell) tell(text, otherwise string) {
	if text == "" && otherwise != "" {
		text = Fold(otherwise, s.columns()) + "\n"
	}
	io.WriteString(s.Out, text)
}

// listener returns the listeners to tasks: l, and those of the Shell.
func (s *Shell) listener(l engine.Listener) engine.Listener {
	if s.Recent == nil || s.memory == "off" {
		return l
	}
	if s.Grain != nil {
		l = trace.Both(s.Grain, l)
	}
	return trace.Both(s.Recent, l)
}
