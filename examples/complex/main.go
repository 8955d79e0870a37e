// Command complex computes with complex numbers in two arrays, one for the real parts and one
// for the imaginary parts, which are registered as one: tasks order, copy and lock both together.
//
//	go run ./examples/complex
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/starpush/starpush/engine"
)

// Numbers are complex numbers. Each of its slices is an array of the data.
type Numbers struct{ Re, Im []float64 }

// rotate multiplies all numbers by cos + i sin.
func rotate(z Numbers, cos, sin float64) {
	for i, re := range z.Re {
		z.Re[i] = re*cos - z.Im[i]*sin
		z.Im[i] = re*sin + z.Im[i]*cos
	}
}

// multiply multiplies the numbers of p by those of z.
func multiply(p, z Numbers) {
	for i, re := range p.Re {
		p.Re[i] = re*z.Re[i] - p.Im[i]*z.Im[i]
		p.Im[i] = re*z.Im[i] + p.Im[i]*z.Re[i]
	}
}

// one makes all numbers 1, with which products begin.
func one(z Numbers) {
	for i := range z.Re {
		z.Re[i], z.Im[i] = 1, 0
	}
}

func main() {
	z, product, err := run(context.Background(), engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	print := func(what string, z Numbers) {
		for i := range z.Re {
			fmt.Printf("%s[%d] = %g%+gi\n", what, i, z.Re[i], z.Im[i])
		}
	}
	print("z", z)
	print("product", product)
}

// run turns three numbers by a quarter, four times, and multiplies what they were after each.
func run(ctx context.Context, o engine.Options) (z, product Numbers, err error) {
	fail := func(err error) (Numbers, Numbers, error) { return Numbers{}, Numbers{}, err }
	rt, err := engine.New(o)
	if err != nil {
		return fail(err)
	}
	defer rt.Close()
	job := rt.NewJob(ctx, engine.JobOptions{})
	defer job.Close()

	x, err := engine.NewArrays(rt, Numbers{Re: []float64{1, 2, 3}, Im: []float64{2, 1, -2}}, engine.Name("z"))
	if err != nil {
		return fail(err)
	}
	// Contributions to the product are complex products: each combines both arrays.
	p, err := engine.NewArrays(rt, Numbers{Re: []float64{1, 1, 1}, Im: make([]float64, 3)}, engine.ReduceArrays("product", one, multiply))
	if err != nil {
		return fail(err)
	}
	for range 4 {
		if err := job.Go(rotate, engine.RW(x), 0.0, 1.0); err != nil {
			return fail(err)
		}
		if err := job.Go(multiply, engine.Redux(p), engine.R(x)); err != nil {
			return fail(err)
		}
	}
	if z, err = x.Value(ctx, job); err != nil {
		return fail(err)
	}
	product, err = p.Value(ctx, job)
	return z, product, err
}
