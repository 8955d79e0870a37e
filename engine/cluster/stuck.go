package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/starpush/starpush/engine"
)

// Waits that never end, on several ranks. A rank that waits for a message cannot know whether it will come, so that engine finds no task that is stuck
// there. Rank 0 asks all ranks, twice, once it has waited for a while: if each of them waited all the time, with nothing that runs, and no message that one waits for
// has been sent, none will ever be. Then the ranks that have tasks which wait for the program, such as for a gate that it left closed, end
// their waits with an *engine.StuckError.

// stuckAfter is how long rank 0 waits before it asks, and between its questions.
var stuckAfter = time.Second

// maxAnswer bounds an answer, in bytes. A rank that has more to say is taken to go on.
const maxAnswer = 64 << 10

// askedAtOnce is how many ranks are asked before their answers are looked at: most often one that goes on is among the first.
var askedAtOnce = 64

// errCircle is the error of a wait that never ends, where no task waits for the program.
var errCircle = errors.New("cluster: the ranks wait for each other, and no task waits for the program: a fault of package cluster; run the program on one rank, and report it")

// Questions of rank 0, messages of one byte.
const (
	askState = iota // what the rank waits for
	askStuck        // to end its wait, if tasks of it wait for the program
	askNoMore
)

// message is a message with a value between this rank and another.
type message struct{ Peer, Tag int }

// watch is what a rank knows of its own waits.
type watch struct {
	on     bool
	timer  *time.Timer // of rank 0
	rounds sync.WaitGroup
	done   chan struct{} // of rank 0, closed once it asks no more
	heard  chan struct{} // of the others, closed once rank 0 has said so, or is lost
	mu     struct {
		sync.Mutex
		stop     context.CancelCauseFunc // ends the wait of the program; nil: it does not wait
		activity uint64                  // counts what this rank does
		decided  []int                   // messages to each rank that were decided, as in Job.sentTo
		said     []int                   // agreements that were sent to each rank
		heard    []int                   // and came from each
		hearing  int                     // the rank that has to say something now, -1: none
		unsent   map[message]bool        // decided, but not sent yet
		awaited  map[message]bool        // receives that have begun
		inHand   int                     // accesses that wait for a message
		starting int                     // goroutines that are about to send or receive
		asking   bool
		closed   bool
		left     bool // this rank answers no more
	}
}

// answer is what a rank says of its state.
type answer struct {
	Quiet                bool // it waits, and nothing runs
	Activity             uint64
	Decided, Said, Heard []int
	Hearing              int
	Unsent, Awaited      []message
	Stuck                int // tasks that wait for the program; after askStuck
}

func (j *Job) newWatch(detect bool) {
	w := &j.watch
	w.on = detect && j.size > 1 && !j.plans
	w.mu.decided, w.mu.said, w.mu.heard, w.mu.hearing = make([]int, j.size), make([]int, j.size), make([]int, j.size), -1
	w.mu.unsent, w.mu.awaited = map[message]bool{}, map[message]bool{}
	w.done, w.heard = make(chan struct{}), make(chan struct{})
	switch {
	case !w.on:
	case j.rank == 0:
		w.timer = time.AfterFunc(time.Hour, j.askAll)
		w.timer.Stop()
	default:
		j.listenToQuestions()
	}
}

// closeWatch ends the questions. Every rank answers until rank 0 asks no more: a rank that left before would leave a question without an answer, and
// could take the first message of the next job on this Comm.
func (j *Job) closeWatch() {
	w := &j.watch
	if !w.on {
		return
	}
	w.mu.Lock()
	closed := w.mu.closed
	w.mu.closed = true
	w.mu.Unlock()
	if closed {
		return
	}
	if j.rank == 0 {
		close(w.done)
		w.rounds.Wait()
		w.timer.Stop()
		for r := 1; r < j.size; r++ {
			j.comm.Send(r, stuckTag, []byte{askNoMore}, func(error) {})
		}
		return
	}
	select {
	case <-w.heard:
	case <-j.ctx.Done(): // rank 0 may never say so
	}
	w.mu.Lock()
	w.mu.left = true
	w.mu.Unlock()
	w.rounds.Wait()
}

// waits notes that the program waits now, until end is called. The context that it returns ends if the wait never would.
func (j *Job) waits(ctx context.Context) (_ context.Context, end func()) {
	w := &j.watch
	if ctx == nil {
		ctx = context.Background()
	}
	if !w.on {
		return ctx, func() {}
	}
	ctx, stop := context.WithCancelCause(ctx)
	w.mu.Lock()
	w.mu.stop = stop
	copy(w.mu.decided, j.sentTo)
	if j.rank == 0 && !w.mu.closed {
		w.timer.Reset(stuckAfter)
	}
	w.mu.Unlock()
	return ctx, func() {
		w.mu.Lock()
		w.mu.stop = nil
		w.mu.activity++
		if j.rank == 0 {
			w.timer.Stop()
		}
		w.mu.Unlock()
		stop(nil)
	}
}

// sendTag returns the tag of the next message to a rank, which is decided by that.
func (j *Job) sendTag(to int) int {
	tag := nextTag(&j.sentTo[to])
	if w := &j.watch; w.on {
		w.mu.Lock()
		w.mu.unsent[message{to, tag}] = true
		w.mu.activity++
		w.mu.Unlock()
	}
	return tag
}

// sends notes that a message is sent now. held means that its access waits for the end of that.
func (w *watch) sends(to, tag int, held bool) {
	if !w.on {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.mu.unsent, message{to, tag})
	w.mu.activity++
	if held {
		w.mu.inHand++
	}
}

// sent notes that a message has gone, for which an access has waited.
func (w *watch) sent() {
	if !w.on {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.activity++
	w.mu.inHand--
}

// starts notes with 1 that a goroutine is about to send or receive, and with -1 that it does now, or has ended.
func (w *watch) starts(n int) {
	if !w.on {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.starting += n
	w.mu.activity++
}

// receives notes that a receive begins. held means that an access waits for its end.
func (w *watch) receives(from, tag int, held bool) {
	w.receiving(from, tag, held, 1)
}

// received notes that it has ended.
func (w *watch) received(from, tag int, held bool) {
	w.receiving(from, tag, held, -1)
}

func (w *watch) receiving(from, tag int, held bool, n int) {
	if !w.on {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := (message{from, tag}); n > 0 {
		w.mu.awaited[m] = true
	} else {
		delete(w.mu.awaited, m)
	}
	w.mu.activity++
	if held {
		w.mu.inHand += n
	}
}

// says and hears note agreements. A call of hears is followed by one of hasHeard.
func (w *watch) says(to int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.said[to]++
	w.mu.activity++
}

func (w *watch) hears(from int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.hearing = from
}

func (w *watch) hasHeard(from int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.hearing = -1
	w.mu.heard[from]++
	w.mu.activity++
}

// state returns the state of this rank.
func (j *Job) state() (a answer) {
	w := &j.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	a.Activity, a.Hearing = w.mu.activity, w.mu.hearing
	if w.mu.closed || w.mu.stop == nil || w.mu.starting > 0 || j.Err() != nil {
		return a
	}
	if quiet, waits := j.job.Quiescent(w.mu.inHand); !quiet || waits == 0 && w.mu.hearing < 0 {
		return a
	}
	a.Quiet = true
	a.Decided, a.Said, a.Heard = append(a.Decided, w.mu.decided...), append(a.Said, w.mu.said...), append(a.Heard, w.mu.heard...)
	for m := range w.mu.unsent {
		a.Unsent = append(a.Unsent, m)
	}
	for m := range w.mu.awaited {
		a.Awaited = append(a.Awaited, m)
	}
	return a
}

// endStuck ends the wait of the program, if tasks of this rank wait for it, and returns how many do.
func (j *Job) endStuck() int {
	e := &engine.StuckError{}
	for _, t := range j.job.Blocked() {
		if t.Held == nil || t.HeldAt != nil { // what messages hold has no place in a program
			e.Tasks = append(e.Tasks, t)
		}
	}
	if len(e.Tasks) > 0 {
		j.endWait(e)
	}
	return len(e.Tasks)
}

func (j *Job) endWait(err error) {
	w := &j.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.stop != nil {
		w.mu.stop(err)
	}
}

// listenToQuestions answers the next question of rank 0, and those after it.
func (j *Job) listenToQuestions() {
	w := &j.watch
	question := make([]byte, 1)
	j.comm.Recv(0, stuckTag, question, func(n int, err error) {
		if err != nil || n != 1 || question[0] == askNoMore {
			close(w.heard)
			return
		}
		w.mu.Lock()
		left := w.mu.left
		if !left {
			w.rounds.Add(1)
		}
		w.mu.Unlock()
		if left {
			return
		}
		go func() { // looking at the tasks may take long
			defer w.rounds.Done()
			a := j.state()
			if question[0] == askStuck && a.Quiet {
				a.Stuck = j.endStuck()
			}
			j.answer(a)
		}()
	})
}

func (j *Job) answer(a answer) {
	b, err := json.Marshal(a)
	if err != nil || len(b) > maxAnswer {
		b, _ = json.Marshal(answer{Hearing: -1})
	}
	j.listenToQuestions()
	j.comm.Send(0, stuckTag, b, func(error) {})
}

// askAll is what rank 0 does when it has waited for a while.
func (j *Job) askAll() {
	w := &j.watch
	w.mu.Lock()
	if w.mu.closed || w.mu.asking || w.mu.stop == nil {
		w.mu.Unlock()
		return
	}
	w.mu.asking = true
	w.rounds.Add(1)
	w.mu.Unlock()
	defer w.rounds.Done()
	if !j.findStuck() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.mu.asking = false
		if w.mu.stop != nil && !w.mu.closed {
			w.timer.Reset(stuckAfter)
		}
	}
}

// findStuck asks all ranks twice, and ends their waits if these never would. It reports whether they do, or the job has ended.
func (j *Job) findStuck() bool {
	first, ok := j.ask(askState)
	if !ok || !stuck(first) {
		return !ok
	}
	select {
	case <-time.After(stuckAfter):
	case <-j.watch.done:
		return true
	case <-j.ctx.Done():
		return true
	}
	second, ok := j.ask(askState)
	if !ok || !stuck(second) {
		return !ok
	}
	for r := range first {
		if first[r].Activity != second[r].Activity {
			return false
		}
	}
	all, ok := j.ask(askStuck)
	if !ok {
		return true
	}
	tasks := 0
	for _, a := range all {
		tasks += a.Stuck
	}
	if tasks == 0 {
		j.endWait(errCircle)
	}
	return true
}

// ask asks all ranks, and returns their answers; false: the job has ended. Once a rank does not wait the others are not asked any more, and have
// empty answers.
func (j *Job) ask(question byte) ([]answer, bool) {
	all := make([]answer, j.size)
	all[0] = j.state()
	if question == askStuck && all[0].Quiet {
		all[0].Stuck = j.endStuck()
	}
	for first := 1; first < j.size && (question == askStuck || all[0].Quiet); first += askedAtOnce {
		if !j.askSome(question, all, first, min(first+askedAtOnce, j.size)) {
			return nil, false
		}
		for r := first; r < min(first+askedAtOnce, j.size); r++ {
			if question == askState && !all[r].Quiet {
				return all, true
			}
		}
	}
	return all, true
}

// askSome asks the ranks from lo to below hi.
func (j *Job) askSome(question byte, all []answer, lo, hi int) (ok bool) {
	type reply struct {
		rank int
		b    []byte
	}
	replies := make(chan reply, hi-lo)
	for r := lo; r < hi; r++ {
		b := make([]byte, maxAnswer)
		j.comm.Recv(r, stuckTag, b, func(n int, err error) {
			if err != nil {
				n = 0
			}
			replies <- reply{r, b[:n]}
		})
		j.comm.Send(r, stuckTag, []byte{question}, func(error) {})
	}
	for range hi - lo {
		select {
		case a := <-replies:
			if json.Unmarshal(a.b, &all[a.rank]) != nil {
				all[a.rank] = answer{Hearing: -1}
			}
		case <-j.watch.done: // the answers that are missing come to nothing
			return false
		case <-j.ctx.Done():
			return false
		}
	}
	return true
}

// stuck reports whether all ranks wait, and nothing that one of them waits for is on its way.
func stuck(all []answer) bool {
	for _, a := range all {
		if !a.Quiet || len(a.Decided) != len(all) || len(a.Said) != len(all) || len(a.Heard) != len(all) {
			return false
		}
	}
	unsent := map[[3]int]bool{}
	for from, a := range all {
		for _, m := range a.Unsent {
			unsent[[3]int{from, m.Peer, m.Tag}] = true
		}
	}
	for to, a := range all {
		for _, m := range a.Awaited {
			since := (all[m.Peer].Decided[to] - m.Tag + tags) % tags
			if since > 0 && since < tags/2 && !unsent[[3]int{m.Peer, to, m.Tag}] {
				return false
			}
		}
		if a.Hearing >= 0 && all[a.Hearing].Said[to] > a.Heard[a.Hearing] {
			return false
		}
	}
	return true
}
