package format

// Lines of coordinate files, read in blocks that several goroutines parse at once.

import (
	"bytes"
	"math"
	"runtime"
	"sync"

	"github.com/starpush/starpush/datamgr/iface"
)

// blockBytes is the size of a block of text. Its entries fit into the caches of a core.
const blockBytes = 256 << 10

// betweenBlocks is how many entries are read one by one, comments between them, before the next attempt to
// read blocks: the text that plainLines has read ahead is then read a second time.
const betweenBlocks = 4096

// lineBlock has the entries of one block of text. A plain line is `row column` or `row column value`
// within the sizes of the matrix, with blanks; comments, empty lines and mistakes are not plain.
type lineBlock interface {
	// parse parses plain lines up to the first line that is not plain, and returns their bytes and
	// their number. The entries of the text before are gone.
	parse(m *mtx, text []byte) (n, lines int)
}

// linesOf is a lineBlock of elements of type T.
type linesOf[T iface.Go] struct {
	conversion[T]
	row, col []int32 // from 0
	val      []T
}

func (l *linesOf[T]) parse(m *mtx, b []byte) (n, lines int) {
	l.row, l.col, l.val = l.row[:0], l.col[:0], l.val[:0]
	rows, cols := uint64(min(m.rows, math.MaxInt32)), uint64(min(m.cols, math.MaxInt32))
	one, ok := l.of(num{i: 1})
	if !ok {
		return 0, 0
	}
	for n < len(b) {
		i, p := plainIndex(b, n)
		j, q := plainIndex(b, p)
		if i-1 >= rows || j-1 >= cols || q == p {
			break
		}
		v, ok := one, true
		if !m.pattern {
			var x num
			if x, q = plainNumber(m.elem.Part(), b, q); q < 0 {
				break
			}
			if v, ok = l.of(x); !ok {
				break
			}
		}
		for q < len(b) && (b[q] == ' ' || b[q] == '\t' || b[q] == '\r') {
			q++
		}
		if q == len(b) || b[q] != '\n' {
			break
		}
		l.row, l.col, l.val = append(l.row, int32(i-1)), append(l.col, int32(j-1)), append(l.val, v)
		n = q + 1
		lines++
	}
	return n, lines
}

// plainIndex reads a number of at most 10 digits behind blanks at b[p:] and returns where it ends: at a
// blank or the end of the line. It returns 0, which is no index, if there is none.
func plainIndex(b []byte, p int) (x uint64, end int) {
	for p < len(b) && (b[p] == ' ' || b[p] == '\t' || b[p] == '\r') {
		p++
	}
	for end = p; end < len(b) && b[end]-'0' <= 9; end++ {
		x = 10*x + uint64(b[end]-'0')
	}
	if end-p > 10 || end == len(b) || b[end] > ' ' {
		return 0, end
	}
	return x, end
}

// plainNumber reads a number for elements of type e behind blanks at b[p:], as parseReal does, and returns
// where it ends: -1 if there is none.
func plainNumber(e iface.Elem, b []byte, p int) (n num, end int) {
	for p < len(b) && (b[p] == ' ' || b[p] == '\t' || b[p] == '\r') {
		p++
	}
	start, neg := p, false
	if p < len(b) && b[p] == '-' {
		neg = true
		p++
	}
	mant, first, dot := uint64(0), p, 0
	for ; p < len(b); p++ {
		if c := b[p] - '0'; c <= 9 {
			mant = 10*mant + uint64(c)
		} else if b[p] == '.' && dot == 0 {
			dot = p + 1
		} else {
			break
		}
	}
	digits, exp := p-first, 0
	if dot > 0 {
		digits, exp = digits-1, dot-p
	}
	plain := digits > 0 && digits < 19
	if plain && dot == 0 && p < len(b) && b[p] <= ' ' && (!neg || mant != 0) {
		n.i = int64(mant)
		if neg {
			n.i = -n.i
		}
		return n, p
	}
	if plain && p+4 < len(b) && b[p]|0x20 == 'e' && (b[p+1] == '-' || b[p+1] == '+') && b[p+2]-'0' <= 9 && b[p+3]-'0' <= 9 {
		k := 10*int(b[p+2]-'0') + int(b[p+3]-'0')
		if b[p+1] == '-' {
			k = -k
		}
		exp += k
		p += 4
	}
	n.form = floatNum
	if plain && p < len(b) && b[p] <= ' ' && mant <= 1<<53 && exp >= -22 && exp <= 22 {
		n.f = float64(mant) // exact, and so are the powers: one rounding
		if exp < 0 {
			n.f /= pow10[-exp]
		} else {
			n.f *= pow10[exp]
		}
		if neg {
			n.f = -n.f
		}
		if e == iface.F64 || e == iface.F32 && !between32(n.f) {
			return n, p
		}
	}
	for p < len(b) && b[p] > ' ' {
		p++
	}
	if e == iface.F64 && plain {
		f, err := parseFloat(b[start:p], 64)
		if err == nil {
			n.f = f
			return n, p
		}
	}
	n, ok := parseReal(e, b[start:p])
	if !ok {
		return n, -1
	}
	return n, p
}

// plainLines reads plain lines of entries into c, up to the first line that is not plain or that c refuses,
// which t has next. It returns how many it read.
func (m *mtx) plainLines(c cells) (read int) {
	if m.complex || m.skew {
		return 0
	}
	t := m.t
	workers, size := runtime.GOMAXPROCS(0), blockBytes
	if m.size > 0 {
		workers, size = int(min(int64(workers), m.size/blockBytes+1)), int(min(blockBytes, m.size+1))
	}
	todo := make(chan *textBlock, workers+1)
	var pool sync.WaitGroup
	for range workers {
		pool.Go(func() {
			for b := range todo {
				b.bytes, b.lines = b.into.parse(m, b.text)
				b.done <- struct{}{}
			}
		})
	}
	var ahead, free []*textBlock
	var rest []byte // begins a line whose end was not read
	for more := true; more || len(ahead) > 0; {
		for more && len(ahead) <= workers {
			var b *textBlock
			if n := len(free); n > 0 {
				b, free = free[n-1], free[:n-1]
			} else {
				b = &textBlock{text: make([]byte, 0, size), into: c.lines(), done: make(chan struct{}, 1)}
			}
			b.text, rest, more = t.block(b.text[:0], rest)
			todo <- b
			ahead = append(ahead, b)
		}
		b := ahead[0]
		<-b.done
		n := c.take(m, b.into, m.nnz-read)
		read += n
		t.line += n
		whole := n == b.lines && b.bytes == len(b.text)
		if !whole {
			b.text = afterLines(b.text, n)
			break
		}
		ahead, free = ahead[1:], append(free, b)
	}
	close(todo)
	pool.Wait()
	var texts [][]byte
	for _, b := range ahead {
		texts = append(texts, b.text)
	}
	t.unread(append(texts, rest)...)
	return read
}

// textBlock is text on its way to a goroutine that parses it.
type textBlock struct {
	text         []byte // whole lines
	into         lineBlock
	bytes, lines int // that were parsed
	done         chan struct{}
}

// afterLines returns the text after n lines.
func afterLines(b []byte, n int) []byte {
	for ; n > 0; n-- {
		b = b[bytes.IndexByte(b, '\n')+1:]
	}
	return b
}
