package repl

// Commands that show names, values, data and tasks.

import (
	"context"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/lang"
)

// Commands that show names and values: :ls, :show, :last, :doc, :type.

// Machine is what the prompt shows of the runtime.
type Machine interface {
	Workers() []string      // one line each
	Nodes() []string        // one line each
	Stats(width int) string // table of counts and times, at most width columns wide (0: any width)
	ResetStats()            // makes Stats begin anew
	Top() string            // what goes on right now
}

// lsKinds are the first words of :ls.
var lsKinds = []string{"handles", "codelets", "funcs", "params", "values", "modules", "all", "workers", "nodes", "tasks"}

// ls lists names: ":ls", ":ls codelets", ":ls x*", ":ls all gem".
func (s *Shell) ls(ctx context.Context, args string) {
	kind, pattern := "handles", ""
	words := strings.Fields(args)
	if len(words) > 0 && slices.Contains(lsKinds, words[0]) {
		kind, words = words[0], words[1:]
	}
	if len(words) > 0 {
		pattern, words = words[0], words[1:]
	}
	if len(words) > 0 {
		s.usage("ls")
		return
	}
	var rows [][2]string
	switch kind {
	case "workers", "nodes":
		lines := s.Machine.Workers()
		if kind == "nodes" {
			lines = s.Machine.Nodes()
		}
		for _, l := range lines {
			if matches(pattern, l) {
				fmt.Fprintln(s.Out, "  "+l)
			}
		}
		return
	case "tasks":
		s.lsTasks(pattern)
		return
	}
	for _, n := range s.Session.Names() {
		if (kind == "all" || kind == groupOf(n)) && matches(pattern, n.Name) {
			rows = append(rows, [2]string{n.Name, strings.TrimSpace(afterName(n.Type, n.Name) + "  " + n.Detail)})
		}
	}
	if len(rows) == 0 {
		what := kind
		if kind == "all" {
			what = "names"
		}
		if pattern != "" {
			what += " that match `" + pattern + "`"
		}
		s.complain("no %s", what)
		return
	}
	s.page(ctx, table(rows, s.columns(), s.Paint.Strong))
}

// matches reports whether name fits a pattern: with * and ? as in a shell, else
// a part of the name.
func matches(pattern, name string) bool {
	if strings.ContainsAny(pattern, "*?[") {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}
	return strings.Contains(name, pattern)
}

// showData writes a value, or a part of it: ":show x", ":show x 10..20", ":show x[10..20]",
// ":show A[0..2, 3]".
func (s *Shell) showData(ctx context.Context, args string) {
	name, part := args, ""
	if i := strings.IndexAny(args, " ["); i >= 0 {
		name, part = args[:i], strings.TrimSuffix(strings.Trim(args[i:], " ["), "]")
	}
	spans, ok := spansOf(part)
	if name == "" || !ok {
		s.usage("show")
		return
	}
	if s.settle() != nil {
		return
	}
	if !slices.Contains(s.names(), name) {
		s.complain("`%s` is not defined", name)
		return
	}
	var text string
	var err error
	switch len(spans) {
	case 0:
		text, err = s.Session.Show(name, -1, -1)
	case 1:
		text, err = s.Session.Show(name, spans[0][0], spans[0][1])
	default:
		text, err = s.Session.ShowPart(name, spans...)
	}
	if err != nil {
		s.show(args, err)
		return
	}
	s.page(ctx, text)
}

// spansOf reads "A..B, C", one span for each index; "" is everything: none.
func spansOf(part string) (spans [][2]int, ok bool) {
	if part == "" {
		return nil, true
	}
	for text := range strings.SplitSeq(part, ",") {
		lo, hi, ok := bounds(strings.TrimSpace(text))
		if !ok || lo < 0 {
			return nil, false
		}
		spans = append(spans, [2]int{lo, hi})
	}
	return spans, true
}

// where says which memory nodes have a datum: ":where x".
func (s *Shell) where(_ context.Context, name string) {
	if name == "" {
		s.usage("where")
		return
	}
	if s.settle() != nil {
		return
	}
	if !slices.Contains(s.names(), name) {
		s.complain("`%s` is not defined", name)
		return
	}
	nodes, parts, err := s.Session.Where(name)
	if err != nil {
		s.complain("%v", err)
		return
	}
	var rows [][2]string
	for _, n := range nodes {
		text := accel.Bytes(n.Valid) + " valid"
		if parts > 0 {
			text += fmt.Sprintf(" (%d of %s)", n.Parts, plural(int64(parts), "part"))
		}
		if n.Arriving > 0 {
			text += ", " + accel.Bytes(n.Arriving) + " arriving"
		}
		node := n.Node
		if n.Memory != n.Node {
			node += " " + n.Memory
		}
		if n.Array != "" {
			node = name + "." + n.Array + " " + node
		}
		rows = append(rows, [2]string{node, text + ", " + accel.Bytes(n.Allocated) + " allocated"})
	}
	fmt.Fprint(s.Out, table(rows, s.columns(), s.Paint.Strong))
	for _, n := range s.Session.Names() {
		if _, views, ok := strings.Cut(n.Detail, "views: "); ok && n.Name == name {
			fmt.Fprintln(s.Out, Fold("  views: "+views, s.columns()))
		}
	}
	for _, l := range s.Session.Lost() {
		if l == name || strings.HasPrefix(l, name+"[") {
			s.say("`%s` has no valid value: a task that was to write it failed or was cancelled; a task that writes it again (W) gives it one", l)
		}
	}
	io.WriteString(s.Out, s.pendingOn(name))
}

// bounds reads "A..B", "A..=B", "A"; "" is everything: -1, -1.
func bounds(span string) (lo, hi int, ok bool) {
	if span == "" {
		return -1, -1, true
	}
	from, to, ranged := strings.Cut(span, "..")
	lo, err := strconv.Atoi(strings.TrimSpace(from))
	if err != nil || lo < 0 {
		return 0, 0, false
	}
	if !ranged {
		return lo, lo + 1, true
	}
	to, closed := strings.CutPrefix(to, "=")
	hi, err = strconv.Atoi(strings.TrimSpace(to))
	if err != nil || hi < lo {
		return 0, 0, false
	}
	if closed {
		hi++
	}
	return lo, hi, true
}

// doc writes what is known of a name.
func (s *Shell) doc(ctx context.Context, name string) {
	if name == "" {
		s.usage("doc")
		return
	}
	if s.documented(ctx, name) {
		return
	}
	if topic := TopicOf(name); topic != "" {
		s.complain("`%s` is a word of the language; `:help %s` is about it", name, topic)
		return
	}
	s.complain("`%s` is not defined", name)
}

// documented shows what is known of a name or a code; false: nothing is.
func (s *Shell) documented(ctx context.Context, name string) bool {
	if text, ok := s.Session.Doc(name); ok {
		text = s.markdown(text) + s.timings(name)
		if topic := TopicOf(name); topic != "" {
			text = strings.TrimRight(text, "\n") + fmt.Sprintf("\n\n`:help %s` says more", topic)
		}
		s.page(ctx, text)
		return true
	}
	page, ok := lang.Explain(strings.ToUpper(name))
	if ok {
		s.page(ctx, s.markdown(page))
	}
	return ok
}

// markdown is Plain for the terminal, in the colours of the prompt.
func (s *Shell) markdown(text string) string { return Plain(text, s.columns(), s.Paint.Strong) }

// Plain prepares a page in markdown for a terminal that is width columns wide (0: any
// width): paragraphs are broken anew, fences go, and the text between them is indented
// and strong.
func Plain(text string, width int, strong func(string) string) string {
	var b strings.Builder
	code, paragraph := false, ""
	flush := func() {
		if paragraph != "" {
			lines := []string{paragraph}
			if width > 0 {
				indent := 0
				if strings.ContainsRune(" -*|", rune(paragraph[0])) {
					indent = hang(paragraph, width)
				}
				lines = fold(paragraph, width, indent)
			}
			b.WriteString(strings.Join(lines, "\n") + "\n")
		}
		paragraph = ""
	}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			flush()
			code = !code
		case code:
			for _, l := range strings.Split(Fold("  "+line, width), "\n") {
				indent := len(l) - len(strings.TrimLeft(l, " "))
				if l = l[indent:]; l != "" {
					l = strings.Repeat(" ", indent) + paint(strong, l)
				}
				b.WriteString(l + "\n")
			}
		case width > 0 && paragraph != "" && !strings.HasPrefix(paragraph, "#") && line != "" && !strings.ContainsRune(" -*#|=>0123456789", rune(line[0])):
			paragraph += " " + line
		default:
			flush()
			if paragraph = line; line == "" {
				b.WriteString("\n")
			}
		}
	}
	flush()
	return strings.TrimRight(b.String(), "\n")
}

// typeOf writes the type of an expression without evaluating it; of data also
// sizes, state and views.
func (s *Shell) typeOf(_ context.Context, expr string) {
	if expr == "" {
		s.usage("type")
		return
	}
	for _, n := range s.Session.Names() {
		if n.Name == expr {
			fmt.Fprintln(s.Out, strings.TrimSpace(n.Type+"  "+n.Detail))
			return
		}
	}
	if s.settle() != nil {
		return
	}
	text, err := s.Session.TypeOf(expr)
	if err != nil {
		s.show(expr, err)
		return
	}
	fmt.Fprintln(s.Out, text)
}

// last writes the last value once more, without elision.
func (s *Shell) last(ctx context.Context, _ string) {
	if s.settle() != nil {
		return
	}
	if !slices.Contains(s.names(), "_") {
		s.complain("no expression has had a value yet")
		return
	}
	text, err := s.Session.Show("_", 0, math.MaxInt)
	if err != nil {
		s.show("_", err)
		return
	}
	if text == "" { // the last expression failed
		s.complain("the last expression had no value")
		return
	}
	s.page(ctx, Fold(text, s.columns()))
}

// groupOf is the word of :ls that lists a name.
func groupOf(n lang.NameInfo) string {
	switch n.Kind {
	case "handle", "view", "array":
		return "handles"
	case "codelet":
		return "codelets"
	case "func":
		return "funcs"
	case "param":
		return "params"
	case "module":
		return "modules"
	}
	return "values"
}

// Tasks by name: :ls tasks, and what :where says of data that tasks still use.

// left is how many tasks have not ended.
func left(st lang.Stats) int64 { return st.Submitted - st.Done - st.Failed - st.Cancelled }

// lsTasks lists tasks: all that are remembered, or those whose codelet or state fits.
func (s *Shell) lsTasks(pattern string) {
	if s.Recent == nil || s.Runtime == nil || s.memory == "off" {
		fmt.Fprint(s.Out, s.Machine.Stats(s.columns()))
		return
	}
	text := s.Recent.Tasks(s.Runtime, func(codelet, state string) bool {
		return pattern == "" || matches(pattern, codelet) || matches(pattern, state)
	}, duration)
	st := s.Session.Stats()
	switch {
	case st.Submitted == 0:
		s.complain("no task was inserted yet")
		return
	case text == "" && pattern != "":
		s.complain("no task of those that are remembered matches `%s`", pattern)
	default:
		io.WriteString(s.Out, text)
	}
	s.say("%s", tasksLine(st)+s.unheard())
}

// tasksLine counts tasks: "18 tasks: 16 done, 2 left".
func tasksLine(st lang.Stats) string {
	var each []string
	for _, n := range []struct {
		count int64
		what  string
	}{{st.Done, "done"}, {st.Failed, "failed"}, {st.Cancelled, "cancelled"}, {left(st), "left"}} {
		if n.count > 0 {
			each = append(each, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	return plural(st.Submitted, "task") + ": " + strings.Join(each, ", ")
}

// unheard says that tasks are not remembered that came too fast; "" when all are.
func (s *Shell) unheard() string {
	if s.Recent == nil {
		return ""
	}
	if _, missed := s.Recent.Left(); missed {
		return "; not all are remembered, they came too fast (`:set explain all`)"
	}
	return ""
}

// pendingOn lists the tasks that have not ended and use the data called name.
func (s *Shell) pendingOn(name string) string {
	if s.Recent == nil || s.Runtime == nil || s.memory == "off" {
		return ""
	}
	h, err := s.Session.Handle(name)
	if err != nil { // a view: of what
		for _, n := range s.Session.Names() {
			if _, of, ok := strings.Cut(n.Detail, " of "); ok && n.Name == name && n.Kind == "view" {
				h, err = s.Session.Handle(of)
			}
		}
	}
	if err != nil || !h.Exists() {
		return ""
	}
	text := s.Recent.Pending(s.Runtime, h.Engine(), duration)
	if text == "" {
		return ""
	}
	return "tasks that have not ended\n" + text
}

// timings says what the tasks of a codelet took in this session; "" when none has run.
func (s *Shell) timings(codelet string) string {
	codelet = codelet[strings.LastIndexByte(codelet, '.')+1:]
	for _, c := range s.Session.Stats().Codelets {
		if c.Name == codelet && c.Tasks > 0 {
			text := plural(c.Tasks, "task") + " done in this session"
			if c.Time > 0 {
				text += ", " + duration(c.Time/time.Duration(c.Tasks)) + " each"
			}
			return "\n\n" + Fold(text, s.columns())
		}
	}
	return ""
}
