// Planted breaks the protocols of the engine one at a time and checks that its
// tests notice: `make planted`, or `go run ./tests/planted [flags] [name...]`
// in the repository.
//
// A fault is a few characters of source changed (see faults.go). It is built
// with the overlay of the go command, so the source stays as it is.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"time"
)

func main() {
	quick := flag.Duration("quick", 10*time.Second, "run random programs for this long before the other tests")
	limit := flag.Duration("limit", 5*time.Minute, "how long one run of tests may take; one that takes longer hangs")
	trust := flag.Bool("trust", false, "do not run the tests without any fault first")
	list := flag.Bool("list", false, "list the faults and what they break")
	flag.Parse()
	if *list {
		for _, f := range faults {
			fmt.Printf("%-24s %s: %s\n", f.name, f.file, f.breaks)
		}
		return
	}
	r := &runner{root: ".", quick: *quick, limit: *limit, trust: *trust}
	if err := r.run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "planted:", err)
		os.Exit(1)
	}
}

// run plants the faults with the given names, or all of them.
func (r *runner) run(names []string) error {
	for _, n := range names {
		if !slices.ContainsFunc(faults, func(f fault) bool { return f.name == n }) {
			return fmt.Errorf("there is no fault %q; -list lists them", n)
		}
	}
	if !r.trust {
		if err := r.healthy(); err != nil {
			return err
		}
	}
	var missed []string
	planted := 0
	for i := range faults {
		f := &faults[i]
		if len(names) > 0 && !slices.Contains(names, f.name) {
			continue
		}
		planted++
		began := time.Now()
		by, err := r.plant(f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if by == "" {
			missed = append(missed, f.name)
			by = "NOT NOTICED"
		}
		fmt.Printf("%-24s %6.1fs  %s\n", f.name, time.Since(began).Seconds(), by)
	}
	if len(missed) > 0 {
		return fmt.Errorf("%d of %d faults were not noticed: %v", len(missed), planted, missed)
	}
	fmt.Printf("all %d faults were noticed\n", planted)
	return nil
}
