package lang

import (
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
)

// Format returns src in the canonical layout. It is idempotent. The error is
// Diagnostics when src does not parse.
func Format(name string, src []byte) ([]byte, error) {
	return syntax.Format(diag.NewSource(name, string(src)))
}
