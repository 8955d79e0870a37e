package cli

// starpush doc: documentation in the terminal.

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/starpush/starpush/cmd/starpush/repl"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/stdlib"
)

func docCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doc [NAME]",
		Short: "Show what a name, a module or a topic of the language is",
		Long: `Without a name it lists what there is. A name is a module (blas), something in
one (blas.gemm), a builtin (print), a type, a filter (blocks), an option
(priority), a word of the language (REDUX, partition), a diagnostic (E0401), or a
topic: ` + strings.Join(repl.Topics(), ", ") + ".",
		Example: "  starpush doc blas.gemm\n  starpush doc filters",
		Args:    arity(0, 1, "one name"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return docNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			comp, err := a.compiler(lang.WarningSet{})
			if err != nil {
				return err
			}
			rt, err := engine.New(engine.Options{Workers: 1})
			if err != nil {
				return err
			}
			defer rt.Close()
			session := comp.NewSession(rt)
			defer session.Close()
			for _, name := range moduleNames() {
				if _, err := session.Eval(cmd.Context(), fmt.Sprintf("import %q as %s", name, path.Base(name))); err != nil {
					return err
				}
			}
			if len(args) == 0 {
				return a.docList()
			}
			return a.docOf(cmd.Root(), session, args[0])
		},
	}
}

// moduleNames lists the modules of the library.
func moduleNames() []string {
	var names []string
	for name := range stdlib.Modules() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// docNames lists what doc is likely to be asked for.
func docNames() []string {
	names := repl.Topics()
	for name, module := range stdlib.Modules() {
		names = append(names, path.Base(name))
		for _, c := range module.Codelets {
			names = append(names, path.Base(name)+"."+c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// docSections are what there is besides modules: names by what they are.
func docSections() []docSection {
	entries := func(list []check.Entry) (names []string) {
		for _, e := range list {
			names = append(names, e.Name)
		}
		return names
	}
	var values, filters, options []string
	for _, v := range check.BuiltinValues {
		values = append(values, v.Name)
	}
	for _, f := range check.FilterTable {
		filters = append(filters, f.Name)
	}
	for _, set := range check.Options {
		for _, o := range set.Options {
			if !slices.Contains(options, o.Name) {
				options = append(options, o.Name)
			}
		}
	}
	slices.Sort(options)
	return []docSection{
		{"builtin", append(repl.Builtins(), entries(check.BodyFuncs)...)},
		{"values", values},
		{"types", append(entries(check.TypeNames), entries(check.ElemNames)...)},
		{"modes", entries(check.Modes)},
		{"filters", filters},
		{"options", options},
		{"words", entries(check.Words)},
		{"topics", repl.Topics()},
	}
}

type docSection struct {
	title string
	names []string
}

// docList shows the modules with what is in them, and the topics.
func (a *app) docList() error {
	modules := stdlib.Modules()
	type entry struct {
		T     string   `json:"t"`
		Name  string   `json:"name"`
		Names []string `json:"names"`
	}
	for _, name := range moduleNames() {
		var members []string
		for _, c := range modules[name].Codelets {
			members = append(members, c.Name)
		}
		slices.Sort(members)
		if a.json != nil {
			a.json.line(entry{"doc", name, members})
			continue
		}
		fmt.Fprintf(a.con.out, "import %q as %s\n%s\n%s\n", name, path.Base(name), wrapped(modules[name].Doc, "  ", 78), wrapped(strings.Join(members, " "), "    ", 78))
	}
	for _, s := range docSections() {
		if a.json != nil {
			name := s.title
			if name == "builtin" {
				name = ""
			}
			a.json.line(entry{"doc", name, s.names})
			continue
		}
		fmt.Fprintf(a.con.out, "%s\n%s\n", s.title, wrapped(strings.Join(s.names, " "), "    ", 78))
	}
	if a.json == nil {
		fmt.Fprintln(a.con.out, "`starpush doc NAME` shows one of them, `starpush explain CODE` a diagnostic")
	}
	return nil
}

// wrapped breaks text between words into lines of at most width columns.
func wrapped(text, indent string, width int) string {
	var b strings.Builder
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(indent)+len(line)+1+len(w) > width {
			b.WriteString(indent + line + "\n")
			line = ""
		}
		line = strings.TrimSpace(line + " " + w)
	}
	return b.String() + indent + line
}

// docOf shows one name. A codelet may be named without its module.
func (a *app) docOf(root *cobra.Command, session *lang.Session, name string) error {
	if name == "" {
		return usagef("the name is empty; `starpush doc` lists what there is")
	}
	names := append(docNames(), repl.Builtins()...)
	full := map[string]string{} // of members: with their module
	for _, n := range names {
		if _, member, ok := strings.Cut(n, "."); ok {
			full[member] = n
		}
	}
	if slices.Contains(moduleNames(), name) { // std/blas
		name = path.Base(name)
	}
	width := a.con.out.width(a.env)
	text, ok := session.Doc(name)
	if !ok && full[name] != "" {
		name = full[name]
		text, ok = session.Doc(name)
	}
	if ok { // of the import above
		text, _, _ = strings.Cut(text, "\ndefined at <entry")
		text = repl.Plain(text, width, a.painter(a.con.out, color.Bold))
		if more, is := repl.Topic(repl.TopicOf(name), width); is { // of a word of the language
			text += "\n\n" + more
		}
	} else if text, ok = lang.Explain(strings.ToUpper(name)); ok {
		text = repl.Plain(text, width, a.painter(a.con.out, color.Bold))
	} else {
		topic := name
		if of := repl.TopicOf(name); of != "" { // what files and data have in common
			topic = of
		}
		text, ok = repl.Topic(topic, width)
	}
	if !ok {
		for _, s := range docSections() {
			names = append(names, s.names...)
		}
		for _, c := range root.Commands() {
			if c.Name() == name {
				return usagef("`%s` is a command: `starpush help %[1]s` shows what it does; `starpush doc` lists words of the language and topics", name)
			}
		}
		near, found := diag.Nearest(name, slices.AppendSeq(names, maps.Keys(full)))
		switch {
		case found && full[near] != "":
			near = full[near]
		case !found:
			return usagef("there is no `%s`; `starpush doc` lists what there is", name)
		}
		return usagef("there is no `%s`; did you mean `%s`?", name, near)
	}
	if a.json != nil {
		a.json.line(struct {
			T    string `json:"t"`
			Name string `json:"name"`
			Page string `json:"page"`
		}{"doc", name, text})
		return nil
	}
	fmt.Fprintln(a.con.out, strings.TrimRight(text, "\n"))
	return nil
}
