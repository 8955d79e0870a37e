//go:build linux && amd64

// An empty file lets package llvm declare functions without bodies.
