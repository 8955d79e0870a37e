package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/starpush/starpush/lang"
)

// TestCompletedLimits: what is offered is taken, and what is taken is offered.
func TestCompletedLimits(t *testing.T) {
	for _, name := range limitNames {
		if err := parseLimits(&lang.Limits{}, name+"=1"); err != nil {
			t.Error(err)
		}
	}
	err := parseLimits(&lang.Limits{}, "nothing=1")
	if n := strings.Count(err.Error(), "=N"); n != len(limitNames) {
		t.Errorf("%d limits are offered: %v", len(limitNames), err)
	}
	out, _ := completeLimits(nil, nil, "steps=1Mi,ta")
	if len(out) != len(limitNames) || out[2] != "steps=1Mi,tasks=" {
		t.Errorf("%q", out)
	}
}

// TestCompletedFlags: no entry of the table is about a flag that no command has.
func TestCompletedFlags(t *testing.T) {
	a := &app{}
	root := a.rootCommand()
	for name, fn := range a.flagValues() {
		found := root.PersistentFlags().Lookup(name) != nil
		for _, c := range append(root.Commands(), root) {
			if c.Flags().Lookup(name) == nil {
				continue
			}
			found = true
			if got, ok := c.GetFlagCompletionFunc(name); !ok || got == nil {
				t.Errorf("%s --%s is not completed", c.Name(), name)
			}
		}
		if !found {
			t.Errorf("no command has --%s", name)
		}
		if _, d := fn(&cobra.Command{}, nil, ""); d&cobra.ShellCompDirectiveError != 0 {
			t.Errorf("--%s: an error", name)
		}
	}
}
