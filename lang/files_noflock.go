//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package lang

import "os"

// Without locks, files that were left behind cannot be recognised, so none are removed.

func lockFile(*os.File) (unlock func(), err error) { return func() {}, nil }

func removeUnlocked(*os.Root, string) {}
