#include "spirv/executable/probe.h"

#include <cstring>
#include <type_traits>

#include "spirv/executable/bundle_fields.h"

namespace spirograd {
namespace {

// Writes every field it is shown, as words.
class Writer {
 public:
  template <class T>
  void operator()(const T& x) {
    if constexpr (sizeof(T) > 4) words.push_back(static_cast<uint32_t>(static_cast<uint64_t>(x) >> 32));
    words.push_back(static_cast<uint32_t>(x));
  }
  template <class T, class Each>
  void list(const T& items, const Each& each) {
    (*this)(items.size());
    for (const auto& i : items) each(i);
  }
  std::vector<uint32_t> words;
};

// Fills every field it is shown, in the same order.
class Reader {
 public:
  explicit Reader(std::span<const uint32_t> words) : words_(words) {}
  template <class T>
  void operator()(T& x) {
    uint64_t value = sizeof(T) > 4 ? uint64_t{next()} << 32 : 0;
    value |= next();
    x = static_cast<T>(value);
  }
  template <class T, class Each>
  void list(T& items, const Each& each) {
    size_t n = 0;
    (*this)(n);
    items.resize(n);
    for (auto& i : items) each(i);
  }

 private:
  uint32_t next() { return words_[at_++]; }
  std::span<const uint32_t> words_;
  size_t at_ = 0;
};

template <class Archive, class T>
void numbers(Archive& a, T& list) {
  a.list(list, [&](auto& x) { a(x); });
}

// Contents of constants, which are whole words.
template <class Archive, class T>
void bytes(Archive& a, T& data) {
  std::vector<uint32_t> words(data.size() / 4);
  if (!words.empty()) std::memcpy(words.data(), data.data(), 4 * words.size());
  numbers(a, words);
  if constexpr (std::is_const_v<T>)
    return;
  else {
    data.resize(4 * words.size());
    if (!data.empty()) std::memcpy(data.data(), words.data(), data.size());
  }
}

template <class Archive, class T>
void fields(Archive& a, T& x) requires(std::is_same_v<std::remove_const_t<T>, Requirements>) {
  std::apply([&](auto&... field) { (a(field), ...); }, fields_of(x));
}

template <class Archive, class T>
void fields(Archive& a, T& x) requires(std::is_same_v<std::remove_const_t<T>, KernelBinary>) {
  numbers(a, x.name), numbers(a, x.words), a(x.workgroup), a(x.bindings), fields(a, x.needs);
}

// Arrays of rank 1.
template <class Archive, class T>
void fields(Archive& a, T& x) requires(std::is_same_v<std::remove_const_t<T>, BufferDesc>) {
  a(x.role), a(x.type.dtype), a(x.bytes), a(x.scratch_offset), numbers(a, x.name), bytes(a, x.data);
  if constexpr (!std::is_const_v<T>) x.type.shape = {static_cast<int64_t>(x.bytes / device_bytes(x.type.dtype))};
}

template <class Archive, class T>
void fields(Archive& a, T& x) requires(std::is_same_v<std::remove_const_t<T>, Step>) {
  a(x.kind), a(x.kernel), a(x.groups), a(x.fill_word), a(x.count), a(x.body), a(x.work), numbers(a, x.label);
  a.list(x.uses, [&](auto& u) { a(u.buffer), a(u.offset), a(u.bytes), a(u.read), a(u.written), numbers(a, u.strides); });
}

template <class Archive, class T>
void fields(Archive& a, T& x) requires(std::is_same_v<std::remove_const_t<T>, Probe>) {
  const auto each = [&](auto& y) { fields(a, y); };
  numbers(a, x.name), a(x.thorough), a(x.program.n_outputs), a(x.program.scratch_bytes);
  a.list(x.program.buffers, each), a.list(x.program.steps, each);
  for (auto& kernels : x.kernels) a.list(kernels, each);
  a.list(x.expected, [&](auto& e) {
    a(e.number), a(e.part), numbers(a, e.what), a(e.output), a(e.first), a(e.count), a(e.steps), a(e.ulps);
    numbers(a, e.words);
  });
}

}  // namespace

Executable in_form(const Probe& probe, BindingForm form) {
  Executable e = probe.program;
  e.form = form;
  e.kernels = probe.kernels[static_cast<size_t>(form)];
  return e;
}

std::vector<uint32_t> pack_probes(std::span<const Probe> probes) {
  Writer writer;
  writer.list(probes, [&](const Probe& p) { fields(writer, p); });
  return std::move(writer.words);
}

std::vector<Probe> unpack_probes(std::span<const uint32_t> words) {
  Reader reader(words);
  std::vector<Probe> probes;
  reader.list(probes, [&](Probe& p) { fields(reader, p); });
  return probes;
}

}  // namespace spirograd
