package isolate

import (
	"runtime"
	"testing"
)

func TestCall(t *testing.T) {
	for name, c := range map[string]struct {
		fn   func()
		want bool
	}{
		"returns": {func() {}, true},
		"panics":  {func() { panic("no") }, false},
		"nil":     {func() { panic(nil) }, false},
		"ends":    {runtime.Goexit, false},
	} {
		if got := Call(c.fn); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	n := 0
	if Call(func() { n = 1 }); n != 1 {
		t.Error("the function was not called")
	}
}

func BenchmarkCall(b *testing.B) {
	n := 0
	for b.Loop() {
		Call(func() { n++ })
	}
}
