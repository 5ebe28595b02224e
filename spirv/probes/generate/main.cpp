// Writes the probes of the self-test as a C++ source: words, and a number that changes whenever one of them does.
#include <cstdio>
#include <exception>

#include "spirv/probes/recipe.h"

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s SOURCE\n", argv[0]);
    return 2;
  }
  using namespace spirograd;
  std::vector<Probe> probes;
  for (const probes::Recipe& r : probes::recipes()) probes.push_back(probes::emitted(r));
  const std::vector<uint32_t> words = pack_probes(probes);
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a, by words
  for (uint32_t w : words) hash = (hash ^ w) * 0x100000001b3u;
  std::FILE* out = std::fopen(argv[1], "w");
  if (!out) {
    std::fprintf(stderr, "cannot write %s\n", argv[1]);
    return 1;
  }
  std::fprintf(out, "#include \"vk_runtime/probe_data.h\"\n\nnamespace spirograd::vk {\n\n");
  std::fprintf(out, "const uint64_t kProbeHash = 0x%llxu;\n", static_cast<unsigned long long>(hash));
  std::fprintf(out, "static const uint32_t words[] = {");
  for (size_t i = 0; i < words.size(); ++i) std::fprintf(out, "%s0x%x,", i % 16 == 0 ? "\n" : "", words[i]);
  std::fprintf(out, "\n};\nstd::span<const uint32_t> probe_words() { return words; }\n\n}  // namespace spirograd::vk\n");
  return std::fclose(out) == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
  return 1;
}
