package repl

// The commands of the prompt: a table, and what finds a command in it.

import (
	"context"
	"fmt"
	"sort"
	"strings"
)

// A command is what ":name args" runs.
type command struct {
	name      string
	args      string // for :help
	doc       string
	statement bool // args are a statement, which may go on over lines
	run       func(s *Shell, ctx context.Context, args string)
}

// commandTable lists the commands in the order of :help. A function and not a
// variable, because :help reads the table.
func commandTable() []command {
	return []command{
		{name: "help", args: "[topic]", doc: "this list; topics: " + strings.Join(topicNames(), ", "), run: (*Shell).help},
		{name: "doc", args: "NAME", doc: "signature and documentation; also NAME?", run: (*Shell).doc},
		{name: "type", args: "EXPR", doc: "type of an expression; for data, its shape and views", run: (*Shell).typeOf},
		{name: "ls", args: "[KIND] [PATTERN]", doc: strings.Join(lsKinds, ", "), run: (*Shell).ls},
		{name: "show", args: "NAME [A..B, …]", doc: "value of data, elements A to B of it, or a part: A[0..2, 3]", run: (*Shell).showData},
		{name: "where", args: "NAME", doc: "where data is: memory nodes, views, tasks that have not ended", run: (*Shell).where},
		{name: "last", doc: "the last value again, complete", run: (*Shell).last},
		{name: "plan", args: "STATEMENT", doc: "what it would insert now; no kernel runs, but host functions do", statement: true, run: (*Shell).plan},
		{name: "graph", args: "[NAME] [--tasks] [> FILE]", doc: "tasks so far, or those that use NAME; FILE as .svg, .dot, .mmd, .json", run: (*Shell).graph},
		{name: "trace", args: "start FILE|stop", doc: "record what runs, for ui.perfetto.dev", run: (*Shell).trace},
		{name: "time", args: "on|off|STATEMENT", doc: "time of every statement, or of one with its tasks and copies", statement: true, run: (*Shell).time},
		{name: "bench", args: "STATEMENT", doc: "times of ten runs of a statement, each with its tasks", statement: true, run: (*Shell).bench},
		{name: "stats", args: "[reset]", doc: "tasks and seconds per codelet and worker; reset: count anew", run: (*Shell).stats},
		{name: "top", doc: "workers, tasks, memories and links as they are now, until a key is pressed", run: (*Shell).top},
		{name: "jobs", doc: "tasks that have not ended", run: (*Shell).jobs},
		{name: "cancel", doc: "drop the tasks that have not started", run: (*Shell).cancel},
		{name: "edit", args: "[N]", doc: "the last entry, or entry N, in $VISUAL or $EDITOR, and run it; Ctrl-X Ctrl-E: what is typed", run: (*Shell).edit},
		{name: "history", args: "[TEXT]", doc: "entries of this session that hold TEXT; :!N runs one again, :!! the last", run: (*Shell).history},
		{name: "load", args: "FILE [-p n=4] [--data x=FILE]", doc: "run a script here, with values for params and files for extern data", run: (*Shell).load},
		{name: "save", args: "FILE", doc: "write what the session did as a script", run: (*Shell).save},
		{name: "check", args: "FILE", doc: "what is wrong with a script, without running it", run: (*Shell).check},
		{name: "fmt", doc: "the last statement in canonical layout", run: (*Shell).format},
		{name: "explain", args: "CODE|task N|blocked|granularity", doc: "a diagnostic such as E0401; a task; what waits; sizes", run: (*Shell).explain},
		{name: "set", args: "[NAME VALUE|save]", doc: "how the prompt behaves; alone: what can be set, and as what; `save` keeps it", run: (*Shell).set},
		{name: "reset", args: "[handles]", doc: "forget all names, or the data only", run: (*Shell).reset},
		{name: "quit", args: "[STATUS]", doc: "leave; so does Ctrl-D", run: (*Shell).quit},
	}
}

// splitCommand cuts ":name rest".
func splitCommand(entry string) (name, rest string, ok bool) {
	text, ok := strings.CutPrefix(strings.TrimSpace(entry), ":")
	if !ok {
		return "", "", false
	}
	text = strings.TrimSpace(text)
	if i := strings.IndexAny(text, " \t\n"); i >= 0 {
		return text[:i], strings.TrimSpace(text[i:]), true
	}
	return text, "", true
}

// findCommand finds a command by its name or by a beginning that only it has.
// Without one it returns the names that were meant.
func findCommand(name string) (*command, []string) {
	var found []command
	for _, c := range commandTable() {
		if c.name == name {
			return &c, nil
		}
		if name != "" && strings.HasPrefix(c.name, name) {
			found = append(found, c)
		}
	}
	if len(found) == 1 {
		return &found[0], nil
	}
	var names []string
	for _, c := range found {
		names = append(names, ":"+c.name)
	}
	return nil, names
}

// command runs a command.
func (s *Shell) command(ctx context.Context, name, args string) {
	c, meant := findCommand(name)
	switch {
	case c != nil:
		c.run(s, ctx, args)
	case len(meant) > 0:
		s.complain("`:%s` may be %s", name, strings.Join(meant, ", "))
	default:
		s.complain("`:%s` is not a command; %s", name, unknown(name))
	}
}

// complain reports a wrong use of a command.
func (s *Shell) complain(format string, args ...any) {
	fmt.Fprintln(s.Err, Fold(fmt.Sprintf(format, args...), s.columns()))
}

// say writes a sentence to those who use the prompt.
func (s *Shell) say(format string, args ...any) {
	fmt.Fprintln(s.Out, Fold(fmt.Sprintf(format, args...), s.columns()))
}

// usage reports that a command was not given what it needs.
func (s *Shell) usage(name string) {
	c, _ := findCommand(name)
	s.complain("usage: :%s", strings.TrimSpace(c.name+" "+c.args))
}

func (s *Shell) help(ctx context.Context, topic string) {
	if topic != "" {
		s.helpAbout(ctx, topic)
		return
	}
	rows := make([][2]string, 0, len(commandTable()))
	for _, c := range commandTable() {
		rows = append(rows, [2]string{strings.TrimSpace(":" + c.name + " " + c.args), c.doc})
	}
	s.page(ctx, "Type a statement, an expression, or a command:\n"+table(rows, s.columns(), s.Paint.Strong))
}

// helpAbout explains a topic, a command, or a word of the language, and says where there is
// more when the word is several of these.
func (s *Shell) helpAbout(ctx context.Context, topic string) {
	if text, ok := Topic(topic, s.columns()); ok {
		s.page(ctx, text)
		return
	}
	name, isCommand := strings.CutPrefix(topic, ":")
	if c, _ := findCommand(name); c != nil {
		fmt.Fprintf(s.Out, "%s\n%s\n", strings.TrimSpace(":"+c.name+" "+c.args), Fold("    "+c.doc, s.columns()))
		if _, known := s.Session.Doc(name); known && !isCommand {
			more := fmt.Sprintf("`%s` is a word of the language, too: `:doc %s`", name, name)
			if about := TopicOf(name); about != "" {
				more += fmt.Sprintf(", `:help %s`", about)
			}
			s.say("%s", more)
		}
		return
	}
	if s.documented(ctx, topic) {
		return
	}
	if text, ok := Topic(TopicOf(topic), s.columns()); ok {
		s.page(ctx, text)
		return
	}
	s.complain("`%s` is neither a topic nor a name; topics: %s", topic, strings.Join(topicNames(), ", "))
}

func topicNames() []string {
	names := make([]string, 0, len(topics))
	for n := range topics {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
