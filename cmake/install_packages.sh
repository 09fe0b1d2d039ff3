#!/bin/sh
# Installs the Debian packages that are missing, those named as arguments too,
# and nothing when none is.  First it shows the line.  At a terminal it asks;
# elsewhere, and with CI set, it goes on.
# Without root or apt it prints the line to run and stops.
set -eu

build='gcc libc6-dev libstdc++-12-dev cmake ninja-build pkg-config re2c lemon
    libmlir-22-dev llvm-22-dev mlir-22-tools libdnnl-dev libopenblas-dev
    libjansson-dev nettle-dev'
tests='libcmocka-dev python3 python3-numpy python3-scipy g++ clang libclang-rt-14-dev
    clang-format clang-tidy cppcheck libopenmpi-dev openmpi-bin'

is_installed()
{
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

has_candidate()
{
    LC_ALL=C apt-cache policy "$1" | grep -q 'Candidate: [0-9]'
}

stop()
{
    printf '%s\n' "$@" >&2
    exit 1
}

command -v dpkg-query >/dev/null ||
    stop 'This is no Debian: install by hand what these packages hold:' \
        "$(echo $build $tests)"

missing=
for package in $build $tests "$@"; do
    is_installed "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

command -v apt-get >/dev/null ||
    stop 'There is no apt-get here.  Where there is, run:' \
        "  apt-get install --no-install-recommends$missing"
[ "$(id -u)" -eq 0 ] ||
    stop 'Packages are missing.  Run this, then try again:' \
        "  sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing"

printf '%s\n' 'Packages are missing.  This installs them:' \
    "  apt-get update && apt-get install -y --no-install-recommends$missing"
if [ -t 0 ] && [ -z "${CI:-}" ]; then
    printf 'Go on? [Y/n] '
    read -r answer || answer=n
    case $answer in
    '' | [Yy]*) ;;
    *) stop 'Nothing was installed.' ;;
    esac
fi

apt-get update
case $missing in
*-22*)
    has_candidate libmlir-22-dev ||
        stop 'No candidate for libmlir-22-dev.  MLIR 22 is in Debian 12 from the' \
            'suite bookworm-security, and in Debian 13 (trixie) and later.  Add:' \
            '  deb http://deb.debian.org/debian-security bookworm-security main'
    ;;
esac
DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends $missing
