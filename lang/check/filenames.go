package check

// Names of files: how one ends says in which format it is saved and loaded.

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// textFiles and binaryFiles are endings of other programs, by what they hold.
var (
	textFiles   = []string{".txt", ".dat", ".tsv", ".text", ".out", ".xls", ".xlsx", ".ods", ".json", ".log"}
	binaryFiles = []string{".npz", ".h5", ".hdf5", ".mat", ".raw", ".pkl", ".pt", ".jld2", ".nc", ".f64", ".f32", ".data"}
)

// fileName reports the name x of a file that is saved or loaded, as verb says, when the
// text shows that it has no format; kind is that of the data, if it is known.
func (c *checker) fileName(x syntax.Expr, verb string, kind types.Kind) {
	end, whole := ending(x)
	suffix := strings.ToLower(path.Ext(end))
	switch {
	case end == "" && !whole || !whole && suffix == "":
		return // not in the text
	case slices.Contains(format.Suffixes, suffix):
		if kind == types.Block && (suffix == ".mtx" || suffix == ".csv") {
			d := c.err("E0705", x, fmt.Sprintf("a `%s` file holds no block", suffix))
			d.Help = append(d.Help, "a block is "+verb+" as `.npy` or `.bin`")
			c.otherSuffix(x, suffix, ".npy", false)
		}
		return
	}
	names := strings.Join(format.Suffixes[:len(format.Suffixes)-1], ", ") + " or " + format.Suffixes[len(format.Suffixes)-1]
	if end == "" {
		d := c.err("E0705", x, "the name of the file is empty")
		d.Help = append(d.Help, "it says the format, too, and ends in "+names)
		return
	}
	said := "a name that ends in `" + suffix + "` says no format"
	if suffix == "" {
		said = "the name of a file says its format, and this one says none"
	}
	d := c.err("E0705", x, said)
	d.Help = append(d.Help, "data is "+verb+" in files that end in "+names)
	switch {
	case suffix == "":
		c.otherSuffix(x, "", ".npy", true)
	case slices.Contains(textFiles, suffix):
		d.Help = append(d.Help, "`.csv` has rows of numbers as text")
		c.otherSuffix(x, suffix, ".csv", verb == "saved")
	case slices.Contains(binaryFiles, suffix):
		d.Help = append(d.Help, "`.npy` is what NumPy reads and writes, `.bin` has the elements alone")
		c.otherSuffix(x, suffix, ".npy", verb == "saved")
	}
}

// otherSuffix adds to the last diagnostic the edit that ends the text x in to, in place
// of from.
func (c *checker) otherSuffix(x syntax.Expr, from, to string, saved bool) {
	text := c.text(x)
	if !saved || !strings.HasSuffix(strings.ToLower(text), from+`"`) {
		return
	}
	d := &c.diags[len(c.diags)-1]
	right := text[:len(text)-len(from)-1] + to + `"`
	d.Help[len(d.Help)-1] += ": `" + right + "`"
	d.Edit(c.f.At(x), right)
}

// ending is the text that x ends with, as far as it is known; whole says that it is all
// of it.
func ending(x syntax.Expr) (end string, whole bool) {
	switch x := unparen(x).(type) {
	case *syntax.StringLit:
		return x.Value, true
	case *syntax.FString:
		if n := len(x.Parts); n > 0 && x.Parts[n-1].X == nil {
			return x.Parts[n-1].Text, n == 1
		}
	case *syntax.Binary:
		if x.Op == "+" {
			end, _ = ending(x.Y)
			return end, false
		}
	}
	return "", false
}
