package tests

// Wrong scripts: the good ones with one mistake each, of the kinds that people
// make. The first message about each names the mistake and its line; the few that
// do not are marked in the golden file.

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wrong is one wrong script and what is said about it.
type wrong struct {
	script, kind string
	line         int
	from, to     string
	said         string // all of it
	first        string // the first line
	at           int    // the line the first message is at
	miss         string // why it does not name the cause
}

var place = regexp.MustCompile(`--> [^:\n]*:(\d+):`)

// judge says what is amiss with the message about w.
func (w *wrong) judge(m *mistake, names []string) {
	w.first, _, _ = strings.Cut(w.said, "\n")
	first := w.said
	if i := strings.Index(first, "\n\n"); i > 0 {
		first = first[:i]
	}
	if p := place.FindStringSubmatch(w.said); p != nil {
		fmt.Sscan(p[1], &w.at)
	}
	for _, n := range names {
		if ok, err := regexp.MatchString(n, first); err != nil && !strings.Contains(first, n) || err == nil && !ok && !strings.Contains(first, n) {
			w.miss = "does not name " + n
		}
	}
	if !m.further && w.at != w.line {
		w.miss = fmt.Sprintf("is about line %d", w.at)
	}
	if m.further && !regexp.MustCompile(fmt.Sprintf(`(?m)^ *%d \||:%d:`, w.line, w.line)).MatchString(first) && m.kind != "line lost" && m.kind != "no release" && m.kind != "wrong type" {
		w.miss = fmt.Sprintf("does not show the line, but line %d", w.at)
	}
}

// TestWrongScripts makes the mistakes, a few of each kind in each script.
func TestWrongScripts(t *testing.T) {
	files, err := filepath.Glob("../scripts/*.spu")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	dir := t.TempDir() // the scripts save files
	if err := os.CopyFS(filepath.Join(dir, "lib"), os.DirFS("../scripts/lib")); err != nil {
		t.Fatal(err)
	}
	var all []wrong
	fine := map[string]int{}
	for _, file := range files {
		name := filepath.Base(file)
		if matrixFiles[strings.TrimSuffix(name, ".spu")] != "" {
			continue // seconds each
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := program{dir: dir, name: name, source: string(source)}
		good := whole(p.run(t, sequential))
		cut := text(pieces.FindAllString(string(source), -1))
		for k := range mistakes {
			m := &mistakes[k]
			var sites []int
			for i := range cut {
				if strings.HasPrefix(cut[i], "#") {
					continue
				}
				if by, _ := m.at(cut, i); by != "" && by != cut[i] {
					sites = append(sites, i)
				}
			}
			const most = 2
			for n := range min(most, len(sites)) {
				i := sites[n*len(sites)/min(most, len(sites))+len(sites)/(2*most)]
				by, names := m.at(cut, i)
				p.source = cut.with(i, m.size(cut, i), by)
				o := p.run(t, sequential)
				if strings.Contains(o.diags, "R0102") { // what it computes is not what it asserts
					fine[m.kind+": assertion"]++
					continue
				}
				if o.diags == "" {
					if whole(o) != good {
						fine[m.kind+": another program"]++
						t.Logf("runs: %s:%d %s %q -> %q", name, cut.line(i), m.kind, cut[i], by)
					} else {
						fine[m.kind+": same output"]++
					}
					continue
				}
				w := wrong{script: name, kind: m.kind, line: cut.line(i), from: cut[i], to: by, said: o.diags}
				w.judge(m, names)
				all = append(all, w)
			}
		}
	}
	var b strings.Builder
	missed := 0
	for _, w := range all {
		fmt.Fprintf(&b, "%s:%d: %s: %q for %q\n    %d: %s\n", w.script, w.line, w.kind, w.to, w.from, w.at, w.first)
		if w.miss != "" {
			missed++
			fmt.Fprintf(&b, "    MISSED: %s\n", w.miss)
		}
	}
	t.Logf("%d wrong scripts, %d missed; %v", len(all), missed, fine)
	golden := "testdata/wrong.txt"
	if update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v; STARPUSH_UPDATE=1 writes it", err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
