package repl

import "testing"

func TestOneLine(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"let a = 1", "let a = 1"},
		{" hidden\n# x", " hidden"},
		{"for b in 0..16 {\n    insert f(RW x[b])\n}", "for b in 0..16 { insert f(RW x[b]) }"},
		{"if a {\n  f()\n  g()   # twice\n} else {\n  h()\n}", "if a { f(); g() } else { h() }"},
		{"insert f(\n    R x,\n    W y\n)\n    with priority = 3", "insert f(R x, W y) with priority = 3"},
		{"let s = \"# no comment {\"\nprint(s)", "let s = \"# no comment {\"; print(s)"},
		{"let a = 1 +\n2", "let a = 1 + 2"},
		{"let a = b and\nc\n  or d", "let a = b and c or d"},
		{"let a = if x\n then 1\n else 2", "let a = if x then 1 else 2"},
		{"func f() -> int {\n\n    # why\n    return 1\n}\nf()", "func f() -> int { return 1 }; f()"},
		{"let l = [\n  1,\n  2,\n]", "let l = [1, 2,]"},
		{"band\nx", "band; x"},
	} {
		if got := oneLine(tt.in); got != tt.want {
			t.Errorf("oneLine(%q)\n got %q\nwant %q", tt.in, got, tt.want)
		}
	}
}
