package lang

// Must returns v and panics when err is not nil. It is for start-up code whose
// arguments are constants.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
