package format

// Files that end with a context: those that have no end, and pipes, which wait for their
// other side when they are opened, read and written.

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

type opensWithin interface {
	OpenContext(ctx context.Context, name string) (fs.File, error)
}

type createsWithin interface {
	CreateContext(ctx context.Context, name string) (io.WriteCloser, error)
}

// Within returns the files of fsys, for use until ctx ends: they cannot be read or written
// any more then, and what waits for a pipe ends with the cause of ctx. If fsys is a
// Creator, so is the result. If fsys has methods OpenContext(context.Context, string)
// (fs.File, error) and CreateContext(context.Context, string) (io.WriteCloser, error),
// those are called instead of Open and Create. A file that gives nothing and does not end
// either is an error, too: io.ReadFull would ask it for ever.
func Within(ctx context.Context, fsys fs.FS) *Bounded { return &Bounded{fsys, ctx} }

// Bounded is a file system that can be used until a context ends; Within makes it.
type Bounded struct {
	fsys fs.FS
	ctx  context.Context
}

// Open implements fs.FS.
func (b *Bounded) Open(name string) (f fs.File, err error) {
	if o, ok := b.fsys.(opensWithin); ok {
		f, err = o.OpenContext(b.ctx, name)
	} else {
		f, err = b.fsys.Open(name)
	}
	if err != nil {
		return nil, err
	}
	return &boundedFile{File: f, ctx: b.ctx, stop: interrupt(b.ctx, f)}, nil
}

// Stat implements fs.StatFS. A file that waits to be opened is not opened, if fsys is
// an fs.StatFS too.
func (b *Bounded) Stat(name string) (fs.FileInfo, error) {
	if b.ctx.Err() != nil {
		return nil, context.Cause(b.ctx)
	}
	return fs.Stat(b.fsys, name)
}

// Create implements Creator; a FileSystem that is none makes no files.
func (b *Bounded) Create(name string) (f io.WriteCloser, err error) {
	if o, ok := b.fsys.(createsWithin); ok {
		f, err = o.CreateContext(b.ctx, name)
	} else if c, ok := b.fsys.(Creator); ok {
		f, err = c.Create(name)
	} else {
		err = &fs.PathError{Op: "create", Path: name, Err: errors.ErrUnsupported}
	}
	if err != nil {
		return nil, err
	}
	return &boundedWriter{WriteCloser: f, ctx: b.ctx, stop: interrupt(b.ctx, f)}, nil
}

// interrupt has a read or write of f that waits end with ctx, if f can.
func interrupt(ctx context.Context, f any) (stop func() bool) {
	d, ok := f.(interface{ SetDeadline(time.Time) error })
	if !ok {
		return func() bool { return true }
	}
	return context.AfterFunc(ctx, func() { _ = d.SetDeadline(time.Unix(1, 0)) }) // regular files have none
}

type boundedFile struct {
	fs.File
	ctx   context.Context
	stop  func() bool
	empty int // reads in a row that gave nothing
}

func (f *boundedFile) Read(b []byte) (int, error) {
	if f.ctx.Err() != nil {
		return 0, context.Cause(f.ctx)
	}
	n, err := f.File.Read(b)
	if n != 0 || err != nil || len(b) == 0 {
		f.empty = 0
		return n, ended(f.ctx, err)
	}
	if f.empty++; f.empty >= 100 {
		return 0, io.ErrNoProgress
	}
	return 0, nil
}

// ReadAt implements io.ReaderAt; the error of a file that cannot is errors.ErrUnsupported.
func (f *boundedFile) ReadAt(b []byte, at int64) (int, error) {
	if f.ctx.Err() != nil {
		return 0, context.Cause(f.ctx)
	}
	r, ok := f.File.(io.ReaderAt)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	n, err := r.ReadAt(b, at)
	return n, ended(f.ctx, err)
}

func (f *boundedFile) Close() error {
	f.stop()
	return f.File.Close()
}

// ended is the cause of ctx where its end is what err comes from.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

type boundedWriter struct {
	io.WriteCloser
	ctx  context.Context
	stop func() bool
}

func (f *boundedWriter) Write(b []byte) (int, error) {
	if f.ctx.Err() != nil {
		return 0, context.Cause(f.ctx)
	}
	n, err := f.WriteCloser.Write(b)
	return n, ended(f.ctx, err)
}

func (f *boundedWriter) Close() error {
	f.stop()
	return f.WriteCloser.Close()
}

// Abort drops what was written, where the file can.
func (f *boundedWriter) Abort() {
	f.stop()
	if a, ok := f.WriteCloser.(interface{ Abort() }); ok {
		a.Abort()
		return
	}
	f.WriteCloser.Close()
}

// OpenPipe opens a named pipe by open, which takes what os.OpenFile does, to be read
// (os.O_RDONLY) or written (os.O_WRONLY). That waits for the other side, until ctx ends.
func OpenPipe(ctx context.Context, open func(name string, flag int, perm fs.FileMode) (*os.File, error), name string, flag int) (*os.File, error) {
	var f *os.File
	var err error
	done := make(chan bool)
	go func() {
		defer close(done)
		f, err = open(name, flag, 0)
	}()
	select {
	case <-done:
		return f, err
	case <-ctx.Done():
	}
	other := os.O_WRONLY
	if flag == os.O_WRONLY {
		other = os.O_RDONLY
	}
	for {
		// that open ends once the pipe has another end
		if o, err := open(name, other|syscall.O_NONBLOCK, 0); err == nil {
			o.Close()
		}
		select {
		case <-done:
			if err == nil {
				f.Close()
			}
			return nil, context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
}
