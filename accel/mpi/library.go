package mpi

// The MPI library of the machine: its file, its functions and its ABI.

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/dynlib"
)

// family is an ABI of MPI.
type family string

const (
	openMPI family = "Open MPI"
	mpich   family = "MPICH" // and what keeps its ABI: Intel MPI, MVAPICH, Cray MPICH
)

// handle is a handle of MPI: an address in Open MPI, an int in MPICH.
type handle = uintptr

// fileNames returns the files of each family, in the order in which they are tried. A name
// that two families use is the last of both: what the library exports decides.
func fileNames() map[family][]string {
	if runtime.GOOS == "darwin" {
		homes := []string{"", "/opt/homebrew/lib/", "/usr/local/lib/", "/opt/local/lib/"}
		files := map[family][]string{}
		for _, dir := range homes {
			files[openMPI] = append(files[openMPI], dir+"libmpi.40.dylib", dir+"libmpi.dylib")
			files[mpich] = append(files[mpich], dir+"libmpich.12.dylib", dir+"libmpi.12.dylib", dir+"libmpi.dylib")
		}
		return files
	}
	return map[family][]string{
		openMPI: {"libmpi.so.40", "libmpi.so"},
		mpich:   {"libmpich.so.12", "libmpi.so.12", "libmpich.so", "libmpi.so"},
	}
}

// layout is what the two headers mpi.h define differently.
type layout struct {
	handleBytes              uintptr // of a handle in memory
	statusBytes              uintptr // of an MPI_Status
	sourceAt, tagAt, errorAt uintptr // offsets in it
	anySource, anyTag        int
	tagUB                    uintptr // the key of MPI_TAG_UB
	inPlace                  uintptr // MPI_IN_PLACE
	errInStatus, errTruncate int
	world, self              handle // MPI_COMM_WORLD and MPI_COMM_SELF
	bytes, int64s, float64s  handle
	errorsReturn             handle
	ops                      [opCount]handle
}

// layouts are the ABIs. The handles of Open MPI are the addresses of objectNames.
var layouts = map[family]layout{
	openMPI: {
		handleBytes: unsafe.Sizeof(handle(0)),
		statusBytes: 24, sourceAt: 0, tagAt: 4, errorAt: 8,
		anySource: -1, anyTag: -1, tagUB: 0, inPlace: 1, errInStatus: 18, errTruncate: 15,
	},
	mpich: {
		handleBytes: 4,
		statusBytes: 20, sourceAt: 8, tagAt: 12, errorAt: 16,
		anySource: -2, anyTag: -1, tagUB: 0x64400001, inPlace: ^uintptr(0), errInStatus: 17, errTruncate: 14,
		world: 0x44000000, self: 0x44000001, bytes: 0x4c00010d, int64s: 0x4c00083a, float64s: 0x4c00080b,
		errorsReturn: 0x54000001,
		ops:          [opCount]handle{Sum: 0x58000003, Min: 0x58000002, Max: 0x58000001},
	},
}

// objects are the places for the handles of Open MPI, by the symbols that they are addresses of.
func (l *layout) objects() map[string]*handle {
	return map[string]*handle{
		"ompi_mpi_comm_world": &l.world, "ompi_mpi_comm_self": &l.self, "ompi_mpi_byte": &l.bytes, "ompi_mpi_int64_t": &l.int64s,
		"ompi_mpi_double": &l.float64s, "ompi_mpi_errors_return": &l.errorsReturn,
		"ompi_mpi_op_sum": &l.ops[Sum], "ompi_mpi_op_min": &l.ops[Min], "ompi_mpi_op_max": &l.ops[Max],
	}
}

// functions are those of MPI 3.0 that are used, and some of MPI 4.0, which may be 0.
type functions struct {
	initThread, initialized, finalize, abort, libraryVersion, errorString, errorClass,
	commRank, commSize, commDup, commIdup, commSetErrhandler, commGetAttr,
	isend, issend, irecv, improbe, imrecv, iprobe, testsome, cancel, testCancelled,
	ibcast, iallreduce, ibarrier, allgather,
	contiguous, structure, commit, typeFree uintptr

	isendC, issendC, irecvC, imrecvC, ibcastC uintptr
}

func (f *functions) required() map[string]*uintptr {
	return map[string]*uintptr{
		"MPI_Init_thread": &f.initThread, "MPI_Initialized": &f.initialized, "MPI_Finalize": &f.finalize, "MPI_Abort": &f.abort,
		"MPI_Get_library_version": &f.libraryVersion, "MPI_Error_string": &f.errorString, "MPI_Error_class": &f.errorClass,
		"MPI_Comm_rank": &f.commRank, "MPI_Comm_size": &f.commSize, "MPI_Comm_dup": &f.commDup, "MPI_Comm_idup": &f.commIdup,
		"MPI_Comm_set_errhandler": &f.commSetErrhandler, "MPI_Comm_get_attr": &f.commGetAttr,
		"MPI_Isend": &f.isend, "MPI_Issend": &f.issend, "MPI_Irecv": &f.irecv,
		"MPI_Improbe": &f.improbe, "MPI_Imrecv": &f.imrecv, "MPI_Iprobe": &f.iprobe,
		"MPI_Testsome": &f.testsome, "MPI_Cancel": &f.cancel, "MPI_Test_cancelled": &f.testCancelled,
		"MPI_Ibcast": &f.ibcast, "MPI_Iallreduce": &f.iallreduce, "MPI_Ibarrier": &f.ibarrier, "MPI_Allgather": &f.allgather,
		"MPI_Type_contiguous": &f.contiguous, "MPI_Type_create_struct": &f.structure, "MPI_Type_commit": &f.commit, "MPI_Type_free": &f.typeFree,
	}
}

// large are the functions of MPI 4.0 that count in 64 bits.
func (f *functions) large() map[string]*uintptr {
	return map[string]*uintptr{
		"MPI_Isend_c": &f.isendC, "MPI_Issend_c": &f.issendC, "MPI_Irecv_c": &f.irecvC,
		"MPI_Imrecv_c": &f.imrecvC, "MPI_Ibcast_c": &f.ibcastC,
	}
}

// LibraryVariable is the environment variable that names the library to load, a file or a
// path; "none" makes the package work as on a machine without MPI.
const LibraryVariable = "STARPUSH_MPI"

const remedy = "install Open MPI or MPICH (Debian: apt-get install openmpi-bin, or mpich)"

// Library is an MPI library that is loaded. Loading one starts nothing: that is for [Init].
type Library struct {
	file    string
	family  family
	version string
	layout
	functions
}

// opened is the library, once somebody has asked for it.
var opened struct {
	sync.Once
	lib *Library
	err error
}

// Open loads the MPI library at the first call; every call returns the same. It looks for the
// library that belongs to the launcher of this process, and otherwise for Open MPI, then
// MPICH. Without a library the error is an [accel.UnavailableError], which says what to install.
func Open() (*Library, error) {
	opened.Do(func() { opened.lib, opened.err = find(os.Getenv) })
	return opened.lib, opened.err
}

// File returns the name of the file that was loaded.
func (l *Library) File() string { return l.file }

// Implementation returns whose ABI the library has, "Open MPI" or "MPICH".
func (l *Library) Implementation() string { return string(l.family) }

// Version returns the version that the library reports, such as "Open MPI v4.1.4".
func (l *Library) Version() string { return l.version }

// String returns the version and the file.
func (l *Library) String() string { return fmt.Sprintf("%s (%s)", l.version, l.file) }

func unavailable(err error, format string, args ...any) error {
	return &accel.UnavailableError{Driver: "mpi", Reason: fmt.Sprintf(format, args...), Remedy: remedy, Err: err}
}

func find(getenv func(string) string) (*Library, error) {
	if name := getenv(LibraryVariable); name == "none" {
		return nil, &accel.UnavailableError{Driver: "mpi", Reason: "the environment variable " + LibraryVariable + " is none",
			Remedy: "unset it to use the MPI library of this machine"}
	} else if name != "" {
		l, err := load(name)
		if e := (*accel.UnavailableError)(nil); errors.As(err, &e) {
			e.Remedy = "correct or unset " + LibraryVariable
		}
		return l, err
	}
	order := []family{openMPI, mpich}
	if _, f, ok := launched(getenv); ok && f == mpich {
		order = []family{mpich, openMPI}
	}
	return search(order, fileNames())
}

// search loads the first file that can be used.
func search(order []family, files map[family][]string) (*Library, error) {
	var tried []error
	for _, f := range order {
		for _, name := range files[f] {
			l, err := load(name)
			if err == nil {
				return l, nil
			}
			tried = append(tried, err)
		}
	}
	// A file that is there and cannot be used explains more than those that are not there.
	for _, err := range tried {
		var missing *missingError
		if !errors.As(err, &missing) {
			return nil, err
		}
	}
	return nil, unavailable(errors.Join(tried...), "neither %s nor %s was found", files[order[0]][0], files[order[1]][0])
}

// missingError says that there is no file of this name.
type missingError struct{ err error }

func (e *missingError) Error() string { return e.err.Error() }

// isMissing reports whether text, an error of the loader of the system, says that there is no file of this name. Other
// errors concern a file that is there, and so does one that names another file, which the library needs.
func isMissing(name, text string) bool {
	switch {
	case strings.HasPrefix(text, "dlopen("): // macOS, with a reason after each path that it has tried
		reasons := strings.Count(text, "' (")
		return reasons > 0 && reasons == strings.Count(text, "' (no such file") && !strings.Contains(text, "Library not loaded")
	case strings.HasPrefix(text, "Error loading shared library "+name+": No such file"): // musl
		return !strings.Contains(text, "needed by")
	}
	return strings.HasPrefix(text, name+": cannot open shared object file: No such file") // glibc
}

// load loads one file. A library that does not fit stays loaded: libraries of MPI do not
// like to be unloaded.
func load(name string) (*Library, error) {
	signals := saveSignals()
	lib, err := dynlib.Open(name, dynlib.Global) // Open MPI loads plug-ins that refer to its symbols
	signals.restore()
	if err != nil {
		reason := fmt.Sprintf("%s cannot be loaded: %v", name, err)
		if isMissing(name, err.Error()) {
			err = &missingError{err}
		}
		return nil, unavailable(err, "%s", reason)
	}
	l := &Library{file: name}
	for symbol, to := range l.required() {
		if *to, err = dynlib.Symbol(lib, symbol); err != nil {
			return nil, unavailable(err, "%s lacks %s, a function of MPI 3.0", name, symbol)
		}
	}
	for symbol, to := range l.large() {
		*to, _ = dynlib.Symbol(lib, symbol) // MPI 4.0
	}
	text := make([]byte, 8192+1) // MPI_MAX_LIBRARY_VERSION_STRING of MPICH, the larger one
	var n int32
	if r := int32(dynlib.Call(l.libraryVersion, uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(&n)))); r != 0 {
		return nil, unavailable(nil, "%s: MPI_Get_library_version returns %d", name, r)
	}
	l.version = shortVersion(string(text[:min(max(int(n), 0), len(text))]))
	_, err = dynlib.Symbol(lib, "ompi_mpi_comm_world")
	if l.family = familyOf(err == nil, l.version); l.family == "" {
		return nil, unavailable(nil, "%s is %q, which has neither the ABI of Open MPI nor that of MPICH", name, l.version)
	}
	l.layout = layouts[l.family]
	if l.family == openMPI {
		for symbol, to := range l.objects() {
			if *to, err = dynlib.Symbol(lib, symbol); err != nil {
				return nil, unavailable(err, "%s lacks %s, an object of Open MPI", name, symbol)
			}
		}
	}
	return l, nil
}

// familyOf returns the ABI of a library, "" if it is not known.
func familyOf(hasOpenMPIObjects bool, version string) family {
	if hasOpenMPIObjects {
		return openMPI
	}
	for _, name := range []string{"MPICH", "Intel(R) MPI", "MVAPICH"} {
		if strings.Contains(version, name) {
			return mpich
		}
	}
	return ""
}

// shortVersion is the first line of a library's version, up to a comma: "Open MPI v4.1.4", "MPICH Version: 4.0.2".
func shortVersion(text string) string {
	text = strings.Trim(text, "\x00 \n")
	text, _, _ = strings.Cut(text, "\n")
	text, _, _ = strings.Cut(text, ",")
	return strings.Join(strings.Fields(text), " ")
}

// signalTable holds the actions of signals, by number. Libraries of MPI, and those of networks
// that they load, install handlers for SIGSEGV, SIGINT and others. The Go runtime needs its own:
// without them a nil pointer would end the process, and so would a signal on the stack of a goroutine.
type signalTable map[int]*[256]byte

func saveSignals() signalTable {
	fn, err := dynlib.SystemSymbol("sigaction")
	if err != nil {
		return nil
	}
	t := signalTable{}
	for n := 1; n < 32; n++ {
		action := new([256]byte) // a struct sigaction, which is smaller
		if int32(dynlib.Call(fn, uintptr(n), 0, uintptr(unsafe.Pointer(action)))) == 0 {
			t[n] = action
		}
	}
	return t
}

func (t signalTable) restore() {
	fn, err := dynlib.SystemSymbol("sigaction")
	if err != nil {
		return
	}
	for n, action := range t {
		dynlib.Call(fn, uintptr(n), uintptr(unsafe.Pointer(action)), 0) // fails for SIGKILL and SIGSTOP, which have no handlers
	}
}
