#include <spirograd/loops.h>
struct Model {
  spirograd::Array w, b;
  static constexpr const char* fields[] = {"w"};
};
spirograd::Array f(Model m) {
  return spirograd::fori(
             3, [](spirograd::Index, Model s) { return s; }, m)
      .w;
}
