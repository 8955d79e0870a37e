package main

// Rows of the table of bodies with several workers and with short tasks: machine code beside strips, which it
// must not lose to.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// shortTask is how many elements a short task has, about: a row of a matrix has as many.
const shortTask = 1024

// Rows that do little else than load and store have so little data in short tasks that it stays in
// a core's own caches: the memory of the machine takes as long for machine code as for strips.
const (
	nearVector = 16 * shortTask // elements of a vector
	nearMatrix = 128            // rows, and columns, of a matrix
	shortTasks = 4096           // of a row in all, about
)

// streams reports whether the row does little else than load and store.
func (r kernelRow) streams() bool {
	switch r.name {
	case "copy", "axpy", "triad", "dot", "gather", "scatter", "spmv", "histogram", "rowsums", "transpose":
		return true
	}
	return false
}

// isMatrix reports whether the data of the row has n rows and n columns.
func (r kernelRow) isMatrix() bool {
	switch r.name {
	case "mandel", "matmul", "stencil", "rowsums", "transpose", "blur":
		return true
	}
	return false
}

// split returns the row for a number of workers, in eight tasks for each of them or in short tasks.
func (r kernelRow) split(workers int, short bool) kernelRow {
	r.workers = workers
	elements := r.n
	// Other programs of the machine interrupt some tasks for longer than they take.
	r.least = r.name != "mandel" && r.name != "montecarlo" // whose tasks differ
	switch r.name {
	case "nbody": // n / 256 bodies
		elements /= 256
	case "montecarlo":
		elements /= 16
	case "spmv":
		elements /= 8
	}
	switch {
	case short && r.name == "mandel": // tiles
		r.parts = r.n / 32
	case short && r.streams():
		r.n, r.passes = min(r.n, nearVector), shortTasks*shortTask/nearVector
		r.parts = max(1, r.n/shortTask)
		if r.isMatrix() {
			r.n = min(r.n, nearMatrix)
			r.parts = max(1, r.n*r.n/shortTask)
			r.passes = shortTasks / r.parts
		}
	case short && r.name == "blur": // four rows; it writes two of them
		r.n = min(r.n, shortTask)
		r.parts = max(1, r.n/4)
	case short && r.isMatrix():
		r.n = min(r.n, shortTask)
		r.parts = r.n
	case short:
		r.parts = max(1, elements/shortTask)
	case r.name == "mandel":
		r.parts = 8
	default:
		r.parts = min(8*workers, elements)
	}
	return r
}

// tierGoal is the least quotient of strips' time by that of machine code, with what two runs of the same
// code may differ by.
const tierGoal = 0.95

// compareTiers measures and prints the rows without C.
func compareTiers(ctx context.Context, w, progress io.Writer, o *options, rows []kernelRow, tools *kernelTools, notes []string) error {
	if !tools.native {
		return &missing{"machine code", "libLLVM", errors.New(strings.Join(notes, "; "))}
	}
	t := &table{
		title: fmt.Sprintf("Bodies of codelets as machine code and in strips, ms in the codelet, %d workers", o.workers),
		head:  []string{"row", "tasks of a pass", "native", "strips", "strips / native"},
	}
	enc, sum := json.NewEncoder(w), 0.0
	var below, differs []string
	for i, r := range rows {
		fmt.Fprintf(progress, "\r%d of %d: %s          ", i+1, len(rows), r.key())
		res, err := tools.measureKernel(ctx, r, o.rounds, kernelSides[:2])
		if err != nil {
			return err
		}
		if res.Differs != "" {
			differs = append(differs, res.Differs)
		}
		if o.json {
			if err := enc.Encode(res); err != nil {
				return err
			}
			continue
		}
		native, strips := res.Seconds["native"], res.Seconds["strips"]
		quotient := strips / native
		sum += math.Log(quotient)
		if quotient < tierGoal {
			below = append(below, fmt.Sprintf("%s (%.2f)", res.Row, quotient))
		}
		tasks := r.parts
		if r.name == "mandel" {
			tasks *= r.parts
		}
		t.add(res.Row, fmt.Sprint(tasks), fmt.Sprintf("%.3f", 1e3*native), fmt.Sprintf("%.3f", 1e3*strips), fmt.Sprintf("%.2f ×", quotient))
	}
	fmt.Fprintln(progress)
	if !o.json {
		t.notes = append(t.notes, fmt.Sprintf("Geometric mean: %.2f ×.", math.Exp(sum/float64(len(rows)))))
		if len(below) > 0 {
			t.notes = append(t.notes, "Machine code loses to strips: "+strings.Join(below, ", ")+".")
		}
		t.notes = append(t.notes, machineNotes(ctx, fmt.Sprintf("best of %d, in turn", o.rounds))...)
		if err := t.write(w, o.markdown); err != nil {
			return err
		}
	}
	if len(differs) > 0 {
		return errors.New("results differ: " + strings.Join(differs, ""))
	}
	return nil
}
