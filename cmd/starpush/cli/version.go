package cli

// starpush version.

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version",
		Args:  arity(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if a.json != nil {
				a.json.line(struct {
					T        string `json:"t"`
					Version  string `json:"version"`
					Revision string `json:"revision,omitempty"`
					Go       string `json:"go"`
					Platform string `json:"platform"`
				}{"version", Version, revision(), runtime.Version(), platform()})
				return nil
			}
			fmt.Fprintln(a.con.out, versionLine())
			return nil
		},
	}
}

// versionLine is "starpush 0.1 (1a2b3c4d, go1.26.0, linux/amd64)".
func versionLine() string {
	rev := revision()
	if rev != "" {
		rev += ", "
	}
	return fmt.Sprintf("starpush %s (%s%s, %s)", Version, rev, runtime.Version(), platform())
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// revision is the commit that the binary was built from, "" when not known.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 8:
			rev = s.Value[:8]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+"
		}
	}
	if rev == "" {
		return ""
	}
	return rev + dirty
}
