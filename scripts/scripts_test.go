package scripts

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"testing"
)

// Every script of this folder and below is in Files, as it is on the disk.
func TestFiles(t *testing.T) {
	n := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || path.Ext(name) != ".spu" {
			return err
		}
		n++
		want, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if got, err := Files.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not in Files: %v", name, err)
		}
		return nil
	})
	if err != nil || n < 10 {
		t.Errorf("%d scripts, err %v", n, err)
	}
}
