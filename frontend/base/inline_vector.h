// A short list that lies in its owner: operands and attributes of nodes. Only lists of more than N elements ask for memory,
// which is what makes copying a graph cheap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace spirograd {

template <class T, uint32_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  InlineVector() = default;
  InlineVector(std::initializer_list<T> elements) { assign(elements.begin(), elements.end()); }
  InlineVector(const std::vector<T>& elements) { assign(elements.begin(), elements.end()); }
  template <class Iterator>
  InlineVector(Iterator first, Iterator last) {
    assign(first, last);
  }
  InlineVector(const InlineVector& o) { assign(o.begin(), o.end()); }
  InlineVector(InlineVector&& o) noexcept { take(o); }
  InlineVector& operator=(const InlineVector& o) {
    if (this != &o) assign(o.begin(), o.end());
    return *this;
  }
  InlineVector& operator=(InlineVector&& o) noexcept {
    if (this == &o) return *this;
    release();
    take(o);
    return *this;
  }
  ~InlineVector() { release(); }

  template <class Iterator>
  void assign(Iterator first, Iterator last) {
    size_ = 0;
    reserve(static_cast<size_t>(last - first));
    size_ = static_cast<uint32_t>(std::copy(first, last, data()) - data());
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return capacity_ > N ? elements_.heap : elements_.here; }
  const T* data() const { return capacity_ > N ? elements_.heap : elements_.here; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  auto rbegin() const { return std::make_reverse_iterator(end()); }
  auto rend() const { return std::make_reverse_iterator(begin()); }
  T& operator[](size_t j) { return data()[j]; }
  const T& operator[](size_t j) const { return data()[j]; }
  const T& back() const { return data()[size_ - 1]; }

  void reserve(size_t n) {
    if (n <= capacity_) return;
    T* moved = new T[n];
    std::copy(begin(), end(), moved);
    release();
    elements_.heap = moved;
    capacity_ = static_cast<uint32_t>(n);
  }
  void push_back(T element) {
    if (size_ == capacity_) reserve(2 * static_cast<size_t>(size_));
    data()[size_++] = element;
  }

  /// Implicit: lists of axes are vectors elsewhere.
  operator std::vector<T>() const { return {begin(), end()}; }
  bool operator==(const InlineVector& o) const { return std::equal(begin(), end(), o.begin(), o.end()); }

 private:
  void release() {
    if (capacity_ > N) delete[] elements_.heap;
    capacity_ = N;
  }
  void take(InlineVector& o) {
    if (o.capacity_ > N)
      elements_.heap = o.elements_.heap;
    else
      std::copy(o.begin(), o.end(), elements_.here);
    size_ = std::exchange(o.size_, 0);
    capacity_ = std::exchange(o.capacity_, N);
  }

  union Elements {
    Elements() {}
    T here[N];
    T* heap;
  } elements_;
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
};

}  // namespace spirograd
