package cli

// Scripts as they come from files and from standard input, and what is said of files
// that are no scripts.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
)

// A longError says that a source is longer than the limit.
type longError struct{ max int64 }

func (e *longError) Error() string {
	return fmt.Sprintf("the script has more bytes, and the limit is %d (E0107); --limits source=N sets another", e.max)
}

// maxSource is how many bytes a script may have. What is wrong with --limits is said
// where the script is compiled.
func (a *app) maxSource() int64 {
	limits, err := a.limits()
	if err != nil {
		limits = lang.Limits{}
	}
	return limits.MaxSource()
}

// readAll reads at most max bytes, 0 for as many as scripts may have: a device or a pipe may never end.
func readAll(r io.Reader, max int64) ([]byte, error) {
	if max <= 0 {
		max = lang.Limits{}.MaxSource()
	}
	src, err := io.ReadAll(io.LimitReader(r, max+1))
	if err == nil && int64(len(src)) > max {
		return nil, &longError{max}
	}
	return src, err
}

// readSource reads a script or a module.
func readSource(ctx context.Context, name string, max int64) ([]byte, error) {
	f, err := format.Within(ctx, osFiles{}).Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, max)
}

// reading returns the context in which scripts, modules and data are read before a run. It
// ends after the time of --timeout, if that is not 0: the writer of a pipe may never come.
func reading(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout, &exitError{code: exitLimit, err: errors.New("not read within --timeout")})
}

// A standardInput reads a file whose reads have no deadline. Read waits until the file is
// readable or ctx ends.
type standardInput struct {
	ctx context.Context
	f   *os.File
}

// Read implements io.Reader.
func (in standardInput) Read(b []byte) (int, error) {
	for {
		switch ok, err := readable(in.ctx, in.f, 50*time.Millisecond); {
		case err != nil:
			return 0, err
		case ok:
			return in.f.Read(b)
		}
	}
}

// readScript reads a script until ctx ends; "-" is standard input, read in full.
func (a *app) readScript(ctx context.Context, name string) (shown string, src []byte, err error) {
	shown = name
	if name == "-" {
		shown = "stdin"
		in := a.in
		if f, ok := in.(*os.File); ok {
			in = standardInput{ctx, f}
		}
		src, err = readAll(in, a.maxSource())
	} else {
		src, err = a.readFile(ctx, name, a.maxSource())
	}
	var long *longError
	switch {
	case err != nil && ctx.Err() != nil:
		return "", nil, readEnd(ctx, shown)
	case errors.As(err, &long):
		return "", nil, &exitError{code: exitInvalid, err: fmt.Errorf("%s: %w", shown, err)}
	case err != nil && name == "-":
		return "", nil, usagef("reading standard input: %v", err)
	case err != nil:
		return "", nil, usagef("%s", readError(name, err))
	}
	if what := noText(src); what != "" {
		return "", nil, usagef("%s is no script: %s", shown, what)
	}
	return shown, src, nil
}

// readEnd returns the error of a command that stopped reading a file at the end of ctx.
func readEnd(ctx context.Context, file string) error {
	end := context.Cause(ctx)
	if errors.As(end, new(*signalError)) { // sayCancelling has reported it
		return status(codeOf(ctx, end, false))
	}
	return &exitError{code: codeOf(ctx, end, false), err: fmt.Errorf("%s: %w", file, end)}
}

// noText says what a file is that is no text in UTF-8, as far as its beginning shows;
// "" for text. What is wrong in a text is for the compiler to say, with the line.
func noText(src []byte) string {
	switch head := src[:min(len(src), 4096)]; {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return "it is text in UTF-16; save it as UTF-8"
	case bytes.IndexByte(head, 0) >= 0:
		return "it holds no text, but bytes such as 0"
	}
	return ""
}

// readError says why a file could not be read, with a name that is near.
func readError(name string, err error) string {
	if name == "" {
		return "the name of the script is empty"
	}
	text := fmt.Sprintf("%s: %v", name, cause(err))
	if fi, statErr := os.Stat(name); statErr == nil && fi.IsDir() {
		return name + " is a folder" + scriptsIn(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		text = name + ": no such file"
		if near, ok := nearScript(name); ok {
			text += "; did you mean `" + near + "`?"
		}
	}
	return text
}

// folderError says why what lies in a folder, or a file, could not be listed.
func folderError(name string, err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("%s: no such file or folder", name)
	}
	return fmt.Sprintf("%s: %v", name, cause(err))
}

// scriptsIn says which scripts a folder has, as the end of a sentence.
func scriptsIn(folder string) string {
	beside := strings.TrimRight(folder, string(os.PathSeparator)) + ".spu"
	if _, err := os.Stat(beside); err == nil {
		return "; did you mean `" + beside + "`?"
	}
	names := scriptsOf(folder)
	switch {
	case len(names) == 0:
		return ", and no script is in it"
	case len(names) == 1:
		return "; did you mean `" + names[0] + "`?"
	}
	return fmt.Sprintf("; %d scripts are in it, such as `%s`", len(names), names[0])
}

// scriptsOf lists the scripts in a folder, with their path.
func scriptsOf(folder string) (names []string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), ".spu") {
			names = append(names, filepath.Join(folder, e.Name()))
		}
	}
	return names
}

// nearScript finds the script that is meant by the name of no file: without its
// suffix, or misspelt.
func nearScript(name string) (string, bool) {
	if fi, err := os.Stat(name + ".spu"); err == nil && !fi.IsDir() {
		return name + ".spu", true
	}
	if strings.TrimSpace(name) == "" {
		return "", false
	}
	names := scriptsOf(filepath.Dir(name))
	clean := filepath.Clean(name)
	if near, ok := diag.Nearest(clean, names); ok {
		return near, true
	}
	if filepath.Ext(name) == "" {
		if near, ok := diag.Nearest(clean+".spu", names); ok {
			return near, true
		}
	}
	return "", false
}
