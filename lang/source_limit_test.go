package lang_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// TestSourceLimit: a script and what it imports are refused before they are parsed
// when their text is longer than the host allows; entries of a session count alone.
func TestSourceLimit(t *testing.T) {
	module := "## A module.\nfunc one() -> int { return 1 }\n"
	script := "import \"m.spu\" as m\nprint(m.one())\n"
	files := lang.FSLoader(fstest.MapFS{"m.spu": {Data: []byte(module)}})
	both := int64(len(module) + len(script))
	for _, c := range []struct {
		name   string
		limits lang.Limits
		want   string // of the message; "" compiles
	}{
		{"none", lang.Limits{}, ""},
		{"both fit", lang.Limits{SourceBytes: both}, ""},
		{"the module does not", lang.Limits{SourceBytes: both - 1}, "with this module the script has 79 bytes, and the limit is 78"},
		{"the script does not", lang.Limits{SourceBytes: int64(len(script) - 1)}, "the script has 35 bytes, and the limit is 34"},
		{"little memory", lang.Limits{ScriptBytes: 1}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			comp, err := lang.NewCompiler(lang.Config{Loader: files, Limits: c.limits})
			if err != nil {
				t.Fatal(err)
			}
			_, ds := comp.Compile(context.Background(), "x.spu", []byte(script))
			said := ""
			if len(ds) > 0 {
				said = ds[0].Code + " " + ds[0].Message
			}
			if c.want == "" && said != "" || c.want != "" && said != "E0107 "+c.want {
				t.Errorf("%q, want %q", said, c.want)
			}
		})
	}

	s := newSession(t, lang.Config{Limits: lang.Limits{ScriptBytes: 32 << 20}}, newRuntime(t, engine.Options{Workers: 1}))
	for range 3 {
		if _, err := s.Eval(context.Background(), "let a = 1 "+strings.Repeat(" ", 100<<10)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Eval(context.Background(), "let a = 1 "+strings.Repeat(" ", 200<<10)); err == nil || !strings.Contains(err.Error(), "the limit is 131072") {
		t.Errorf("an entry of 200 KiB: %v", err)
	}
}
