package engine

// The reference: without workers, tasks run on the goroutine that made them
// ready, inside its Submit, Open or Release. A task that waits for a gate or
// for held data is put off until then.

// drain runs what is ready. In a kernel it does nothing: whoever runs that
// kernel goes on with what it submitted.
func (rt *Runtime) drain() {
	if rt.mayBeInKernel() {
		return
	}
	rt.drainLock.Lock()
	rt.draining.Add(1)
	defer func() {
		rt.draining.Add(-1)
		rt.drainLock.Unlock()
		rt.progress()
	}()
	rt.runReady()
}

// runReady runs what is ready and what that makes ready, also when a kernel ends
// the goroutine: the program's goroutine may not come again.
func (rt *Runtime) runReady() {
	done := false
	defer func() {
		if !done {
			rt.runReady()
		}
	}()
	w := rt.workers[0]
	for {
		it := rt.policy.Pop(0)
		if it == nil {
			w.rest()
			if rt.policy.Empty() {
				done = true
				return
			}
			continue
		}
		if rt.opt.Plan != nil {
			w.skip(itemTask(it))
			continue
		}
		w.run(itemTask(it))
	}
}
