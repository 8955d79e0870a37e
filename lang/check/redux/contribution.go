// Package redux finds the effect of a codelet body on an operand that is passed REDUX. Each
// task has a copy that other tasks of its worker may have changed, so every write must be a
// contribution, and nothing else may read the value.
//
// contribution.go walks a body, locals.go follows values through its locals, and report.go
// makes the diagnostics.
package redux

import (
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// Contributions is the effect of a body on one of its operands.
type Contributions struct {
	param         string
	folds         []contribution // one for each fold, in the order of the source
	limited       []conditional
	misuses       []misuse // in the order of the source
	unsure        bool     // some writes depend on locals that are assigned again
	reads, writes bool
}

// contribution is the first assignment of a fold: sum, prod, min or max.
type contribution struct {
	fold string
	at   *syntax.Assign
}

// conditional is an assignment that may be a contribution, under some folds only.
type conditional struct {
	at    *syntax.Assign
	folds []string
}

// misuse is a place in a body that needs the complete value, or that loses it.
type misuse struct {
	kind   misuseKind
	at     syntax.Node    // for an assignment that is the only statement of a loop, the loop
	assign *syntax.Assign // of overwrites
	whole  bool           // overwrites every element, for any data
	once   bool           // neither in an if nor in a for
	alone  bool           // runs once, except for loops that at begins with and that do nothing else
}

type misuseKind uint8

const (
	overwrites misuseKind = iota // assigns a value that does not depend on it
	recomputes                   // assigns another value that is no contribution
	readsValue                   // reads it for another purpose
)

// A Unit is the script that declares a codelet: types.Object.Unit.
type Unit interface {
	SourceFile() *syntax.File
	Redux() *Cache
}

// Cache has what was found about the codelets of a unit, because many inserts may name one.
// Its zero value is empty.
type Cache struct {
	contributions sync.Map // of bodyOperand: *Contributions
	mixed         sync.Map // of mixedKey: *mixedUse
}

// bodyOperand is an operand of a codelet.
type bodyOperand struct {
	codelet *types.Object
	param   string
}

// ContributionsOf returns the effect of the body of the codelet o on an operand, or nil if o
// has no body. The unit caches it, because many inserts may name the codelet.
func ContributionsOf(o *types.Object, param string) *Contributions {
	k, ok := o.Node.(*syntax.Codelet)
	if !ok || k.Body == nil {
		return nil
	}
	u, ok := o.Unit.(Unit)
	if !ok {
		return contributions(k, param)
	}
	key := bodyOperand{o, param}
	if found, ok := u.Redux().contributions.Load(key); ok {
		return found.(*Contributions)
	}
	found := contributions(k, param)
	u.Redux().contributions.Store(key, found)
	return found
}

func contributions(k *syntax.Codelet, param string) *Contributions {
	b := &bodyUse{found: &Contributions{param: param}, param: param, locals: localsOf(k.Body, param), writesBefore: map[*syntax.Ident]int{}}
	b.block(k.Body, position{unconditional: true})
	return b.found
}

// bodyUse is the state of a walk over a body.
type bodyUse struct {
	found        *Contributions
	param        string
	locals       *bodyLocals
	names        *types.Scope[*local]
	clock        int                   // for versions of locals
	writes       []syntax.Expr         // elements of the operand that were written so far
	writesBefore map[*syntax.Ident]int // the length of writes at each read of the operand, by its identifier
}

// position is the surroundings of a statement.
type position struct {
	unconditional bool          // neither in an if nor in a for
	each          *syntax.Each  // the enclosing loop, if the statement is all that it does
	sole          syntax.Stmt   // the outermost enclosing loop, if the statement is all that the loops do
	guard         *guardedBlock // the enclosing condition that reads the operand
	maybeGuards   []guard       // of enclosing conditions, comparisons with locals that may depend on the operand
}

// soleLoop returns the outermost loop for the body of loop, which is at in.
func (in position) soleLoop(loop syntax.Stmt) syntax.Stmt {
	if in.sole == nil && in.unconditional {
		return loop
	}
	return in.sole
}

func (b *bodyUse) block(k *syntax.Block, in position, indices ...*syntax.Ident) {
	if k == nil {
		return
	}
	b.names = b.names.Inner()
	for _, id := range indices {
		b.names.Insert(id.Name, b.locals.byIdent[id])
	}
	if len(k.Stmts) != 1 {
		in.each, in.sole = nil, nil
	}
	for _, s := range k.Stmts {
		b.stmt(s, in)
	}
	b.names = b.names.Parent
}

func (b *bodyUse) stmt(s syntax.Stmt, in position) {
	switch s := s.(type) {
	case *syntax.Block:
		b.block(s, in)
	case *syntax.Let:
		if s.Name == nil {
			return
		}
		l, value := b.locals.byIdent[s.Name], b.expand(s.Value)
		l.carries = b.use(value, nil) != unused
		if !l.reassigned {
			l.value = value
		}
		b.names.Insert(s.Name.Name, l)
	case *syntax.For:
		b.checkRead(s.In)
		b.loop(s, func() {
			b.block(s.Body, position{guard: in.guard, maybeGuards: in.maybeGuards, sole: in.soleLoop(s)}, s.Names...)
		})
	case *syntax.While:
		b.checkRead(s.Cond)
		b.loop(s, func() {
			b.block(s.Body, position{guard: in.guard, maybeGuards: in.maybeGuards})
		})
	case *syntax.Each:
		for _, d := range s.Domain {
			if _, size := syntax.Unparen(d).(*syntax.Ident); !size {
				b.checkRead(d)
			}
		}
		b.loop(s, func() {
			b.block(s.Body, position{unconditional: in.unconditional, each: s, sole: in.soleLoop(s), guard: in.guard, maybeGuards: in.maybeGuards}, s.Names...)
		})
	case *syntax.If:
		b.condition(s, in)
	case *syntax.Assign:
		b.assign(s, in)
	}
}

// checkRead records a misuse if e, which is no contribution, depends on the operand.
func (b *bodyUse) checkRead(e syntax.Expr) {
	if u := b.use(b.expand(e), nil); u != unused && u != unsure {
		b.found.reads = true
		b.addMisuse(misuse{kind: readsValue, at: e})
	}
}

func (b *bodyUse) addMisuse(m misuse) { b.found.misuses = append(b.found.misuses, m) }

func (b *bodyUse) assign(a *syntax.Assign, in position) {
	base := syntax.Unparen(a.Target)
	x, element := base.(*syntax.Index)
	if element {
		base = syntax.Unparen(x.X)
	}
	id, ok := base.(*syntax.Ident)
	if !ok {
		return
	}
	if l := b.names.Lookup(id.Name); l != nil {
		l.carries = b.use(b.expand(a.Value), nil) != unused || (a.Op != "=" || element) && l.carries
		if element { // of an array: the others keep what they have
			for _, i := range x.Args {
				l.carries = l.carries || b.use(b.expand(i), nil) != unused
			}
		}
		l.version = b.nextVersion()
		return
	}
	if element {
		for _, i := range x.Args {
			b.checkRead(i)
		}
	}
	if id.Name != b.param {
		b.checkRead(a.Value)
		if in.guard != nil {
			in.guard.wrong = true
		}
		return
	}
	b.found.writes = true
	target, value := b.expand(a.Target), b.expand(a.Value)
	defer func() { b.writes = append(b.writes, target) }()
	u := b.use(value, target)
	if fold := foldOfOp[a.Op]; fold != "" {
		b.found.reads = true
		switch {
		case u == unused:
			u = fold
		case u == unsure && fold == "sum":
			u = maybeProd // m += s, and s may depend on m
		case u == maybeProd: // m += s - m
			u = unsure
		case fold == "sum":
			u = combinedUse(self, u, fold)
		default:
			u = other
		}
	} else if a.Op != "=" {
		b.found.reads = true
		u = other
	}
	switch u {
	case "-self":
		u = "prod"
	case "-sum", "-min", "-max", "-" + bounds:
		u = other
	case unused:
		k := slices.IndexFunc(in.maybeGuards, func(g guard) bool { return syntax.EqualExpr(g.value, value) })
		if k >= 0 { // if v > best { m = v }
			u = unsure
			b.found.limited = append(b.found.limited, conditional{a, []string{string(in.maybeGuards[k].fold)}})
		}
	}
	if g := in.guard; g != nil && (u == unsure || u == bounds || u == maybeProd) {
		g.used = true
	} else if g != nil {
		fold := g.contribution(target, value, u)
		if fold == unused {
			g.wrong = true
			return
		}
		g.used, u = true, fold
	}
	switch u {
	case unused:
		m := misuse{kind: overwrites, at: a, assign: a, once: in.unconditional}
		if in.each != nil {
			m.at = in.each
		}
		if m.alone = in.unconditional || in.sole != nil; in.sole != nil {
			m.at = in.sole
		}
		m.whole = in.unconditional && (!element || in.each != nil && b.coversOperand(in.each, x))
		b.addMisuse(m)
	case self:
	case unsure:
		b.found.reads, b.found.unsure = true, true
	case bounds, maybeProd:
		b.found.reads, b.found.unsure = true, true
		b.found.limited = append(b.found.limited, conditional{a, foldsOf[u]})
	case other:
		b.found.reads = true
		b.addMisuse(misuse{kind: recomputes, at: a})
	default:
		b.found.reads = true
		if !slices.ContainsFunc(b.found.folds, func(c contribution) bool { return c.fold == string(u) }) {
			b.found.folds = append(b.found.folds, contribution{string(u), a})
		}
	}
}

// coversOperand reports whether x is each element of the operand in turn.
func (b *bodyUse) coversOperand(each *syntax.Each, x *syntax.Index) bool {
	if len(each.Domain) != 1 || len(each.Names) != len(x.Args) {
		return false
	}
	id, ok := syntax.Unparen(each.Domain[0]).(*syntax.Ident)
	if !ok || id.Name != b.param {
		return false
	}
	for k, i := range x.Args {
		if id, ok := syntax.Unparen(i).(*syntax.Ident); !ok || id.Name != each.Names[k].Name {
			return false
		}
	}
	return true
}

// Contributions: the expressions of a body.

// use is how the value of an expression depends on the element that is written.
type use string

// The uses. Those named sum, prod, min and max are contributions.
const (
	unused use = ""
	self   use = "self"   // the element
	unsure use = "unsure" // perhaps, through a local that is assigned again
	bounds use = "bounds" // the element, clamped between two bounds
	other  use = "other"  // in another way, or on other elements

	maybeProd use = "prod?" // the element plus something unsure: at best a product
)

// foldsOf has the folds of uses that may be contributions under some folds only.
var foldsOf = map[use][]string{bounds: {"min", "max"}, maybeProd: {"prod"}}

// negated maps the use of e to that of -e. Two signs cancel out, and one is a factor.
var negated = map[use]use{self: "-self", "-self": self, "sum": "-sum", "-sum": "sum", "min": "-min", "-min": "min", "max": "-max", "-max": "max",
	bounds: "-" + bounds, "-" + bounds: bounds, maybeProd: maybeProd,
	"prod": "prod", unused: unused, unsure: unsure, other: other}

// foldOfOp maps operators of assignments to folds.
var foldOfOp = map[string]use{"+=": "sum", "-=": "sum", "*=": "prod", "/=": "prod"}

func calledName(c *syntax.Call) string {
	if id, ok := c.Fn.(*syntax.Ident); ok {
		return id.Name
	}
	return ""
}

// use returns the use of the expanded e. target is the element that is written, or nil if e
// is not assigned to the operand.
func (b *bodyUse) use(e, target syntax.Expr) use {
	switch x := e.(type) {
	case *syntax.Ident:
		switch {
		case x.Name == unsureName:
			return unsure
		case x.Name != b.param:
			return unused
		case target != nil && syntax.EqualExpr(x, target):
			return self
		}
		return other
	case *syntax.Index:
		inner := b.useOfAll(x.Args)
		if id, ok := syntax.Unparen(x.X).(*syntax.Ident); !ok || id.Name != b.param {
			return inner
		}
		if inner == unused && target != nil && syntax.EqualExpr(x, target) {
			return self
		}
		return other
	case *syntax.Unary:
		if x.Op == "-" {
			return negated[b.use(x.X, target)]
		}
		return b.useOfAll([]syntax.Expr{x.X})
	case *syntax.Binary:
		l, r := b.use(x.X, target), b.use(x.Y, target)
		switch {
		case x.Op == "+":
			return sumUse(x.X, x.Y, l, r)
		case x.Op == "-":
			return sumUse(x.X, x.Y, l, negated[r])
		case x.Op == "*":
			return productUse(x.X, x.Y, l, r)
		case x.Op == "/" && r == unused:
			return productUse(x.X, x.Y, l, r)
		case x.Op == "**" && constant(x.Y) == 1:
			return l
		case x.Op == "or":
			return combinedUse(l, r, "max") // of bools
		case x.Op == "and":
			return combinedUse(l, r, "min")
		}
		return combinedUse(l, r, other)
	case *syntax.RangeExpr:
		return b.useOfAll([]syntax.Expr{x.Lo, x.Hi})
	case *syntax.Cond:
		return b.condUse(x, target)
	case *syntax.Call:
		return b.callUse(x, target)
	case *syntax.Fold:
		u := b.use(x.Body, nil)
		for _, d := range x.Domain {
			if _, size := syntax.Unparen(d).(*syntax.Ident); !size {
				u = combinedUse(u, b.use(d, nil), other)
			}
		}
		return u
	}
	return unused
}

// useOfAll returns the use of a value that is computed from es in any way.
func (b *bodyUse) useOfAll(es []syntax.Expr) use {
	u := unused
	for _, e := range es {
		u = combinedUse(u, b.use(e, nil), other)
	}
	return u
}

// combinedUse returns the use of two values of uses x and y that fold combines.
func combinedUse(x, y, fold use) use {
	if x == unused {
		x, y = y, x
	}
	extreme := func(u use) bool { return u == "min" || u == "max" || u == bounds }
	minus := func(u use) bool { return strings.HasPrefix(string(u), "-") }
	multiple := func(u use) bool { return u == self || u == "-self" || u == "prod" }
	switch {
	case x == unused:
		return unused
	case x == maybeProd || y == maybeProd:
		return either(x == unused || y == unused, maybeProd)
	case fold == "sum" && (x == self && y == unsure || x == unsure && y == self):
		return maybeProd // m + s, and s may depend on m
	case x == unsure || y == unsure:
		return unsure
	case fold == other:
		return other
	case fold == "sum" && multiple(x) && multiple(y), fold == "prod" && multiple(x) && y == unused:
		return "prod" // m + m * e is m * (1 + e)
	case fold == "sum" && (x == "-self" || x == "-sum") && y == unused:
		return "-sum"
	case extreme(fold) && minus(x) && (minus(y) || y == unused): // max(-m, e) is -min(m, -e)
		opposite := map[use]use{"min": "max", "max": "min"}[fold]
		return negated[combinedUse(negated[x], negated[y], opposite)]
	case (x == self || x == fold) && (y == unused || extreme(fold) && (y == self || y == fold)):
		return fold
	case fold == "max" && (x == self && y == "min" || x == "min" && y == self), fold == "min" && (x == self && y == "max" || x == "max" && y == self):
		return self // max(m, min(m, e))
	case extreme(fold) && (extreme(x) || x == self) && (extreme(y) || y == self || y == unused):
		return bounds
	}
	return other
}

// sumUse returns the use of x + y, with uses l and r. Adding 0 changes nothing.
func sumUse(x, y syntax.Expr, l, r use) use {
	switch {
	case constant(x) == 0:
		return r
	case constant(y) == 0:
		return l
	}
	return combinedUse(l, r, "sum")
}

// productUse returns the use of x * y or x / y, with uses l and r. A factor of 1 changes
// nothing, and -1 changes the sign.
func productUse(x, y syntax.Expr, l, r use) use {
	for k, v := range []float64{constant(y), constant(x)} {
		u := [2]use{l, r}[k]
		switch {
		case u == unused:
		case v == 1:
			return u
		case v == -1:
			return negated[u]
		}
	}
	return combinedUse(l, r, "prod")
}

// either returns u if yes is set, and unsure otherwise.
func either(yes bool, u use) use {
	if yes {
		return u
	}
	return unsure
}

func (b *bodyUse) callUse(x *syntax.Call, target syntax.Expr) use {
	if calledName(x) == "len" && len(x.Args) == 1 {
		if _, size := syntax.Unparen(x.Args[0].Value).(*syntax.Ident); size {
			return unused // the size is meant, which the check of the body reports
		}
	}
	var us []use
	for _, a := range x.Args {
		us = append(us, b.use(a.Value, target))
	}
	switch name := calledName(x); {
	case (name == "min" || name == "max") && len(us) > 1:
		u, rest := us[0], us[1:]
		for k, v := range rest {
			if math.IsInf(constant(x.Args[k+1].Value), map[string]int{"min": 1, "max": -1}[name]) {
				continue // infinity as the neutral element changes nothing
			}
			u = combinedUse(u, v, use(name))
		}
		return u
	case name == "fma" && len(us) == 3:
		return combinedUse(us[2], productUse(x.Args[0].Value, x.Args[1].Value, us[0], us[1]), "sum")
	case (name == "int" || name == "float") && len(us) == 1:
		return us[0]
	}
	u := unused
	for _, v := range us {
		u = combinedUse(u, v, other)
	}
	return u
}

// condUse returns the use of a choice: if v > m then v else m is a max.
func (b *bodyUse) condUse(x *syntax.Cond, target syntax.Expr) use {
	cond, then, otherwise := b.use(x.If, nil), b.use(x.Then, target), b.use(x.Else, target)
	switch {
	case cond == unsure || then == unsure || otherwise == unsure:
		return unsure
	case cond == unused && (then == self && otherwise == "-self" || then == "-self" && otherwise == self):
		return "prod"
	case cond == unused && (then == otherwise || otherwise == self && then != unused):
		return then
	case cond == unused && then == self && otherwise != unused:
		return otherwise
	case cond == unused || target == nil:
		return other
	}
	g := &guardedBlock{plain: true}
	switch {
	case otherwise == self && b.collectGuards(g, x.If, false):
		return orOther(g.contribution(target, x.Then, then))
	case then == self && b.collectGuards(g, x.If, true):
		return orOther(g.contribution(target, x.Else, otherwise))
	}
	return other
}

func orOther(u use) use {
	if u == unused {
		return other
	}
	return u
}

// Contributions: conditions that compare the operand with its new value, as in
// if v > m { m = v }.

// guardedBlock is a side of an `if` whose condition compares the operand with a value.
type guardedBlock struct {
	guards []guard
	plain  bool // all guards hold in the block
	used   bool // an assignment in it is a contribution because of a guard
	wrong  bool // an assignment in it is anything else
}

// condition walks over an `if`. Its condition may read the operand if that only skips
// contributions that change nothing: if v > m { m = v }.
func (b *bodyUse) condition(s *syntax.If, in position) {
	in = position{guard: in.guard, maybeGuards: slices.Clip(in.maybeGuards)}
	cond := b.expand(s.Cond)
	if u := b.use(cond, nil); u == unused || u == unsure {
		then, otherwise := in, in
		if u == unsure {
			then.maybeGuards = append(then.maybeGuards, unsureGuards(cond, false)...)
			otherwise.maybeGuards = append(otherwise.maybeGuards, unsureGuards(cond, true)...)
		}
		b.branches(s, then, otherwise)
		return
	}
	b.found.reads = true
	at := len(b.found.misuses)
	then, otherwise := &guardedBlock{plain: true}, &guardedBlock{plain: true}
	ok := b.collectGuards(then, cond, false)
	if ok && b.collectGuards(otherwise, cond, true) {
		b.branches(s, position{guard: then, maybeGuards: in.maybeGuards}, position{guard: otherwise, maybeGuards: in.maybeGuards})
		ok = (then.used || otherwise.used) && !then.wrong && !otherwise.wrong
	} else {
		b.branches(s, in, in)
	}
	if ok && in.guard != nil {
		in.guard.used = true
	}
	if !ok {
		b.found.misuses = slices.Insert(b.found.misuses, at, misuse{kind: readsValue, at: s.Cond})
	}
}

// guard is a condition that value is larger (max) or smaller (min) than target, an element of
// the operand.
type guard struct {
	target, value syntax.Expr
	fold          use
}

// collectGuards adds the comparisons of cond, negated if not is set, with the operand to g.
// It reports false if cond reads the operand in another way.
func (b *bodyUse) collectGuards(g *guardedBlock, cond syntax.Expr, not bool) bool {
	both, _ := cond.(*syntax.Binary)
	if both != nil && (both.Op == "and" || both.Op == "or") { // first, for long chains
		before := len(g.guards)
		ok := b.collectGuards(g, both.X, not) && b.collectGuards(g, both.Y, not)
		if (both.Op == "or") != not && len(g.guards) > before {
			g.plain = false
		}
		return ok
	}
	if u := b.use(cond, nil); u == unused || u == unsure {
		return true
	}
	switch x := cond.(type) {
	case *syntax.Unary:
		return x.Op == "not" && b.collectGuards(g, x.X, !not)
	case *syntax.Binary:
		larger := x.Op == ">" || x.Op == ">="
		if !larger && x.Op != "<" && x.Op != "<=" {
			return false
		}
		value, target := x.X, x.Y
		if b.isElement(value) {
			value, target, larger = target, value, !larger
		}
		if u := b.use(value, nil); !b.isElement(target) || u != unused || b.writtenSince(target) {
			return false
		}
		fold := use("min")
		if larger != not {
			fold = "max"
		}
		g.guards = append(g.guards, guard{target, value, fold})
		return true
	}
	return false
}

// writtenSince reports whether element has been written since the expression was read.
func (b *bodyUse) writtenSince(element syntax.Expr) bool {
	base := element
	if x, ok := base.(*syntax.Index); ok {
		base = x.X
	}
	id, ok := base.(*syntax.Ident)
	if !ok {
		return false
	}
	return slices.ContainsFunc(b.writes[b.writesBefore[id]:], func(w syntax.Expr) bool { return syntax.EqualExpr(w, element) })
}

// unsureGuards returns the comparisons in cond, negated if not is set, with a local that may
// depend on the operand.
func unsureGuards(cond syntax.Expr, not bool) (all []guard) {
	switch x := cond.(type) {
	case *syntax.Unary:
		if x.Op == "not" {
			return unsureGuards(x.X, !not)
		}
	case *syntax.Binary:
		larger := x.Op == ">" || x.Op == ">="
		switch {
		case x.Op == "and" || x.Op == "or":
			return append(unsureGuards(x.X, not), unsureGuards(x.Y, not)...)
		case !larger && x.Op != "<" && x.Op != "<=":
			return nil
		}
		for k, side := range []syntax.Expr{x.Y, x.X} {
			if id, ok := side.(*syntax.Ident); ok && id.Name == unsureName {
				fold := use("min")
				if larger != (k == 1) != not {
					fold = "max"
				}
				all = append(all, guard{value: []syntax.Expr{x.X, x.Y}[k], fold: fold})
			}
		}
	}
	return all
}

// isElement reports whether e is the operand or an element of it.
func (b *bodyUse) isElement(e syntax.Expr) bool {
	if x, ok := e.(*syntax.Index); ok {
		if b.useOfAll(x.Args) != unused {
			return false
		}
		e = syntax.Unparen(x.X)
	}
	id, ok := e.(*syntax.Ident)
	return ok && id.Name == b.param
}

// contribution returns the fold of the assignment of value, with use u, to target under the
// guards of g, or unused if it is no contribution.
func (g *guardedBlock) contribution(target, value syntax.Expr, u use) use {
	for _, x := range g.guards {
		switch {
		case !syntax.EqualExpr(x.target, target):
		case u == x.fold, u == unused && g.plain && syntax.EqualExpr(x.value, value):
			return x.fold
		}
	}
	return unused
}
