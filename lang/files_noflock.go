//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package lang

import "os"

// Without locks nobody can tell what was left behind, so nothing is removed.

func lockFile(*os.File) (unlock func(), err error) { return func() {}, nil }

func removeUnlocked(*os.Root, string) {}
