package cli

// The terminal of the prompt: its size, its colours, and the pager for long texts.

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/term"
)

// screenSize is how many columns and rows the terminal of standard output has; 0, 0
// without one.
func (a *app) screenSize() (columns, rows int) {
	columns = a.con.out.width(a.env)
	if f, ok := a.con.out.w.(*os.File); ok && columns > 0 {
		_, rows, _ = term.GetSize(int(f.Fd())) // 0 when nobody knows
	}
	return columns, rows
}

// setColor switches colours: "auto", "on", "off".
func (a *app) setColor(mode string) {
	mode = map[string]string{"on": "always", "off": "never", "auto": a.flags.color}[mode]
	a.con.out.col = newStream(a.con, a.con.out.w, a.env, mode).col
	a.con.err.col = newStream(a.con, a.con.err.w, a.env, mode).col
}

// page shows text in $PAGER, else in less or more; without any, and with an empty PAGER,
// it is written. Ctrl-C is the pager's meanwhile.
func (a *app) page(ctx context.Context, text string) error {
	command, set := a.env["PAGER"]
	if !set {
		for _, name := range []string{"less", "more"} {
			if _, err := exec.LookPath(name); err == nil {
				command = name
				break
			}
		}
	}
	words := strings.Fields(command)
	if len(words) == 0 {
		_, err := a.con.out.Write([]byte(text))
		return err
	}
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Env = os.Environ()
	if a.env["LESS"] == "" {
		c.Env = append(c.Env, "LESS=FRX") // gone when it fits, colours, the text stays on the screen
	}
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(text), os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		return fmt.Errorf("%s: %w; PAGER names another pager, and an empty PAGER none", words[0], err)
	}
	_ = c.Wait() // pagers end as they like, as when q is pressed before the end of the text
	return nil
}
