package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestHeader holds our header against the toolkit's of CUDA 11, in the folder that
// STARPUSH_CUDA_INCLUDE names: constants, sizes and places of fields, and what functions
// take. CUDA 13 gave five of the names new arguments.
func TestHeader(t *testing.T) {
	theirs := os.Getenv("STARPUSH_CUDA_INCLUDE")
	if theirs == "" {
		t.Skip("STARPUSH_CUDA_INCLUDE is not set")
	}
	header, err := os.ReadFile("../include/cuda.h")
	if err != nil {
		t.Fatal(err)
	}
	text := string(header)
	var values strings.Builder
	values.WriteString("#include <stdio.h>\n#include <stddef.h>\n#include <cuda.h>\nint main(void) {\n")
	value := func(what string) {
		fmt.Fprintf(&values, "\tprintf(\"%%s %%lld\\n\", \"%s\", (long long)(%s));\n", what, what)
	}
	for _, m := range regexp.MustCompile(`(?m)^(?:\t|#define )(CU\w+) (?:= \w+,|\d+)$`).FindAllStringSubmatch(text, -1) {
		if m[1] != "CUDA_VERSION" {
			value(m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?s)typedef struct \{([^}]*)\} (\w+);`).FindAllStringSubmatch(text, -1) {
		value("sizeof(" + m[2] + ")")
		for _, f := range regexp.MustCompile(`(\w+)(?:\[\d+\])?[,;]`).FindAllStringSubmatch(m[1], -1) {
			value("offsetof(" + m[2] + ", " + f[1] + ")")
		}
	}
	values.WriteString("}\n")
	functions := "#include <cuda.h>\n"
	for _, m := range regexp.MustCompile(`(?m)^CUresult (cu\w+)(\(.*\));$`).FindAllStringSubmatch(text, -1) {
		functions += fmt.Sprintf("CUresult (*test_%s)%s = %s;\n", m[1], m[2], m[1])
	}

	dir := t.TempDir()
	print := func(include string) string {
		source, program := filepath.Join(dir, "values.c"), filepath.Join(dir, "values")
		if err := os.WriteFile(source, []byte(values.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("gcc", "-I"+include, "-o", program, source).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err := exec.Command(program).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	want, got := strings.Split(print(theirs), "\n"), strings.Split(print("../include"), "\n")
	if len(got) < 350 {
		t.Errorf("compared %d values only", len(got))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s, theirs %s", got[i], want[i])
		}
	}
	source := filepath.Join(dir, "functions.c")
	if err := os.WriteFile(source, []byte(functions), 0o644); err != nil {
		t.Fatal(err)
	}
	// names without _v2 must mean themselves, not the newest
	cmd := exec.Command("gcc", "-D__CUDA_API_VERSION_INTERNAL", "-Wno-deprecated-declarations", "-Werror=incompatible-pointer-types", "-I"+theirs, "-fsyntax-only", source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
