package cli

// Files that a command writes beside what a script saves: pictures, pages, traces.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// writeOutput writes a file that a flag asked for, and says so; of tasks: how many
// it shows, -1 where it shows none.
func (a *app) writeOutput(ctx context.Context, name string, data []byte, tasks int) error {
	if err := writeFileWithin(ctx, name, data); err != nil {
		return &exitError{code: exitFailed, err: fmt.Errorf("%s was not written: %v", name, cause(err))}
	}
	if tasks < 0 {
		a.wrote(name, bytesText(int64(len(data))))
	} else {
		a.wrote(name, fmt.Sprintf("%s, %s", counted(tasks, "task"), bytesText(int64(len(data)))))
	}
	return nil
}

// wrote says on standard error that a file was written, unless nobody wants to know.
func (a *app) wrote(name, what string) {
	if !a.flags.quiet && a.json == nil {
		fmt.Fprintf(a.con.err, "starpush: wrote %s: %s\n", name, what)
	}
}

// cause is an error without the path that the message names anyway.
func cause(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}

// An output is a file that a flag names.
type output struct{ flag, path string }

// String is the flag as it is written: "--trace t.json", "--save x=x.npy".
func (o output) String() string {
	if strings.HasPrefix(o.flag, "--save ") {
		return o.flag + "=" + o.path
	}
	return o.flag + " " + o.path
}

// checkOutputs looks, before anything runs, whether the outputs can be written where
// they are wanted: two in one file would leave the last, and one over the script
// would lose it. script is "" or "-" where there is no file.
func checkOutputs(script string, outputs ...output) error {
	same := func(a, b string) bool {
		x, errX := os.Stat(a)
		y, errY := os.Stat(b)
		if errX == nil && errY == nil {
			return os.SameFile(x, y) && x.Mode().IsRegular()
		}
		return errX != nil && errY != nil && filepath.Clean(a) == filepath.Clean(b)
	}
	var before []output
	for _, o := range outputs {
		if o.path == "" {
			continue
		}
		if script != "" && script != "-" && same(script, o.path) {
			return usagef("%s would overwrite the script", o)
		}
		for _, b := range before {
			if same(b.path, o.path) {
				return usagef("%s and %s would both write %s", b.flag, o.flag, o.path)
			}
		}
		before = append(before, o)
		if fi, err := os.Stat(o.path); err == nil && fi.IsDir() {
			return usagef("%s: that is a folder; name a file in it", o)
		}
		what, ext := map[string]string{"--trace": ".json", "--report": ".html"}[o.flag], strings.ToLower(filepath.Ext(o.path))
		if what != "" && otherFormats[ext] && !strings.HasPrefix(what, ext) { // .htm
			return usagef("%s: the file would be %s; its name should end in %s", o, strings.ToUpper(what[1:]), what)
		}
		folder := filepath.Dir(o.path)
		if fi, err := os.Stat(folder); err != nil || !fi.IsDir() {
			if err == nil {
				err = syscall.ENOTDIR
			}
			if errors.Is(err, fs.ErrNotExist) {
				return usagef("%s: there is no folder %s; make it first, as by `mkdir -p %[2]s`, or name another", o, folder)
			}
			return usagef("%s: %s is no folder to write to: %v", o, folder, cause(err))
		}
	}
	return nil
}

// otherFormats are the ends of names that promise a format. Others, as those that mktemp
// makes or that are dates, promise none.
var otherFormats = map[string]bool{".html": true, ".htm": true, ".json": true, ".txt": true, ".md": true, ".csv": true, ".xml": true, ".dot": true,
	".pdf": true, ".ps": true, ".png": true, ".jpg": true, ".svg": true, ".gz": true, ".zip": true}

// counted is a number of things: "1 task", "3 tasks".
func counted[N int | int32 | int64](n N, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
