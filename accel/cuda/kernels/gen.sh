#!/bin/sh
# Makes builtin.ptx. clang-15 and no other: each version writes other text. sm_75 is
# the lowest target that CUDA 13 knows; drivers translate it for what they have.
# -ffp-contract=on fuses multiplications and additions where the source allows it.
set -eu
cd "$(dirname "$0")"
clang-15 -x cuda -nocudainc -nocudalib --cuda-device-only --cuda-gpu-arch=sm_75 \
	-O3 -ffp-contract=on -Wall -Wno-unknown-cuda-version -S -o "${1:-builtin.ptx}" builtin.cu
