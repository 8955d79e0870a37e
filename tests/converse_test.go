package tests

// Conversations with the prompt, replayed without a terminal.

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/starpush/starpush/cmd/starpush/repl"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/stdlib"
)

// converse types the lines of a transcript that begin with "> " or ". " and
// returns the transcript as it is now.
func converse(t *testing.T, text, dir string) string {
	t.Helper()
	t.Chdir(dir)
	rt, err := engine.New(engine.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	comp := lang.Must(lang.NewCompiler(lang.Config{
		Modules: stdlib.Modules(), Files: lang.Dir("."), Loader: lang.FSLoader(os.DirFS(".")),
		Warnings: lang.WarningSet{Silence: []string{"W"}},
	}))
	var screen bytes.Buffer
	session := comp.NewSession(rt, lang.Stdout(&screen))
	defer session.Close()
	shell := repl.New(repl.Config{
		Session: session, Machine: noMachine{}, Out: &screen, Err: &screen,
		ReadFile:  func(_ context.Context, name string) ([]byte, error) { return os.ReadFile(name) },
		WriteFile: func(_ context.Context, name string, data []byte) error { return os.WriteFile(name, data, 0o644) },
	})
	typed := &typist{screen: &screen}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		for _, prompt := range []string{"> ", ". "} {
			if in, ok := strings.CutPrefix(line+" ", prompt); ok {
				typed.lines = append(typed.lines, strings.TrimSuffix(in, " "))
			}
		}
	}
	if code := shell.Run(t.Context(), typed); code != 0 {
		t.Errorf("the conversation ends with %d", code)
	}
	return neutral(screen.String())
}

// typist gives lines to the prompt and shows them, as a terminal does.
type typist struct {
	lines  []string
	screen io.Writer
}

func (p *typist) ReadLine(prompt string) (string, error) {
	if len(p.lines) == 0 {
		return "", io.EOF
	}
	line := p.lines[0]
	p.lines = p.lines[1:]
	_, err := io.WriteString(p.screen, strings.TrimRight(prompt+line, " ")+"\n")
	return line, err
}

type noMachine struct{}

func (noMachine) Workers() []string { return nil }
func (noMachine) Nodes() []string   { return nil }
func (noMachine) Stats(int) string  { return "" }
func (noMachine) ResetStats()       {}
func (noMachine) Top() string       { return "" }
