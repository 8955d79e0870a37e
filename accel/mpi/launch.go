package mpi

// Whether a launcher of MPI started this process, from the environment alone.

import (
	"os"
	"strconv"
)

// Launch says how a launcher started this process.
type Launch struct {
	Launcher string // "Open MPI", "Hydra", "PMIx", "Slurm", …
	Rank     int    // of this process; -1 if the environment does not say
	Size     int    // number of processes; -1 if the environment does not say
	Local    int    // how many of them are on this machine; -1 if the environment does not say
}

// launchers are looked for in this order: mpirun of Open MPI sets the variables of PMIx, too,
// and under Slurm there are those of PMI besides its own.
var launchers = []struct {
	name       string
	rank, size string // variables
	local      string // another
	also       string // a variable that must be set, too
	family     family // whose library belongs to the launcher; "" for any
}{
	{name: "Open MPI", rank: "OMPI_COMM_WORLD_RANK", size: "OMPI_COMM_WORLD_SIZE", local: "OMPI_COMM_WORLD_LOCAL_SIZE", family: openMPI},
	{name: "MVAPICH", rank: "MV2_COMM_WORLD_RANK", size: "MV2_COMM_WORLD_SIZE", local: "MV2_COMM_WORLD_LOCAL_SIZE", family: mpich},
	{name: "PALS", rank: "PALS_RANKID", size: "PALS_SIZE", family: mpich},
	{name: "PMI", rank: "PMI_RANK", size: "PMI_SIZE", also: "SLURM_STEP_ID", family: mpich},
	{name: "Hydra", rank: "PMI_RANK", size: "PMI_SIZE", local: "MPI_LOCALNRANKS", family: mpich},
	{name: "PMIx", rank: "PMIX_RANK", size: "SLURM_STEP_NUM_TASKS", also: "SLURM_STEP_ID"},
	{name: "PMIx", rank: "PMIX_RANK"},
	// A batch script has a SLURM_PROCID, although srun did not start it.
	{name: "Slurm", rank: "SLURM_PROCID", size: "SLURM_STEP_NUM_TASKS", also: "SLURM_STEP_ID"},
}

// Launched reports whether a launcher such as mpirun or srun started this process. It looks
// at the environment alone and loads nothing. A process that a rank started inherits that
// environment, so Launched takes it for the rank.
func Launched() (Launch, bool) {
	l, _, ok := launched(os.Getenv)
	return l, ok
}

func launched(getenv func(string) string) (Launch, family, bool) {
	number := func(name string) int {
		n, err := strconv.Atoi(getenv(name))
		if name == "" || err != nil || n < 0 {
			return -1
		}
		return n
	}
	for _, l := range launchers {
		rank := number(l.rank)
		if rank < 0 || l.also != "" && getenv(l.also) == "" {
			continue
		}
		return Launch{Launcher: l.name, Rank: rank, Size: number(l.size), Local: number(l.local)}, l.family, true
	}
	return Launch{}, "", false
}
