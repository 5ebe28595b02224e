// Operations on traced arrays: those of the text language, under the same names, with the same arguments in the same order.
// NumPy's names where NumPy has one. Axes may be negative: -1 is the last one. Lists are in braces: concat({a, b}).
// Every operation is total: no input makes one fail while the program runs.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "spirograd/bundle.h"
#include "spirograd/host_array.h"
#include "spirograd/own_kernel.h"

namespace spirograd {

namespace detail {
std::vector<Array> cond_of_each(const Arg& condition, const std::vector<Arg>& a, const std::vector<Arg>& b);
}  // namespace detail

/// Axes of a reduction: one, several, or all of them.
struct Axes {
  std::vector<int> list;
  bool all = false;
  Axes(int axis) : list{axis} {}
  Axes(std::initializer_list<int> axes) : list(axes) {}
  Axes(std::vector<int> axes) : list(std::move(axes)) {}
  static Axes every() {
    Axes axes(std::vector<int>{});
    axes.all = true;
    return axes;
  }
};

// ---- leaves
Array zeros(Type type, Loc loc = Loc::here());
Array zeros(Shape shape, DType dtype = DType::F32, Loc loc = Loc::here());
Array ones(Type type, Loc loc = Loc::here());
Array ones(Shape shape, DType dtype = DType::F32, Loc loc = Loc::here());
Array full(Type type, double value, Loc loc = Loc::here());
/// Copies of an array, or of a number, which is i32 or f32.
Array full(Shape shape, Arg value);
/// `const` in text. A literal; values in row-major order, rounded to the element type.
Array constant(Type type, const std::vector<double>& values, Loc loc = Loc::here());
Array constant(const HostArray& values, Loc loc = Loc::here());
/// A scalar literal.
Array constant(DType dtype, double value, Loc loc = Loc::here());
/// 0, 1, .., n-1 as i32.
Array iota(int64_t n, Loc loc = Loc::here());
/// The position along `axis`, in any shape.
Array iota(Shape shape, int axis, Loc loc = Loc::here());

// ---- elementwise, one operand
Array abs(Arg a);
Array sign(Arg a);  // -1, 0, 1; NaN of NaN
Array sqrt(Arg a);
Array exp(Arg a);
Array log(Arg a);
Array sin(Arg a);
Array cos(Arg a);
Array tan(Arg a);
Array asin(Arg a);
Array acos(Arg a);
Array atan(Arg a);
Array sinh(Arg a);
Array cosh(Arg a);
Array tanh(Arg a);
Array asinh(Arg a);
Array acosh(Arg a);
Array atanh(Arg a);
Array erf(Arg a);
Array erfc(Arg a);      // 1 - erf(a), to all digits
Array erfinv(Arg a);    // infinite at -1 and 1, NaN beyond
Array logistic(Arg a);  // 1 / (1 + exp(-a)) without overflow
Array log1p(Arg a);     // log(1 + a), exact for small a
Array expm1(Arg a);     // exp(a) - 1, exact for small a
Array lgamma(Arg a);    // log(abs(gamma(a)))
Array digamma(Arg a);   // the derivative of lgamma; NaN at -1, -2, ..
Array softplus(Arg a);  // log(1 + exp(a)) without overflow
Array square(Arg a);
Array recip(Arg a);
Array relu(Arg a);  // max(0, a): NaN of NaN
Array leaky_relu(Arg a, double slope = 0.01);
/// Rounds toward minus infinity; gives i32, saturated, 0 for NaN.
Array floor(Arg a);
Array floor_(Arg a);  // stays a float
/// As i32; as floats. Halves are rounded to the even number.
Array ceil(Arg a);
Array round(Arg a);
Array ceil_(Arg a);
Array round_(Arg a);
Array trunc_(Arg a);
Array cbrt(Arg a);  // of negative numbers, too
/// float -> int truncates and saturates (NaN -> 0), int -> int reinterprets, to bool: not 0.
Array cast(Arg a, DType dtype);
/// The same value; derivatives do not pass.
Array stop_gradient(Arg a);
/// The same value, which lies in memory where several kernels need it, the reverse pass among them; or is computed again by
/// each. Without a mark what takes longer decides. In loops: what a step keeps for the reverse pass, as far as it keeps any.
Array prefer_store(Arg a);
Array prefer_recompute(Arg a);

// ---- elementwise, two operands, broadcast
Array pow(Arg a, Arg b);
Array atan2(Arg y, Arg x);
Array masked_mul(Arg x, Arg y);  // x * y, but 0 where x is 0, whatever y; what derivatives under a mask are made of
Array masked_div(Arg x, Arg y);  // x / y, but 0 where x is 0
Array strong_mul(Arg x, Arg y);  // x * y, but 0 where either is 0
Array logaddexp(Arg a, Arg b);   // log(exp(a) + exp(b)) without overflow
Array quot(Arg a, Arg b);        // integers; truncates; a divisor of 0 reads as 1
Array rem(Arg a, Arg b);         // integers as quot; floats as C's fmod
Array hypot(Arg x, Arg y);       // sqrt(x^2 + y^2) without overflow
Array mix(Arg x, Arg y, Arg t);  // x + (y - x) t
Array clamp(Arg x, Arg lo, Arg hi);
/// The bits of f32 as u32, and the f32 of such bits.
Array bits(Arg a);
Array from_bits(Arg a);
Array bit_and(Arg a, Arg b);  // integers, here and below
Array bit_or(Arg a, Arg b);
Array bit_xor(Arg a, Arg b);
Array shift_left(Arg a, Arg count);   // counts modulo 32
Array shift_right(Arg a, Arg count);  // i32 keeps its sign
Array minimum(Arg a, Arg b);
Array maximum(Arg a, Arg b);

/// Element by element: `a` where the mask is true, `b` elsewhere. All three broadcast. Both sides are evaluated; the one
/// that is not taken adds exactly 0 to every derivative, whatever its value and slopes are: no guard is needed inside.
Array where(Arg mask, Arg a, Arg b);
Array select(Arg mask, Arg a, Arg b);  // another name of where
/// One scalar condition for whole arrays. What only one side uses is computed where that side is taken, if it is more work
/// than to ask; so it is with derivatives.
Array cond(Arg condition, Arg a, Arg b);
/// Either of two Bundles of one form.
template <class S>
requires(!detail::is_leaf<S>) detail::state_of<S> cond(Arg condition, const S& a, const S& b) {
  const std::vector<Array> all =
      detail::cond_of_each(condition, detail::flattened(a, condition.loc), detail::flattened(b, condition.loc));
  std::span<const Array> next = all;
  return detail::unflatten(a, next);
}

namespace detail {
Array number_of_arm(Arg which);
template <size_t J, class Arms, class... A>
auto arm_from(const Array& which, const Arms& arms, const A&... args) {
  auto here = std::get<J>(arms)(args...);
  if constexpr (J + 1 == std::tuple_size_v<Arms>)
    return here;
  else
    return cond(which <= static_cast<int>(J), here, arm_from<J + 1>(which, arms, args...));
}
}  // namespace detail

/// Result of the arm with that number, one i32, for the arguments behind; of the first arm below 0, of the last one beyond
/// it. All arms give values of one form; as by cond, one is computed: switch_(k, std::tuple(f, g, h), x).
template <class... F, class... A>
requires(sizeof...(F) > 0) auto switch_(Arg which, const std::tuple<F...>& arms, const A&... args) {
  return detail::arm_from<0>(detail::number_of_arm(std::move(which)), arms, args...);
}

// ---- reductions. keepdims leaves extents of 1. Of nothing: sum 0, prod 1, max -inf, min +inf, logsumexp -inf.
Array sum(Arg a, Axes axes = Axes::every(), bool keepdims = false);
Array prod(Arg a, Axes axes = Axes::every(), bool keepdims = false);
Array mean(Arg a, Axes axes = Axes::every(), bool keepdims = false);
/// Sums, products of the elements up to each one along an axis. The derivative of a product is exact where factors are 0.
Array cumsum(Arg a, int axis = 0);
Array cumprod(Arg a, int axis = 0);
/// The largest, the least of the elements up to each one.
Array cummax(Arg a, int axis = 0);
Array cummin(Arg a, int axis = 0);
/// log(cumsum(exp(a))) without overflow.
Array logcumsumexp(Arg a, int axis = 0);
/// sqrt of the sum of squares; its derivative is 0 where it is 0. The mean of squared distances from the mean.
Array norm(Arg a, Axes axes = Axes::every(), bool keepdims = false);
Array variance(Arg a, Axes axes = Axes::every(), bool keepdims = false);
/// log(sum(exp(a))) without overflow, also with infinities.
Array logsumexp(Arg a, Axes axes = Axes::every(), bool keepdims = false);

/// Extremes ignore NaN unless all is NaN. `max(a, {0})` or `max(a, Axes(0))` reduces along an axis, `max(a, b)` compares two
/// arrays; `max(a, 0)` could be read as either and does not compile.
Array max(Arg a);
Array min(Arg a);
Array reduce_max(Arg a, Axes axes = Axes::every(), bool keepdims = false);  // max of one array alone
Array reduce_min(Arg a, Axes axes = Axes::every(), bool keepdims = false);
Array max(Arg a, std::initializer_list<int> axes, bool keepdims = false);
Array min(Arg a, std::initializer_list<int> axes, bool keepdims = false);
template <std::same_as<Axes> A>
Array max(Arg a, A axes, bool keepdims = false);
template <std::same_as<Axes> A>
Array min(Arg a, A axes, bool keepdims = false);
template <std::integral I>
Array max(Arg, I) {
  static_assert(detail::never<I>, "max(a, 0) is ambiguous: write maximum(a, 0) or max(a, {0})");
  return {};
}
template <std::integral I>
Array min(Arg, I) {
  static_assert(detail::never<I>, "min(a, 0) is ambiguous: write minimum(a, 0) or min(a, {0})");
  return {};
}
inline Array max(Arg a, Arg b) { return maximum(std::move(a), std::move(b)); }
inline Array min(Arg a, Arg b) { return minimum(std::move(a), std::move(b)); }

/// Of bool arrays; of nothing false and true.
Array any(Arg mask, Axes axes = Axes::every(), bool keepdims = false);
Array all(Arg mask, Axes axes = Axes::every(), bool keepdims = false);

/// i32 position of the first extreme; without an axis in row-major order of all elements.
Array argmax(Arg a, std::optional<int> axis = std::nullopt, bool keepdims = false);
Array argmin(Arg a, std::optional<int> axis = std::nullopt, bool keepdims = false);
Array softmax(Arg a, Axes axes = -1);
Array log_softmax(Arg a, Axes axes = -1);  // (a - max) - log(sum(exp(a - max)))

// ---- layout
/// One extent may be -1: it follows from the others.
Array reshape(Arg a, Shape shape);
Array transpose(Arg a);                         // all axes reversed
Array transpose(Arg a, std::vector<int> perm);  // result axis j is axis perm[j] of a
Array broadcast_to(Arg a, Shape shape);
Array broadcast(Arg a, Shape shape);                         // another name of broadcast_to
Array broadcast(Arg a, Shape shape, std::vector<int> axes);  // axis j of a becomes axis axes[j]
Array replicate(Arg a, int64_t n, int axis = 0);             // n copies along a new axis
Array concat(ArgList parts, int axis = 0);                   // along an existing axis
Array concatenate(ArgList parts, int axis = 0);              // another name of concat
Array append(Arg a, Arg b, int axis = 0);
Array stack(ArgList parts, int axis = 0);                       // along a new axis
Array slice(Arg a, int64_t start, int64_t stop, int axis = 0);  // 0 <= start <= stop <= extent
Array window(Arg a, int64_t lo, int64_t n, int axis = 0);       // n from lo on; as slice, but 0 outside of the array
Array reverse(Arg a, int axis = 0);

// ---- indexed
/// table(index...) with i32 arrays that broadcast together: result shape is theirs ++ the axes not addressed.
Array gather(Arg table, ArgList index);
/// Adds updates[p] into an array of zeros at index...[p]; what falls outside is dropped. `addressed`: the extents of the
/// axes that the indices address; the updates' remaining axes follow.
Array scatter(Shape addressed, Arg updates, ArgList index);
/// The greatest of the updates of u32 that arrive at a place, 0 where none does.
Array scatter_max(Shape addressed, Arg updates, ArgList index);
/// New last axis of extent n; all zero for an index out of range.
Array one_hot(Arg index, int64_t n, DType dtype = DType::F32);

/// out[.., j, ..] = x[.., positions[.., j, ..], ..] along the axis; 0 for a position out of range.
Array take_along_axis(Arg x, Arg positions, int axis = 0);
/// Rows of x added up by the number of their segment, 0 .. n-1, i32; others are dropped.
Array segment_sum(Arg x, Arg segments, int64_t n);
/// The same by products and extremes. Of no rows: 1, -inf, inf, or the least and greatest integer.
Array segment_prod(Arg x, Arg segments, int64_t n);
Array segment_max(Arg x, Arg segments, int64_t n);
Array segment_min(Arg x, Arg segments, int64_t n);
/// Positions, row-major and i32, of the first `size` elements that are not 0; where there are fewer the number of elements,
/// at which reading gives 0.
Array nonzero(Arg x, int64_t size);

// ---- order. Stable, NaN last. Orders carry no derivative, what they move does.
/// i32 positions in increasing order.
Array argsort(Arg a, int axis = -1, bool descending = false);
Array sort(Arg a, int axis = -1, bool descending = false);
/// The k greatest along the last axis, greatest first, and their positions.
std::pair<Array, Array> top_k(Arg x, int64_t k);
/// How many elements of an increasing vector are less than each of `v`; with `right`, less or equal. i32.
Array searchsorted(Arg sorted, Arg v, bool right = false);

// ---- products
Array dot(Arg a, Arg b);    // of two vectors
Array outer(Arg a, Arg b);  // of two vectors: all products
/// As in NumPy: the last two axes are matrices, leading axes broadcast, a vector is a row on the left and a column on the
/// right.
Array matmul(Arg a, Arg b);
/// Sums of products by letters for axes: einsum("bij,bjk->bik", {a, b}).
Array einsum(const std::string& letters, ArgList arrays);

/// `value`, computed from the arguments by a kernel of one's own where it runs on a device (own_kernel.h).
Array by_kernel(const OwnKernel& kernel, Arg value, ArgList arguments);
Array cross(Arg a, Arg b);  // along the last axis, of extent 3

// ---- windows over the space axes of (batch, channels, space..)
/// One number for all space axes, or one for each.
struct PerAxis {
  std::vector<int64_t> numbers;
  template <std::integral I>
  PerAxis(I n) : numbers{static_cast<int64_t>(n)} {}
  PerAxis(std::initializer_list<int64_t> list) : numbers(list) {}
};
/// "same", "valid", one number, or for each space axis one before and one behind it.
struct Padding {
  std::string name;
  std::vector<int64_t> sides;
  Padding(const char* word) : name(word) {}
  template <std::integral I>
  Padding(I n) : sides{static_cast<int64_t>(n)} {}
  Padding(std::initializer_list<int64_t> list) : sides(list) {}
};
/// w: (results, channels / groups, window..). Outside of x is 0.
Array conv(Arg x, Arg w, PerAxis stride = 1, Padding padding = "valid", PerAxis dilation = 1, int64_t groups = 1);
/// Of what lies inside of x. No stride: that of the window.
Array max_pool(Arg x, PerAxis window, PerAxis stride = {}, Padding padding = "valid");
Array avg_pool(Arg x, PerAxis window, PerAxis stride = {}, Padding padding = "valid");

// ---- Fourier transforms along an axis, of any length. A complex array is a pair: its real and its imaginary part.
std::pair<Array, Array> fft(Arg re, Arg im = 0, int axis = -1);
std::pair<Array, Array> ifft(Arg re, Arg im = 0, int axis = -1);
/// Elements 0 .. n / 2 of the transform of n real numbers; and back, without `n` to an even number of them.
std::pair<Array, Array> rfft(Arg x, int axis = -1);
Array irfft(Arg re, Arg im, std::optional<int64_t> n = {}, int axis = -1);

// ---- linear algebra, of floats. Matrices have two axes; batches are comprehensions. Singular ones give infinities and NaN.
Array eye(int64_t n, DType dtype = DType::F32, Loc loc = Loc::here());
Array diagonal(Arg a);             // of the last two axes
Array triu(Arg a, int64_t k = 0);  // 0 below diagonal k
Array tril(Arg a, int64_t k = 0);  // 0 above diagonal k
/// Lower triangular L with L L^T = (a + a^T) / 2. From the first row on that makes it not positive definite its diagonal is
/// NaN, so that the last element tells.
Array cholesky(Arg a);
/// t x = b for a triangular t, whose other half is not read. b: a vector, or columns.
Array solve_triangular(Arg t, Arg b, bool lower = true);
Array solve(Arg a, Arg b);  // a x = b, with row pivots
Array inv(Arg a);
Array det(Arg a);

// ---- random numbers, as functions of a key: the same on every device. A key, u32[2], is used once, or split.
Array random_key(Arg seed);              // of an integer
Array random_split(Arg key, int64_t n);  // u32[n,2]: n keys
Array random_bits(Arg key, Shape shape = {});
Array random_uniform(Arg key, Shape shape = {});  // f32 in [0, 1)
Array random_normal(Arg key, Shape shape = {});   // f32, mean 0, variance 1
Array random_permutation(Arg key, int64_t n);     // of 0 .. n-1, i32

namespace detail {
Array max_along(const Arg& a, const Axes& axes, bool keepdims);
Array min_along(const Arg& a, const Axes& axes, bool keepdims);
}  // namespace detail

template <std::same_as<Axes> A>
Array max(Arg a, A axes, bool keepdims) {
  return detail::max_along(a, axes, keepdims);
}
template <std::same_as<Axes> A>
Array min(Arg a, A axes, bool keepdims) {
  return detail::min_along(a, axes, keepdims);
}

}  // namespace spirograd
