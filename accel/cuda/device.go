//go:build cuda

package cuda

// One device: its context, and what is kept to be used again.

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/starpush/starpush/accel"
)

// Device is an NVIDIA device.
//
// It uses the primary context of the device, which libraries such as cuBLAS use,
// too. Contexts belong to threads, and goroutines wander between those: every
// call of the driver is made inside with.
type Device struct {
	dev        cu.Device
	ctx        cu.CUContext
	name       string // "cuda 0"
	model      string // "NVIDIA H200"
	bus        string
	major      int // compute capability
	minor      int
	units      int   // kernels at the same time
	processors int   // multiprocessors
	pitch      int64 // the longest of a copy
	block      int   // bytes of shared memory that a block can ask for
	mem        *Memory
	clock      clock
	folder     string // in which libraries are looked for first
	noLibs     bool   // kernels of this package compute all
	kernels    kernels
	peers      map[*Device]bool // devices whose memory streams of this one reach; fixed once opened

	lost   atomic.Pointer[accel.LostError]
	closed atomic.Bool

	mu struct {
		sync.Mutex
		events []cu.Event       // unused
		chunks []unsafe.Pointer // pinned memory of chunkBytes each, unused
	}
}

func openDevice(i int, v Driver, folder string) (*Device, error) {
	dev, err := cu.GetDevice(i)
	if err != nil {
		return nil, &Error{Call: "cuDeviceGet", Code: code(err)}
	}
	d := &Device{dev: dev, name: fmt.Sprintf("cuda %d", i), folder: folder, units: max(1, v.Kernels), peers: map[*Device]bool{}}
	if d.model, err = dev.Name(); err != nil {
		return nil, d.check("cuDeviceGetName", err)
	}
	d.model = strings.TrimSpace(d.model)
	if d.bus, err = busID(dev); err != nil {
		return nil, err
	}
	for _, a := range []struct {
		to *int
		of cu.DeviceAttribute
	}{{&d.major, cu.ComputeCapabilityMajor}, {&d.minor, cu.ComputeCapabilityMinor}, {&d.processors, cu.MultiprocessorCount}, {&d.block, maxSharedPerBlock}} {
		if *a.to, err = dev.Attribute(a.of); err != nil {
			return nil, d.check("cuDeviceGetAttribute", err)
		}
	}
	pitch, err := dev.Attribute(cu.MaxPitch)
	if err != nil {
		return nil, d.check("cuDeviceGetAttribute", err)
	}
	d.pitch = int64(pitch)
	if d.ctx, err = dev.RetainPrimaryCtx(); err != nil {
		return nil, d.check("cuDevicePrimaryCtxRetain", err)
	}
	err = d.with(func() error {
		free, total, err := cu.MemInfo()
		if err != nil {
			return d.check("cuMemGetInfo", err)
		}
		memory := v.Memory
		if memory <= 0 {
			// local memory of kernels, modules and libraries come out of the same
			memory = free - min(free/16, 1<<30)
		}
		d.mem = &Memory{Usage: accel.NewUsage(d.name, min(memory, total)), dev: d}
		return d.clock.start(d)
	})
	if err != nil {
		dev.ReleasePrimaryCtx()
		return nil, err
	}
	return d, nil
}

// maxSharedPerBlock is CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN.
const maxSharedPerBlock cu.DeviceAttribute = 97

// with calls fn on a thread whose context is the device's.
func (d *Device) with(fn func() error) error {
	if d.closed.Load() {
		return accel.ErrClosed
	}
	if lost := d.lost.Load(); lost != nil {
		return lost
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.SetCurrentContext(d.ctx); err != nil {
		return d.check("cuCtxSetCurrent", err)
	}
	return fn()
}

// connect lets d copy from and to the memory of o, when the machine can do that.
func (d *Device) connect(o *Device) {
	if can, err := d.dev.CanAccessPeer(o.dev); err != nil || can == 0 {
		return
	}
	err := d.with(func() error { return o.ctx.EnablePeerAccess(0) })
	d.peers[o] = err == nil || code(err) == peersAlready
}

// Name implements accel.Device.
func (d *Device) Name() string { return d.name }

// Model is the name that the maker gave it: "NVIDIA H200".
func (d *Device) Model() string { return d.model }

// Bus is where it sits in the machine: "0000:65:00.0".
func (d *Device) Bus() string { return d.bus }

// Capability is the version of the instructions it has: 9, 0.
func (d *Device) Capability() (major, minor int) { return d.major, d.minor }

// Arch implements accel.Device.
func (d *Device) Arch() string { return "cuda" }

// Units implements accel.Device: how many kernels run at the same time. A kernel can
// fill all multiprocessors, so this is not their number.
func (d *Device) Units() int { return d.units }

// Processors is the number of multiprocessors.
func (d *Device) Processors() int { return d.processors }

// Memory implements accel.Device.
func (d *Device) Memory() accel.Memory { return d.mem }

// Reaches implements accel.Device.
func (d *Device) Reaches(m accel.Memory) bool {
	if m == nil {
		return false
	}
	if own, ok := m.(*Memory); ok {
		return own.dev == d || d.peers[own.dev]
	}
	return m.Host()
}

// Close implements accel.Device.
func (d *Device) Close() error {
	d.mu.Lock()
	events, chunks := d.mu.events, d.mu.chunks
	d.mu.events, d.mu.chunks = nil, nil
	d.mu.Unlock()
	err := d.with(func() error {
		var all []error
		for _, e := range append(events, d.clock.stop()...) {
			all = append(all, d.check("cuEventDestroy", cu.DestroyEvent(&e)))
		}
		for _, c := range chunks {
			all = append(all, d.check("cuMemFreeHost", freePinned(c)))
		}
		return errors.Join(all...)
	})
	if d.closed.Swap(true) {
		return nil
	}
	return errors.Join(err, d.check("cuDevicePrimaryCtxRelease", d.dev.ReleasePrimaryCtx()))
}
