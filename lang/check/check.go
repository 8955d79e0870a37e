// Package check, which serves package lang, is pass A of the language: it parses a
// script and what it imports, finds out what every name and expression means, and
// reports what is wrong without running anything. It works from the text and from
// signatures alone; it knows no engine.
//
// One run goes through each unit (a file, or an entry of a session) twice. The
// first walk resolves names and types and annotates the tree for the
// interpreter. The second walk follows the data flow: which handle has a value,
// which array is held, which view has ended. The second walk reports only what
// happens on every path to a place (unreleased arrays: on any path), so a script
// that is right is never rejected.
package check

import (
	"sync"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// Env is what the host offers to scripts. It is immutable once in use and may be
// shared by any number of checks.
type Env struct {
	Codelets []*types.Object          // host codelets, usable without import
	Funcs    []*types.Object          // host functions
	Filters  []*types.Object          // host filters
	Modules  map[string]*types.Module // host modules by import name

	// Load returns the source that an import names; nil forbids file imports. The
	// name of the source identifies the module: two imports that load the same name
	// share it. An error that has a method Near() []string adds names to choose from.
	Load func(path string, from *diag.Source) (*diag.Source, error)

	MaxSource int64 // bytes of text of one program, or of an entry with what it imports; 0 is no limit
}

// Unit is one checked file, or one entry of a session.
type Unit struct {
	File    *syntax.File
	Module  *types.Module // what the unit exports, by name
	Imports []*Unit       // the .spu files that it imports, in order
	Params  []*types.Object
	// ParamOrder holds the params such that each comes after those its default uses.
	ParamOrder     []*syntax.Param
	Externs        []*types.Object // extern data
	ExternCodelets []*types.Object
	Funcs          []*types.Object
	Codelets       []*types.Object          // declared here, extern ones included
	Objects        map[string]*types.Object // top-level names
	Slots          int                      // size of the top-level frame

	// Last is set for an entry of a session whose last statement is an expression
	// with a value: the object of the name _ that the value goes to.
	Last *types.Object

	contributions sync.Map // of bodyOperand: *Contributions
	mixed         sync.Map // of mixedKey: *mixedUse
}

// Program is a checked script.
type Program struct {
	Main  *Unit
	Units []*Unit // imported ones first, Main last
}
