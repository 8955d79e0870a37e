package tests

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/starpush/starpush/cmd/starpush/cli"
)

// blocks returns the fenced blocks of README.md that begin with ```lang.
func blocks(t *testing.T, lang string) []string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?s)\n```"+lang+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	return out
}

// TestReadmeCommands runs the README's first command as written, and holds the
// second against what this run is.
func TestReadmeCommands(t *testing.T) {
	cmds := blocks(t, "sh")
	if len(cmds) != 2 || strings.TrimSpace(cmds[1]) != "go test ./..." {
		t.Fatalf("README.md has the commands %q", cmds)
	}
	words := strings.Fields(cmds[0])
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmds[0], err, out)
	}
	// The script itself asserts that the residual is below 1e-10.
	if !regexp.MustCompile(`relative residual \d\.\d\de-1[1-9]`).Match(out) {
		t.Errorf("%s printed\n%s", cmds[0], out)
	}
}

// TestTourCommands runs the commands that docs/tour.md shows, in its order.
func TestTourCommands(t *testing.T) {
	text, err := os.ReadFile("../docs/tour.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "scripts"), os.DirFS("../scripts")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	env := []string{"HOME=" + dir, "NO_COLOR=1", "STARPUSH_PERF_DIR=" + filepath.Join(dir, "perf"), "STARPUSH_BUS_DIR=" + filepath.Join(dir, "bus")}
	commands := regexp.MustCompile(`(?m)^    go run ./cmd/starpush (.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(commands) < 10 {
		t.Errorf("docs/tour.md has %d such commands", len(commands))
	}
	for _, m := range commands {
		var out bytes.Buffer
		code := cli.Main(strings.Fields(m[1]), strings.NewReader(""), &out, &out, env)
		if missing := strings.Contains(m[1], "--gpus") && code == 5; code != 0 && !missing {
			t.Errorf("starpush %s: exit %d\n%s", m[1], code, out.String())
		}
	}
}

// TestReadmeMistake runs the first script with the mistake that the README shows.
func TestReadmeMistake(t *testing.T) {
	script, shown := blocks(t, "spu dot.spu")[0], blocks(t, "text")[0]
	broken := strings.Replace(script, "insert init(W x[b])", "insert init(R x[b])", 1)
	file := filepath.Join(t.TempDir(), "dot.spu")
	if err := os.WriteFile(file, []byte(broken), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(file))
	var errs bytes.Buffer
	code := cli.Main([]string{"run", "dot.spu"}, strings.NewReader(""), &errs, &errs, nil)
	if code != 3 || strings.TrimSpace(errs.String()) != strings.TrimSpace(shown) {
		t.Errorf("exit %d, printed\n%s\nREADME.md shows\n%s", code, errs.String(), shown)
	}
}

// TestReadmeExample: examples/embed is the program in README.md, which TestReadme runs.
func TestReadmeExample(t *testing.T) {
	have, err := os.ReadFile("../examples/embed/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if shown := blocks(t, "go"); len(shown) != 1 || !strings.HasSuffix(string(have), shown[0]) {
		t.Error("README.md shows another program than examples/embed/main.go")
	}
}
