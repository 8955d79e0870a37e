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
// The engine reports the start and end of kernels to policies that implement Feedback and
// the end of the runtime to those that implement Closer. It asks those that implement
// Counter for the number of waiting items, and those that implement Peeker for the next.
// Nothing else is called.
//
// # Writing a policy
//
// A policy is three methods. The simplest one is a queue with a lock, and the
// example of Policy is just that:
//
//   - Push puts the item into a queue and returns the worker to wake: Anyone, if any worker
//     that wakes up would take it; the number of a worker, if only that one would, or
//     should; Nobody, if the worker that released the item will come to it next.
//   - Pop returns an item that Item.Allows the worker, or nil, after which the
//     worker may go to sleep. For an item that it does not find then, the policy
//     must name a worker to wake: the result of a Push wakes a sleeping worker, and so
//     does Machine.Wake, for items that were pushed before.
//   - Empty says whether anything is queued.
//
// The engine takes it as Options.NewPolicy. A policy must not keep an item from all
// workers until something happens that only that item would cause. It must not let an
// item wait for a busy worker while another one that is just as good is idle. It must not
// call back into the engine, wait, or hold a lock for long, because submission goes
// through Push.
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
// An item that several workers may run together has a Gang (Machine.Gang). A policy may
// choose how many it gets (Gang.Size), and which (Gang.Workers), until it gives the item to one
// of them. The engine makes the others members of the gang when they come free. Size must be
// within Least and Most, or 0, else the engine takes Most. Members share a memory node: Workers must have the
// worker that gets the item, and at least Size that the item allows on its node. Otherwise the engine
// ignores Workers. Pop should give the other Workers nothing until the item starts (Feedback) or its worker asks
// for another: a gang waits for what its members do.
//
// # The policies
//
//	lws         local work stealing: workers follow what they released, and take
//	            from others what they cannot; the default
//	ws          work stealing, from the worker with the longest queue
//	eager       one queue in the order of arrival
//	prio        one queue in the order of priority
//	random      dice, weighted by speed
//	dm          the worker that is expected to end it first
//	dmda        the same, with the time to bring data and the energy it takes
//	dmdap       the same, with queues sorted by priority
//	dmdar       as dmda; what has its data there first
//	dmdas       both
//	pheft       as dmda; for an item that several workers may run, the number of
//	            workers that is expected to end it first
//	peager      as eager; such an item gets the workers that are idle
//	heteroprio  buckets that each architecture visits in an order of its own
//	darts       data first, then all that can run with it
//
// They have the names that they have in StarPU, and are defined at the
// head of their files. Some take options: "dmda:alpha=1,beta=2" is one text
// for Parse, for Options.Policy of the engine and for the command's --sched.
package sched
