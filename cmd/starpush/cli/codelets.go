package cli

// check --codelets: where the codelets of a script can run.

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/starpush/starpush/lang"
)

// workerKinds are the kinds of workers that there can be, as `where` names them.
var workerKinds = []string{"cpu", "opencl", "cuda"}

type jsonCodeletUse struct {
	Name      string   `json:"name"`
	Signature string   `json:"signature"`
	Line      int      `json:"line"`
	Kinds     []string `json:"kinds"`
	Why       string   `json:"why,omitempty"` // not elsewhere
}

// showCodelets lists where codelets can run, and why not elsewhere.
func (a *app) showCodelets(file string, uses []lang.CodeletUse) {
	list := make([]jsonCodeletUse, 0, len(uses))
	rows := [][]string{append(append([]string{"codelet"}, workerKinds...), "")}
	for _, u := range uses {
		j := jsonCodeletUse{u.Name, u.Signature, u.Span.Start.Line, []string{}, whyNot(&u)}
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
	}
	io.WriteString(a.con.out, b.String())
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
