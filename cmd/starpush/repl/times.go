package repl

// How long several runs of the same thing take.

import (
	"fmt"
	"math"
	"slices"
	"time"
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
