package repl

// How long several runs of the same thing take.

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/starpush/starpush/lang"
)

// Times sums up how long several runs took.
type Times struct {
	Min, Median, Mean, Deviation, Max time.Duration
}

// TimesOf sums up a sample, which has one run at least. Deviation is the standard
// deviation of the sample, 0 for one run.
func TimesOf(runs []time.Duration) Times {
	sorted := slices.Sorted(slices.Values(runs))
	n := len(sorted)
	mean, square := 0.0, 0.0
	for _, d := range runs {
		mean += float64(d) / float64(n)
	}
	for _, d := range runs {
		square += (float64(d) - mean) * (float64(d) - mean)
	}
	return Times{
		Min: sorted[0], Max: sorted[n-1],
		Median:    (sorted[(n-1)/2] + sorted[n/2]) / 2,
		Mean:      time.Duration(mean),
		Deviation: time.Duration(math.Sqrt(square / float64(max(n-1, 1)))),
	}
}

// String writes t for a person.
func (t Times) String() string {
	return fmt.Sprintf("least %s, median %s, mean %s ± %s, largest %s",
		duration(t.Min), duration(t.Median), duration(t.Mean), duration(t.Deviation), duration(t.Max))
}

// benchRuns is how often :bench runs a statement.
const benchRuns = 10

// bench runs a statement several times, each time with its tasks.
func (s *Shell) bench(ctx context.Context, src string) {
	if strings.TrimSpace(src) == "" {
		s.usage("bench")
		return
	}
	if s.settle() != nil {
		return
	}
	before := s.Session.Stats()
	if _, _, err := s.supervise(ctx, func(ctx context.Context) (lang.Result, error) { return lang.Result{}, s.Session.Wait(ctx) }); err != nil {
		s.fail("wait", before, err)
		return
	}
	if s.Listen != nil && s.tracing == nil { // nobody listens to what is measured
		if err := s.Listen(nil); err == nil {
			defer s.listen(ctx, nil)
		}
	}
	var runs []time.Duration
	tasks := 0
	for range benchRuns + 1 {
		before := s.Session.Stats()
		res, took, err := s.supervise(ctx, func(ctx context.Context) (lang.Result, error) {
			res, err := s.Session.Eval(ctx, src)
			if err == nil {
				err = s.Session.Wait(ctx)
			}
			return res, err
		})
		if err != nil {
			s.fail(src, before, err)
			return
		}
		tasks = res.Inserted
		runs = append(runs, took)
	}
	runs = runs[1:] // the first fills caches
	s.say("%d runs with their tasks: %v", len(runs), TimesOf(runs))
	if tasks > 0 {
		fmt.Fprintf(s.Out, "%s a run, %s for each\n", plural(int64(tasks), "task"), duration(TimesOf(runs).Median/time.Duration(tasks)))
	}
}
