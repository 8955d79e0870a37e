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
	n := left(st)
	if n == 0 {
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
	text := plural(n, "task") + " left"
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
	if left(before) == 0 {
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

// checked returns what Check finds; Ctrl-C ends it.
func (s *Shell) checked(ctx context.Context, file string, src []byte) (ds lang.Diagnostics) {
	_ = s.stoppable(ctx, func(ctx context.Context) error {
		ds = s.Check(ctx, file, src)
		return nil
	})
	return ds
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
	src, err := s.readFile(ctx, file)
	if err != nil {
		s.complain("%s", fileError(file, err))
		return
	}
	ds := s.checked(ctx, file, src)
	if len(ds) == 0 {
		fmt.Fprintln(s.Out, "nothing is wrong with "+file)
		return
	}
	s.render(ds)
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
	s.editText(ctx, text)
}

// editText opens text in the editor and runs what comes back.
func (s *Shell) editText(ctx context.Context, text string) {
	if s.Edit == nil {
		s.complain("there is no editor here: it needs a terminal")
		return
	}
	edited, err := s.Edit(ctx, text+"\n")
	s.forgetPresses()
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
