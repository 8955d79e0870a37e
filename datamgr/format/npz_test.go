package format

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

func TestSplit(t *testing.T) {
	for name, want := range map[string][2]string{
		"a.npz:x":        {"a.npz", "x"},
		"A.NPZ:x":        {"A.NPZ", "x"},
		"d/a.npz:in/x":   {"d/a.npz", "in/x"},
		"a.npz":          {"a.npz", ""},
		"t.csv:time,a.b": {"t.csv", "time,a.b"},
		"t.csv:x.npz:y":  {"t.csv", "x.npz:y"},
		"C:/a.npz:x":     {"C:/a.npz", "x"},
		"a.npy:x":        {"a.npy:x", ""},
		"İ.npz:x":        {"İ.npz:x", ""}, // longer in lower case
		"":               {"", ""},
		"a:b.npy":        {"a:b.npy", ""},
		"t.csv:":         {"t.csv", ""},
	} {
		if file, part := Split(name); file != want[0] || part != want[1] {
			t.Errorf("%q: %q and %q, want %q", name, file, part, want)
		}
	}
	for name, want := range map[string]string{
		"./d/../a.npz:../x": "a.npz:../x",
		"d//t.csv:a//b":     "d/t.csv:a//b",
		"./x.npy":           "x.npy",
	} {
		if got := Clean(name); got != want {
			t.Errorf("%q is cleaned to %q, want %q", name, got, want)
		}
	}
}

// TestNpz: arrays are put beside each other, or in the place of one with the same name.
func TestNpz(t *testing.T) {
	fsys := newFS()
	for _, c := range []struct {
		name string
		b    *iface.Buffer
	}{
		{"a.npz:x", buffer([]float64{1, 2}, iface.F64, 0, 2)},
		{"a.npz:m", buffer([]int32{1, 2, 3, 4}, iface.I32, 2, 2, 2)},
		{"a.npz:x", buffer([]float64{5, 6, 7}, iface.F64, 0, 3)},
		{"a.npz:in/b", buffer(u8s(6), iface.U8, 0, 1, 2, 3)},
	} {
		if err := Save(fsys, c.name, c.b); err != nil {
			t.Fatal(err)
		}
	}
	loaded(t, fsys, "a.npz:x", iface.Vector, iface.F64, []float64{5, 6, 7}, 3)
	loaded(t, fsys, "a.npz:m", iface.Matrix, iface.I32, []int32{1, 2, 3, 4}, 2, 2)
	loaded(t, fsys, "a.npz:m", iface.Matrix, iface.F32, []float32{1, 2, 3, 4}, 2, 2)
	loaded(t, fsys, "a.npz:in/b", iface.Block, iface.U8, u8s(6), 1, 2, 3)
	z, err := zip.NewReader(bytes.NewReader(fsys.MapFS["a.npz"].Data), int64(len(fsys.MapFS["a.npz"].Data)))
	if err != nil || len(z.File) != 3 {
		t.Errorf("the archive: %v, %v", z, err)
	}
	// A save that fails leaves the archive as it was.
	before := slices.Clone(fsys.MapFS["a.npz"].Data)
	fsys.fail = errors.New("full")
	if err := Save(fsys, "a.npz:y", buffer([]float64{1, 2}, iface.F64, 0, 2)); !errors.Is(err, fsys.fail) {
		t.Errorf("a save into a full file system: %v", err)
	}
	if !bytes.Equal(before, fsys.MapFS["a.npz"].Data) {
		t.Error("the archive has changed")
	}
	// Only a file system that can be read keeps the other arrays.
	if err := Save(creatorOnly{fsys}, "a.npz:y", buffer([]float64{1}, iface.F64, 0, 1)); err == nil {
		t.Error("saved without a look at the other arrays")
	}
}

type creatorOnly struct{ to *memFS }

func (c creatorOnly) Create(name string) (io.WriteCloser, error) { return c.to.Create(name) }

// archiveOf makes an archive of files: name, content, name, content.
func archiveOf(method uint16, files ...string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, _ := z.CreateHeader(&zip.FileHeader{Name: files[i], Method: method})
		_, _ = io.WriteString(w, files[i+1])
	}
	_ = z.Close()
	return b.String()
}

func TestNpzErrors(t *testing.T) {
	npy := npyFile("<f8", "False", "(3,)", []float64{1, 2, 3}, false)
	good := archiveOf(zip.Store, "x.npy", npy, "readme.txt", "hello", "y.npy", npy)
	claims := []byte(archiveOf(zip.Deflate, "x.npy", npyFile("<f8", "False", "(1000000000000,)", []float64{1}, false)))
	end := bytes.LastIndex(claims, []byte("PK\x01\x02")) // the sizes in the list of files
	binary.LittleEndian.PutUint32(claims[end+24:], 0xfffffff0)
	fsys := newFS(
		"a.npz", good,
		"packed.npz", archiveOf(zip.Deflate, "x.npy", npy),
		"claims.npz", string(claims),
		"short.npz", archiveOf(zip.Store, "x.npy", npy[:len(npy)-1]),
		"more.npz", archiveOf(zip.Deflate, "x.npy", npy+"x"),
		"hurt.npz", strings.Replace(good, npy[len(npy)-8:], "abcdefgh", 1),
		"cut.npz", good[:len(good)-30],
		"twice.npz", archiveOf(zip.Store, "x.npy", npy, "x.npy", npy),
		"none.npz", archiveOf(zip.Store, "readme.txt", "x"),
		"text.npz", "1,2,3\n",
		"empty.npz", "",
	)
	loaded(t, fsys, "packed.npz:x", iface.Vector, iface.F64, []float64{1, 2, 3}, 3)
	for name, text := range map[string]string{
		"a.npz":        "a.npz: an `.npz` file holds several arrays, and the name does not say which; write the name of the array behind a colon, as in `a.npz:x`",
		"a.npz:z":      "a.npz:z: expected an array \"z\", found the arrays \"x\", \"y\"",
		"a.npz:../x":   "a.npz:../x: `../x` cannot be the name of an array in an `.npz` file; use letters and digits, as in `a.npz:x`",
		"claims.npz:x": "claims.npz:x, byte 35: expected an array that unpacks to 4294967280 bytes, found ",
		"short.npz:x":  "short.npz:x, byte 128: expected 24 bytes, 3 elements of type f64, found 23",
		"more.npz:x":   "more.npz:x, byte 128: expected 24 bytes, 3 elements of type f64, found 25",
		"hurt.npz:x":   "hurt.npz:x, byte 152: zip: checksum error",
		"cut.npz:x":    "cut.npz:x: expected a NumPy archive, which is a zip file, found something else, or a part of one",
		"twice.npz:x":  "twice.npz:x: expected one array \"x\", found two",
		"none.npz:x":   "none.npz:x: expected an array \"x\", found no array",
		"text.npz:x":   "text.npz:x: expected a NumPy archive, which is a zip file, found something else, or a part of one",
		"empty.npz:x":  "empty.npz:x: expected a NumPy archive, which is a zip file, found something else, or a part of one",
	} {
		_, _, err := load[float64](fsys, name, iface.Vector, iface.F64)
		if err == nil || !strings.HasPrefix(err.Error(), text) {
			t.Errorf("%s:\n got %v\nwant %s", name, err, text)
		}
	}
	for _, name := range []string{"text.npz:x", "a.npz", "a.npz:/x", "a.npz:."} {
		if err := Save(fsys, name, buffer([]float64{1}, iface.F64, 0, 1)); err == nil {
			t.Errorf("saved as %s", name)
		}
	}
	if string(fsys.MapFS["text.npz"].Data) != "1,2,3\n" {
		t.Error("a file that is no archive was replaced")
	}
}

// TestColumns: lines of titles, chosen columns, separators and quotes.
func TestColumns(t *testing.T) {
	fsys := newFS(
		"t.csv", "time,\"price, net\",word\n1,2.5,a\n2,-3,\"b\nc\"\n\n 3 , \"4\" ,\"say \"\"x\"\"\"\n",
		"semi.csv", "1;2\n3;4\n",
		"tab.csv", "a\tb\n1\t2\n3\t 4\n",
		"comma.csv", "a;b\n1,5;2\n",
		"plain.csv", "1,2,3\n4,5,6\n",
		"one.csv", "value\r\n1\r\n2\r\n",
		"years.csv", "id,\"2019\",\"2020\"\n1,2,3\n",
		"head.csv", "x,y\n",
		"twice.csv", "x,x\n1,2\n",
		"na.csv", "NA\n2\n3\n",
		"na2.csv", "x,y\n1,NA\n",
		"typo.csv", "1x\n2\n",
		"open.csv", "\"x\n1\n2\n",
		"ragged.csv", "x,y\n1,2\n3\n",
		"bom.csv", "\xEF\xBB\xBFx,y\n1,2\n",
		"quoted.csv", "\"1\",\"2\"\n3,4\n",
		"long.csv", "x,text\n1,"+strings.Repeat("word ", 10_000)+"\n2,\n",
	)
	loaded(t, fsys, "t.csv:time", iface.Vector, iface.I32, []int32{1, 2, 3}, 3)
	loaded(t, fsys, "t.csv:\"price, net\",time", iface.Matrix, iface.F64, []float64{2.5, 1, -3, 2, 4, 3}, 3, 2)
	loaded(t, fsys, "semi.csv", iface.Matrix, iface.F64, []float64{1, 2, 3, 4}, 2, 2)
	loaded(t, fsys, "tab.csv", iface.Matrix, iface.F64, []float64{1, 2, 3, 4}, 2, 2)
	loaded(t, fsys, "tab.csv:b", iface.Vector, iface.F64, []float64{2, 4}, 2)
	loaded(t, fsys, "plain.csv:3,1", iface.Matrix, iface.F64, []float64{3, 1, 6, 4}, 2, 2)
	loaded(t, fsys, "one.csv", iface.Vector, iface.U8, []uint8{1, 2}, 2)
	loaded(t, fsys, "years.csv:2020", iface.Vector, iface.U8, []uint8{3}, 1)
	loaded(t, fsys, "head.csv", iface.Matrix, iface.F64, []float64{}, 0, 2)
	loaded(t, fsys, "bom.csv:y", iface.Vector, iface.F64, []float64{2}, 1)
	loaded(t, fsys, "quoted.csv", iface.Matrix, iface.F64, []float64{1, 2, 3, 4}, 2, 2)
	loaded(t, fsys, "long.csv:x", iface.Vector, iface.F64, []float64{1, 2}, 2)
	for name, text := range map[string]string{
		"t.csv":         "t.csv:2: expected a number in column 3 (word), found \"a\"",
		"t.csv:prize":   "t.csv:1: expected a column \"prize\", found the columns \"time\", \"price, net\", \"word\"",
		"t.csv:1":       "t.csv:1: expected a column \"1\", found the columns \"time\", \"price, net\", \"word\"",
		"t.csv:word":    "t.csv:2: expected a number in column 3 (word), found \"a\"",
		"comma.csv":     "comma.csv:2: expected a number with a point, not a comma, in column 1 (a), found \"1,5\"",
		"plain.csv:4":   "plain.csv:1: expected a column from 1 to 3, as there is no line of titles, found \"4\"",
		"plain.csv:x":   "plain.csv:1: expected a column from 1 to 3, as there is no line of titles, found \"x\"",
		"plain.csv:1,1": "plain.csv:1: expected each column once, found \"1\" twice",
		"twice.csv:x":   "twice.csv:1: expected one column \"x\", found columns 1 and 2",
		"na.csv":        "na.csv:1: expected a number in column 1, found \"NA\"",
		"na2.csv":       "na2.csv:2: expected a number in column 2 (y), found \"NA\"",
		"typo.csv":      "typo.csv:1: expected a number in column 1, found \"1x\"",
		"open.csv":      "open.csv:1: expected a `\"` that ends the field, found the end of the file",
		"ragged.csv":    "ragged.csv:3: expected 2 fields in a row, as there are titles, found 1",
		"ragged.csv:x":  "ragged.csv:3: expected 2 fields in a row, as there are titles, found 1",
	} {
		_, _, err := load[float64](fsys, name, iface.Matrix, iface.F64)
		if err == nil || err.Error() != text {
			t.Errorf("%s:\n got %v\nwant %s", name, err, text)
		}
	}
	m := buffer([]float64{1, 2, 3, 4}, iface.F64, 2, 2, 2)
	for part, want := range map[string]string{
		"a,b":               "a,b\n1,2\n3,4\n",
		"\"a \"\"x\"\"\",_": "\"a \"\"x\"\"\",_\n1,2\n3,4\n",
		"\"1,5\",na":        "\"1,5\",\"na\"\n1,2\n3,4\n",
	} {
		if err := Save(fsys, "out.csv:"+part, m); err != nil || string(fsys.MapFS["out.csv"].Data) != want {
			t.Errorf("saved with titles %s: %q, %v", part, fsys.MapFS["out.csv"].Data, err)
			continue
		}
		loaded(t, fsys, "out.csv:"+part, iface.Matrix, iface.F64, []float64{1, 2, 3, 4}, 2, 2)
		loaded(t, fsys, "out.csv", iface.Matrix, iface.F64, []float64{1, 2, 3, 4}, 2, 2)
	}
	for part, text := range map[string]string{
		"a":   "out.csv: expected 2 titles, one for each column, found 1 in \"a\"",
		"a,":  "out.csv: expected a title for each column, found none for column 2",
		"a,a": "out.csv: expected titles that differ, found \"a\" twice",
		"a,7": "out.csv: expected titles that are no numbers, found \"7\"",
	} {
		if err := Save(fsys, "out.csv:"+part, m); err == nil || err.Error() != text {
			t.Errorf("titles %s: %v, want %s", part, err, text)
		}
	}
}

// TestSavedColumns: Saved knows how many columns are loaded of those that were saved.
func TestSavedColumns(t *testing.T) {
	m := buffer([]float64{1, 2, 3, 4, 5, 6}, iface.F64, 3, 2, 3)
	for _, saved := range []string{"x.csv", "x.csv:a,b,c"} {
		fsys := newFS()
		if err := Save(fsys, saved, m); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"x.csv", "x.csv:a", "x.csv:c,a", "x.csv:2", "x.csv:4", "x.csv:d"} {
			for _, kind := range []iface.Kind{iface.Vector, iface.Matrix} {
				w := Want{Kind: kind, Elem: iface.F64}
				dims, err := Saved(name, saved, m.Desc, w)
				in, err2 := Open(fsys, name, w)
				if (err == nil) != (err2 == nil) || err == nil && !slices.Equal(dims, in.Dims) {
					t.Errorf("%s, saved as %s: %v, %v, and the file has %v, %v", name, saved, dims, err, in, err2)
				}
			}
		}
	}
}
