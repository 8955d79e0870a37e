package cli

// starpush check, with --fix and --codelets.

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
)

// starpush check: what the text of scripts shows, without running them.

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
workers that have a kernel for them, and how their bodies run as machine code: the
lanes of loops, operations and bytes of a round, and elements that do not lie side by
side.

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

// starpush check --fix: edits that diagnostics carry and that leave no doubt.

// maxFixRounds bounds how often a script is checked again after edits: what did not
// parse hides what is wrong elsewhere, and a check reports a hundred syntax errors.
const maxFixRounds = 10

// maxFixedShown is how many edits are listed.
const maxFixedShown = 500

// fixed is one diagnostic whose edits were made.
type fixed struct {
	at   string // file:line:column, in the text as it was then
	what string
}

// fixScript returns src with the certain edits of what comp reports in the file shown,
// until none is left, and what they were.
func fixScript(ctx context.Context, comp *lang.Compiler, shown string, src []byte) ([]byte, []fixed) {
	var all []fixed
	seen := []string{string(src)}
	for range maxFixRounds {
		_, diags := comp.Compile(ctx, shown, src)
		fixes, done := certainFixes(shown, diags)
		next := diag.Apply(shown, string(src), fixes)
		if slices.Contains(seen, next) || ctx.Err() != nil {
			break // nothing left, or edits that take each other back
		}
		seen = append(seen, next)
		src, all = []byte(next), append(all, done...)
	}
	return src, all
}

// certainFixes collects the edits of diags in the file shown. Those of a diagnostic are
// made together or, when one touches an edit of another, left for the next round.
func certainFixes(shown string, diags lang.Diagnostics) (fixes []lang.Fix, done []fixed) {
	for i := range diags {
		d := &diags[i]
		if !d.IsSure() || slices.ContainsFunc(d.Fixes, func(f lang.Fix) bool { return f.Span.File != shown || touches(fixes, f) }) {
			continue
		}
		fixes = append(fixes, d.Fixes...)
		at := d.Span.Start
		what := d.Message
		if len(d.Help) > 0 {
			what += "; " + d.Help[0]
		}
		done = append(done, fixed{fmt.Sprintf("%s:%d:%d", shown, at.Line, at.Col), what})
	}
	return fixes, done
}

// touches reports whether f overlaps or borders on one of fixes.
func touches(fixes []lang.Fix, f lang.Fix) bool {
	return slices.ContainsFunc(fixes, func(o lang.Fix) bool {
		return f.Span.Start.Offset <= o.Span.End.Offset && o.Span.Start.Offset <= f.Span.End.Offset
	})
}

// fixFile makes the certain edits in a file, writes it if there are any and says what
// they were. It returns the text that is to be checked.
func (a *app) fixFile(ctx context.Context, comp *lang.Compiler, name, shown string, src []byte) ([]byte, error) {
	out, done := fixScript(ctx, comp, shown, src)
	if len(done) == 0 {
		return src, nil
	}
	if err := writeFile(name, out); err != nil {
		return src, fmt.Errorf("%s is unchanged: %w", shown, err)
	}
	if a.json == nil {
		for _, f := range done[:min(len(done), maxFixedShown)] {
			fmt.Fprintf(a.con.err, "%s: fixed: %s\n", f.at, f.what)
		}
		if more := len(done) - maxFixedShown; more > 0 {
			fmt.Fprintf(a.con.err, "%s: fixed: %d more places\n", shown, more)
		}
	}
	return out, nil
}

// check --codelets: where the codelets of a script can run.

// workerKinds are the kinds of workers that there can be, as `where` names them.
var workerKinds = []string{"cpu", "opencl", "cuda"}

type jsonCodeletUse struct {
	Name      string   `json:"name"`
	Signature string   `json:"signature"`
	Line      int      `json:"line"`
	Kinds     []string `json:"kinds"`
	Why       string   `json:"why,omitempty"` // not elsewhere

	Code []jsonCodeNote `json:"code,omitempty"`
}

// jsonCodeNote is a loop of a body as machine code.
type jsonCodeNote struct {
	Line int    `json:"line,omitempty"` // 0: the body has no machine code
	Col  int    `json:"col,omitempty"`
	Text string `json:"text"`
}

// showCodelets lists where codelets can run, and why not elsewhere.
func (a *app) showCodelets(file string, uses []lang.CodeletUse) {
	list := make([]jsonCodeletUse, 0, len(uses))
	rows := [][]string{append(append([]string{"codelet"}, workerKinds...), "")}
	for _, u := range uses {
		j := jsonCodeletUse{Name: u.Name, Signature: u.Signature, Line: u.Span.Start.Line, Kinds: []string{}, Why: whyNot(&u)}
		for _, n := range u.Code {
			j.Code = append(j.Code, jsonCodeNote{n.Span.Start.Line, n.Span.Start.Col, n.Text})
		}
		row := []string{u.Name}
		for _, k := range workerKinds {
			mark := "no"
			switch {
			case slices.Contains(u.Kinds, k):
				mark = "yes"
				j.Kinds = append(j.Kinds, k)
			case u.Kinds == nil:
				mark = "?"
			}
			row = append(row, mark)
		}
		list = append(list, j)
		rows = append(rows, append(row, j.Why))
	}
	if a.json != nil {
		a.json.line(struct {
			T        string           `json:"t"`
			File     string           `json:"file"`
			Codelets []jsonCodeletUse `json:"codelets"`
		}{"codelets", file, list})
		return
	}
	var b strings.Builder
	if len(uses) == 0 {
		fmt.Fprintf(&b, "%s: no codelets\n", file)
	} else {
		fmt.Fprintf(&b, "%s:\n", file)
		writeTextTable(&b, rows)
		writeCodeNotes(&b, list)
	}
	io.WriteString(a.con.out, b.String())
}

// writeCodeNotes writes how the bodies of codelets run as machine code.
func writeCodeNotes(b *strings.Builder, list []jsonCodeletUse) {
	rows := [][]string{}
	for _, u := range list {
		for _, n := range u.Code {
			place := ""
			if n.Line > 0 {
				place = fmt.Sprintf("%d:%d", n.Line, n.Col)
			}
			rows = append(rows, []string{u.Name, place, n.Text})
		}
	}
	if len(rows) > 0 {
		b.WriteString("as machine code on CPU workers:\n")
		writeTextTable(b, rows)
	}
}

// whyNot says why a codelet runs on some kinds of workers only, "" if it runs on all.
func whyNot(u *lang.CodeletUse) string {
	switch {
	case u.Extern && u.Kinds == nil:
		return "extern: the Go program that runs the script brings its kernels"
	case !u.Host && !u.Extern:
		return u.Why
	}
	var missing []string
	for _, k := range workerKinds {
		if !slices.Contains(u.Kinds, k) {
			missing = append(missing, k)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "it has no kernel for " + strings.Join(missing, " and ")
}
