#include <cairo-svg.h>
#include <cairo.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "spirograd/result.h"
#include "tools/io/plot.h"
#include "tools/io/sparkline.h"
#include "tools/io/table.h"

namespace spirograd::io {
namespace {

constexpr double kWidth = 720, kHeight = 440, kLeft = 84, kRight = 24, kTop = 52, kBottom = 60;
constexpr double kLetters = 13, kTitle = 16, kMark = 5;

struct Axis {
  double low = 0, high = 1;  // of what is drawn: logarithms on a logarithmic axis
  bool logarithmic = false;
  std::vector<std::pair<double, std::string>> marks;
  double place(double x) const { return ((logarithmic ? std::log10(x) : x) - low) / (high - low); }
};

// About `n` marks at 1, 2 or 5 times a power of ten.
void mark_evenly(Axis& a, double n) {
  const double wide = (a.high - a.low) / n, power = std::pow(10, std::floor(std::log10(wide)));
  const double ratio = wide / power, step = power * (ratio < 1.5 ? 1 : ratio < 3.5 ? 2 : ratio < 7.5 ? 5 : 10);
  for (double j = std::ceil(a.low / step - 1e-9); j * step <= a.high + 1e-9 * step; ++j)
    a.marks.emplace_back(j * step + 0.0, short_number(j * step + 0.0, 6));  // no negative zero
}

Axis x_axis(size_t n) {
  Axis a;
  a.high = std::max(1.0, static_cast<double>(n) - 1);
  mark_evenly(a, 8);
  std::erase_if(a.marks, [](const auto& m) { return m.first != std::floor(m.first); });
  return a;
}

Axis y_axis(const std::vector<double>& y) {
  Axis a;
  a.logarithmic = suits_logarithm(y);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double v : y) {
    if (!std::isfinite(v)) continue;
    low = std::min(low, a.logarithmic ? std::log10(v) : v);
    high = std::max(high, a.logarithmic ? std::log10(v) : v);
  }
  if (low > high) low = 0, high = 1;
  const double middle = (low + high) / 2, least = std::max(1e-300, 1e-9 * std::abs(middle));
  if (high - low < least) low = middle - (middle == 0 ? 1 : std::abs(middle) / 2), high = middle + (middle - low);
  const double air = 0.04 * (high - low);
  a.low = low - air;
  a.high = high + air;
  if (!a.logarithmic) {
    mark_evenly(a, 6);
    return a;
  }
  const double step = std::max(1.0, std::round((a.high - a.low) / 8));
  for (double p = std::ceil(a.low / step) * step; p <= a.high; p += step)
    a.marks.emplace_back(p, std::abs(p) <= 3 ? short_number(std::pow(10, p)) : "1e" + short_number(p));
  return a;
}

class Drawing {
 public:
  explicit Drawing(cairo_surface_t* surface) : cairo_(cairo_create(surface)) {
    cairo_select_font_face(cairo_, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  }
  ~Drawing() { cairo_destroy(cairo_); }
  Drawing(const Drawing&) = delete;
  Drawing& operator=(const Drawing&) = delete;

  void draw(const Plot& plot) {
    ink(1);
    cairo_paint(cairo_);
    const Axis x = x_axis(plot.y.size()), y = y_axis(plot.y);
    for (const auto& [at, name] : x.marks) mark_x(across((at - x.low) / (x.high - x.low)), name);
    for (const auto& [at, name] : y.marks) mark_y(up((at - y.low) / (y.high - y.low)), name);
    ink(0.35);
    cairo_set_line_width(cairo_, 1);
    cairo_rectangle(cairo_, kLeft, kTop, kWidth - kLeft - kRight, kHeight - kTop - kBottom);
    cairo_stroke(cairo_);
    curve(plot.y, x, y);
    ink(0.1);
    text(plot.title, kTitle, (kLeft + kWidth - kRight) / 2, kTop - 20, 0.5);
    text(plot.x_name, kLetters, (kLeft + kWidth - kRight) / 2, kHeight - 16, 0.5);
    cairo_save(cairo_);
    cairo_translate(cairo_, 22, (kTop + kHeight - kBottom) / 2);
    cairo_rotate(cairo_, -std::acos(-1.0) / 2);
    text(plot.y_name + (y.logarithmic ? " (logarithmic)" : ""), kLetters, 0, 0, 0.5);
    cairo_restore(cairo_);
    if (cairo_status(cairo_) != CAIRO_STATUS_SUCCESS)
      throw Error("SG0505", std::string("cannot draw a plot: ") + cairo_status_to_string(cairo_status(cairo_)));
  }

 private:
  static double across(double share) { return kLeft + share * (kWidth - kLeft - kRight); }
  static double up(double share) { return kHeight - kBottom - share * (kHeight - kTop - kBottom); }
  void ink(double grey) { cairo_set_source_rgb(cairo_, grey, grey, grey); }

  // `before`: the share of the text that stands left of x.
  void text(const std::string& what, double size, double x, double y, double before) {
    const std::string shown = printable(what);  // Cairo takes nothing but UTF-8
    cairo_set_font_size(cairo_, size);
    cairo_text_extents_t e;
    cairo_text_extents(cairo_, shown.c_str(), &e);
    cairo_move_to(cairo_, x - before * e.x_advance, y);
    cairo_show_text(cairo_, shown.c_str());
  }
  void line(double x0, double y0, double x1, double y1) {
    cairo_move_to(cairo_, x0, y0);
    cairo_line_to(cairo_, x1, y1);
    cairo_stroke(cairo_);
  }
  void grid_ink() {
    ink(0.88);
    cairo_set_line_width(cairo_, 1);
  }
  void mark_x(double x, const std::string& name) {
    grid_ink();
    line(x, kTop, x, kHeight - kBottom + kMark);
    ink(0.25);
    text(name, kLetters, x, kHeight - kBottom + kMark + kLetters + 2, 0.5);
  }
  void mark_y(double y, const std::string& name) {
    grid_ink();
    line(kLeft - kMark, y, kWidth - kRight, y);
    ink(0.25);
    text(name, kLetters, kLeft - kMark - 4, y + kLetters * 0.35, 1);
  }
  // Of many values for one column of pixels the least and the largest are enough.
  void curve(const std::vector<double>& all, const Axis& x, const Axis& y) {
    cairo_rectangle(cairo_, kLeft, kTop, kWidth - kLeft - kRight, kHeight - kTop - kBottom);
    cairo_clip(cairo_);
    cairo_set_source_rgb(cairo_, 0.12, 0.35, 0.67);
    cairo_set_line_width(cairo_, 1.75);
    cairo_set_line_join(cairo_, CAIRO_LINE_JOIN_ROUND);
    const size_t group = std::max<size_t>(1, all.size() / 2000);
    bool pen = false;
    const auto go = [&](size_t j) {
      if (!std::isfinite(all[j])) {
        pen = false;
        return;
      }
      const double px = across(x.place(static_cast<double>(j))), py = up(y.place(all[j]));
      if (pen)
        cairo_line_to(cairo_, px, py);
      else
        cairo_move_to(cairo_, px, py);
      pen = true;
    };
    for (size_t first = 0; first < all.size(); first += group) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = begin + static_cast<std::ptrdiff_t>(std::min(group, all.size() - first));
      const auto [low, high] = std::minmax_element(begin, end);
      go(static_cast<size_t>(std::min(low, high) - all.begin()));
      if (low != high) go(static_cast<size_t>(std::max(low, high) - all.begin()));
    }
    cairo_stroke(cairo_);
    cairo_reset_clip(cairo_);
  }

  cairo_t* cairo_;
};

cairo_status_t append(void* to, const unsigned char* bytes, unsigned int n) {
  auto* out = static_cast<std::vector<uint8_t>*>(to);
  out->insert(out->end(), bytes, bytes + n);
  return CAIRO_STATUS_SUCCESS;
}

using Surface = std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)>;

}  // namespace

void check_plots() {}

std::vector<uint8_t> plot_svg(const Plot& plot) {
  std::vector<uint8_t> out;
  const Surface surface(cairo_svg_surface_create_for_stream(append, &out, kWidth, kHeight), cairo_surface_destroy);
  Drawing(surface.get()).draw(plot);
  cairo_surface_finish(surface.get());
  return out;
}

std::vector<uint8_t> plot_png(const Plot& plot) {
  constexpr int kScale = 2;  // for screens with small pixels
  const Surface surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, kScale * static_cast<int>(kWidth), kScale * static_cast<int>(kHeight)),
      cairo_surface_destroy);
  cairo_surface_set_device_scale(surface.get(), kScale, kScale);
  Drawing(surface.get()).draw(plot);
  std::vector<uint8_t> out;
  if (cairo_surface_write_to_png_stream(surface.get(), append, &out) != CAIRO_STATUS_SUCCESS)
    throw Error("SG0505", "Cairo cannot make a PNG");
  return out;
}

}  // namespace spirograd::io
