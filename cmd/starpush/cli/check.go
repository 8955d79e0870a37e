package cli

// starpush check: what the text of scripts shows, without running them.

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/starpush/starpush/lang"
)

func checkCommand(a *app) *cobra.Command {
	var w warningFlags
	var params, data []string
	var noPlan, codelets, fix bool
	maxTasks := int64(1 << 20)
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "check FILE...",
		Short: "Report what is wrong with scripts, without running them",
		Long: `Checks syntax, names, types, access modes, data flow and codelet bodies of the
scripts and of all that they import; then plans them without kernels, so that sizes,
parts and states are checked as in a run, as far as that needs no data that tasks
compute. The exit status is 3 when one is invalid.

--codelets lists the codelets that a script declares or inserts, with the kinds of
workers that have a kernel for them.

With --fix the edits that follow from a text beyond doubt are made in the file first,
each of them is said, and what is left is reported: habits of other languages such as
&& and 'text', missing modes, lists and sizes without their names, keywords that are
misspelt where no other word can stand. Guesses, such as the name of data or of a
function that was misspelt, are reported as ever. The file is replaced at once and
keeps its permissions.`,
		Args:              arity(1, -1, "FILE or FOLDER..., or - for standard input"),
		ValidArgsFunction: scriptFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			warnings, err := w.set()
			if err != nil {
				return err
			}
			comp, err := a.compiler(warnings)
			if err != nil {
				return err
			}
			worst := exitOK
			files, err := scriptFilesIn(args)
			if err != nil {
				return err
			}
			for _, name := range files {
				shown, src, err := a.readScript(cmd.Context(), name)
				if cmd.Context().Err() != nil {
					return err
				}
				if err != nil {
					a.sayError(err)
					worst = max(worst, exitUsage)
					continue
				}
				if fix {
					if name == "-" {
						return usagef("--fix changes files; standard input is none")
					}
					if src, err = a.fixFile(cmd.Context(), comp, name, shown, src); err != nil {
						a.sayError(err)
						worst = max(worst, exitFailed)
						continue
					}
				}
				prog, diags := comp.Compile(cmd.Context(), shown, src)
				if prog == nil {
					a.report(diags)
					worst = max(worst, exitInvalid)
					continue
				}
				opts, err := paramOptions(prog, params)
				if err != nil { // errors before warnings
					a.say(err)
					a.report(diags)
					worst = max(worst, exitUsage)
					continue
				}
				a.report(diags)
				if codelets {
					a.showCodelets(shown, prog.Uses())
				}
				bound, err := a.checkData(cmd.Context(), prog, data)
				if err != nil {
					a.say(err)
					worst = max(worst, exitUsage)
					continue
				}
				if noPlan {
					continue
				}
				prog = a.withExterns(cmd.Context(), prog, shown, src, warnings)
				stopped, err := prog.CheckPlanTo(cmd.Context(), maxTasks, append(append(opts, bound...), lang.WithLimits(lang.Limits{Timeout: timeout}))...)
				if err != nil {
					a.say(sizesInstead(err))
					worst = max(worst, codeOf(cmd.Context(), err, false))
				}
				a.sayStopped(shown, stopped, maxTasks)
			}
			return status(worst)
		},
	}
	w.register(c)
	registerPlanData(c, &data)
	c.Flags().BoolVar(&codelets, "codelets", false, "show on standard output where each codelet can run, and why not elsewhere")
	c.Flags().BoolVar(&noPlan, "no-plan", false, "check the text only, and do not plan")
	c.Flags().BoolVar(&fix, "fix", false, "make the edits that leave no doubt, in the files")
	c.Flags().Var(&numberFlag{p: &maxTasks, lo: 1, hi: math.MaxInt32, advice: "--no-plan plans nothing"}, "max-tasks", "plan as far as `N` tasks, those of all branches together")
	registerTimeout(c.Flags(), &timeout, "stop the plan of a script after this wall `TIME`, such as 90s or 10m")
	c.Flags().StringArrayVarP(&params, "param", "p", nil, "value of a param, `NAME=VALUE`, checked against its type")
	a.registerWatch(c)
	return c
}

// checkData is bindData for a check, which may do without any data: what is not bound
// is left to runs.
func (a *app) checkData(ctx context.Context, prog *lang.Program, flags []string) ([]lang.Option, error) {
	if len(flags) == 0 {
		return nil, nil
	}
	return a.bindData(ctx, prog, flags, true)
}

// sayStopped says that the plan of a check did not come to the end of the script, and
// what looks further.
func (a *app) sayStopped(name string, at *lang.LimitError, maxTasks int64) {
	if at == nil || a.flags.quiet || a.json != nil {
		return
	}
	what, further := counted(at.Limit, at.Kind[:len(at.Kind)-1]), "`starpush plan` has no such limit"
	switch {
	case at.Kind == "tasks" && at.Limit < maxTasks:
		further = "`--limits tasks=N` allows more"
	case at.Kind == "tasks":
		further = "`--max-tasks N` looks further"
	}
	where := name
	if !at.Span.IsZero() {
		where = fmt.Sprintf("%s:%d", at.Span.File, at.Span.Start.Line)
	}
	fmt.Fprintf(a.con.err, "starpush: %s: the check came as far as %s and did not look at what follows; %s\n", where, what, further)
}
