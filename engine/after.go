package engine

// What a task may depend on explicitly.

import "fmt"

// checkAfter reports a dependency that is nil, another runtime's, or a removed tag.
// Submission lock held, until the dependencies are recorded: a tag may be removed
// at any other time.
func (rt *Runtime) checkAfter(after []Dependency) error {
	for i, d := range after {
		var j *Job
		switch d := d.(type) {
		case *Task:
			if d != nil {
				j = d.job
			}
		case *Gate:
			if d != nil {
				j = d.job
			}
		case *Tag:
			if d != nil {
				j = d.job
			}
		}
		switch {
		case j == nil:
			return fmt.Errorf("engine: dependency %d of a task is nil; leave it out", i)
		case j.rt != rt:
			return fmt.Errorf("engine: dependency %d of a task belongs to another runtime, which has an order of its own; wait for it before you submit", i)
		}
		if t, ok := d.(*Tag); ok && t.removed {
			return t.errorf("was removed, and is dependency %d of a task; leave it out, or make a new tag", i)
		}
	}
	return nil
}
