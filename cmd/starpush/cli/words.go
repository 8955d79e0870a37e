package cli

// What the words of the language say, for starpush doc.

import "github.com/starpush/starpush/lang/check"

// words are the reserved words.
var words = func() map[string]bool {
	m := map[string]bool{}
	for _, e := range check.Words {
		m[e.Name] = true
	}
	return m
}()
