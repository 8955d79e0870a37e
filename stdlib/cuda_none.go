//go:build !cuda

package stdlib

import "github.com/starpush/starpush/engine"

// deviceImpls are the implementations of a codelet for devices.
func deviceImpls(string) map[string][]engine.Impl { return nil }
