package cli

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/starpush/starpush/cmd/starpush/repl"
	"github.com/starpush/starpush/lang/syntax/token"
)

// manFile is the page that is in the repository.
const manFile = "../man/starpush.1"

// TestManPage holds the page in the repository against the commands.
// STARPUSH_UPDATE=1 writes it.
func TestManPage(t *testing.T) {
	root := (&app{}).rootCommand()
	root.InitDefaultCompletionCmd()
	got := manPage(root)
	want, err := os.ReadFile(manFile)
	if err != nil && os.Getenv("STARPUSH_UPDATE") == "" {
		t.Fatal(err)
	}
	if string(want) != got {
		if os.Getenv("STARPUSH_UPDATE") == "" {
			t.Errorf("%s is not what the commands say; STARPUSH_UPDATE=1 writes it (-page +commands):\n%s", manFile,
				cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")))
		} else if err := os.WriteFile(manFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Every flag and every command is there, and nothing that roff would take for a request.
	flat := strings.ReplaceAll(got, `\-`, "-")
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !f.Hidden && !strings.Contains(flat, `\fB--`+f.Name+`\fR`) {
				t.Errorf("%s: --%s is not on the page", c.CommandPath(), f.Name)
			}
		})
		for _, sub := range c.Commands() {
			if documented(sub) {
				if !strings.Contains(flat, "\n.SS "+strings.TrimPrefix(sub.CommandPath(), "starpush ")+" ") {
					t.Errorf("%s is not on the page", sub.CommandPath())
				}
				look(sub)
			}
		}
	}
	look(root)
	requests := map[string]bool{".TH": true, ".SH": true, ".SS": true, ".TP": true, ".B": true, ".I": true, ".br": true, ".PP": true, ".nf": true, ".fi": true}
	for line := range strings.Lines(got) {
		if word := strings.Fields(line + " x")[0]; strings.HasPrefix(word, ".") && !requests[word] || strings.HasPrefix(word, "'") {
			t.Errorf("roff takes this for a request: %s", line)
		}
	}
}

// TestWords: starpush doc lists every reserved word, and no other.
func TestWords(t *testing.T) {
	for _, s := range docSections() {
		if s.title == "words" && !slices.Equal(s.names, token.Keywords()) {
			t.Errorf("starpush doc lists %q, want %q", s.names, token.Keywords())
		}
	}
}

// The topics that show scripts show some that run and have no warnings, and fit a terminal.
func TestTopicScripts(t *testing.T) {
	if len(repl.ScriptTopics()) == 0 {
		t.Fatal("there are no such topics")
	}
	for _, topic := range repl.ScriptTopics() {
		text, ok := repl.Topic(topic, 0)
		if !ok {
			t.Errorf("there is no topic %s", topic)
		}
		var out, errs bytes.Buffer
		code := Main([]string{"run", "-", "--deny", "warnings"}, strings.NewReader(strings.ReplaceAll("\n"+text, "\n  ", "\n")), &out, &errs, nil)
		if code != exitOK || out.Len() == 0 {
			t.Errorf("%s: status %d\n%s", topic, code, errs.String())
		}
	}
	for _, topic := range append(repl.ScriptTopics(), "limits", "plans", "models") {
		text, _ := repl.Topic(topic, 0)
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(line) > 85 {
				t.Errorf("%s: %q is too long", topic, line)
			}
		}
	}
}

// Every reserved word has more to say than its line, but those that have none.
func TestWordTopics(t *testing.T) {
	alone := []string{"and", "as", "extern", "evict", "false", "hint", "import", "none", "not", "or", "prefetch", "to", "true"}
	for _, w := range token.Keywords() {
		if topic := repl.TopicOf(w); topic == "" != slices.Contains(alone, w) {
			t.Errorf("%s has the topic %q", w, topic)
		} else if _, ok := repl.Topic(topic, 0); topic != "" && !ok {
			t.Errorf("%s: there is no topic %q", w, topic)
		}
	}
}
