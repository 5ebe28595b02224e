// spirograd_faults: lets every Vulkan call of the runtime fail once at every place, and tells what became of it.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "spirograd/result.h"
#include "tests/faults/calls.h"
#include "tests/faults/places.h"
#include "tests/faults/sessions.h"

namespace {

using namespace spirograd;
using namespace spirograd::faults;

constexpr int kSeconds = 120;  // without a sign of life

constexpr const char* kUsage =
    "spirograd_faults [--sample] [--life NAME] [--call NAME] [--verbose]   or   spirograd_faults --sessions N\n"
    "  every call that may fail does so once, at every place, with every code, on the first Vulkan device\n"
    "  --sample      one place of each call\n"
    "  --life NAME   only this one\n"
    "  --call NAME   only this one: vkQueueSubmit\n"
    "  --verbose     each place on a line of its own\n"
    "  --cache DIR   what the self-test has found on this device before\n"
    "  --sessions N  instead of that, so many sessions are made and dropped: nothing grows\n";

struct Row {
  int places = 0, refused = 0, survived = 0, kept = 0, missed = 0, bad = 0;
};

void print(const char* name, const Row& r) {
  std::printf("%-40s %7d %8d %9d %6d %7d %5d\n", name, r.places, r.refused, r.survived, r.kept, r.missed, r.bad);
}

void tell(const Tried& t) {
  constexpr const char* kKinds[] = {"refused", "survived", "kept", "missed", "BAD"};
  std::printf("%s: %s\n", kKinds[static_cast<size_t>(t.kind)], to_string(t.place).c_str());
  if (!t.text.empty()) std::printf("    %s\n", t.text.c_str());
  std::fflush(stdout);
}

int report(const std::vector<Tried>& tried) {
  std::vector<Row> rows(fallible_calls().size());
  Row all;
  for (const Tried& t : tried)
    for (Row* r : {&rows[t.place.call], &all}) {
      ++r->places;
      switch (t.kind) {
        case Kind::Refused: ++r->refused; break;
        case Kind::Survived: ++r->survived; break;
        case Kind::Kept: ++r->kept; break;
        case Kind::NotReached: ++r->missed; break;
        case Kind::Bad: ++r->bad; break;
      }
    }
  std::printf("%-40s %7s %8s %9s %6s %7s %5s\n", "call", "places", "refused", "survived", "kept", "missed", "bad");
  for (size_t i = 0; i < rows.size(); ++i) print(fallible_calls()[i].name, rows[i]);
  print("all", all);
  std::printf(
      "refused: one error, nothing left, the device works or is said to be lost. survived: no error, right results.\n"
      "kept: lost for good, its objects are left to the driver. missed: the call was not made so often that time.\n");
  return all.bad == 0 ? 0 : 1;
}

int sessions(int n, const std::string& cache_dir) {
  try {
    const std::string grown = make_and_drop(n, cache_dir);
    if (grown.empty()) return 0;
    std::printf("BAD: %s\n", grown.c_str());
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.str().c_str());
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  bool is_sample = false, verbose = false;
  int n_sessions = 0;
  std::string only, call, cache;
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    if (a == "--sample") {
      is_sample = true;
    } else if (a == "--verbose") {
      verbose = true;
    } else if (a == "--sessions" && i + 1 < argc && std::atoi(argv[i + 1]) > 10) {
      n_sessions = std::atoi(argv[++i]);
    } else if (a == "--cache" && i + 1 < argc) {
      cache = argv[++i];
    } else if (a == "--life" && i + 1 < argc) {
      only = argv[++i];
    } else if (a == "--call" && i + 1 < argc) {
      call = argv[++i];
    } else {
      std::fputs(kUsage, a == "--help" ? stdout : stderr);
      return a == "--help" ? 0 : 2;
    }
  }
  if (n_sessions > 0) return sessions(n_sessions, cache);
  std::string folder = (std::filesystem::temp_directory_path() / "spirograd_faults_XXXXXX").string();
  if (!::mkdtemp(folder.data())) return 5;
  int status = 1;
  try {
    const Settings settings{folder};
    if (!cache.empty() && std::filesystem::is_directory(cache))
      for (const auto& file : std::filesystem::directory_iterator(cache))
        if (file.path().filename().string().starts_with("verdicts")) std::filesystem::copy(file.path(), folder);
    std::vector<Place> places = all_places(settings, only, kSeconds);
    if (!call.empty()) std::erase_if(places, [&](const Place& p) { return fallible_calls()[p.call].name != call; });
    if (is_sample) places = sample(places);
    if (places.empty()) throw Error("SG0901", "no place to fail at: life '" + only + "', call '" + call + "'");
    const auto told = [&](const Tried& t) {
      if (verbose || t.kind == Kind::Bad) tell(t);
    };
    status = report(try_places(places, settings, kSeconds, told));
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.str().c_str());
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return status;
}
