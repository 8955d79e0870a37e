package main

import "strings"

// row is one line of a table: what every runtime is asked for, and what the
// project wants to reach.
type row struct {
	key   string // for only= and for JSON
	label string
	args  []string // workload and key=value pairs
	goal  [2]float64
}

// Goals of overhead rows are µs per task through the Go API and from a script; 0
// where there is none. They hold for 2 cores and 2 workers.
var overheadRows = []row{
	{"independent", "independent, no data", []string{"independent"}, [2]float64{0.08, 0.25}},
	{"chain", "chain, RW one vector", []string{"chain"}, [2]float64{0.08, 0.28}},
	{"fanout", "fanout, 1 W + 63 R", []string{"fanout"}, [2]float64{0.08, 0.28}},
	{"random", "random, R R RW of 1024 handles", []string{"random"}, [2]float64{0.20, 0.45}},
	{"random-4", "random, 4 fragments a handle", []string{"random", "frags=4"}, [2]float64{0.45, 0}},
	{"random-16", "random, 16 fragments a handle", []string{"random", "frags=16"}, [2]float64{1.0, 0}},
	{"commute", "commute, one variable", []string{"commute"}, [2]float64{0.25, 0.45}},
	{"redux", "redux, one variable", []string{"redux"}, [2]float64{0.20, 0.40}},
	{"stencil", "stencil, 16 wide", []string{"stencil"}, [2]float64{0.25, 0.60}},
	{"stencilhalo", "stencil, halo views", []string{"stencilhalo"}, [2]float64{0.35, 0.70}},
}

// metgRow is measured in another way, see metg.go.
var metgRow = row{key: "metg", label: "METG(50 %) of stencil, µs", args: []string{"stencil"}, goal: [2]float64{0.6, 0}}

// Goals of dense rows are shares: of StarPU's GFLOP/s, and of the limit.
var denseRows = []row{
	{"cholesky-s-320", "Cholesky f32, 24 × 24 tiles of 320", []string{"cholesky", "nb=24", "b=320", "p=s"}, [2]float64{1, 0.88}},
	{"cholesky-d-192", "Cholesky f64, 24 × 24 tiles of 192", []string{"cholesky", "nb=24", "b=192", "p=d"}, [2]float64{1.05, 0}},
	{"cholesky-d-64", "Cholesky f64, 48 × 48 tiles of 64", []string{"cholesky", "nb=48", "b=64", "p=d"}, [2]float64{1.4, 0}},
	{"cholesky-d-32", "Cholesky f64, 64 × 64 tiles of 32", []string{"cholesky", "nb=64", "b=32", "p=d"}, [2]float64{2.5, 0}},
	{"gemm-d-320", "GEMM f64, 10 × 10 tiles of 320", []string{"gemm", "nb=10", "b=320", "p=d"}, [2]float64{0, 0.97}},
}

// limitRow is the limit of a dense row: products of its tile.
func limitRow(r *row) *row {
	args := []string{"limit"}
	for _, a := range r.args {
		if key, _, _ := strings.Cut(a, "="); key == "nb" || key == "b" || key == "p" {
			args = append(args, a)
		}
	}
	return &row{key: "limit-" + r.key, args: args}
}
