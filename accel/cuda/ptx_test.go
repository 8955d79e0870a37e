package cuda

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestPTXCurrent holds the committed PTX against its source, where the compiler is
// that made it.
func TestPTXCurrent(t *testing.T) {
	version, err := exec.Command("clang-15", "--version").Output()
	if err != nil || !bytes.Contains(version, []byte("version 15.0.6")) {
		t.Skipf("not clang 15.0.6, with which it was made: %s%v", version, err)
	}
	made := filepath.Join(t.TempDir(), "made.ptx")
	if out, err := exec.Command("sh", "kernels/gen.sh", made).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("kernels/builtin.ptx")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("kernels/builtin.ptx is not what its source gives; run: go generate -tags cuda ./accel/cuda")
	}
}

// TestPTXTarget: what the oldest supported devices and drivers take, and what
// accumulates in registers is fused.
func TestPTXTarget(t *testing.T) {
	text, err := os.ReadFile("kernels/builtin.ptx")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`(?m)^\.version 6\.3$`, `(?m)^\.target sm_75$`, `\.entry gemm_f64\(`, `fma\.rn\.f32`, `fma\.rn\.f64`} {
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("no %s", want)
		}
	}
	if regexp.MustCompile(`\.extern `).Match(text) {
		t.Error("a kernel calls a function that is not defined")
	}
}

// TestPTXAssembles runs NVIDIA's assembler where it is.
func TestPTXAssembles(t *testing.T) {
	if _, err := exec.LookPath("ptxas"); err != nil {
		t.Skip(err)
	}
	for _, arch := range []string{"sm_75", "sm_80", "sm_90"} {
		out, err := exec.Command("ptxas", "-arch="+arch, "-o", os.DevNull, "kernels/builtin.ptx").CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", arch, err, out)
		}
	}
}
