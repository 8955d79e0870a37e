// Package scripts holds programs to start from, for starpush examples: *.spu, and in
// lib what they import. A file x.out has what x.spu prints.
package scripts

import "embed"

// Files are the scripts and what they import: "cg.spu", "lib/vec.spu".
//
//go:embed *.spu lib/*.spu
var Files embed.FS
