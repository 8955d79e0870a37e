package cli

// -p name=value: values for the params of a script, typed by the script.

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
)

// paramOptions checks -p flags against the params of prog. Its error is either
// wrong usage or diagnostics E0704.
func paramOptions(prog *lang.Program, flags []string) ([]lang.Option, error) {
	values, err := parseBindings("-p", flags)
	if err != nil {
		return nil, err
	}
	var opts []lang.Option
	var bad lang.Diagnostics
	complain := func(help, format string, args ...any) {
		d := lang.Diagnostic{Code: "E0704", Severity: lang.Error, Message: fmt.Sprintf(format, args...)}
		if help != "" {
			d.Help = []string{help}
		}
		bad = append(bad, d)
	}
	var names []string
	for _, p := range prog.Params() {
		names = append(names, p.Name)
		text, given := values[p.Name]
		if !given {
			if p.Required {
				complain(fmt.Sprintf("give it one: `-p %s=VALUE`", p.Name), "param `%s` of type %s has no default and got no value", p.Name, p.Type)
			}
			continue
		}
		if text == "" && p.Type != "string" {
			complain(fmt.Sprintf("give it one: `-p %s=VALUE`", p.Name), "param `%s` is %s, and it got an empty value", p.Name, p.Type)
			continue
		}
		v, err := parseParam(p.Type, text)
		if err != nil {
			complain("", "param `%s` is %s, and %v", p.Name, p.Type, err)
			continue
		}
		opts = append(opts, lang.Param(p.Name, v))
	}
	unknown := make([]string, 0, len(values))
	for name := range values {
		if !slices.Contains(names, name) {
			unknown = append(unknown, name)
		}
	}
	sort.Strings(unknown)
	for _, name := range unknown {
		help := "the script has no params"
		if k := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) }); k >= 0 {
			help = "did you mean `" + names[k] + "`?"
		} else if near, ok := diag.Nearest(name, names); ok {
			help = "did you mean `" + near + "`?"
		} else if len(names) > 0 {
			help = "params: " + strings.Join(names, ", ")
		}
		complain(help, "the script has no param `%s`", name)
	}
	if len(bad) > 0 {
		return nil, bad
	}
	return opts, nil
}

// parseParam reads a value of a scalar type as a script would write it; strings
// are taken as they are.
func parseParam(typ, text string) (any, error) {
	switch typ {
	case "int":
		return parseCount(text)
	case "float":
		if n, err := parseCount(text); err == nil {
			return float64(n), nil
		}
		f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		if err != nil {
			return nil, fmt.Errorf("`%s` is not a number", text)
		}
		return f, nil
	case "bool":
		switch text {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, fmt.Errorf("`%s` is neither true nor false", text)
	}
	return text, nil
}
