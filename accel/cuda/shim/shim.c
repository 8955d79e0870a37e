//go:build cuda

#include <dlfcn.h>
#include <stdio.h>

#include "cuda.h"
#include "names.h"
#include "shim.h"

#define HIDDEN __attribute__((visibility("hidden")))

/* What a call does before the driver is loaded, and where the driver has no such
 * function. Their arguments lie in registers and on the caller's stack. */
static CUresult not_loaded(void) { return CUDA_ERROR_NOT_INITIALIZED; }
static CUresult missing(void) { return CUDA_ERROR_NOT_SUPPORTED; }

HIDDEN void *starpush_cu_table[COUNT] = {[0 ... COUNT - 1] = (void *)not_loaded};

/* gorgonia.org/cu calls this when the program starts. */
HIDDEN CUresult cuInit(unsigned int flags) {
	(void)flags;
	return CUDA_SUCCESS;
}

HIDDEN int starpush_cu_load(const char *path, char *text, int len) {
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		snprintf(text, len, "%s", dlerror());
		return -1;
	}
	CUresult (*init)(unsigned int) = (CUresult(*)(unsigned int))dlsym(lib, "cuInit");
	if (!init) {
		snprintf(text, len, "%s has no cuInit", path);
		dlclose(lib);
		return -1;
	}
	CUresult r = init(0);
	if (r != CUDA_SUCCESS) {
		CUresult (*describe)(CUresult, const char **) = (CUresult(*)(CUresult, const char **))dlsym(lib, "cuGetErrorString");
		const char *s = NULL;
		if (!describe || describe(r, &s) != CUDA_SUCCESS || !s)
			s = "unknown error";
		snprintf(text, len, "%s", s);
		return r; /* stays loaded: drivers do not like to be unloaded */
	}
	for (int i = 0; i < COUNT; i++) {
		void *f = dlsym(lib, names[i]);
		starpush_cu_table[i] = f ? f : (void *)missing;
	}
	return 0;
}
