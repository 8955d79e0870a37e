package check

import (
	"testing"

	"github.com/starpush/starpush/lang/types"
)

func TestFormats(t *testing.T) {
	good := map[*types.Type][]string{
		types.TInt:    {"d", "6d", "-6d", "06d", "+d", "x", "X", "b", "o", "c", "v", "8.2f", "e", "g"},
		types.TFloat:  {"f", ".3f", "8.3f", "+.2e", "g", "G", "v", "x"},
		types.TBool:   {"t", "v", "6t"},
		types.TString: {"s", "10s", "-10s", ".3s", "q", "v", "x"},
		types.TTask:   {"v", "s"},
	}
	bad := map[*types.Type][]string{
		types.TInt:    {"", "s", "t", ".3", "dd", "d ", "%d", "999999999999d", "é"},
		types.TFloat:  {"d", "s", "3", "."},
		types.TBool:   {"d", "s"},
		types.TString: {"d", "f", ".3"},
		types.TTask:   {"d", "f"},
	}
	for typ, formats := range good {
		for _, f := range formats {
			if problem, _ := formatProblem(f, typ); problem != "" {
				t.Errorf("%q for %v: %s", f, typ, problem)
			}
		}
	}
	for typ, formats := range bad {
		for _, f := range formats {
			if problem, help := formatProblem(f, typ); problem == "" || help == "" {
				t.Errorf("%q for %v is accepted", f, typ)
			}
		}
	}
}
