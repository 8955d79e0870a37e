package cli

// The editor that :edit opens.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// edit lets the person change text in $VISUAL or $EDITOR and returns what is left
// of it. Ctrl-C is the editor's meanwhile.
func (a *app) edit(ctx context.Context, text string) (string, error) {
	command := a.env["VISUAL"]
	if command == "" {
		command = a.env["EDITOR"]
	}
	if command == "" {
		for _, name := range []string{"sensible-editor", "nano", "vi"} {
			if _, err := exec.LookPath(name); err == nil {
				command = name
				break
			}
		}
	}
	if strings.TrimSpace(command) == "" {
		return "", errors.New("no editor: set VISUAL or EDITOR to one")
	}
	dir, err := os.MkdirTemp("", "starpush")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "entry.spu")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	words := append(strings.Fields(command), file)
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Stdin, c.Stdout, c.Stderr = a.in, os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s: %w; nothing was run", words[0], err)
	}
	edited, err := os.ReadFile(file)
	return string(edited), err
}
