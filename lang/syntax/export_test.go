package syntax

// Print is the printer without the comparison afterwards.
func Print(f *File) (string, error) { return print(f) }
