package grain

import (
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// TestTemporaryData: handles of data that has ended are not kept, but counted.
func TestTemporaryData(t *testing.T) {
	const rounds = 5 * fewPieces
	script := []byte(`codelet set(v: W vector[f64]) { each i in v { v[i] = 1.0 } }
register last = vector[f64](8)
for i in 0..5120 {
    register x = vector[f64](8)
    partition x by halves()
    insert set(W x[1])
}
insert set(W last)
wait
`)
	prog, ds := lang.Must(lang.NewCompiler(lang.Config{})).Compile(t.Context(), "s.spu", script)
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	l := &Listener{}
	rt := lang.Must(engine.New(engine.Options{Workers: 1, Listener: l}))
	defer rt.Close()
	inst, err := prog.Run(t.Context(), rt, lang.ObserveViews(l.View))
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.mu.names.of); n > 2*fewPieces || l.mu.names.count() != rounds {
		t.Errorf("%d names of %d views are kept", n, l.mu.names.count())
	}
	for at, s := range l.mu.sites {
		p := &s.ops[0].pieces
		if n := len(p.of); n > 2*fewPieces || at.Line == 6 && p.count() != rounds {
			t.Errorf("line %d: %d pieces of %d are kept", at.Line, n, p.count())
		}
	}
}
