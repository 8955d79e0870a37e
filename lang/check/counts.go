package check

// Counts of arguments and indices, as messages write them.

import "fmt"

// Arguments is what takes n arguments: "no arguments", "one argument", "2 arguments".
func Arguments(n int) string {
	switch n {
	case 0:
		return "no arguments"
	case 1:
		return "one argument"
	}
	return fmt.Sprintf("%d arguments", n)
}

// AreArguments is what n arguments are: "none is", "one is", "2 are".
func AreArguments(n int) string {
	switch n {
	case 0:
		return "none is"
	case 1:
		return "one is"
	}
	return fmt.Sprintf("%d are", n)
}

// Indices is what takes n indices: "one index", "two indices".
func Indices(n int) string {
	switch n {
	case 1:
		return "one index"
	case 2:
		return "two indices"
	case 3:
		return "three indices"
	}
	return fmt.Sprintf("%d indices", n)
}

// AreIndices is what n indices are: "one index is", "two indices are".
func AreIndices(n int) string {
	if n == 1 {
		return "one index is"
	}
	return Indices(n) + " are"
}
