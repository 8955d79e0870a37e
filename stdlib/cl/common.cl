// What all kernels share. T is the type of the elements. A vector is a matrix
// with one row; element (r, c) of x is x[x0 + r * xld + c].

#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double wide; // sums of floats are added up in it
#else
typedef float wide;
#endif

// The same bits as the processor's: no fused multiply-add where nobody wrote one.
#pragma OPENCL FP_CONTRACT OFF
