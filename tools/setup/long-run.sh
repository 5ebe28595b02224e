# The long run of tools/test: every test of programs by size class, and of those as people write them, for its share of the time, and a
# table of what was covered.
#   long_run MINUTES   uses missing_drivers of tools/test; exits with 1 if anything was found

long_run() {
  local jobs=2 tests seconds log=build/release/long-run.log status=0
  tests=$(ctest --test-dir build/release -N -R 'Sizes.*ProgramsMeanTheSame|Spellings' | grep -c 'Test *#')
  seconds=$(($1 * 60 * jobs / tests - 2))
  if [ "$seconds" -lt 1 ]; then seconds=1; fi
  export SPIROGRAD_SEED=${SPIROGRAD_SEED:-$(date +%s)} SPIROGRAD_SECONDS=$seconds SPIROGRAD_FOUND=$PWD/build/release/found
  rm -rf "$SPIROGRAD_FOUND"
  echo "$tests tests, $seconds s each; SPIROGRAD_SEED=$SPIROGRAD_SEED"
  ctest --test-dir build/release -R 'Sizes|Spellings' -j "$jobs" --verbose >"$log" 2>&1 || status=1
  # "12: sizes: lavapipe | long | value | 40 agreed, ..": one line per driver, size class and mode, tests of one kind added up.
  awk -F'[|:,]' '
    / sizes: / {
      gsub(/ /, "", $3); gsub(/ /, "", $4); gsub(/ /, "", $5)
      where = $3 " " $4 " " $5
      for (k = 6; k <= 10; ++k) { split($k, word, " "); count[where, k] += word[1]; total[k] += word[1] }
      seen[where] = 1
    }
    END {
      form = "%-14s %-11s %-8s %8s %8s %9s %8s %6s\n"
      printf form, "driver", "size class", "mode", "agreed", "refused", "too long", "by f64", "found"
      fflush()
      for (w in seen) {
        split(w, name, " ")
        printf form, name[1], name[2], name[3], count[w, 6], count[w, 7], count[w, 8], count[w, 9], count[w, 10] | "sort"
      }
      close("sort")
      printf form, "all", "", "", total[6], total[7], total[8], total[9], total[10]
    }' "$log"
  echo "refused: the device declines such programs. too long: so many dispatches that only the host ran them. Neither is a pass."
  echo "by f64: among those that agreed, but in f64 only, for rounding decides."
  for driver in "${missing_drivers[@]}"; do
    echo "WARNING: $driver was not to be had: NOTHING ran on it."
  done
  if [ $status -ne 0 ]; then
    grep -E '^ *[0-9]+/[0-9]+ Test.*(Failed|Timeout|Exception)' "$log"
    echo "FAILED: see $log; programs that were found, made small: $SPIROGRAD_FOUND (keep them in tests/property/seeds)"
    exit 1
  fi
  echo "nothing was found"
}
