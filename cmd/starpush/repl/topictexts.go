package repl

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
  STARPUSH_PERF_DIR, for each model of CPU. What a run took: --stats, --profile,
  --report page.html.
`
