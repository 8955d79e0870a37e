package printer

import "github.com/starpush/starpush/lang/syntax"

// Print is the printer without the comparison afterwards.
func Print(f *syntax.File) (string, error) { return print(f) }
