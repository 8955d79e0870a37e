// Package kerneltest is for tests of the stages of lang/kernel: parsed and lowered
// codelets, operands, random bodies with data, and a reference interpreter of the syntax
// tree that shares no code with the stages.
package kerneltest
