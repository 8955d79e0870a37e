package cli

// starpush lsp: the language server for editors.

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/starpush/starpush/cmd/starpush/lsp"
	"github.com/starpush/starpush/lang"
)

func lspCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "lsp",
		Short: "Serve an editor: diagnostics, completion, documentation, renaming",
		Long: `Speaks the Language Server Protocol on standard input and output. Editors start
it with this command; cmd/starpush/editors in the sources says how. Imports of
a script are looked for beside it, and texts that are open in the editor count
before files.`,
		Args: arity(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.json != nil {
				return usagef("lsp speaks a protocol of its own, and --json does not go with it")
			}
			orderly, err := lsp.Serve(cmd.Context(), a.in, a.con.out, lsp.Options{
				Files: osLoader{}, Version: Version, Delay: 150 * time.Millisecond,
				Compiler: func(files lang.Loader) (*lang.Compiler, error) { return a.compilerWith(files, lang.WarningSet{}) },
			})
			if err != nil {
				return err
			}
			if !orderly {
				return status(exitFailed) // exit before shutdown: the protocol asks for that
			}
			return nil
		},
	}
	c.Flags().Bool("stdio", true, "what editors say, and all there is")
	_ = c.Flags().MarkHidden("stdio")
	return c
}
