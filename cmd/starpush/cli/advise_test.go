package cli

import (
	"slices"
	"testing"
)

func TestAdvice(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"one\n", []string{"one"}},
		{"a.spu:1  short\n  split it\nb.spu:2  few\n  split it\n  twice\n", []string{"a.spu:1  short\n  split it", "b.spu:2  few\n  split it\n  twice"}},
		{"  indented\n", []string{"  indented"}},
	} {
		if got := advice(tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}
