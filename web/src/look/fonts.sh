#!/bin/sh
# Makes the two fonts of the page from the packages of npm and PyPI that hold and cut them: the letters of Western
# Europe, weights from 400 to 700, no ligatures. Usage: fonts.sh FOLDER-OF-NODE-MODULES; needs fonttools and brotli.
set -eu
letters="U+0020-007E,U+00A0-00FF,U+2013,U+2014,U+2018-201D,U+2022,U+2026,U+2190-2193,U+2212,U+00D7,U+20AC"
here=$(cd "$(dirname "$0")" && pwd)
aside=$(mktemp -d)
cut() {
    fonttools varLib.instancer "$1" wght=400:700 -o "$aside/font.ttf"
    pyftsubset "$aside/font.ttf" --unicodes="$letters" --layout-features=kern,mark,mkmk,ccmp,locl,tnum,zero \
        --flavor=woff2 --output-file="$here/$2.woff2"
}
cut "$1/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2" inter # 5.3.0
cut "$1/@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2" jetbrains_mono # 5.3.0
rm -r "$aside"
