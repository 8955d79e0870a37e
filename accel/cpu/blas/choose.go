package blas

// Which provider is used.

import (
	"fmt"
	"os"
	"sync"
)

// Env is the environment variable that names the provider: "gonum",
// "openblas", or the path of a library. Unset or empty: OpenBLAS when it is
// found, gonum otherwise.
const Env = "STARPUSH_BLAS"

var chosen = sync.OnceValues(func() (Provider, error) { return Choose(os.Getenv(Env)) })

// Default returns the provider that the environment names. The choice is made
// at the first call, so a program that never computes loads no library. When
// what it names cannot be had, the provider is gonum and DefaultErr says why.
func Default() Provider {
	p, _ := chosen()
	return p
}

// DefaultErr says why Default is not what the environment names; nil if it is.
func DefaultErr() error {
	_, err := chosen()
	return err
}

// Choose returns the provider of the given name, as in Env. With an error the
// provider is gonum.
func Choose(name string) (Provider, error) {
	switch name {
	case "gonum":
		return Gonum(), nil
	case "":
		if p, err := OpenBLAS(""); err == nil {
			return p, nil
		}
		return Gonum(), nil
	case "openblas":
		p, err := OpenBLAS("")
		if err != nil {
			return Gonum(), fmt.Errorf("%s=openblas: %w", Env, err)
		}
		return p, nil
	}
	p, err := OpenBLAS(name)
	if err != nil {
		return Gonum(), fmt.Errorf("%s=%s: neither gonum nor openblas nor a library that can be used: %w", Env, name, err)
	}
	return p, nil
}
