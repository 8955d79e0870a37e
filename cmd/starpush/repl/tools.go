package repl

// Commands about what is under way, other files, and how the prompt behaves.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/starpush/starpush/lang"
)

// jobs says what has not ended: a statement that was left behind, and tasks.
func (s *Shell) jobs(_ context.Context, args string) {
	if args != "" {
		s.usage("jobs")
		return
	}
	if s.pending != nil {
		if s.Busy() {
			fmt.Fprintln(s.Out, "a statement that nobody waits for: its kernels still run")
		} else {
			<-s.pending
			s.pending = nil
		}
	}
	st := s.Session.Stats()
	left := st.Submitted - st.Done - st.Failed - st.Cancelled
	if left == 0 {
		fmt.Fprintln(s.Out, "no task is left")
		return
	}
	running := map[string]int{}
	var names []string
	for _, name := range st.Running {
		if running[name]++; running[name] == 1 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		if running[name] > 1 {
			names[i] = fmt.Sprintf("%s ×%d", name, running[name])
		}
	}
	text := plural(left, "task") + " left"
	if len(names) > 0 {
		text += ", running: " + strings.Join(names, ", ")
	}
	fmt.Fprintln(s.Out, text)
}

// cancel drops the tasks that have not started.
func (s *Shell) cancel(ctx context.Context, args string) {
	if args != "" && args != "all" {
		s.usage("cancel")
		return
	}
	if s.settle() != nil {
		return
	}
	before := s.Session.Stats()
	if before.Submitted == before.Done+before.Failed+before.Cancelled {
		fmt.Fprintln(s.Out, "no task is left")
		return
	}
	_, _, err := s.supervise(ctx, func(ctx context.Context) (lang.Result, error) {
		ended, cancel := context.WithCancelCause(ctx)
		cancel(ErrInterrupted)
		return lang.Result{}, s.Session.Wait(ended)
	})
	switch {
	case errors.Is(err, errLeftBehind):
		s.fail("", before, err)
	default:
		fmt.Fprintln(s.Out, s.report("cancelled", before))
	}
}

// check reports what is wrong with a script, without running it.
func (s *Shell) check(ctx context.Context, file string) {
	switch {
	case file == "":
		s.usage("check")
		return
	case s.ReadFile == nil || s.Check == nil:
		s.complain("files cannot be read here")
		return
	}
	file = unquote(file)
	src, err := s.ReadFile(file)
	if err != nil {
		s.complain("%s", fileError(file, err))
		return
	}
	ds := s.Check(ctx, file, src)
	if len(ds) == 0 {
		fmt.Fprintln(s.Out, "nothing is wrong with "+file)
		return
	}
	ds.Render(s.Err, s.Style())
}

// edit opens an entry in an editor and runs what comes back: ":edit", ":edit 3".
func (s *Shell) edit(ctx context.Context, args string) {
	if s.Edit == nil {
		s.complain("there is no editor here: it needs a terminal")
		return
	}
	// this very command is the last entry
	n := len(s.entries) - 1
	for n > 0 && strings.HasPrefix(strings.TrimSpace(s.entries[n-1]), ":") {
		n--
	}
	if args != "" {
		var err error
		if n, err = strconv.Atoi(args); err != nil {
			s.usage("edit")
			return
		}
		if n < 1 || n > len(s.entries) {
			s.complain("there is no entry %d; :history lists them", n)
			return
		}
	}
	text := ""
	if n > 0 {
		text = s.entries[n-1]
	}
	edited, err := s.Edit(ctx, text+"\n")
	if err != nil {
		s.complain("%v", err)
		return
	}
	edited = strings.TrimRight(edited, " \t\r\n")
	switch {
	case edited == "":
		s.complain("nothing to run")
	case s.incomplete(edited):
		s.show(edited, errors.New("the entry is not complete; `:edit` opens it again"))
		s.remember(edited)
	default:
		fmt.Fprintln(s.Out, paint(s.Paint.Faint, edited))
		s.Entry(ctx, edited)
	}
}

// A setting is something that :set changes.
type setting struct {
	name, values, doc string
	get               func(*Shell) string
	set               func(*Shell, string) bool // false: no such value
}

// settings lists them. A function and not a variable, because one of them listens.
func settings() []setting {
	return []setting{
		{"timing", "on|off", "time of every statement", func(s *Shell) string { return onOff(s.timing) },
			func(s *Shell, v string) bool { return setOnOff(&s.timing, v) }},
		{"autoprint", "on|off", "an expression shows its value", func(s *Shell) string { return onOff(!s.silent) },
			func(s *Shell, v string) bool {
				on := !s.silent
				ok := setOnOff(&on, v)
				s.silent = !on
				return ok
			}},
		{"bell", "on|off", "rings when a statement took 5 s or more", func(s *Shell) string { return onOff(s.bell) },
			func(s *Shell, v string) bool { return setOnOff(&s.bell, v) }},
		{"width", "auto|N", "columns of messages", func(s *Shell) string {
			if s.width == 0 {
				return "auto"
			}
			return strconv.Itoa(s.width)
		}, func(s *Shell, v string) bool {
			n, err := strconv.Atoi(v)
			if v == "auto" {
				n, err = 0, nil
			}
			if err != nil || v != "auto" && n < 20 {
				return false
			}
			s.width = n
			return true
		}},
		{"explain", "on|off", "tasks are remembered for :explain", func(s *Shell) string { return onOff(!s.forgets) }, (*Shell).setExplain},
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func setOnOff(to *bool, v string) bool {
	if v != "on" && v != "off" {
		return false
	}
	*to = v == "on"
	return true
}

// set shows or changes how the prompt behaves: ":set", ":set bell on".
func (s *Shell) set(_ context.Context, args string) {
	words := strings.Fields(args)
	if len(words) == 0 {
		var rows [][2]string
		for _, o := range settings() {
			rows = append(rows, [2]string{o.name, fmt.Sprintf("%-4s  %s (%s)", o.get(s), o.doc, o.values)})
		}
		fmt.Fprint(s.Out, table(rows, s.Paint.Strong))
		return
	}
	for _, o := range settings() {
		if o.name != words[0] {
			continue
		}
		if len(words) != 2 || !o.set(s, words[1]) {
			s.complain("usage: :set %s %s", o.name, o.values)
		}
		return
	}
	s.complain("there is no setting `%s`; `:set` lists them", words[0])
}
