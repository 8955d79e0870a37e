#include "textflag.h"
#include "go_asm.h"

// PREFETCHW (AX), which the assembler does not know
#define FETCH BYTE $0x0F; BYTE $0x0D; BYTE $0x08

// func Prefetch(p unsafe.Pointer, lines int)
TEXT ·Prefetch(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ p+0(FP), AX
	MOVQ lines+8(FP), CX
line:
	FETCH
	ADDQ $64, AX
	DECQ CX
	JNZ  line
	RET

// func prefetchWaiter(a *Access)
TEXT ·prefetchWaiter(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ a+0(FP), AX
	FETCH
	SUBQ $64, AX
	FETCH
	RET

// func prefetchEpochs(as *Access, n int)
TEXT ·prefetchEpochs(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ as+0(FP), BX
	MOVQ n+8(FP), CX
epoch:
	MOVQ Access_e(BX), AX
	FETCH
	ADDQ $Access__size, BX
	DECQ CX
	JNZ  epoch
	RET
