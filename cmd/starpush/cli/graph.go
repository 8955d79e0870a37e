package cli

// starpush graph: the tasks of a script as a picture.

import (
	"bytes"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/lang"
)

func graphCommand(a *app) *cobra.Command {
	var o planFlags
	var out, by, format string
	c := &cobra.Command{
		Use:   "graph FILE",
		Short: "Draw the tasks of a script, without running it",
		Long: `Plans the script (see starpush plan) and writes its graph: as dot for Graphviz, as
Mermaid for Markdown, as JSON, or as a picture, SVG. The name of the output says
which; standard output gets dot. Prints of the script go to standard error.

--by task draws each task; when there are more than a person can read, SVG has a
row for each depth with a box for each codelet, and counts rows that repeat.
--by codelet draws each insert statement with what it stands for, --by handle the
data and what is made of what, also where views overlap.`,
		Example: `  starpush graph cholesky.spu -p nt=6 -o cholesky.svg
  starpush graph cg.spu --by codelet -o cg.mmd`,
		Args: arity(1, 1, "one script, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := graphFormat(format, out)
			if err != nil {
				return err
			}
			if !slices.Contains(graph.Units, graph.Unit(by)) {
				return usagef("--by is task, codelet or handle, not `%s`", by)
			}
			if err := checkOutputs(args[0], output{"-o", out}); err != nil {
				return err
			}
			return a.planFile(cmd.Context(), &o, args[0], func(ctx context.Context, p *lang.Plan) error {
				return a.writeGraph(ctx, p, f, graph.Unit(by), out)
			}, false, false)
		},
	}
	o.register(c)
	f := c.Flags()
	f.StringVarP(&out, "output", "o", "", "write to `FILE`; its name chooses the format: .dot, .mmd, .json, .svg")
	f.StringVar(&by, "by", "task", "what one node stands for, `UNIT`: task, codelet or handle")
	f.StringVar(&format, "format", "", "format, whatever the name of the output: dot, mermaid, json or svg")
	for name, values := range map[string][]cobra.Completion{"by": {"task", "codelet", "handle"}, "format": {"dot", "mermaid", "json", "svg"}} {
		if err := c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // a flag of this list is not registered above
		}
	}
	return c
}

// graphFormat chooses the format.
func graphFormat(format, out string) (graph.Format, error) {
	if format != "" {
		if !slices.Contains(graph.Formats, graph.Format(format)) {
			return "", usagef("--format is dot, mermaid, json or svg, not `%s`", format)
		}
		return graph.Format(format), nil
	}
	if out == "" {
		return graph.Dot, nil
	}
	f, ok := graph.FormatOf(out)
	if !ok {
		return "", usagef("-o %s: the name should end in .dot, .mmd, .json or .svg, or --format say what it is", out)
	}
	return f, nil
}

func (a *app) writeGraph(ctx context.Context, p *lang.Plan, f graph.Format, by graph.Unit, out string) error {
	var b bytes.Buffer
	if err := lang.Graph(&b, p, f, by); err != nil {
		return err
	}
	if out == "" {
		if a.json != nil {
			a.json.line(struct {
				T    string `json:"t"`
				Text string `json:"text"`
			}{"graph", b.String()})
			return nil
		}
		a.con.out.Write(b.Bytes()) // finish says what is wrong with standard output
		return nil
	}
	return a.writeOutput(ctx, out, b.Bytes(), p.Measures().Tasks)
}
