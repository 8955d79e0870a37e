package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/starpush/starpush/cmd/starpush/repl"
	"github.com/starpush/starpush/lang/syntax/token"
)

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
