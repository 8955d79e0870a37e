#include "textflag.h"

// The loops of compare_amd64.go. A comparison leaves all bits of a lane set or none. Packing with signed
// saturation keeps that, so a lane of 8 bytes becomes two equal words, then two equal bytes, then, taken as
// a word, one byte.

DATA ones<>+0(SB)/8, $0x0101010101010101
DATA ones<>+8(SB)/8, $0x0101010101010101
GLOBL ones<>(SB), RODATA|NOPTR, $16

#define BEGIN \
	MOVQ d+0(FP), DI; \
	MOVQ a+8(FP), SI; \
	MOVQ b+16(FP), DX; \
	MOVQ stepA+24(FP), R8; \
	MOVQ stepB+32(FP), R9; \
	MOVQ n+40(FP), CX; \
	MOVOU ones<>(SB), X8; \
	TESTQ CX, CX; \
	JZ done

#define LOAD \
	MOVUPS (SI), X0; \
	MOVUPS 16(SI), X1; \
	MOVUPS 32(SI), X2; \
	MOVUPS 48(SI), X3; \
	MOVUPS (DX), X4; \
	MOVUPS 16(DX), X5; \
	MOVUPS 32(DX), X6; \
	MOVUPS 48(DX), X7; \
	ADDQ R8, SI; \
	ADDQ R9, DX

#define COMPARE(OP, PREDICATE) \
	OP X4, X0, PREDICATE; \
	OP X5, X1, PREDICATE; \
	OP X6, X2, PREDICATE; \
	OP X7, X3, PREDICATE; \
	PACKSSLW X1, X0; \
	PACKSSLW X3, X2; \
	PACKSSWB X2, X0

#define END64 \
	PACKSSWB X0, X0; \
	PAND X8, X0; \
	MOVQ X0, (DI); \
	ADDQ $8, DI; \
	DECQ CX; \
	JNZ loop

#define END32 \
	PAND X8, X0; \
	MOVOU X0, (DI); \
	ADDQ $16, DI; \
	DECQ CX; \
	JNZ loop

TEXT ·eqF64(SB), NOSPLIT, $0-48
	BEGIN
loop:
	LOAD
	COMPARE(CMPPD, $0)
	END64
done:
	RET

TEXT ·neF64(SB), NOSPLIT, $0-48
	BEGIN
loop:
	LOAD
	COMPARE(CMPPD, $4)
	END64
done:
	RET

TEXT ·ltF64(SB), NOSPLIT, $0-48
	BEGIN
loop:
	LOAD
	COMPARE(CMPPD, $1)
	END64
done:
	RET

TEXT ·leF64(SB), NOSPLIT, $0-48
	BEGIN
loop:
	LOAD
	COMPARE(CMPPD, $2)
	END64
done:
	RET

TEXT ·eqF32(SB), NOSPLIT, $0-48
	BEGIN
loop:
	LOAD
	COMPARE(CMPPS, $0)
	END32
done:
	RET

TEXT ·neF32(SB), NOSPLIT, $0-48
	BEGIN
loop:
	LOAD
	COMPARE(CMPPS, $4)
	END32
done:
	RET

TEXT ·ltF32(SB), NOSPLIT, $0-48
	BEGIN
loop:
	LOAD
	COMPARE(CMPPS, $1)
	END32
done:
	RET

TEXT ·leF32(SB), NOSPLIT, $0-48
	BEGIN
loop:
	LOAD
	COMPARE(CMPPS, $2)
	END32
done:
	RET
