package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
)

// samples are the measurements of all rows by all sides.
type samples struct {
	all    map[sampleKey][]result
	failed map[sampleKey]error
}

type sampleKey struct{ row, side, variant string }

func keyOf(r *row, s *side) sampleKey { return sampleKey{r.key, s.name, s.variant} }

// collect runs every row on every side, in turn, rounds times. A side that fails
// on a row is not asked for that row again.
func collect(ctx context.Context, progress io.Writer, rows []*row, sides []*side, rounds int) (*samples, error) {
	out := &samples{all: map[sampleKey][]result{}, failed: map[sampleKey]error{}}
	for round := range rounds {
		for i, r := range rows {
			fmt.Fprintf(progress, "\rround %d of %d: %d of %d  ", round+1, rounds, i+1, len(rows))
			// The order changes, so that no sample always follows the same one.
			for k := range sides {
				s := sides[(k+round)%len(sides)]
				key := keyOf(r, s)
				if !s.has(r) || out.failed[key] != nil {
					continue
				}
				m, err := s.run(ctx, r.args...)
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				if err != nil {
					out.failed[key] = err
					fmt.Fprintf(progress, "\n%s %s, %s: %v\n", s.name, s.variant, r.key, err)
					continue
				}
				out.all[key] = append(out.all[key], m)
			}
		}
	}
	fmt.Fprintln(progress)
	return out, nil
}

// median returns the measurement in the middle, by time per task; false when
// there is none. Of an even number it is the slower one in the middle.
func median(rs []result) (result, bool) {
	if len(rs) == 0 {
		return result{}, false
	}
	rs = slices.SortedFunc(slices.Values(rs), func(a, b result) int { return cmp.Compare(a.USPerTask, b.USPerTask) })
	return rs[len(rs)/2], true
}

// best returns the median of the fastest variant of a side, and which it is.
func (s *samples) best(rowKey, name string) (m result, variant string, ok bool) {
	for key, rs := range s.all {
		if key.row != rowKey || key.side != name {
			continue
		}
		if x, any := median(rs); any && (!ok || cmp.Or(cmp.Compare(x.USPerTask, m.USPerTask), cmp.Compare(key.variant, variant)) < 0) {
			m, variant, ok = x, key.variant, true
		}
	}
	return m, variant, ok
}
