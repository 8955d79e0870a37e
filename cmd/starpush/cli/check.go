package cli

// starpush check: what the text of scripts shows, without running them.

import (
	"github.com/spf13/cobra"
)

func checkCommand(a *app) *cobra.Command {
	var deny []string
	var params []string
	var noPlan bool
	var maxTasks int64
	c := &cobra.Command{
		Use:   "check FILE...",
		Short: "Report what is wrong with scripts, without running them",
		Long: `Checks syntax, names, types, access modes, data flow and codelet bodies of the
scripts and of all that they import; then plans them without kernels, so that sizes,
parts and states are checked as in a run, as far as that needs no data that tasks
compute. The exit status is 3 when one is invalid.`,
		Args:              arity(1, -1, "FILE..., or - for standard input"),
		ValidArgsFunction: scriptFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			warnings, err := warningSet(deny)
			if err != nil {
				return err
			}
			comp, err := a.compiler(warnings)
			if err != nil {
				return err
			}
			worst := exitOK
			for _, name := range args {
				shown, src, err := a.readScript(name)
				if err != nil {
					a.sayError(err)
					worst = max(worst, exitUsage)
					continue
				}
				prog, diags := comp.Compile(cmd.Context(), shown, src)
				a.report(diags)
				if prog == nil {
					worst = max(worst, exitInvalid)
					continue
				}
				opts, err := paramOptions(prog, params)
				if err != nil {
					a.say(err)
					worst = max(worst, exitUsage)
					continue
				}
				if noPlan {
					continue
				}
				if err := prog.CheckPlan(cmd.Context(), maxTasks, opts...); err != nil {
					a.say(err)
					worst = max(worst, codeOf(cmd.Context(), err, false))
				}
			}
			return status(worst)
		},
	}
	registerDeny(c, &deny)
	c.Flags().BoolVar(&noPlan, "no-plan", false, "check the text only, and do not plan")
	c.Flags().Int64Var(&maxTasks, "max-tasks", 1<<20, "plan as far as `N` tasks")
	c.Flags().StringArrayVarP(&params, "param", "p", nil, "value of a param, `NAME=VALUE`, checked against its type")
	a.registerWatch(c)
	return c
}
