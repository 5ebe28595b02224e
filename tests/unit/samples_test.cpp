// The mixture objective stands once as text and once in C++: both are the same program, and so are their gradients.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "frontend/ir/own_graph.h"
#include "samples/gmm_objective.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"

namespace spirograd {
namespace samples_test {

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Samples, MixtureInTextAndInCxxIsOneProgram) {
  const text::Module module = text::parse(read(SPIROGRAD_SOURCE_DIR "/samples/gmm.sg"), "gmm.sg").value();
  for (const auto& [n, d, k] : {std::array{272, 2, 2}, std::array{7, 1, 3}, std::array{1, 5, 1}, std::array{0, 2, 2}}) {
    Program traced = gmm(n, d, k).value();
    const auto graph = ir::make_graph_private(traced);
    std::vector<text::NamedType> types;
    for (const Param& p : traced.params) types.push_back({p.name, p.type});
    const Program parsed = text::instantiate(module, "gmm", types, {}, graph).value();
    EXPECT_EQ(parsed.results[0].node, traced.results[0].node) << "interned in one graph, equal programs are one node";
    EXPECT_EQ(text::print(parsed), text::print(traced));
    EXPECT_EQ(text::print(grad(parsed, {"mu"}).value()), text::print(grad(traced, {"mu"}).value()));
  }
}

TEST(Samples, MixtureInCxxIsShort) {
  const std::string source = read(SPIROGRAD_SOURCE_DIR "/samples/gmm_objective.h");
  EXPECT_LT(std::count(source.begin(), source.end(), '\n'), 60);
}

}  // namespace samples_test
}  // namespace spirograd
