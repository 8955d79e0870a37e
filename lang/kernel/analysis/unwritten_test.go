package analysis_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

func TestUnwritten(t *testing.T) {
	for _, tt := range []struct{ sig, body, want string }{
		{"v: W vector[f64]", "each i in v { v[i] = 0 }", ""},
		{"v: W vector[f64]", "each i in 1..v.n { v[i] = 0 }", "its first element may stay unwritten"},
		{"v: W vector[f64]", "each i in 2..v.n { v[i] = 0 }", "its first elements may stay unwritten"},
		{"v: W vector[f64]", "each i in 0..v.n - 1 { v[i] = 0 }", "its last element may stay unwritten"},
		{"v: W vector[f64]", "each i in 1..v.n - 1 { v[i] = 0 }", "its first and last elements may stay unwritten"},
		{"v: W vector[f64]", "each i in 1..v.n { v[i] = 0 }\nv[0] = 1", ""},
		{"v: W vector[f64]", "each i in 1..v.n - 1 { v[i] = 0 }\nv[0] = 1", "its last element may stay unwritten"},
		{"v: W vector[f64]", "for i in 1..v.n { v[i] = 0 }", "its first element may stay unwritten"},
		{"v: RW vector[f64]", "each i in 1..v.n { v[i] = 0 }", ""},
		{"v: SCRATCH vector[f64]", "each i in 1..v.n { v[i] = 0 }", ""},
		{"v: W vector[f64], n: int", "each i in n..v.n { v[i] = 0 }", ""},
		{"v: W vector[f64]", "each i in 0..4 { v[i] = 0 }", ""},
		{"v: W vector[f64]", "v[0] = 1", ""},
		{"v: W vector[f64], x: R vector[f64]", "each i in 1..x.n { v[i] = 0 }", "its first element may stay unwritten"},
		{"v: W vector[f64], x: R vector[f64]", "each i in 2..x.n - 1 { v[i] = x[i] }", "its first elements may stay unwritten"},
		{"v: W vector[f64], x: R vector[f64]", "each i in 1..x.n - 1 { v[i] = x[i] }\nv[0] = 1", ""},
		{"v: W vector[f64], x: R vector[f64]", "for i in 1..x.n - 1 { v[i - 1] = x[i] }", ""},
		{"v: W vector[f64], x: R vector[f64]", "each i in 1..x.n - 1 { v[i] = x[i] }\nfor i in 0..x.n { v[i] = 2 }", ""},
		{"v: W vector[f64], x: R vector[f64]", "each i in 1..x.n - 1 { v[i] = x[i] }\nv[x.n - 1] = 1", ""},
		{"v: W vector[f64], n: int", "each i in 1..5 { v[i] = 0 }\nv[n] = 1", ""},
		{"v: W vector[f64], n: int", "each i in 1..n { v[i] = 0 }", "its first element may stay unwritten"},
		{"v: W vector[f64]", "each i in 1..5 { v[i] = 0 }", "its first element may stay unwritten"},
		{"v: W vector[f64]", "for i in 0..3 { v[v.n - 3 + i] = 0 }", ""},
		{"v: W vector[f64], n: int", "for i in 1..n { v[3 - i] = 0 }", ""},
		{"v: W vector[f64], n: int", "for i in 1..n { v[v.n - 1 - i] = 0 }", "its last element may stay unwritten"},
		{"v: W vector[f64], n: int", "each i in n..v.n - 1 { v[i] = 0 }", "its last element may stay unwritten"},
		{"v: W matrix[f64], x: R matrix[f64]", "each i, j in 1..x.rows - 1, 1..x.cols - 1 { v[i, j] = x[i, j] }", "its first row and first column may stay unwritten"},
		{"v: W matrix[f64], x: R matrix[f64]", "each i, j in 0..x.rows, 1..x.cols { v[i, j] = x[i, j] }", "its first column may stay unwritten"},
		{"v: W matrix[f64], x: R matrix[f64]", "each i, j in 1..x.rows, 0..x.cols { v[i, j] = x[i, j] }\nfor j in 0..x.cols { v[0, j] = 0 }", ""},
		{"v: W vector[f64], x: R vector[f64]", "each i in x { v[i] = 0 }", ""},
		{"v: W matrix[f64]", "each i, j in 1..v.rows - 1, 1..v.cols - 1 { v[i, j] = 0 }", "its first and last rows and columns may stay unwritten"},
		{"v: W matrix[f64]", "each i, j in 1..v.rows, 0..v.cols - 1 { v[i, j] = 0 }", "its first row and last column may stay unwritten"},
		{"v: W matrix[f64]", "each i in 0..v.rows { for j in 0..v.cols { v[i, j] = 0 } }", ""},
		{"v: W matrix[f64]", "for i in 0..v.rows { for j in i..v.cols { v[i, j] = 0 } }", ""},
		{"v: W variable[f64]", "v = 0", ""},
		{"v: W variable[f64], x: RW vector[f64]", "x[0] = 1", "its body never writes it"},
		{"v: W vector[f64]", "", ""},

		// shares of the size
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[i] = 0 }", "its last elements may stay unwritten"},
		{"v: W vector[f64]", "for i in 0..(v.n + 1) // 2 { v[i] = 0 }", "its last elements may stay unwritten"},
		{"v: W vector[f64]", "for i in 0..=v.n // 2 { v[i] = 0 }", "its last elements may stay unwritten"},
		{"v: W vector[f64]", "let h = v.n // 2\neach i in 0..h { v[i] = 0 }", "its last elements may stay unwritten"},
		{"v: W vector[f64]", "for i in v.n // 2..v.n { v[i] = 0 }", "its first elements may stay unwritten"},
		{"v: W vector[f64]", "for i in v.n // 4..v.n - v.n // 4 { v[i] = 0 }", "its first and last elements may stay unwritten"},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[v.n - 1 - i] = 0 }", "its first elements may stay unwritten"},
		{"v: W vector[f64]", "for i in 0..v.n { v[v.n - 1 - i] = 0 }", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[i] = 0\nv[v.n - 1 - i] = 0 }", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[i] = 0\nv[i + v.n // 2] = 0 }", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[i] = 0 }\nfor i in v.n // 2..v.n { v[i] = 1 }", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[i] = 0 }\nv[v.n - 1] = 1", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[i] = 0 }\nv[0] = 1", "its last elements may stay unwritten"},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[i] = 0 }\nfor i in 0..v.n // 4 { v[i] = 0 }", "its last elements may stay unwritten"},
		{"v: W vector[f64]", "for i in 0..4 * (v.n // 4) { v[i] = 0 }", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 1 { v[i] = 0 }", ""},
		{"v: W vector[f64]", "for i in 0..0 - -v.n // 2 * 2 { v[i] = 0 }", ""},
		{"v: W vector[f64], x: R vector[f64]", "for i in 0..x.n // 2 { v[i] = x[2 * i] }", ""},
		{"v: W vector[f64], x: R vector[f64]", "for i in 0..v.n - x.n // 2 { v[i] = 0 }", ""},
		{"v: W vector[f64], k: int", "for i in 0..v.n // k { v[i] = 0 }", ""},
		{"v: W vector[f64], k: int", "for b in 0..k { for i in 0..v.n // 2 { v[b * (v.n // 2) + i] = 0 } }", ""},
		{"v: W vector[f64]", "for b in 0..2 { for i in 0..v.n // 2 { v[b * (v.n // 2) + i] = 0 } }", ""},
		{"v: W matrix[f64]", "for i in 0..v.rows // 2 { for j in 0..v.cols { v[i, j] = 0 } }", "its last rows may stay unwritten"},
		{"v: W matrix[f64]", "for i in 0..v.rows { for j in 0..v.rows // 2 { v[i, j] = 0 } }", ""},

		// steps
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[2 * i] = 0 }", "its body writes only 1 of every 2 elements"},
		{"v: W vector[f64]", "for i in 0..v.n // 3 { v[3 * i] = 0\nv[3 * i + 2] = 0 }", "its body writes only 2 of every 3 elements"},
		{"v: W vector[f64]", "for i in 0..v.n // 3 { v[3 * i] = 0\nif i > 1 { v[3 * i - 3] = 1 } }", "its body writes only 1 of every 3 elements"},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[2 * i] = 0\nv[2 * i + 1] = 0 }", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[2 * i] = 0\nv[v.n - 1 - 2 * i] = 0 }", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { for k in 0..2 { v[2 * i + k] = 0 } }", ""},
		{"v: W vector[f64], k: int", "for i in 0..v.n // 2 { v[2 * i + k] = 0 }", ""},
		{"v: W vector[f64]", "for i in 0..v.n // 2 { v[2 * i] = 0 }\nfor i in 0..v.n { v[i] = 1 }", ""},
		{"v: W matrix[f64]", "for i in 0..v.rows { for j in 0..v.cols // 2 { v[i, 2 * j] = 0 } }", "its body writes only 1 of every 2 columns"},
	} {
		got := ""
		if ds := kerneltest.Check(t, "codelet c("+tt.sig+") {\n"+tt.body+"\n}\n"); len(ds) > 0 {
			got = strings.TrimPrefix(ds[0].Message, "`v` is declared W, but ")
			if ds[0].Code != "W0606" || ds[0].Severity != diag.Warning {
				t.Errorf("%s: %v", tt.body, ds)
			}
		}
		if got != tt.want {
			t.Errorf("%s\n got  %s\n want %s", tt.body, got, tt.want)
		}
	}
}

// TestUnwrittenHolds runs bodies with a W0606 and checks, for every size, that they leave the
// elements unwritten that the message names.
func TestUnwrittenHolds(t *testing.T) {
	from := []string{"0", "1", "v.n // 2", "v.n // 3 + 1", "v.n - v.n // 4"}
	to := []string{"v.n", "v.n - 1", "v.n // 2", "(v.n + 1) // 2", "v.n // 3 * 3", "2 * (v.n // 2)", "v.n - v.n // 3", "(v.n - 1) // 2 + v.n // 2", "-(-v.n // 2)"}
	at := []string{"i", "v.n - 1 - i", "i + v.n // 2", "i - v.n // 3", "2 * i", "3 * i + 1", "v.n - 2 * i"}
	said := map[string]int{}
	for k := range len(from) * len(to) * len(at) {
		var body strings.Builder
		for _, k := range []int{k, k * 7 % (len(from) * len(to) * len(at)), k * 11 % 97}[:1+k%3] {
			place := at[k/len(from)/len(to)%len(at)]
			fmt.Fprintf(&body, "for i in %s..%s {\nif %s >= 0 and %s < v.n { v[%s] = 1 }\n}\n", from[k%len(from)], to[k/len(from)%len(to)], place, place, place)
		}
		ds := kerneltest.Check(t, "codelet c(v: W vector[f64]) {\n"+body.String()+"}\n")
		if len(ds) == 0 {
			continue
		}
		if ds[0].Code != "W0606" {
			t.Fatalf("%v\n%s", ds, body.String())
		}
		p := cpu.Compile(kerneltest.Lowered(t, "codelet c(v: RW vector[f64]) {\n"+body.String()+"}\n", nil))
		for n := 4; n < 30; n++ {
			v := make([]float64, n)
			if err := p.Run(context.Background(), kerneltest.Buffers(kerneltest.VectorOf(v)), nil); err != nil {
				t.Fatal(err)
			}
			for what, left := range map[string]bool{"first": v[0] == 0, "last": v[n-1] == 0, "only": n < 9 || slices.Contains(v, 0)} {
				if strings.Contains(ds[0].Message, what) {
					said[what]++
					if !left {
						t.Errorf("%s\n%s\nof %d: %v", ds[0].Message, body.String(), n, v)
					}
				}
			}
		}
	}
	if said["first"] < 1000 || said["last"] < 1000 || said["only"] < 100 {
		t.Errorf("too little to look at: %v", said)
	}
}
