package diag

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var wellFormed = regexp.MustCompile(`^[EWR]\d{4}$`)

func TestCodes(t *testing.T) {
	all := Codes()
	if len(all) < 60 {
		t.Fatalf("the table has %d codes", len(all))
	}
	titles := map[string]string{}
	for i, c := range all {
		if i > 0 && all[i-1].Code >= c.Code {
			t.Errorf("%s comes after %s: unsorted, or twice", c.Code, all[i-1].Code)
		}
		if !wellFormed.MatchString(c.Code) {
			t.Errorf("%q is not a code", c.Code)
		}
		if c.Title == "" || c.Title != strings.TrimSpace(c.Title) || strings.ContainsAny(c.Title[len(c.Title)-1:], ".!:;,") || strings.Contains(c.Title, "\n") {
			t.Errorf("%s: title %q", c.Code, c.Title)
		}
		if first, _, _ := strings.Cut(c.Title, " "); first != strings.ToUpper(first) && first != strings.ToLower(first) {
			t.Errorf("%s: the title %q begins with a capital", c.Code, c.Title)
		}
		if words := len(strings.Fields(c.Title)); words < 2 || words > 10 {
			t.Errorf("%s: the title has %d words, a few are wanted", c.Code, words)
		}
		if other := titles[c.Title]; other != "" {
			t.Errorf("%s and %s are both called %q", other, c.Code, c.Title)
		}
		titles[c.Title] = c.Code
		prose, _, _ := strings.Cut(c.Doc, "```")
		prose = strings.TrimSpace(prose)
		if lines := strings.Count(prose, "\n") + 1; len(prose) < 60 || lines > 6 {
			t.Errorf("%s: the text has %d bytes on %d lines", c.Code, len(prose), lines)
		}
		if !strings.HasSuffix(c.Doc, ".") && !strings.HasSuffix(c.Doc, "```") {
			t.Errorf("%s: the text breaks off", c.Code)
		}
		if strings.Count(c.Doc, "\n```")%2 != 0 {
			t.Errorf("%s: a fence is not closed", c.Code)
		}
		for line := range strings.Lines(c.Doc) {
			if line = strings.TrimSuffix(line, "\n"); line != strings.TrimRightFunc(line, unicode.IsSpace) || len([]rune(line)) > 110 {
				t.Errorf("%s: too long, or with spaces at its end: %q", c.Code, line)
			}
		}
	}
}

// A page is what the file holds, word for word, under a heading of its own.
func TestExplain(t *testing.T) {
	for _, c := range Codes() {
		page, ok := Explain(c.Code)
		if want := "# " + c.Code + ": " + c.Title + "\n\n" + c.Doc + "\n"; !ok || page != want {
			t.Errorf("Explain(%s) = %q, %v", c.Code, page, ok)
		}
	}
	for _, unknown := range []string{"", "E", "E0000", "E04011", "e0401", "R9999"} {
		if page, ok := Explain(unknown); ok || page != "" {
			t.Errorf("Explain(%q) = %q", unknown, page)
		}
	}
}

// Codes of one group are in order in their file, and callers get a copy.
func TestPages(t *testing.T) {
	files, err := fs.Glob(pages, "codes/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	n := 0
	for _, name := range files {
		text, err := pages.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		group := sections(string(text))
		n += len(group)
		for _, severity := range []string{"E", "R", "W"} {
			var mine []string
			for _, c := range group {
				if strings.HasPrefix(c.Code, severity) {
					mine = append(mine, c.Code)
				}
			}
			if !slices.IsSorted(mine) {
				t.Errorf("%s: %v", name, mine)
			}
		}
	}
	if all := Codes(); len(all) != n {
		t.Errorf("%d codes in the files, %d in the table", n, len(all))
	} else if all[0].Title = "changed"; Codes()[0].Title == "changed" {
		t.Error("Codes shares its memory with callers")
	}
}

func TestSections(t *testing.T) {
	got := sections("# Group\n\nIntro.\n\n## E0001: one\n\nText.\n\n```spu\n## a comment\nlet a = 1\n```\n\n## E0002: two: with a colon\nLast.\n")
	want := []Code{
		{"E0001", "one", "Text.\n\n```spu\n## a comment\nlet a = 1\n```"},
		{"E0002", "two: with a colon", "Last."},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
