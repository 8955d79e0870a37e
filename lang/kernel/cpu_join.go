package kernel

// CPU back end: operations that often stand together and run as one loop.

// joined compiles a*b+c, a*b-c, c-a*b, a+b+c and (a+b)*s in one pass; nil: e is
// none of them.
func joined[T number](s *stripper, e *Expr, t int) vec[T] {
	// inner reports whether x is such an operation and needs a strip
	inner := func(x *Expr, op Op) bool {
		cl, _ := s.classify(x)
		return x.Op == op && cl == varying
	}
	x, y := e.X[0], e.X[1]
	switch e.Op {
	case OpMul:
		if s.isUniform(x) {
			x, y = y, x
		}
		if s.isUniform(y) && inner(x, OpAdd) && !s.isUniform(x.X[0]) && !s.isUniform(x.X[1]) {
			return sumTimes[T](s, x.X[0], x.X[1], y, t)
		}
		return nil
	case OpAdd:
		switch {
		case inner(y, OpMul):
			return multiplyAdd[T](s, y, x, t, plusProduct)
		case inner(x, OpMul):
			return multiplyAdd[T](s, x, y, t, plusProduct)
		case inner(x, OpAdd) && !s.isUniform(y) && !s.isUniform(x.X[0]) && !s.isUniform(x.X[1]) && !inner(x.X[0], OpMul) && !inner(x.X[1], OpMul):
			return sumOfThree[T](s, x.X[0], x.X[1], y, t)
		}
		return nil
	}
	switch {
	case inner(y, OpMul) && !s.isUniform(x):
		return multiplyAdd[T](s, y, x, t, minusProduct)
	case inner(x, OpMul):
		return multiplyAdd[T](s, x, y, t, productMinus)
	}
	return nil
}

func sumTimes[T number](s *stripper, a, b, f *Expr, t int) vec[T] {
	va, vb, sf := numbers[T](s, a, t), numbers[T](s, b, t+1), scalarOf[T](s.c, f)
	loop := loopsOf[T]().addMulVVS
	return func(m *machine, n int, mask []bool, dst []T) []T {
		a, b := va(m, n, mask, nil), vb(m, n, mask, nil)
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		loop(dst[:n], a, b, sf(m))
		return dst
	}
}

func sumOfThree[T number](s *stripper, a, b, c *Expr, t int) vec[T] {
	va, vb, vc := numbers[T](s, a, t), numbers[T](s, b, t+1), numbers[T](s, c, t+2)
	loop := loopsOf[T]().addVVV
	return func(m *machine, n int, mask []bool, dst []T) []T {
		a, b, c := va(m, n, mask, nil), vb(m, n, mask, nil), vc(m, n, mask, nil)
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		loop(dst[:n], a, b, c)
		return dst
	}
}

// How a product and a third value are joined.
type joint uint8

const (
	plusProduct  joint = iota // c + a*b
	minusProduct              // c - a*b
	productMinus              // a*b - c
)

// multiplyAdd joins the product mul, which differs between rounds, with c. A
// uniform c comes with plusProduct and productMinus only.
func multiplyAdd[T number](s *stripper, mul, c *Expr, t int, how joint) vec[T] {
	a, b := mul.X[0], mul.X[1]
	if s.isUniform(a) {
		a, b = b, a
	}
	l := loopsOf[T]()
	// c is often the rest of a long sum: with the first strip it needs no more
	// of them than its own length
	ta, tb, tc := t, t+1, t+2
	if c.Op != OpLoad && c.Op != OpSlot && !s.isUniform(c) {
		ta, tb, tc = t+1, t+2, t
	}
	va := numbers[T](s, a, ta)
	if s.isUniform(c) {
		sc := scalarOf[T](s.c, c)
		if how == productMinus {
			plus := sc
			sc = func(m *machine) T { return -plus(m) }
		}
		if s.isUniform(b) {
			sb := scalarOf[T](s.c, b)
			return func(m *machine, n int, mask []bool, dst []T) []T {
				a := va(m, n, mask, nil)
				if dst == nil {
					dst = strip[T](m, t, n)
				}
				l.mulAddVSS(dst[:n], a, sb(m), sc(m))
				return dst
			}
		}
		vb := numbers[T](s, b, t+1)
		return func(m *machine, n int, mask []bool, dst []T) []T {
			a, b := va(m, n, mask, nil), vb(m, n, mask, nil)
			if dst == nil {
				dst = strip[T](m, t, n)
			}
			l.mulAddVVS(dst[:n], a, b, sc(m))
			return dst
		}
	}
	if s.isUniform(b) {
		sb, vc := scalarOf[T](s.c, b), numbers[T](s, c, tc)
		loop := l.mulAddVSV
		if how == minusProduct {
			loop = l.subMulVSV
		}
		if how != productMinus {
			return func(m *machine, n int, mask []bool, dst []T) []T {
				var a, c []T
				if tc < ta {
					c = vc(m, n, mask, nil)
					a = va(m, n, mask, nil)
				} else {
					a = va(m, n, mask, nil)
					c = vc(m, n, mask, nil)
				}
				if dst == nil {
					dst = strip[T](m, t, n)
				}
				loop(dst[:n], a, sb(m), c)
				return dst
			}
		}
	}
	vb, vc := numbers[T](s, b, tb), numbers[T](s, c, tc)
	loop := l.mulAddVVV
	switch how {
	case minusProduct:
		loop = l.subMulVVV
	case productMinus:
		loop = l.mulSubVVV
	}
	return func(m *machine, n int, mask []bool, dst []T) []T {
		var a, b, c []T
		if tc < ta {
			c = vc(m, n, mask, nil)
		}
		a = va(m, n, mask, nil)
		b = vb(m, n, mask, nil)
		if tc > ta {
			c = vc(m, n, mask, nil)
		}
		if dst == nil {
			dst = strip[T](m, t, n)
		}
		loop(dst[:n], a, b, c)
		return dst
	}
}
