package repl

// Completion: candidates, and the lists that Tab shows.

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/lang/diag"
)

// Candidates for Tab: commands and their arguments, files in strings that name files, and
// the names that the session knows for everything else.

// Complete is the Completer of the Shell: candidates for the end of text[:offset].
func (s *Shell) Complete(text string, offset int) (replace int, candidates []Candidate) {
	head := text[:min(max(offset, 0), len(text))]
	if name, rest, ok := splitCommand(head); ok {
		if !strings.ContainsAny(strings.TrimLeft(head, " \t"), " \t\n") {
			return commandNames(name)
		}
		c, _ := findCommand(name)
		if c == nil {
			return 0, nil
		}
		word := lastField(head)
		switch c.name {
		case "load", "save":
			return files(strings.TrimPrefix(word, `"`), ".spu")
		case "ls":
			if strings.TrimSpace(rest) == word {
				return words1(word, append(append([]string{}, lsKinds...), s.names()...))
			}
			return words1(word, s.names())
		case "show", "where", "doc", "type":
			return s.sessionCandidates(rest, len(rest))
		case "help":
			return words1(word, topicNames())
		case "explain":
			return words1(word, append(explainWords, codeNames()...))
		case "set":
			if strings.TrimSpace(rest) == word {
				return words1(word, append(settingNames(), "save"))
			}
			return words1(word, settingValues(rest))
		case "stats":
			return words1(word, []string{"reset"})
		case "trace":
			if strings.TrimSpace(rest) == word {
				return words1(word, []string{"start", "stop"})
			}
			return files(word, ".json")
		case "check":
			return files(word, ".spu")
		case "plan", "bench":
			return s.sessionCandidates(rest, len(rest))
		case "reset":
			return words1(word, []string{"handles"})
		case "time":
			replace, candidates = s.sessionCandidates(rest, len(rest))
			if strings.TrimSpace(rest) == word {
				n, more := words1(word, []string{"on", "off"})
				if len(candidates) == 0 {
					return n, more
				}
			}
			return replace, candidates
		}
		return 0, nil
	}
	if file, suffixes, ok := fileArgument(head); ok {
		n, found := files(file, suffixes...)
		// Modules of the host are imported by paths that name no files.
		if k, modules := s.sessionCandidates(text, len(head)); len(modules) > 0 && (k == n || len(found) == 0) {
			return k, append(modules, found...)
		}
		return n, found
	}
	return s.sessionCandidates(text, len(head))
}

func codeNames() (out []string) {
	for _, c := range diag.Codes() {
		out = append(out, c.Code)
	}
	return out
}

func settingNames() (out []string) {
	for _, o := range settings() {
		out = append(out, o.name)
	}
	return out
}

// settingValues are the values of the setting that args name.
func settingValues(args string) []string {
	name, _, _ := strings.Cut(strings.TrimSpace(args), " ")
	for _, o := range settings() {
		if o.name == name {
			return slices.DeleteFunc(strings.Split(o.values, "|"), func(v string) bool { return v == "N" })
		}
	}
	return nil
}

func commandNames(prefix string) (int, []Candidate) {
	var out []Candidate
	for _, c := range commandTable() {
		if strings.HasPrefix(c.name, prefix) {
			out = append(out, Candidate{Text: c.name, Detail: c.args, Doc: c.doc})
		}
	}
	return len(prefix), out
}

// names are the names of the session.
func (s *Shell) names() []string {
	if s.Busy() {
		return nil
	}
	var out []string
	for _, n := range s.Session.Names() {
		out = append(out, n.Name)
	}
	return out
}

func (s *Shell) sessionCandidates(text string, offset int) (int, []Candidate) {
	if s.Busy() { // a statement that was left behind holds the session
		return 0, nil
	}
	word := wordBefore(text[:offset])
	var out []Candidate
	for _, c := range s.Session.Complete(text, offset) {
		doc, _, _ := strings.Cut(c.Doc, "\n")
		detail := c.Detail
		if detail == "" {
			detail = c.Kind
		}
		detail = afterName(detail, c.Text)
		out = append(out, Candidate{Text: c.Text, Detail: detail, Doc: doc, Goes: c.Kind == "keyword" && goesOn(c.Text, c.Detail)})
	}
	return len(word), out
}

// goesOn reports whether something follows a keyword with a blank between in all ways to
// write it: behind `register`, but not behind `wait` or `true`.
func goesOn(word, syntax string) bool {
	for way := range strings.SplitSeq(syntax, "·") {
		if !strings.HasPrefix(strings.TrimSpace(way), word+" ") {
			return false
		}
	}
	return true
}

// afterName removes the name from a signature that is shown beside it.
func afterName(signature, name string) string {
	if rest, ok := strings.CutPrefix(signature, name); ok && strings.HasPrefix(rest, "(") {
		return rest
	}
	return signature
}

// wordBefore is the identifier at the end of text.
func wordBefore(text string) string { return lastWord(text) }

func lastField(text string) string {
	return text[strings.LastIndexAny(text, " \t\n")+1:]
}

func words1(prefix string, all []string) (int, []Candidate) {
	var out []Candidate
	for _, w := range all {
		if strings.HasPrefix(w, prefix) {
			out = append(out, Candidate{Text: w})
		}
	}
	return len(prefix), out
}

// fileString finds an open string that names a file.
var fileString = regexp.MustCompile(`(?:(\bimport\s+)|(\bload\s*=\s*)|(\bsave\s*\([^"]*,\s*))"([^"\n]*)$`)

// fileArgument recognises the start of a file name in a statement, and which
// suffixes fit there.
func fileArgument(head string) (prefix string, suffixes []string, ok bool) {
	m := fileString.FindStringSubmatch(head)
	switch {
	case m == nil:
		return "", nil, false
	case m[1] != "":
		return m[4], []string{".spu"}, true
	}
	return m[4], format.Suffixes, true
}

// files offers folders, and files with one of the suffixes.
func files(prefix string, suffixes ...string) (int, []Candidate) {
	dir, base := filepath.Split(prefix)
	entries, err := os.ReadDir(filepath.Join(".", dir))
	if filepath.IsAbs(dir) {
		entries, err = os.ReadDir(dir)
	}
	if err != nil {
		return 0, nil
	}
	var out []Candidate
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || name[0] == '.' && !strings.HasPrefix(base, ".") {
			continue
		}
		if e.IsDir() {
			out = append(out, Candidate{Text: name + "/"})
			continue
		}
		for _, suffix := range suffixes {
			if strings.HasSuffix(name, suffix) {
				out = append(out, Candidate{Text: name})
				break
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Text < out[j].Text })
	return len(base), out
}

// Lists of what Tab offers.

// namesInColumns lists candidates side by side, read from top to bottom, on less than half of a
// screen of height rows (0: of any number); a second Tab shows more of them.
func namesInColumns(candidates []Candidate, width, height int) string {
	if width <= 0 {
		width = 80
	}
	most := len(candidates)
	if height > 0 {
		most = max(3, height/2-1)
	}
	var names []string
	widest := 0
	for _, c := range candidates {
		names = append(names, c.Text)
		widest = max(widest, columns(c.Text)+2)
	}
	across := max(1, (width-1)/widest)
	down := (len(names) + across - 1) / across
	cut := 0
	if down > most {
		cut = len(names) - most*across
		down = most
	}
	var b strings.Builder
	for i := range down {
		line := ""
		for k := i; k < down*across && k < len(names); k += down {
			line += names[k] + pad(names[k], widest)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if cut > 0 {
		fmt.Fprintf(&b, "… and %d more\n", cut)
	}
	return b.String()
}

// described lists at most rows candidates, one to a line, with what is known of them.
func described(candidates []Candidate, width, rows int) string {
	if width <= 0 {
		width = 80
	}
	widest, cut := 0, 0
	if len(candidates) > rows {
		cut = len(candidates) - rows + 1
		candidates = candidates[:rows-1]
	}
	for _, c := range candidates {
		widest = max(widest, columns(c.Text))
	}
	var b strings.Builder
	for _, c := range candidates {
		detail, gap := c.Detail, "  "
		if strings.HasPrefix(detail, "(") && len(candidates) == 1 {
			gap = "" // the signature belongs to the name
		}
		line := "  " + c.Text + pad(c.Text, widest) + gap + strings.TrimSpace(detail+"  "+c.Doc)
		b.WriteString(cutTo(strings.TrimRight(line, " "), width-1) + "\n")
	}
	if cut > 0 {
		fmt.Fprintf(&b, "  … and %d more; more letters make it fewer\n", cut)
	}
	return b.String()
}

// cutTo shortens a line to width columns.
func cutTo(s string, width int) string {
	if width < 1 || columns(s) <= width {
		return s
	}
	n := 0
	for i, r := range s {
		if n += columns(string(r)); n > width-1 {
			return s[:i] + "…"
		}
	}
	return s
}
