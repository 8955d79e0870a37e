package simulate

// Lower bounds: times that no policy can go below.

import (
	"encoding/binary"
	"math"
	"slices"
)

// Bound is the least time that any schedule takes, and why.
type Bound struct {
	Path    float64 // the longest path of tasks, each where it is fastest
	Area    float64 // all work, shared among the workers in the best possible way; of the computer with the most
	Seconds float64 // the larger
}

// Bound returns a lower bound of the time of any schedule of the program on the machine: it knows nothing of copies, messages and the time to
// submit tasks, so no policy may reach it.
//
// Area is the value of a linear program: tasks of one length vector may be shared between kinds of workers, and no kind may have more than its
// workers can do. By duality any prices of the kinds give a bound, and the best prices are looked for, so it is below the optimum of
// the linear program by a small part, and never above it.
func (r *Result) Bound() (b Bound) {
	p, m := r.p, r.m
	classes, _ := m.classes()
	g := p.Graph
	end := make([]float64, len(g.Tasks))
	length := make([]float64, len(classes))
	type kind struct {
		length []float64
		n      float64
	}
	var key []byte
	kinds := make([]map[string]*kind, m.Computers)
	for i := range g.Tasks {
		t := &g.Tasks[i]
		for _, d := range t.Deps {
			end[i] = max(end[i], end[d])
		}
		if t.Light() || t.Internal == sendTask {
			continue
		}
		best := math.Inf(1)
		for c := range classes {
			length[c], _ = classes[c].estimate(t)
			if length[c] >= 0 {
				best = min(best, length[c])
			}
		}
		if math.IsInf(best, 1) {
			continue // the simulation says so
		}
		end[i] += best
		b.Path = max(b.Path, end[i])
		rank := int32(0)
		if p.rank != nil {
			rank = p.rank[i]
		}
		if kinds[rank] == nil {
			kinds[rank] = map[string]*kind{}
		}
		weight := 1.0
		if t.Workers > 1 { // it takes that many workers, at most as long
			weight = float64(t.Workers)
		}
		key = key[:0]
		for _, s := range append(length, weight) {
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(s))
		}
		k := kinds[rank][string(key)]
		if k == nil {
			k = &kind{length: slices.Clone(length)}
			kinds[rank][string(key)] = k
		}
		k.n += weight
	}
	for _, of := range kinds {
		var all []*kind
		var keys []string
		for k := range of {
			keys = append(keys, k)
		}
		slices.Sort(keys) // sums in the same order every time
		for _, k := range keys {
			all = append(all, of[k])
		}
		value := func(price []float64) (sum float64) {
			total := 0.0
			for c := range classes {
				total += price[c] * float64(classes[c].count)
			}
			for _, k := range all {
				least := math.Inf(1)
				for c, s := range k.length {
					if s >= 0 {
						least = min(least, price[c]*s)
					}
				}
				sum += k.n * least
			}
			return sum / total
		}
		b.Area = max(b.Area, bestPrices(len(classes), value))
	}
	b.Seconds = max(b.Path, b.Area)
	return b
}

// bestPrices looks for the prices with the largest value, which is quasi-concave in each logarithm: one price at a time, again and again.
func bestPrices(n int, value func([]float64) float64) float64 {
	price := make([]float64, n)
	for c := range price {
		price[c] = 1
	}
	best := value(price)
	for range 8 {
		before := best
		for c := range price {
			at := func(x float64) float64 {
				old := price[c]
				price[c] = math.Exp2(x)
				v := value(price)
				price[c] = old
				return v
			}
			lo, hi := math.Log2(price[c])-20, math.Log2(price[c])+20
			for range 60 {
				a, b := lo+(hi-lo)/3, hi-(hi-lo)/3
				if at(a) < at(b) {
					lo = a
				} else {
					hi = b
				}
			}
			if x := (lo + hi) / 2; at(x) > best {
				best = at(x)
				price[c] = math.Exp2(x)
			}
		}
		if n < 2 || best <= before*(1+1e-9) {
			break
		}
	}
	return best
}
