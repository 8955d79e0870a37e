package cli

// starpush explain: the page about a diagnostic.

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
)

// codesWith lists the codes with the number that is meant by 401 or 0401; nil for other texts.
func codesWith(text string) (codes []string) {
	for _, c := range diag.Codes() {
		if number := c.Code[1:]; text == number || text == strings.TrimPrefix(number, "0") {
			codes = append(codes, c.Code)
		}
	}
	return codes
}

func explainCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "explain CODE",
		Short:   "Show what a diagnostic such as E0401 means",
		Example: "  starpush explain E0401",
		Args:    arity(1, 1, "one code, such as E0401"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return codeCompletions(""), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			code := strings.ToUpper(args[0])
			page, ok := lang.Explain(code)
			if !ok && len(code) == 4 { // e401
				code = code[:1] + "0" + code[1:]
				page, ok = lang.Explain(code)
			}
			if !ok {
				if found := codesWith(args[0]); len(found) > 0 {
					return usagef("there is no diagnostic `%s`; did you mean %s?", args[0], strings.Join(found, " or "))
				}
			}
			if !ok {
				return usagef("there is no diagnostic `%s`; codes look like E0401, W0201 or R0101", args[0])
			}
			if a.json != nil {
				a.json.line(struct {
					T    string `json:"t"`
					Code string `json:"code"`
					Page string `json:"page"`
				}{"explain", code, page})
				return nil
			}
			io.WriteString(a.con.out, strings.TrimRight(page, "\n")+"\n")
			return nil
		},
	}
}
