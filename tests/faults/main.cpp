// spirograd_faults: lets every Vulkan call of the runtime fail once at every place, and tells what became of it.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "spirograd/result.h"
#include "tests/faults/calls.h"
#include "tests/faults/places.h"

namespace {

using namespace spirograd;
using namespace spirograd::faults;

constexpr int kSeconds = 120;  // without a sign of life

constexpr const char* kUsage =
    "spirograd_faults [--sample | --life NAME] [--verbose]\n"
    "  every call that may fail does so once, at every place, with every code, on the first Vulkan device\n"
    "  --sample      one place of each call\n"
    "  --life NAME   only this one\n"
    "  --verbose     each place on a line of its own\n";

struct Row {
  int places = 0, refused = 0, survived = 0, kept = 0, missed = 0, bad = 0;
};

void print(const char* name, const Row& r) {
  std::printf("%-40s %7d %8d %9d %6d %7d %5d\n", name, r.places, r.refused, r.survived, r.kept, r.missed, r.bad);
}

int report(const std::vector<Tried>& tried, bool verbose) {
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
  for (const Tried& t : tried)
    if (verbose || t.kind == Kind::Bad)
      std::printf("%s %s\n    %s\n", t.kind == Kind::Bad ? "BAD" : "ok ", to_string(t.place).c_str(), t.text.c_str());
  std::printf("%-40s %7s %8s %9s %6s %7s %5s\n", "call", "places", "refused", "survived", "kept", "missed", "bad");
  for (size_t i = 0; i < rows.size(); ++i) print(fallible_calls()[i].name, rows[i]);
  print("all", all);
  std::printf(
      "refused: one error, nothing left, the device works or is said to be lost. survived: no error, right results.\n"
      "kept: lost for good, its objects are left to the driver. missed: the call was not made so often that time.\n");
  return all.bad == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  bool is_sample = false, verbose = false;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    if (a == "--sample") {
      is_sample = true;
    } else if (a == "--verbose") {
      verbose = true;
    } else if (a == "--life" && i + 1 < argc) {
      only = argv[++i];
    } else {
      std::fputs(kUsage, a == "--help" ? stdout : stderr);
      return a == "--help" ? 0 : 2;
    }
  }
  std::string folder = (std::filesystem::temp_directory_path() / "spirograd_faults_XXXXXX").string();
  if (!::mkdtemp(folder.data())) return 5;
  int status = 1;
  try {
    const Settings settings{folder};
    std::vector<Place> places = all_places(settings, kSeconds);
    std::printf("%zu places\n", places.size());
    std::erase_if(places, [&](const Place& p) { return !only.empty() && only != lives()[p.life].name; });
    if (is_sample) places = sample(places);
    status = report(try_places(places, settings, kSeconds), verbose);
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.str().c_str());
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return status;
}
