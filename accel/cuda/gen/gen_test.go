package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestCurrent holds the committed files against the header.
func TestCurrent(t *testing.T) {
	header, err := os.ReadFile("../include/cuda.h")
	if err != nil {
		t.Fatal(err)
	}
	files, err := generate(header)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("../shim", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the header gives; run: go generate -tags cuda ./accel/cuda/...", name)
		}
	}
}

// TestVersionedNames: a macro for a versioned name needs its declaration.
func TestVersionedNames(t *testing.T) {
	header, err := os.ReadFile("../include/cuda.h")
	if err != nil {
		t.Fatal(err)
	}
	macros := regexp.MustCompile(`(?m)^#define (cu\w+) (\w+)$`).FindAllSubmatch(header, -1)
	if len(macros) < 40 {
		t.Errorf("found %d macros only", len(macros))
	}
	for _, m := range macros {
		if !bytes.Contains(header, []byte("\nCUresult "+string(m[2])+"(")) {
			t.Errorf("%s stands for %s, which is not declared", m[1], m[2])
		}
	}
}

func TestMistakesInTheHeader(t *testing.T) {
	for _, h := range []string{
		"\nCUresult cuInit(unsigned int flags);\nCUresult cuA(void);\nCUresult cuA(void);\n", // twice
		"\nCUresult cuInit(unsigned int flags);\nCUresult cuA(int a,\n\tint b);\n",           // over two lines
	} {
		if _, err := generate([]byte(h)); err == nil {
			t.Errorf("accepted %q", h)
		}
	}
}
