package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/enginetest"
)

func TestService(t *testing.T) {
	s, err := newService(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.rt.Close()
	server := httptest.NewServer(s)
	defer server.Close()
	post := func(script string) (int, string) {
		t.Helper()
		r, err := http.Post(server.URL+"/run", "text/plain", strings.NewReader(script))
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		return r.StatusCode, string(text)
	}
	for _, c := range []struct {
		script, want string
		code         int
	}{
		{"print(6 * 7)", "42\n", http.StatusOK},
		{"import \"std/blas\" as blas\nregister x = vector[f64](4, fill = 1)\ninsert blas.scal(3.0, RW x)\nprint(x)", "vector[f64] 4: 3.0 3.0 3.0 3.0\n", http.StatusOK},
		{"print(nothing)", "error[E0201]: `nothing` is not defined", http.StatusBadRequest},
		{"print(\"so far\")\nassert 1 > 2", "so far\nerror[R0102]", http.StatusUnprocessableEntity},
		{"while true { }", "10000000 steps", http.StatusRequestEntityTooLarge},
		{"register x = vector[f64](1Gi, fill = 1)\nprint(x)", "bytes of registered data", http.StatusRequestEntityTooLarge},
		{"while true { print(\"endless\") }", "bytes of output", http.StatusRequestEntityTooLarge},
		{"print(1) #" + strings.Repeat(" ", maxSource), "a script may have", http.StatusRequestEntityTooLarge},
		{"import \"/etc/passwd\" as p", "error[E090", http.StatusBadRequest},
		{"register x = vector[f64](load = \"/etc/passwd\")\nprint(x)", "error[E0705]", http.StatusBadRequest}, // its ending is no format
		{"register x = vector[f64](load = \"/etc/passwd.csv\")\nprint(x)", "error[R0107]", http.StatusUnprocessableEntity},
	} {
		if code, text := post(c.script); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%.60q: status %d, want %d:\n%.300s\nwant: %s", c.script, code, c.code, text, c.want)
		}
	}

	// Many at once do not disturb each other.
	var all sync.WaitGroup
	for k := range 4 * maxRuns {
		all.Go(func() {
			script := fmt.Sprintf("codelet add(x: RW vector[f64]) { each i in x { x[i] += 1.0 } }\n"+
				"register x = vector[f64](8, fill = 0)\nfor i in 0..%d { insert add(RW x) }\nprint(x)", k)
			if code, text := post(script); code != http.StatusOK || !strings.HasPrefix(text, fmt.Sprintf("vector[f64] 8: %d.0 ", k)) {
				t.Errorf("script %d: status %d: %s", k, code, text)
			}
		})
	}
	all.Wait()
	if r, err := http.Get(server.URL); err != nil || r.StatusCode != http.StatusNotFound {
		t.Errorf("%v %v", r, err)
	}
}

// Scripts that compute for seconds do not keep others waiting, on two workers.
func TestFairShares(t *testing.T) {
	s, err := newService(engine.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.rt.Close()
	ctx, stop := context.WithCancel(context.Background())
	const bodies = `
codelet long(x: W vector[f64]) { each k in x { x[k] = sum i in 0..1_000_000_000 { 1.0 / (float(i) + 1.0) } } }
register x = vector[f64](3)
partition x by blocks(3)
for k in 0..3 { insert long(W x[k]) }
wait
`
	const small = `
codelet add(x: RW vector[f64]) { each i in x { x[i] += 1.0 } }
register x = vector[f64](10, fill = 0)
for k in 0..10 { insert add(RW x) }
print(x)
`
	var hog, others sync.WaitGroup
	hog.Go(func() {
		for ctx.Err() == nil {
			if _, err := s.run(ctx, []byte(bodies)); err != nil && ctx.Err() == nil && statusOf(err) != http.StatusRequestEntityTooLarge {
				t.Error(err) // that is its time limit
				return
			}
		}
	})
	enginetest.Eventually(t, "the others run", func() bool { return s.rt.Ready() >= 3 || t.Failed() })
	var mu sync.Mutex
	var waits, longest []time.Duration // of all, and the longest of each client
	for range maxRuns - 1 {
		others.Go(func() {
			most := time.Duration(0)
			for k := range 10 {
				begin := time.Now()
				out, err := s.run(context.Background(), []byte(small))
				if err != nil || !strings.HasPrefix(string(out), "vector[f64] 10: 10.0 ") {
					t.Errorf("%v: %s", err, out)
				}
				d := time.Since(begin)
				most = max(most, d)
				mu.Lock()
				waits = append(waits, d)
				mu.Unlock()
				time.Sleep(time.Duration(10+k) * time.Millisecond)
			}
			mu.Lock()
			longest = append(longest, most)
			mu.Unlock()
		})
	}
	others.Wait()
	stop()
	hog.Wait()
	slices.Sort(waits)
	slices.Sort(longest)
	typical := longest[len(longest)/2]
	t.Logf("%d scripts beside one that computes for seconds: median %v, median of the longest of each client %v, longest %v",
		len(waits), waits[len(waits)/2], typical, longest[len(longest)-1])
	if typical > 500*time.Millisecond { // a body takes more than a second
		t.Errorf("half of the clients have waited for %v or more", typical)
	}
}
