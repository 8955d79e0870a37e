//go:build !linux

package disk

import "os"

// free returns a bound where the system is not asked: writing says when it is full.
func free(string) int64 { return 1 << 50 }

// punch does nothing: freed space is used again, and kept until the end.
func punch(*os.File, int64, int64) {}
