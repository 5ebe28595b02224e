# What the scripts share that people start: packages, builds, --help. Sourced by tools/demo, tools/test and .ci/run.
#   tell_if_asked SCRIPT ARGUMENT...   prints what the script says of itself at its top, and exits, if --help is among the arguments
#   need_packages NAME...              installs the Debian packages that are missing; exits with a clear line when one cannot be

tell_if_asked() {
  local script=$1 argument
  shift
  for argument in "$@"; do
    case "$argument" in
      -h | --help)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$script"
        exit
        ;;
    esac
  done
}

need_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then return 0; fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "error: these packages are missing and there is no sudo to install them: ${missing[*]}" >&2
      echo "  help: as root, run  apt-get install ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "installing ${#missing[@]} packages: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update -q &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    echo "error: apt-get could not install: ${missing[*]}" >&2
    rm -f "$log"
    exit 1
  fi
  rm -f "$log"
}

build_packages=(build-essential cmake ninja-build libvulkan-dev libvulkan-volk-dev libvulkan1 mesa-vulkan-drivers spirv-tools
                spirv-headers glslang-tools nlohmann-json3-dev libpng-dev libopenexr-dev zlib1g-dev libcairo2-dev)
mingw_packages=(g++-mingw-w64-x86-64-posix libz-mingw-w64-dev googletest wine wine64)
test_packages=(libopenmpi-dev openmpi-bin libgtest-dev vulkan-validationlayers python3 python3-numpy ccache clang-format-14 spirv-cross)

# configure_and_build PRESET TARGET...: quiet when all is well, the compiler's words when not. In build/PRESET, or in $folder.
configure_and_build() {
  local preset=$1 log
  local folder=${folder:-build/$preset}
  shift
  log=$(mktemp)
  local options=()
  if command -v ccache >/dev/null; then
    options=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
    # The compiler names the headers that it has read, so that no source is preprocessed once more; and headers may be precompiled.
    export CCACHE_DEPEND=${CCACHE_DEPEND:-1} CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
  fi
  # All files of a library at once: a third of the time of a build from nothing. -O2: -O3 takes a fifth longer and runs no faster here.
  # Who changes files again and again builds without.
  if [ "$preset" = release ]; then
    options+=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG")
  fi
  if ! cmake --preset "$preset" -B "$folder" "${options[@]}" "${extra_cmake_options[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    echo "error: cmake could not configure the project" >&2
    exit 1
  fi
  # What is left out, for who would take it for tested.
  if [ -n "${tells_what_is_left_out:-}" ]; then sed -n '/^CMake Warning/,/^Call Stack/ { /^  /p }' "$log"; fi
  echo "building ($folder)"
  if ! cmake --build "$folder" ${1:+--target "$@"} >"$log" 2>&1; then
    grep -E "error|FAILED|undefined" -A5 "$log" | head -n 60 >&2 || tail -n 30 "$log" >&2
    echo "error: the build failed" >&2
    exit 1
  fi
  rm -f "$log"
}
