package cli

// Output of a command: streams, JSON lines, progress, and files beside those of the script.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
	"github.com/starpush/starpush/cmd/starpush/grain"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/engine/trace"
	"github.com/starpush/starpush/lang"
	"golang.org/x/term"
)

// Streams: colour, width and order of what goes to the terminal. Both output
// streams share one lock with the progress line, so a print never tears a frame.

// A console is the two output streams of a command and the progress line.
type console struct {
	out, err *stream

	mu struct {
		sync.Mutex
		frame bool // a progress line is on the terminal
	}
}

// A stream is standard output or standard error.
type stream struct {
	c    *console
	w    io.Writer
	tty  bool
	col  bool // write ANSI colours
	fail func(error)
	bad  error // the first that a write met; guarded by the console's lock
}

// newConsole looks at what the streams are. mode is --color.
func newConsole(stdout, stderr io.Writer, env map[string]string, mode string) *console {
	c := &console{}
	c.out = newStream(c, stdout, env, mode)
	c.err = newStream(c, stderr, env, mode)
	return c
}

func newStream(c *console, w io.Writer, env map[string]string, mode string) *stream {
	s := &stream{c: c, w: w, tty: isTerminal(w)}
	switch mode {
	case "always":
		s.col = true
	case "never":
	default:
		s.col = s.tty && env["NO_COLOR"] == "" && env["TERM"] != "dumb"
	}
	return s
}

// isTerminal reports whether v (a reader or a writer) is a terminal.
func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

// width is the number of columns, 0 when the stream has none.
func (s *stream) width(env map[string]string) int {
	if !s.tty {
		return 0
	}
	if n, err := strconv.Atoi(env["COLUMNS"]); err == nil && n > 0 {
		return n
	}
	if f, ok := s.w.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 80
}

const eraseLine = "\r\x1b[K"

// Write writes p after taking the progress line off the terminal. The first write to a
// closed pipe fails, later ones are dropped: the run is being cancelled.
func (s *stream) Write(p []byte) (int, error) {
	s.c.mu.Lock()
	s.c.eraseLocked()
	n, err := s.w.Write(p)
	if err != nil && s.bad == nil && !errors.Is(err, syscall.EPIPE) {
		s.bad = err
	}
	s.c.mu.Unlock()
	if err != nil && errors.Is(err, syscall.EPIPE) && s.fail != nil {
		s.fail(errPipe)
		return len(p), nil
	}
	return n, err
}

// failed returns the first error of a write, or nil if the reader of the pipe has gone.
func (s *stream) failed() error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.bad
}

// eraseLocked takes the progress line off the terminal.
func (c *console) eraseLocked() {
	if c.mu.frame {
		c.mu.frame = false
		io.WriteString(c.err.w, eraseLine)
	}
}

// erase takes the progress line off the terminal.
func (c *console) erase() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.eraseLocked()
}

// frame replaces the progress line, in one write.
func (c *console) frame(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := io.WriteString(c.err.w, eraseLine+text); err == nil {
		c.mu.frame = true
	}
}

// framed reports whether a progress line is on the terminal.
func (c *console) framed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.frame
}

// --json: one object per line on standard output, and nothing else. The first
// line names the version of the schema.

// jsonSchema is raised when a line loses or changes a field; new fields and new
// kinds of lines do not count.
const jsonSchema = 1

// A jsonWriter writes lines. It is safe for concurrent use.
type jsonWriter struct {
	mu struct {
		sync.Mutex
		w     io.Writer
		err   error
		begun bool // the first line was written
	}
}

func newJSONWriter(w io.Writer) *jsonWriter {
	j := &jsonWriter{}
	j.mu.w = w
	return j
}

// line writes v as one line, and before the first one that which names the schema.
func (j *jsonWriter) line(v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // "->" stays readable; the lines are no HTML
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	if !j.mu.begun {
		j.mu.begun = true
		err = enc.Encode(struct {
			T      string `json:"t"`
			Schema int    `json:"schema"`
		}{"hello", jsonSchema})
	}
	if err == nil {
		err = enc.Encode(v)
	}
	if err == nil && j.mu.err == nil {
		_, err = j.mu.w.Write(b.Bytes())
	}
	if j.mu.err == nil {
		j.mu.err = err
	}
}

// failed is the first error of writing, nil when all lines went out.
func (j *jsonWriter) failed() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mu.err
}

// diagnostic writes d with its own fields behind "t".
func (j *jsonWriter) diagnostic(d *lang.Diagnostic) {
	b, err := json.Marshal(d)
	if err != nil || len(b) < 2 || b[0] != '{' {
		b, _ = json.Marshal(map[string]string{"code": d.Code, "message": d.Message})
	}
	j.line(json.RawMessage(append([]byte(`{"t":"diagnostic",`), b[1:]...)))
}

type jsonProgress struct {
	T       string   `json:"t"`
	Done    int64    `json:"done"`
	Total   int64    `json:"total"`
	Running []string `json:"running"`
}

// jsonWatch says that --watch waits for changes of files after what ended so.
type jsonWatch struct {
	T     string   `json:"t"`
	Exit  int      `json:"exit"`
	Files []string `json:"files"`
}

type jsonSummary struct {
	T       string  `json:"t"`
	Exit    int     `json:"exit"`
	Tasks   int64   `json:"tasks"`
	Seconds float64 `json:"seconds"`
}

// A printWriter turns what a script prints into lines {"t":"print"}: one for
// each print, which ends with a newline.
type printWriter struct {
	j    *jsonWriter
	rest []byte // of a write that did not end with a newline
}

func (p *printWriter) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	if bytes.HasSuffix(p.rest, []byte{'\n'}) {
		p.flush()
	}
	return len(b), p.j.failed()
}

// flush writes what has no newline yet.
func (p *printWriter) flush() {
	if len(p.rest) == 0 {
		return
	}
	p.j.line(struct {
		T    string `json:"t"`
		Text string `json:"text"`
	}{"print", string(bytes.TrimSuffix(p.rest, []byte{'\n'}))})
	p.rest = p.rest[:0]
}

// The progress line of long runs: on a terminal a line that is redrawn at most
// ten times a second and erased before any print, elsewhere a line now and then.

// How often progress shows.
const (
	progressDelay = time.Second            // shorter runs show none
	progressFrame = 100 * time.Millisecond // on a terminal
	progressLine  = 30 * time.Second       // elsewhere, and with --json
)

// A progressCount is the tasks of one codelet.
type progressCount struct {
	Name        string
	Done, Total int64
}

// A progressSample is the state of a run.
type progressSample struct {
	Codelets    []progressCount
	Done, Total int64
	Running     []string // codelets that run right now
	Rate        float64  // floating-point operations a second, as far as they are known
	Memory      []string // how full memories are: "ram 61%"
}

// text is the progress line, at most width columns wide (0: any width): "gemm 412/512
// trsm 28/28   78%  9.1 Tflop/s  ram 61%". Parts that do not fit are left out.
func (s progressSample) text(width int) string {
	percent := ""
	if s.Total > 0 {
		percent = fmt.Sprintf("   %d%%", 100*s.Done/s.Total)
	}
	var b strings.Builder
	for i, c := range s.Codelets {
		item := fmt.Sprintf("%s %d/%d", c.Name, c.Done, c.Total)
		if i > 0 {
			item = "  " + item
		}
		used := utf8.RuneCountInString(b.String()) + utf8.RuneCountInString(item)
		if width > 0 && used+len(percent)+len("  …") > width-1 {
			if b.Len() > 0 {
				b.WriteString("  …")
			}
			break
		}
		b.WriteString(item)
	}
	if b.Len() == 0 {
		fmt.Fprintf(&b, "%d/%d tasks", s.Done, s.Total)
	}
	line := b.String() + percent
	var more []string
	if s.Rate > 0 {
		more = append(more, flopsText(s.Rate))
	}
	for _, m := range append(more, s.Memory...) {
		if width > 0 && utf8.RuneCountInString(line)+2+len(m) > width-1 {
			break
		}
		line += "  " + m
	}
	return line
}

// flopsText writes a rate with a unit: "9.1 Tflop/s".
func flopsText(rate float64) string {
	unit := 0
	for rate >= 1000 && unit < 5 {
		rate, unit = rate/1000, unit+1
	}
	digits := 0
	if rate < 9.95 {
		digits = 1
	}
	return fmt.Sprintf("%.*f %sflop/s", digits, rate, []string{"", "k", "M", "G", "T", "P"}[unit])
}

// A progress shows samples of a run until stop.
type progress struct {
	done chan struct{}
	wg   sync.WaitGroup
}

// progressConfig says where and how progress is shown.
type progressConfig struct {
	con    *console
	json   *jsonWriter
	frames bool       // redraw one line
	width  func() int // of the terminal
	sample func() (progressSample, bool)

	delay, frame, line time.Duration // zero: the constants above
}

// startProgress shows progress in a goroutine of its own; call stop.
func startProgress(c progressConfig) *progress {
	if c.delay == 0 {
		c.delay, c.frame, c.line = progressDelay, progressFrame, progressLine
	}
	p := &progress{done: make(chan struct{})}
	p.wg.Go(func() { c.loop(p.done) })
	return p
}

// stop ends the display and takes it off the terminal.
func (p *progress) stop() {
	if p == nil {
		return
	}
	close(p.done)
	p.wg.Wait()
}

func (c *progressConfig) loop(done <-chan struct{}) {
	wait, every := c.delay, c.frame
	if !c.frames {
		wait, every = c.line, c.line
	}
	select {
	case <-done:
		return
	case <-time.After(wait):
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := ""
	for {
		if s, ok := c.sample(); ok {
			last = c.show(s, last)
		}
		select {
		case <-done:
			c.con.erase()
			return
		case <-tick.C:
		}
	}
}

// show writes one sample and returns the text that is on the terminal then.
func (c *progressConfig) show(s progressSample, last string) string {
	switch {
	case c.json != nil:
		running := s.Running
		if running == nil {
			running = []string{}
		}
		c.json.line(jsonProgress{"progress", s.Done, s.Total, running})
		return ""
	case c.frames:
		text := s.text(c.width())
		if text != last || !c.con.framed() {
			c.con.frame(text)
		}
		return text
	}
	io.WriteString(c.con.err, s.text(0)+"\n")
	return ""
}

// Files that a command writes beside what a script saves: pictures, pages, traces.

// writeOutput writes a file that a flag asked for, and says so; of tasks: how many
// it shows, -1 where it shows none.
func (a *app) writeOutput(ctx context.Context, name string, data []byte, tasks int) error {
	if err := writeFileWithin(ctx, name, data); err != nil {
		return &exitError{code: exitFailed, err: fmt.Errorf("%s was not written: %v", name, cause(err))}
	}
	if tasks < 0 {
		a.wrote(name, bytesText(int64(len(data))))
	} else {
		a.wrote(name, fmt.Sprintf("%s, %s", counted(tasks, "task"), bytesText(int64(len(data)))))
	}
	return nil
}

// wrote reports on standard error that a file was written, unless --quiet or --json is
// given.
func (a *app) wrote(name, what string) {
	if !a.flags.quiet && a.json == nil {
		fmt.Fprintf(a.con.err, "starpush: wrote %s: %s\n", name, what)
	}
}

// cause is an error without the path that the message names anyway.
func cause(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}

// An output is a file that a flag names.
type output struct{ flag, path string }

// String is the flag as it is written: "--trace t.json", "--save x=x.npy".
func (o output) String() string {
	if strings.HasPrefix(o.flag, "--save ") {
		return o.flag + "=" + o.path
	}
	return o.flag + " " + o.path
}

// file is the file that is written, and the part of it that is meant: see format.Split.
func (o output) file() (path, part string) {
	if strings.HasPrefix(o.flag, "--save ") {
		return format.Split(o.path)
	}
	return o.path, ""
}

// sameFile reports whether two names are of one file, which need not exist.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if errX == nil && errY == nil {
		return os.SameFile(x, y) && x.Mode().IsRegular()
	}
	return errX != nil && errY != nil && filepath.Clean(a) == filepath.Clean(b)
}

// checkInputs refuses outputs that would overwrite a file of --data.
func checkInputs(data []string, outputs ...output) error {
	for _, item := range data {
		_, from, _ := strings.Cut(item, "=")
		from, _ = format.Split(from)
		for _, o := range outputs {
			if path, _ := o.file(); from != "" && path != "" && sameFile(from, path) {
				return usagef("%s would overwrite the file of --data %s; write to another file", o, item)
			}
		}
	}
	return nil
}

// checkOutputs looks, before anything runs, whether the outputs can be written where
// they are wanted: two in one file would leave the last, and one over the script
// would lose it. script is "" or "-" where there is no file.
func checkOutputs(script string, outputs ...output) error {
	var before []output
	for _, o := range outputs {
		if o.path == "" {
			continue
		}
		switch {
		case o.path == "-" && o.flag == "-o":
			return usagef("-o - would write a file called `-`; leave -o out to write to standard output, or write -o ./- if the file is meant")
		case o.path == "-":
			return usagef("%s would write a file called `-`, as standard output has what the script prints; name a file, such as run%s, or write %s=./- if `-` is meant",
				o, map[string]string{"--trace": ".json", "--report": ".html"}[o.flag], o.flag)
		case script != "" && script != "-" && sameFile(script, o.path):
			return usagef("%s would overwrite the script", o)
		}
		path, part := o.file()
		for _, b := range before {
			other, otherPart := b.file()
			arrays := format.Suffix(b.path) == ".npz" && format.Suffix(o.path) == ".npz" && part != otherPart
			if sameFile(other, path) && !arrays {
				return usagef("%s and %s would both write %s", b.flag, o.flag, o.path)
			}
		}
		before = append(before, o)
		if fi, err := os.Stat(path); err == nil && fi.IsDir() {
			return usagef("%s: that is a folder; name a file in it", o)
		}
		what, ext := map[string]string{"--trace": ".json", "--report": ".html"}[o.flag], strings.ToLower(filepath.Ext(o.path))
		if what != "" && otherFormats[ext] && !strings.HasPrefix(what, ext) { // .htm
			return usagef("%s: the file would be %s; its name should end in %s", o, strings.ToUpper(what[1:]), what)
		}
		folder := filepath.Dir(path)
		if fi, err := os.Stat(folder); err != nil || !fi.IsDir() {
			if err == nil {
				err = syscall.ENOTDIR
			}
			if errors.Is(err, fs.ErrNotExist) {
				return usagef("%s: there is no folder %s; make it first, as by `mkdir -p %[2]s`, or name another", o, folder)
			}
			return usagef("%s: %s is no folder to write to: %v", o, folder, cause(err))
		}
	}
	return nil
}

// otherFormats are the ends of names that promise a format. Others, as those that mktemp
// makes or that are dates, promise none.
var otherFormats = map[string]bool{".html": true, ".htm": true, ".json": true, ".txt": true, ".md": true, ".csv": true, ".xml": true, ".dot": true,
	".pdf": true, ".ps": true, ".png": true, ".jpg": true, ".svg": true, ".gz": true, ".zip": true}

// counted is a number of things: "1 task", "3 tasks".
func counted[N int | int32 | int64](n N, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// --trace and --report: what a run did, for Perfetto and as a page.

// listener returns the listener of a run, or nil if it is not recorded. It is called when
// the runtime is made.
func (o *runFlags) listener() engine.Listener {
	var all engine.Listener
	if o.recorder = nil; o.trace != "" || o.report != "" {
		o.recorder = &trace.Recorder{}
		all = o.recorder
	}
	if o.grain = nil; o.recent != nil || o.profile || o.advise || o.report != "" {
		o.grain = &grain.Listener{}
		all = trace.Both(o.grain, all)
	}
	if o.recent != nil {
		all = trace.Both(o.recent, all)
	}
	return all
}

// observe are the options of a run that is recorded.
func (o *runFlags) observe() []lang.Option {
	var views []func([]*datamgr.Handle, func(int) string)
	if o.recorder != nil {
		views = append(views, o.recorder.View)
	}
	if o.recent != nil {
		views = append(views, o.recent.View)
	}
	if o.grain != nil {
		views = append(views, o.grain.View)
	}
	if len(views) == 0 {
		return nil
	}
	return []lang.Option{lang.ObserveViews(func(parts []*datamgr.Handle, name func(int) string) {
		for _, v := range views {
			v(parts, name)
		}
	})}
}

// writeTraces writes what was recorded of a run that ended with err, also of one that
// failed. A file that cannot be written does not keep the other from being written,
// and fails a run that did not fail.
func (a *app) writeTraces(ctx context.Context, o *runFlags, name string, src []byte, err error) error {
	if o.recorder == nil {
		return err
	}
	run := o.recorder.Run(filepath.Base(name))
	run.Advice, run.Ranks = o.advice, o.figures
	write := func(file string, to func(io.Writer) error) error {
		if file == "" {
			return nil
		}
		var b bytes.Buffer
		err := to(&b)
		if err != nil {
			return &exitError{code: exitFailed, err: fmt.Errorf("writing %s: %w", file, err)}
		}
		return a.writeOutput(ctx, file, b.Bytes(), graph.Measure(run.Graph).Tasks)
	}
	for _, e := range []error{
		write(o.trace, func(w io.Writer) error { return trace.WriteChrome(w, run) }),
		write(o.report, func(w io.Writer) error { return trace.WriteReport(w, run, sources(run, name, src)) }),
	} {
		if e == nil {
			continue
		}
		a.sayError(e)
		if err == nil {
			err = status(exitFailed)
		}
	}
	return err
}

// sources are the texts of the files that submitted tasks: the script as it was run,
// imported ones as they are now.
func sources(run *trace.Run, name string, src []byte) []trace.Source {
	all := []trace.Source{}
	if src != nil { // not of a session
		all = append(all, trace.Source{Name: name, Text: string(src)})
	}
	seen := map[string]bool{name: true, "": true}
	for _, s := range run.Graph.Sites {
		if seen[s.File] {
			continue
		}
		seen[s.File] = true
		if text, err := os.ReadFile(s.File); err == nil { // one that has gone is left out
			all = append(all, trace.Source{Name: s.File, Text: string(text)})
		}
	}
	return all
}
