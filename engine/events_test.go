package engine

import "testing"

// Mute may be called by anybody at any time, also while the listener changes.
func TestMuteWhileListening(t *testing.T) {
	rt, _ := start(t, Options{Workers: 1, Listener: new(Journal)})
	done := make(chan bool)
	go func() {
		defer close(done)
		for range 1000 {
			rt.Mute()
			rt.Unmute()
		}
	}()
	for range 1000 {
		must(t, rt.Listen(nil))
		must(t, rt.Listen(new(Journal)))
	}
	<-done
	if !rt.Mute() || rt.Mute() {
		t.Error("a runtime with a listener can be muted once")
	}
	must(t, rt.Listen(nil))
	if rt.Mute() {
		t.Error("nobody listens, and was muted")
	}
}
