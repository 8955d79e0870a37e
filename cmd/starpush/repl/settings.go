package repl

// Settings: how the prompt behaves, by :set and by the file of settings.

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A setting is something that :set changes.
type setting struct {
	name, values, doc string
	get               func(*Shell) string
	set               func(*Shell, string) error
}

// settings lists them. A function and not a variable, because one of them listens.
func settings() []setting {
	return []setting{
		{"elide", "12|N|off", "elements, and in proportion rows and columns, from which on values show their ends only",
			(*Shell).getElide, (*Shell).setElide},
		{"digits", "off|N", "significant digits of floats that are printed; off: as many as read back the same",
			(*Shell).getDigits, (*Shell).setDigits},
		{"width", "auto|N", "columns of messages and lists", (*Shell).getWidth, (*Shell).setWidth},
		{"color", "auto|on|off", "colours; auto: on a terminal, unless NO_COLOR is set",
			func(s *Shell) string { return s.colors }, (*Shell).setColor},
		{"timing", "on|off", "time of every statement", func(s *Shell) string { return onOff(s.timing) },
			func(s *Shell, v string) error { return setOnOff(&s.timing, v) }},
		{"bell", "on|off", "rings when a statement took 5 s or more", func(s *Shell) string { return onOff(s.bell) },
			func(s *Shell, v string) error { return setOnOff(&s.bell, v) }},
		{"autoprint", "on|off", "an expression shows its value", func(s *Shell) string { return onOff(!s.silent) },
			func(s *Shell, v string) error {
				on := !s.silent
				err := setOnOff(&on, v)
				s.silent = !on
				return err
			}},
		{"deterministic", "on|off", "the same bits for any number of workers: fixes the order of COMMUTE and REDUX; before there is data",
			func(s *Shell) string { return onOff(s.fixed) }, (*Shell).setDeterministic},
		{"explain", "on|all|off", "tasks are remembered for :explain, :ls tasks and :where; on: unless they come too fast",
			func(s *Shell) string { return s.memory }, (*Shell).setExplain},
	}
}

// errValue says that a setting has no such value.
var errValue = fmt.Errorf("no such value")

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func setOnOff(to *bool, v string) error {
	if v != "on" && v != "off" {
		return errValue
	}
	*to = v == "on"
	return nil
}

func (s *Shell) getElide() string {
	switch s.elide {
	case 0:
		return "12"
	case math.MaxInt:
		return "off"
	}
	return strconv.Itoa(s.elide)
}

func (s *Shell) setElide(v string) error {
	n, err := strconv.Atoi(v)
	if v == "off" {
		n, err = math.MaxInt, nil
	}
	if err != nil || n < 4 {
		return errValue
	}
	if n == 12 { // what print does
		n = 0
	}
	if err := s.settle(); err != nil {
		return err
	}
	s.elide = n
	s.Session.SetElide(n)
	return nil
}

func (s *Shell) getDigits() string {
	if s.digits == 0 {
		return "off"
	}
	return strconv.Itoa(s.digits)
}

func (s *Shell) setDigits(v string) error {
	n, err := strconv.Atoi(v)
	if v == "off" {
		n, err = 0, nil
	} else if n < 1 || n > MaxDigits {
		return errValue
	}
	if err != nil {
		return errValue
	}
	if err := s.settle(); err != nil {
		return err
	}
	s.digits = n
	s.Session.SetDigits(n)
	return nil
}

// MaxDigits is how many significant digits tell any two floats apart.
const MaxDigits = 17

func (s *Shell) getWidth() string {
	if s.width == 0 {
		return "auto"
	}
	return strconv.Itoa(s.width)
}

func (s *Shell) setWidth(v string) error {
	n, err := strconv.Atoi(v)
	if v == "auto" {
		n, err = 0, nil
	}
	if err != nil || v != "auto" && n < leastWidth {
		return errValue
	}
	s.width = n
	return nil
}

func (s *Shell) setColor(v string) error {
	if v != "auto" && v != "on" && v != "off" {
		return errValue
	}
	if s.Color != nil {
		s.Color(v)
	}
	s.colors = v
	return nil
}

func (s *Shell) setDeterministic(v string) error {
	on := s.fixed
	if err := setOnOff(&on, v); err != nil || on == s.fixed {
		return err
	}
	if err := s.settle(); err != nil {
		return err
	}
	if err := s.Session.SetDeterministic(on); err != nil {
		return err
	}
	s.fixed = on
	if s.Machine != nil {
		s.Machine.ResetStats() // its counts have begun anew
	}
	return nil
}

// setExplain switches what :explain goes by.
func (s *Shell) setExplain(v string) error {
	switch {
	case v != "on" && v != "off" && v != "all":
		return errValue
	case s.Listen == nil || s.Recent == nil:
		return fmt.Errorf("this session remembers nothing of its tasks")
	case s.tracing != nil:
		return fmt.Errorf("`%s` is being recorded; `:trace stop` ends that", s.tracing.file)
	}
	was := s.memory
	s.memory = v
	if (v == "off") != (was == "off") && !s.listen(context.Background(), nil) {
		s.memory = was
	}
	return nil
}

// set shows or changes how the prompt behaves: ":set", ":set bell on", ":set save".
func (s *Shell) set(_ context.Context, args string) {
	words := strings.Fields(args)
	switch {
	case len(words) == 0:
		s.showSettings()
		return
	case len(words) == 1 && words[0] == "save":
		s.saveSettings()
		return
	case len(words) == 1:
		for _, o := range settings() {
			if o.name == words[0] {
				fmt.Fprintf(s.Out, "%s %s\n%s\n", o.name, o.get(s), Fold(fmt.Sprintf("    %s (%s)", o.doc, o.values), s.columns()))
				return
			}
		}
	}
	if err := s.apply(words); err != nil {
		s.complain("%v", err)
	}
}

// apply changes a setting: NAME VALUE.
func (s *Shell) apply(words []string) error {
	for _, o := range settings() {
		if o.name != words[0] {
			continue
		}
		err := errValue
		if len(words) == 2 {
			err = o.set(s, words[1])
		}
		if err == errValue {
			err = fmt.Errorf("usage: :set %s %s", o.name, o.values)
		}
		return err
	}
	return fmt.Errorf("there is no setting `%s`; `:set` lists them", words[0])
}

func (s *Shell) showSettings() {
	settings, left := settings(), 0
	for _, o := range settings {
		left = max(left, len(o.get(s)))
	}
	var rows [][2]string
	for _, o := range settings {
		v := o.get(s)
		rows = append(rows, [2]string{o.name + pad(o.name, 13) + "  " + v, o.doc + " (" + o.values + ")"})
	}
	fmt.Fprint(s.Out, table(rows, s.columns(), s.Paint.Strong))
	if s.SaveSettings != nil {
		fmt.Fprintln(s.Out, Fold("`:set NAME VALUE` changes one, `:set save` keeps those that were changed for later sessions", s.columns()))
	}
}

// saveSettings writes the settings that are not as they are at first.
func (s *Shell) saveSettings() {
	if s.SaveSettings == nil {
		s.complain("settings are not kept here")
		return
	}
	fresh := &Shell{colors: "auto", memory: "on"}
	var b strings.Builder
	n := 0
	for _, o := range settings() {
		if v := o.get(s); v != o.get(fresh) {
			fmt.Fprintf(&b, "%s %s\n", o.name, v)
			n++
		}
	}
	file, err := s.SaveSettings(b.String())
	if err != nil {
		s.complain("%v", err)
		return
	}
	fmt.Fprintf(s.Out, "%s written to %s\n", plural(int64(n), "setting"), file)
}

// Configure takes settings from a file: a line "NAME VALUE" for each; # begins a comment.
// Mistakes are shown, and the other lines count.
func (s *Shell) Configure(file, text string) {
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(strings.Replace(strings.TrimPrefix(strings.TrimSpace(line), ":set "), "=", " ", 1))
		if len(words) == 0 {
			continue
		}
		if err := s.apply(words); err != nil {
			s.complain("%s:%d: %s", file, i+1, strings.TrimPrefix(err.Error(), "usage: :set "))
		}
	}
}
