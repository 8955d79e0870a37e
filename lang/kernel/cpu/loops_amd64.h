// The frame of the loops of loops_amd64.s and loops_int_amd64.s: (d, a, b, c pointers, s, t
// float64, n int). They work on n blocks of 64 bytes: X0 to X3 hold a block of a, X4 to X7 one of b, X8
// to X11 one of c, X12 and X13 the values s and t in every lane.

#define POINTERS \
	MOVQ d+0(FP), DI; \
	MOVQ a+8(FP), SI; \
	MOVQ b+16(FP), DX; \
	MOVQ c+24(FP), R8; \
	MOVQ n+48(FP), CX; \
	TESTQ CX, CX; \
	JZ done

#define LOAD(FROM, R0, R1, R2, R3) \
	MOVUPS (FROM), R0; \
	MOVUPS 16(FROM), R1; \
	MOVUPS 32(FROM), R2; \
	MOVUPS 48(FROM), R3; \
	ADDQ $64, FROM

#define STORE(R0, R1, R2, R3) \
	MOVUPS R0, (DI); \
	MOVUPS R1, 16(DI); \
	MOVUPS R2, 32(DI); \
	MOVUPS R3, 48(DI); \
	ADDQ $64, DI; \
	DECQ CX; \
	JNZ loop

// a OP= b, a OP= c, c OP= a, a OP= s, a OP= t
#define WITHB(OP) OP X4, X0; OP X5, X1; OP X6, X2; OP X7, X3
#define WITHC(OP) OP X8, X0; OP X9, X1; OP X10, X2; OP X11, X3
#define CWITHA(OP) OP X0, X8; OP X1, X9; OP X2, X10; OP X3, X11
#define WITHS(OP) OP X12, X0; OP X12, X1; OP X12, X2; OP X12, X3
#define WITHT(OP) OP X13, X0; OP X13, X1; OP X13, X2; OP X13, X3

#define LOADA LOAD(SI, X0, X1, X2, X3)
#define LOADB LOAD(DX, X4, X5, X6, X7)
#define LOADC LOAD(R8, X8, X9, X10, X11)
#define STOREA STORE(X0, X1, X2, X3)
#define STOREC STORE(X8, X9, X10, X11)
