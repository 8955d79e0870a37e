package cli

// starpush completion: scripts for shells, and what flags take.

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/starpush/starpush/accel/all"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/engine/sched"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
)

// shells are those that have a script, with what writes it.
var shells = []struct {
	name, use string
	write     func(*cobra.Command, io.Writer) error
}{
	{"bash", "source <(starpush completion bash)", bashCompletion},
	{"zsh", "source <(starpush completion zsh)", func(c *cobra.Command, w io.Writer) error { return c.GenZshCompletion(w) }},
	{"fish", "starpush completion fish | source", func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) }},
	{"powershell", "starpush completion powershell | Out-String | Invoke-Expression", func(c *cobra.Command, w io.Writer) error { return c.GenPowerShellCompletionWithDesc(w) }},
}

func completionCommand(a *app) *cobra.Command {
	var names []string
	long := "Writes a script that makes a shell complete commands, flags, their values, scripts\nand their params. In the file that the shell reads when it starts:\n"
	for _, s := range shells {
		names = append(names, s.name)
		long += "\n  " + s.name + strings.Repeat(" ", 12-len(s.name)) + s.use
	}
	return &cobra.Command{
		Use:               "completion " + strings.Join(names, "|"),
		Short:             "Write a completion script for a shell",
		Long:              long,
		Args:              arity(1, 1, "one shell: "+strings.Join(names, ", ")),
		ValidArgsFunction: cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range shells {
				if s.name == args[0] {
					_ = s.write(cmd.Root(), a.con.out) // finish says what is wrong with standard output
					return nil
				}
			}
			return usagef("there is no script for `%s`; shells: %s", args[0], strings.Join(names, ", "))
		},
	}
}

// bashCompletion is cobra's script for bash, which needs two functions of the package
// bash-completion: where that is not installed ours take their place.
func bashCompletion(c *cobra.Command, w io.Writer) error {
	var b bytes.Buffer
	if err := c.GenBashCompletionV2(&b, true); err != nil {
		return err
	}
	script := strings.NewReplacer("_get_comp_words_by_ref ", "__starpush_words ", "_filedir", "__starpush_filedir").Replace(b.String())
	_, err := io.WriteString(w, bashFallbacks+script)
	return err
}

const bashFallbacks = `# The words up to the cursor, "=" and ":" within them.
__starpush_words()
{
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@"
        return
    fi
    local line=${COMP_LINE:0:COMP_POINT}
    read -ra words <<<"$line"
    case $line in
        *[[:space:]]) words+=("") ;;
    esac
    cword=$((${#words[@]} - 1))
    cur=${words[cword]}
    prev=${words[cword-1]}
}

# Files whose names end as "spu|npy|" says, or all, and folders; with -d folders only.
__starpush_filedir()
{
    if declare -F _filedir >/dev/null 2>&1; then
        _filedir "$@"
        return
    fi
    local f
    compopt -o filenames 2>/dev/null
    while IFS= read -r f; do
        if [[ -d $f || $# -eq 0 || ( $1 != -d && "|$1|" == *"|${f##*.}|"* ) ]]; then
            COMPREPLY+=("$f")
        fi
    done < <(compgen -f -- "$cur")
}

`

// completeFlags says how the shell completes the flags of all commands.
func (a *app) completeFlags(c *cobra.Command) {
	values := a.flagValues()
	for _, fs := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
		fs.VisitAll(func(f *pflag.Flag) {
			fn := values[f.Name]
			if fn == nil {
				return
			}
			// an error says that the command has its own
			_ = c.RegisterFlagCompletionFunc(f.Name, fn)
		})
	}
	for _, sub := range c.Commands() {
		a.completeFlags(sub)
	}
}

// flagValues says what flags take; those that are not here take files or nothing.
func (a *app) flagValues() map[string]cobra.CompletionFunc {
	const none = cobra.ShellCompDirectiveNoFileComp
	fixed := func(v ...cobra.Completion) cobra.CompletionFunc { return cobra.FixedCompletions(v, none) }
	folder := func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	suffixes := func(s ...string) cobra.CompletionFunc {
		return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return s, cobra.ShellCompDirectiveFilterFileExt
		}
	}
	var machines, policies, formats []cobra.Completion
	for _, m := range sim.Presets() {
		machines = append(machines, cobra.CompletionWithDesc("sim:"+m.Title, m.About))
	}
	for _, e := range sched.Table() {
		policies = append(policies, cobra.CompletionWithDesc(e.Name, e.Doc))
	}
	gpus := []cobra.Completion{"none", "all", "found"}
	for _, d := range all.Drivers() {
		gpus = append(gpus, d.Name())
	}
	for _, f := range graph.Formats {
		formats = append(formats, string(f))
	}
	when := fixed("auto", "always", "never")
	nothing := fixed()
	return map[string]cobra.CompletionFunc{
		"calibrate": fixed(cobra.CompletionWithDesc("0", "use them"), cobra.CompletionWithDesc("1", "measure and add to them"), cobra.CompletionWithDesc("2", "measure anew")),
		"color":     when, "progress": when,
		"bind":    fixed(cobra.CompletionWithDesc("cores", "all processors, first one of each core")),
		"by":      fixed("task", "codelet", "handle"),
		"data":    a.completeBinding,
		"deny":    fixed(append([]cobra.Completion{"warnings"}, codeCompletions("W")...)...),
		"allow":   fixed(append([]cobra.Completion{"warnings"}, codeCompletions("W")...)...),
		"disk":    folder,
		"eval":    nothing,
		"format":  fixed(formats...),
		"gpus":    fixed(gpus...),
		"kernels": fixed(cobra.CompletionWithDesc("auto", "in strips, then as machine code"), cobra.CompletionWithDesc("strips", "never as machine code"), cobra.CompletionWithDesc("native", "as machine code from the first task")),
		"limits":  completeLimits,
		"machine": fixed(machines...), "param": a.completeParam, "perf-dir": folder,
		"report": suffixes("html"), "save": a.completeBinding, "sched": fixed(policies...), "trace": suffixes("json"),
		"cpus": nothing, "digits": nothing, "run": nothing, "timeout": nothing, "ram": nothing, "runs": nothing, "warmup": nothing, "max-tasks": nothing,
	}
}

// codeCompletions are the diagnostics whose code begins so, with their titles.
func codeCompletions(prefix string) (out []cobra.Completion) {
	for _, c := range diag.Codes() {
		if strings.HasPrefix(c.Code, prefix) {
			out = append(out, cobra.CompletionWithDesc(c.Code, strings.ReplaceAll(c.Title, "`", "")))
		}
	}
	return out
}

// limitNames are the items of --limits.
var limitNames = []string{"steps", "depth", "tasks", "inflight", "data", "mem", "output", "source", "workers"}

// completeLimits completes the last item of a list.
func completeLimits(_ *cobra.Command, _ []string, text string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	before := text[:strings.LastIndexByte(text, ',')+1]
	for _, name := range limitNames {
		out = append(out, before+name+"=")
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// scriptOf compiles the script on the command line that is being completed; nil: there
// is none, or it has errors.
func (a *app) scriptOf(cmd *cobra.Command, args []string) *lang.Program {
	if len(args) == 0 || args[0] == "-" || isPipe(args[0]) {
		return nil
	}
	_, src, err := a.readScript(cmd.Context(), args[0])
	if err != nil {
		return nil
	}
	comp, err := a.compiler(lang.WarningSet{})
	if err != nil {
		return nil
	}
	prog, _ := comp.Compile(cmd.Context(), args[0], src)
	return prog
}

// completeParam offers the params of the script on the command line to the shell.
func (a *app) completeParam(cmd *cobra.Command, args []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	prog := a.scriptOf(cmd, args)
	if prog == nil {
		return nil, none
	}
	for _, p := range prog.Params() {
		about := p.Type
		if !p.Required {
			about += " = " + p.Default
		}
		if p.Doc != "" {
			about += "  " + strings.SplitN(p.Doc, "\n", 2)[0]
		}
		out = append(out, cobra.CompletionWithDesc(p.Name+"=", about))
	}
	return out, none | cobra.ShellCompDirectiveNoSpace
}

// completeBinding offers externs of the script, and behind "x=" files of data.
func (a *app) completeBinding(cmd *cobra.Command, args []string, text string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	const quiet = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	name, path, named := strings.Cut(text, "=")
	if !named {
		if prog := a.scriptOf(cmd, args); prog != nil {
			for _, x := range prog.Externs() {
				if !x.Codelet {
					out = append(out, cobra.CompletionWithDesc(x.Name+"=", x.Type))
				}
			}
		}
		return out, quiet
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	for _, f := range filesFrom(path, format.Suffixes...) {
		out = append(out, name+"="+f)
		if strings.HasSuffix(f, "/") { // the name goes on
			directive = quiet
		}
	}
	return out, directive
}

// filesFrom lists the files with one of the suffixes, and the folders, whose path begins
// with text.
func filesFrom(text string, suffixes ...string) (out []string) {
	folder, base := filepath.Split(text)
	entries, err := os.ReadDir(filepath.Clean(folder + "."))
	if err != nil {
		return nil // there is nothing to offer
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case !strings.HasPrefix(name, base) || name[0] == '.' && base == "":
		case e.IsDir():
			out = append(out, folder+name+"/")
		case slices.Contains(suffixes, filepath.Ext(name)):
			out = append(out, folder+name)
		}
	}
	return out
}

// scriptNames is scriptFiles beside the names of commands, which the shell would take
// for suffixes.
func scriptNames(_ *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := filesFrom(text, ".spu")
	if slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, "/") }) {
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// scriptFiles lets the shell complete names of scripts.
func scriptFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"spu"}, cobra.ShellCompDirectiveFilterFileExt
}
