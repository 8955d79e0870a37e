#!/bin/sh
# Prints the variables that a build with the tag cuda needs:
#
#	eval "$(sh accel/cuda/env.sh)"
#
# gorgonia.org/cu asks for cuda.h and -lcuda. They get the header beside this file
# and an empty archive; the functions come from package shim.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$here/lib"
printf '!<arch>\n' >"$here/lib/libcuda.a"
echo "export CGO_ENABLED=1 CGO_CFLAGS='-O2 -g -I$here/include' CGO_LDFLAGS='-O2 -g -L$here/lib'"
