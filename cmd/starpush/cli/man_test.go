package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
