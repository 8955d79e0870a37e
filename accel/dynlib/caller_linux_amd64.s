//go:build !android

#include "textflag.h"

// callC(c *Caller) calls a function by the ABI of C, by which it is called itself: c is in DI. The layout of Caller is fn, result, and 7 arguments of
// 8 bytes each.
TEXT callC<>(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BP
	MOVQ  SP, BP
	PUSHQ BX
	SUBQ  $24, SP     // the seventh argument, at an address that 16 divides
	MOVQ  DI, BX
	MOVQ  64(BX), AX
	MOVQ  AX, 0(SP)
	MOVQ  16(BX), DI
	MOVQ  24(BX), SI
	MOVQ  32(BX), DX
	MOVQ  40(BX), CX
	MOVQ  48(BX), R8
	MOVQ  56(BX), R9
	MOVQ  0(BX), R10
	XORL  AX, AX      // no floating-point arguments, which functions with a variable number ask for
	CALL  R10
	MOVQ  AX, 8(BX)
	ADDQ  $24, SP
	POPQ  BX
	POPQ  BP
	XORL  AX, AX      // what cgocall returns
	RET

GLOBL ·callCAddress(SB), NOPTR|RODATA, $8
DATA ·callCAddress(SB)/8, $callC<>(SB)
