# Sourced in the project's directory. Sets up Wine with a private prefix, and `$wine` to run programs in it.

scripts/need.sh x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64
wine=/usr/lib/wine/wine64
[ -x "$wine" ] || scripts/need.sh wine64-stable wine64 2>/dev/null || [ -x "$wine" ] || {
    echo "wine64 is missing, which these tests need; install the package wine64" >&2
    exit 1
}
export WINEPREFIX=$PWD/target/wine WINEDEBUG=-all WINEDLLOVERRIDES="mscoree=;mshtml=;bcryptprimitives=n"
system=$WINEPREFIX/drive_c/windows/system32
if [ ! -e "$system/bcryptprimitives.dll" ]; then
    "$wine" wineboot --init
    x86_64-w64-mingw32-gcc -O2 -shared -o "$system/bcryptprimitives.dll" tests/windows/prng.c -ladvapi32
fi
