package cli

// Runs on several ranks, which mpirun has started.

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/starpush/starpush/accel/mpi"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/lang"
)

// ranks is the part of this process in a run of several. Rank 0 speaks for all; what another has to say is kept until it is
// known that rank 0 does not say it.
type ranks struct {
	world  *mpi.World
	left   chan struct{} // closed when the run is over here
	report bool          // rank 0 writes one, for which all give their figures
	said   bytes.Buffer  // on standard error, of ranks other than 0
	err    io.Writer     // that
}

// joinRanks returns the part of this process in a run, nil if it runs alone. It changes where a writes to, and what o asks for: only rank 0 writes files.
func (a *app) joinRanks(ctx context.Context, o *runFlags) (*ranks, error) {
	launch, ok := mpi.Launched()
	if !ok || launch.Size == 1 {
		return nil, nil
	}
	world, err := mpi.Init(ctx, mpi.Options{})
	if err != nil {
		return nil, fmt.Errorf("%s started this process as one of several ranks, which need MPI: %w", launch.Launcher, err)
	}
	if world.Size() == 1 {
		return nil, world.Close(ctx)
	}
	if world.TagUB() < cluster.MaxTag {
		return nil, fmt.Errorf("the MPI library has tags up to %d only, and ranks need %d", world.TagUB(), cluster.MaxTag)
	}
	if o.cpus == 0 && launch.Local > 1 { // the ranks of a machine share its CPUs
		o.cpus = int64(max(1, goruntime.NumCPU()/launch.Local))
		if n := goruntime.GOMAXPROCS(0); n < goruntime.NumCPU() { // the launcher has shared them out
			o.cpus = int64(n)
		}
	}
	r := &ranks{world: world, left: make(chan struct{}), err: a.con.err.w, report: o.report != ""}
	a.onRanks = true
	go r.endIfLost()
	if world.Rank() > 0 {
		a.con.out.w, a.con.err.w = io.Discard, &r.said
		o.trace, o.report, o.stats, o.profile, o.advise = "", "", false, false, false
		o.progress = "never"
	}
	return r, nil
}

// lostWithin is how long a rank may take to end once another one is lost.
const lostWithin = 20 * time.Second

// endIfLost ends the process if it does not end itself after another rank was lost: a call of the MPI library may wait for that one for ever.
func (r *ranks) endIfLost() {
	select {
	case <-r.left:
		return
	case <-r.world.Failed():
	}
	select {
	case <-r.left:
	case <-time.After(lostWithin):
		fmt.Fprintf(r.err, "starpush: rank %d: %v; what runs is not waited for\n", r.world.Rank(), r.world.Err())
		r.world.Abort(exitFailed)
	}
}

// options are those of a run on ranks. o gets the figures of all ranks if it asks for a report.
func (r *ranks) options(o *runFlags) []lang.Option {
	if r == nil {
		return nil
	}
	all := []lang.Option{lang.Ranks(cluster.OverMPI(r.world.Comm()))}
	if r.report {
		all = append(all, lang.ObserveRanks(func(figures *cluster.Report) { o.figures = figures }))
	}
	return all
}

// followsRankZero reports whether this process is another rank of a run than rank 0, which alone has the standard input of mpirun: that of
// the others may be open, and never end.
func followsRankZero() bool {
	launch, ok := mpi.Launched()
	return ok && launch.Size != 1 && launch.Rank > 0
}

// beRank makes this process ready to be one of several ranks, if it is one: the others than rank 0 write nothing on standard output. It returns what is to be called with
// the exit status.
func (a *app) beRank(stdout *io.Writer) (end func(code int)) {
	end = func(int) {}
	launch, ok := mpi.Launched()
	switch path := a.env[streamsVariable]; {
	case !ok || launch.Size == 1:
	case launch.Rank > 0:
		*stdout = io.Discard
	case path != "" && launch.Rank == 0:
		e := takeStreams(path)
		if e == nil {
			fmt.Fprintln(os.Stderr, "starpush: rank 0 cannot reach the command that started it, as if it were on another machine; start the ranks with mpirun instead of --ranks")
			os.Exit(exitFailed)
		}
		delete(a.env, streamsVariable)
		end = e
		a.exit = func(code int) {
			e(code)
			os.Exit(code)
		}
	}
	a.rankEnds = end
	return end
}

// share gives all ranks what rank 0 has.
func (r *ranks) share(ctx context.Context, mine []byte) ([]byte, error) {
	c := r.world.Comm()
	size := binary.LittleEndian.AppendUint64(nil, uint64(len(mine)))
	if _, err := c.Ibcast(size, 0).Wait(ctx); err != nil {
		return nil, err
	}
	if r.world.Rank() > 0 {
		mine = make([]byte, binary.LittleEndian.Uint64(size))
	}
	_, err := c.Ibcast(mine, 0).Wait(ctx)
	return mine, err
}

// endWithin is how long a rank whose run has ended waits for the others, before it ends them all.
const endWithin = 5 * time.Second

// leave ends the part of this process, whose run ended with err. The exit status of rank 0 is that of the run: its own, or
// the largest of the others if that is 0. If the others do not come to their end, because this one has failed alone, it ends them.
func (a *app) leave(r *ranks, err error) error {
	if r == nil {
		return err
	}
	defer close(r.left)
	code := exitOK
	var e *exitError
	switch {
	case errors.As(err, &e):
		code = e.code
	case err != nil:
		code = exitFailed
	}
	ctx := context.Background()
	if code != exitOK {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, endWithin)
		defer cancel()
	}
	codes := []int64{int64(code), 0}
	if r.world.Rank() == 0 {
		codes[1] = int64(code)
	}
	_, failed := r.world.Comm().IallreduceInt64(codes, mpi.Max).Wait(ctx)
	if failed == nil {
		if r.world.Rank() > 0 && code != exitOK && codes[1] == exitOK {
			r.speak(err)
		}
		failed = r.world.Close(ctx)
		switch {
		case failed != nil:
		case r.world.Rank() > 0 && codes[1] != exitOK: // an end with another status would have launchers end rank 0, which may have more to say
			return nil
		case code == exitOK && codes[0] != exitOK:
			return status(int(codes[0]))
		}
	}
	if failed != nil {
		var lost *mpi.LostError
		if r.world.Rank() > 0 && (!errors.As(r.world.Err(), &lost) || lost.Rank == 0) { // else rank 0 says it
			r.speak(err)
		}
		if code == exitOK {
			fmt.Fprintf(r.err, "starpush: rank %d: %v\n", r.world.Rank(), failed)
			code = exitFailed
		}
		if r.world.Rank() == 0 { // Abort does not return
			if err == nil {
				err = status(code)
			}
			code = a.finish(nil, err)
			a.rankEnds(code)
		}
		r.world.Abort(code)
	}
	return err
}

// speak writes what this rank has to say, with its number.
func (r *ranks) speak(err error) {
	text := r.said.String()
	var e *exitError
	if errors.As(err, &e) && e.err != nil {
		text += fmt.Sprintln("starpush:", plainText(e.err))
	}
	for line := range strings.Lines(text) {
		fmt.Fprintf(r.err, "rank %d: %s", r.world.Rank(), line)
	}
}

// startRanks runs this command again on n ranks of this machine, through the launcher of the MPI library. script is standard input if that
// was read already, else nil. Rank 0 says all that there is to say.
func (a *app) startRanks(ctx context.Context, n int64, script []byte, interactive bool) error {
	lib, err := mpi.Open()
	if err != nil {
		return usagef("--ranks needs MPI: %v", err)
	}
	names, args := []string{"mpirun.openmpi", "mpirun"}, []string{"--quiet"} // what is wrong, rank 0 says
	if lib.Implementation() == "MPICH" {
		names, args = []string{"mpirun.mpich", "mpiexec.hydra", "mpirun"}, nil
	}
	var path string
	for _, name := range names {
		if path, err = exec.LookPath(name); err == nil {
			break
		}
	}
	if err != nil {
		return usagef("--ranks needs the launcher of %s, and there is none of %s; install it (Debian: openmpi-bin, or mpich)", lib, strings.Join(names, ", "))
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, path, slices.Concat(args, []string{"-n", strconv.FormatInt(n, 10), self}, withoutRanks(os.Args[1:]))...)
	cmd.Env = append(os.Environ(), "OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if script != nil {
		stdin, err := scriptFile(script)
		if err != nil {
			return err
		}
		defer stdin.Close()
		cmd.Stdin = stdin
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it ends the ranks
	cmd.WaitDelay = 10 * time.Second
	end := func(s os.Signal) { cancel(&signalError{sig: s.(syscall.Signal)}) }
	given := offerStreams(cmd.Stdin)
	stop := endOnSignals(given == nil, end)
	stopForwarding := func() {}
	over := make(chan struct{})
	if given != nil {
		given.prepare(cmd)
		stopForwarding = given.forward(interactive, end)
		go func() {
			select {
			case <-given.done:
			case <-over:
				return
			}
			select {
			case <-over:
			case <-time.After(lostWithin): // Open MPI's mpirun was seen to go on without any rank
				cancel(errLauncher)
			}
		}()
	}
	restore := restorer(os.Stdin)
	err = cmd.Run()
	close(over)
	stopForwarding()
	stop()
	if restore != nil {
		restore()
	}
	a.json = nil // rank 0 has written all lines
	if given != nil {
		if code, ok := given.close(); ok {
			return status(code)
		}
	}
	var ended *signalError
	if errors.As(context.Cause(ctx), &ended) {
		return status(ended.code())
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		switch code := exit.ExitCode(); code {
		case exitUsage, exitInvalid, exitLimit, exitDevice, exitPipe, exitInt, exitTerm:
			return status(code)
		}
		return status(exitFailed) // launchers have a status of their own for a rank that was killed
	}
	return err
}

// errLauncher is the cause when a launcher that outlives rank 0 is ended.
var errLauncher = errors.New("the launcher goes on although rank 0 has ended")

// scriptFile returns a file without a name that has the text of a script.
func scriptFile(script []byte) (*os.File, error) {
	f, err := os.CreateTemp("", "starpush")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	if _, err = f.Write(script); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// endOnSignals calls end when SIGTERM comes, or with interrupts when one comes for the second time, until stop is called.
func endOnSignals(interrupts bool, end func(os.Signal)) (stop func()) {
	ch := make(chan os.Signal, 2)
	watch := heard(syscall.SIGTERM)
	if interrupts {
		watch = heard(syscall.SIGTERM, os.Interrupt)
	}
	if len(watch) > 0 {
		signal.Notify(ch, watch...)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		pressed := false
		for {
			select {
			case <-done:
				return
			case s := <-ch:
				if s == os.Interrupt && !pressed { // the launcher has heard it, too
					pressed = true
					continue
				}
				end(s)
			}
		}
	})
	return func() {
		signal.Stop(ch)
		close(done)
		wg.Wait()
	}
}

// withoutRanks leaves --ranks out of arguments.
func withoutRanks(args []string) (out []string) {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--":
			return append(out, args[i:]...)
		case a == "--ranks":
			i++
		case !strings.HasPrefix(a, "--ranks="):
			out = append(out, a)
		}
	}
	return out
}

// ranksText is the table of ranks in a plan, and that of the pairs which send most.
func ranksText(r *cluster.Report) string {
	var b strings.Builder
	rows := [][]string{{"rank", "tasks", "messages sent", "size", "received", "size"}}
	for i, x := range r.Ranks {
		if i == most {
			rows = append(rows, []string{fmt.Sprintf("and %d more", len(r.Ranks)-most), "", "", "", "", ""})
			break
		}
		rows = append(rows, []string{fmt.Sprint(x.Rank), fmt.Sprint(x.Tasks), fmt.Sprint(x.Sent.Messages), bytesText(x.Sent.Bytes), fmt.Sprint(x.Received.Messages), bytesText(x.Received.Bytes)})
	}
	writeTable(&b, rows)
	rows = [][]string{{"from rank to rank", "messages", "size"}}
	for i, p := range r.Pairs {
		if i == most {
			rows = append(rows, []string{fmt.Sprintf("and %d more", len(r.Pairs)-most), "", ""})
			break
		}
		rows = append(rows, []string{fmt.Sprintf("%d to %d", p.From, p.To), fmt.Sprint(p.Messages), bytesText(p.Bytes)})
	}
	writeTable(&b, rows)
	if sent := r.Sent(); sent.Messages == 0 {
		b.WriteString("the ranks send nothing\n")
	} else {
		fmt.Fprintf(&b, "%s, %s\n", counted(sent.Messages, "message"), bytesText(sent.Bytes))
	}
	return b.String()
}

// jsonRank is one rank in the line of a plan.
type jsonRank struct {
	Rank             int   `json:"rank"`
	Tasks            int64 `json:"tasks"`
	Pruned           int64 `json:"pruned"`
	SentMessages     int64 `json:"sent_messages"`
	SentBytes        int64 `json:"sent_bytes"`
	ReceivedMessages int64 `json:"received_messages"`
	ReceivedBytes    int64 `json:"received_bytes"`
}

// jsonPair is the messages from one rank to another.
type jsonPair struct {
	From     int   `json:"from"`
	To       int   `json:"to"`
	Messages int64 `json:"messages"`
	Bytes    int64 `json:"bytes"`
}

func jsonRanks(r *cluster.Report) (ranks []jsonRank, pairs []jsonPair) {
	for _, x := range r.Ranks {
		ranks = append(ranks, jsonRank{x.Rank, x.Tasks, x.Pruned, x.Sent.Messages, x.Sent.Bytes, x.Received.Messages, x.Received.Bytes})
	}
	for _, p := range r.Pairs {
		pairs = append(pairs, jsonPair{p.From, p.To, p.Messages, p.Bytes})
	}
	return ranks, pairs
}
