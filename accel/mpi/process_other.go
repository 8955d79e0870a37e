//go:build !linux

package mpi

import (
	"runtime"
	"time"
)

// yield lets other goroutines run.
func yield() { runtime.Gosched() }

// watchProcess does not watch processes here: only silence shows that a rank is lost.
func watchProcess(int) (ended <-chan struct{}, forget func()) { return nil, func() {} }

// alarm ends short naps in time. Timers of Go do so here.
type alarm struct{}

func newAlarm() *alarm                             { return nil }
func (a *alarm) set(time.Duration) <-chan struct{} { return nil }
func (a *alarm) close()                            {}
