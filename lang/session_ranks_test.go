package lang_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/lang"
)

// leadSession calls fn with the session of rank 0 of n, which the others follow, and returns what each rank printed.
func leadSession(t *testing.T, n int, fn func(*lang.Session)) (printed []string) {
	t.Helper()
	printed = make([]string, n)
	dir := t.TempDir()
	var group sync.WaitGroup
	for r, end := range cluster.Local(n) {
		group.Go(func() {
			rt, c := rankOf(dir, picky(), slowly())
			defer rt.Close()
			var out bytes.Buffer
			s := c.NewSession(rt, lang.Stdout(&out), lang.Ranks(end))
			switch {
			case r > 0:
				if _, err := s.Eval(context.Background(), "1"); !errors.Is(err, lang.ErrFollows) {
					t.Errorf("Eval of rank %d: %v", r, err)
				}
				if err := s.Follow(context.Background()); err != nil {
					t.Errorf("rank %d: %v", r, err)
				}
			default:
				fn(s)
				if err := s.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}
			printed[r] = out.String()
		})
	}
	group.Wait()
	return printed
}

// slowly returns a codelet that runs until it is cancelled.
func slowly() *lang.Codelet {
	return lang.Must(lang.NewCodelet("slowly(x: RW vector[f64])", lang.CPU(func(c *lang.Task) error {
		<-c.Context().Done()
		return c.Context().Err()
	})))
}

// TestSessionOnRanks: a session on several ranks gives what it gives on one, also after entries that fail.
func TestSessionOnRanks(t *testing.T) {
	entries := []string{
		"1 + 2",
		"codelet add(x: RW vector[f64], k: int) { each i in x { x[i] += float(k + i) } }",
		"codelet total(x: R vector[f64], s: RW variable[f64]) { for i in 0..x.n { s += x[i] } }",
		"codelet bad(x: RW vector[f64], k: int) { each i in x { x[i] = float(1 // k) } }",
		"register x = vector[f64](24, fill = 1); partition x by blocks(6)",
		"for k in 0..5 { for b in 0..6 { insert add(RW x[b], k) with rank = b } }",
		"x",
		"register s = variable[f64](fill = 0, reduce = sum)",
		"for b in 0..6 { insert total(R x[b], REDUX s) }",
		"value(s)",
		"nonsense(",
		"let l = [1, 2]; print(\"before\"); l[5]",
		"print(value(s))",
		"insert bad(RW x[3], 0) with rank = 1",
		"acquire R s as v { print(v[0]) }", // time for the task to fail
		"wait",
		"print(x[0]); print(x)",
		"insert add(RW x[2], 1) with rank = 2, sync = true",
		"func f(n: int) -> int { return n * n }",
		"register x = vector[f64](4, fill = 3)",
		"for r in 0..3 { insert add(RW x, r) with rank = r }",
		"acquire RW x as a { a[0] = 9.0; a[1] }",
		"x",
		"f(int(value(s)) % 10)",
	}
	type step struct {
		Value, Show, Part string
		Inserted          int
		Failed            bool
		Lost              []string
	}
	run := func(n int) (steps []step, printed string) {
		all := leadSession(t, n, func(s *lang.Session) {
			for _, src := range entries {
				s.Lost() // as a prompt does, which reports no failure
				res, err := s.Eval(context.Background(), src)
				show, _ := s.Show("x", 1, 3)
				part, _ := s.ShowPart("x", [2]int{0, 2})
				steps = append(steps, step{res.Value, show, part, res.Inserted, err != nil, s.Lost()})
			}
			if p, err := s.Plan(context.Background(), "insert add(RW x, 1)"); err != nil || p == nil {
				t.Errorf("Plan: %v", err)
			}
			if err := s.Reset(true); err != nil {
				t.Errorf("Reset: %v", err)
			}
			if err := s.SetDeterministic(true); err != nil {
				t.Errorf("SetDeterministic: %v", err)
			}
			res, err := s.Load(context.Background(), "t.spu", []byte("param k: int = 1\nregister y = vector[f64](3, fill = k)\ninsert add(RW y, 1) with rank = 1\nprint(y, f(k))\n"), lang.Param("k", 5))
			steps = append(steps, step{Value: res.Value, Inserted: res.Inserted, Failed: err != nil})
			if err := s.Reset(false); err != nil {
				t.Errorf("Reset: %v", err)
			}
			_, err = s.Eval(context.Background(), "y")
			steps = append(steps, step{Failed: err != nil})
			if _, err := s.Eval(context.Background(), "register y = vector[f64](2, fill = 1)\nprint(y)"); err != nil {
				t.Error(err)
			}
			if err := s.Wait(context.Background()); err != nil {
				t.Errorf("Wait: %v", err)
			}
		})
		for r, text := range all {
			if text != all[0] {
				t.Errorf("rank %d of %d printed\n%s\nand rank 0\n%s", r, n, text, all[0])
			}
		}
		return steps, all[0]
	}
	want, printed := run(1)
	for _, n := range []int{2, 3, 4} {
		steps, text := run(n)
		if text != printed {
			t.Errorf("%d ranks printed\n%s\none\n%s", n, text, printed)
		}
		for k := range want {
			if !reflect.DeepEqual(steps[k], want[k]) {
				src := ""
				if k < len(entries) {
					src = entries[k]
				}
				t.Errorf("%d ranks, entry %d, %s\n gave %+v\n want %+v", n, k, src, steps[k], want[k])
			}
		}
	}
}

// TestSessionRejoins: an entry that is interrupted, or that one rank refuses, ends the data of a session on several ranks, which then goes on.
func TestSessionRejoins(t *testing.T) {
	var over *lang.Session
	printed := leadSession(t, 3, func(s *lang.Session) {
		over = s
		eval := func(ctx context.Context, src string) error {
			_, err := s.Eval(ctx, src)
			return err
		}
		ok := func(src string) {
			if err := eval(context.Background(), src); err != nil {
				t.Errorf("%s: %v", src, err)
			}
		}
		lost := func(what string, err error, names ...string) {
			var e *lang.RanksLostError
			if !errors.As(err, &e) || !slices.Equal(e.Names, names) {
				t.Errorf("%s: %v, %+v", what, err, e)
			}
		}
		ok("extern codelet slowly(x: RW vector[f64])\nextern codelet picky(x: RW vector[f64])\nlet k = 7")
		for round := range 3 {
			ok("register x, y = vector[f64](4, fill = 1)")
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			lost("interrupted", eval(ctx, fmt.Sprintf("insert slowly(RW x) with rank = %d\nprint(x)", round)), "x", "y")
			cancel()
			if err := eval(context.Background(), "print(x)"); err == nil || !strings.Contains(err.Error(), "E0201") {
				t.Errorf("the name x is known: %v", err)
			}
			ok("register z = vector[f64](4, fill = 2)")
			ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
			lost("interrupted without tasks", eval(ctx, "while true { }"), "z")
			cancel()
			ok("register z = vector[f64](4, fill = 2)")
			lost("refused", eval(context.Background(), fmt.Sprintf("insert picky(RW z) with rank = %d\nprint(z)", round)), "z")
		}
		ok("print(k)")
	})
	if err := over.Wait(context.Background()); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("Wait after Close: %v", err)
	}
	for r, text := range printed {
		if text != "7\n" {
			t.Errorf("rank %d printed %q", r, text)
		}
	}
}

// TestRandomSessionsOnRanks: random entries give the same on three ranks as on one.
func TestRandomSessionsOnRanks(t *testing.T) {
	statements := slices.DeleteFunc(slices.Clone(randomStatements), func(s string) bool { // those of one rank, and those that wait for a gate or depend on time
		return strings.Contains(s, "order =") || strings.Contains(s, "g") && strings.Contains(s, "gate") || strings.Contains(s, "[g]") || strings.Contains(s, "open(g)") || strings.Contains(s, "busy")
	})
	rapid.Check(t, func(rt *rapid.T) {
		entries := append([]string{sessionCodelets + "\nlet n = 1"}, rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(statements), 1, 3).Draw(rt, "statements"), "\n")
		}), 1, 15).Draw(rt, "entries")...)
		resets := rapid.SliceOfN(rapid.IntRange(0, 20), len(entries), len(entries)).Draw(rt, "resets")
		type step struct{ Value, Err, Show string }
		run := func(n int) (steps []step, printed string) {
			all := leadSession(t, n, func(s *lang.Session) {
				for k, src := range entries {
					if resets[k] == 0 {
						_ = s.Reset(true)
					}
					res, err := s.Eval(t.Context(), src)
					werr := s.Wait(t.Context())
					show, _ := s.Show("y", -1, -1)
					steps = append(steps, step{res.Value, errorCodes(err) + "; " + errorCodes(werr), show})
				}
			})
			return steps, all[0]
		}
		want, printed := run(1)
		got, text := run(3)
		for k := range want {
			if strings.Contains(want[k].Err, "R0104") {
				return // the ranks whose tasks do not wait get another error, and begin anew
			}
			if got[k] != want[k] {
				rt.Fatalf("entry %d of\n%s\ngave %q\nwant %q", k, strings.Join(entries[:k+1], "\n---\n"), got[k], want[k])
			}
		}
		if text != printed {
			rt.Fatalf("%s\nprinted\n%s\nwant\n%s", strings.Join(entries, "\n---\n"), text, printed)
		}
	})
}

// errorCodes returns the codes of the diagnostics in err, or its text if it has none.
func errorCodes(err error) string {
	if err == nil {
		return ""
	}
	if codes := regexp.MustCompile(`[ER][0-9]{4}`).FindAllString(err.Error(), -1); codes != nil {
		return strings.Join(codes, " ")
	}
	return err.Error()
}
