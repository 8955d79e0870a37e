// Package sched decides which ready task runs next, and where. A policy sees
// items and a machine, and no type of the engine.
//
// # The life of an item
//
// An Item is a ready task: all that it waits for has ended. The engine gives it
// to Policy.Push, which says whom to wake, and a worker that wants work gets it
// from Policy.Pop. In between it is the policy's; afterwards it must not be
// touched, as the engine uses its memory for another task.
//
//	Push ──> queued ──> Pop ──> [Started ──> Ended]
//
// Policies that implement Feedback are told when kernels start and end, those that
// implement Closer when all is over, those that implement Counter are asked how
// many items wait, and those that implement Peeker what comes next. Nothing else is
// called.
//
// # Writing a policy
//
// A policy is three methods. The simplest one is a queue with a lock, and the
// example of Policy is just that:
//
//   - Push puts the item into a queue and returns whom to wake: Anyone, if whoever
//     wakes up would take it; the number of a worker, if only that one would, or it
//     should; Nobody, if the worker that released the item will come to it next.
//   - Pop returns an item that Item.Allows the worker, or nil, after which the
//     worker may go to sleep. What it does not find then, somebody must be woken
//     for: a worker that sleeps is woken by nothing but the result of a Push.
//   - Empty says whether anything is queued.
//
// The engine takes it as Options.NewPolicy. What a policy should not do: keep an
// item from all workers until something happens that only that item would cause;
// let an item wait for a worker that is busy while another one that is just as
// good has nothing to do; call back into the engine, wait, or hold a lock for
// long, as submission goes through Push.
//
// All of that is tested in one line:
//
//	func TestMine(t *testing.T) { schedtest.Run(t, newMine) }
//
// # What there is to know
//
// A Machine has the workers: their kind, speed and memory node. Its functions
// answer questions about queued items: how long the kernel will run on a worker
// (Estimate, from performance models; not known as long as there are too few
// measurements), how long data travels there (Transfer, Missing), which data is
// used (Data), and which items are of a kind (Kind).
//
// # The policies
//
//	lws         local work stealing: workers follow what they released, and take
//	            from others what they cannot; the default
//	ws          work stealing, from whoever has most
//	eager       one queue in the order of arrival
//	prio        one queue in the order of priority
//	random      dice, weighted by speed
//	dm          the worker that is expected to end it first
//	dmda        the same, with the time to bring data and the energy it takes
//	dmdap       the same, with queues sorted by priority
//	dmdar       as dmda; what has its data there first
//	dmdas       both
//	heteroprio  buckets that each architecture visits in an order of its own
//	darts       data first, then all that can run with it
//
// They have the names that they have in StarPU, and their definitions stand at
// the head of their files. Some take options: "dmda:alpha=1,beta=2" is one text
// for Parse, for Options.Policy of the engine and for the command's --sched.
package sched
