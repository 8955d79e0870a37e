package repl

import (
	"strings"
	"testing"

	"github.com/starpush/starpush/lang"
)

// Words of shells about folders are answered with the folder.
func TestFolderWords(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, entry := range []string{"cd", "cd ..", "cd /tmp", "cd ~/x", "pwd", ":cd x"} {
		if got := converse(t, []string{entry}); !strings.Contains(got, "files are looked for in ") {
			t.Errorf("%q: %s", entry, got)
		}
	}
}

// Every command that is typed without its colon is recognised, and none of the
// statements of the language is taken for one.
func TestCommandsWithoutColon(t *testing.T) {
	for _, c := range commandTable() {
		entry := c.name
		switch c.name {
		case "type", "set", "help", "quit":
			continue // they are in the transcripts
		case "load", "save":
			entry += " x.spu"
		}
		got := converse(t, []string{entry})
		if want := "commands begin with a colon: `:" + entry + "`"; !strings.Contains(got, want) {
			t.Errorf("%q: want %q, got %s", entry, want, got)
		}
		if got := converse(t, []string{"let " + c.name + " = 7", c.name + " + 1"}); !strings.Contains(got, "\n8\n") {
			t.Errorf("a name %s is taken for a command: %s", c.name, got)
		}
	}
	var s Shell
	for _, src := range []string{"a + nothing", "lett b = 2", "load = 3", "plan[3]", "top.x", "stats * 2", "q = 3", "w h", "exit + 1", "help = 4", "man[1]"} {
		comp := lang.Must(lang.NewCompiler(lang.Config{}))
		s.Session = comp.NewSession(nil)
		_, ds := comp.Compile(t.Context(), "<entry 1>", []byte(src))
		if got := s.hint(src, ds); got != "" {
			t.Errorf("%q is taken for something else: %s", src, got)
		}
	}
}
