#include <spirograd/loops.h>
struct Options {
  spirograd::Array w;
  int steps;
};
spirograd::Array f(Options o) {
  return spirograd::fori(
             3, [](spirograd::Index, Options s) { return s; }, o)
      .w;
}
