/* The kernels of starpush, for each type. See kernel.h for the language, and
 * gen.sh for how PTX is made of it. */
#include "kernel.h"

#define E u8
#define N b8
#include "bits.inc"
#undef E
#undef N
#define E u16
#define N b16
#include "bits.inc"
#undef E
#undef N
#define E u32
#define N b32
#include "bits.inc"
#undef E
#undef N
#define E u64
#define N b64
#include "bits.inc"
#undef E
#undef N

#define T float
#define N f32
#define SQRT SQRT_F32
#define DROP 40
#define UNIT 0x1p-24
#include "float.inc"
#include "random.inc"
#undef T
#undef N
#undef SQRT
#undef DROP
#undef UNIT
#define T double
#define N f64
#define SQRT SQRT_F64
#define DROP 11
#define UNIT 0x1p-53
#include "float.inc"
#include "random.inc"
