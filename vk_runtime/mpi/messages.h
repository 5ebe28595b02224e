// MPI as far as it is used here: calls that throw, and bytes and numbers of any count, which MPI counts in 31 bits.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spirograd::ranks {

/// Throws SG0512 if that is an error of MPI.
void check(int status, std::string_view call);

/// Ranks that send each other messages.
class Messages {
 public:
  /// A communicator of its own with the ranks of `of`, whose errors are told and end nothing.
  explicit Messages(MPI_Comm of);
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// What each rank gives, by rank. Pre: all give as many.
  std::vector<uint64_t> from_each(std::span<const uint64_t> mine);
  /// What `root` has, on every rank. Pre: all have as many bytes.
  void from_one(int root, std::span<uint8_t> bytes);
  /// What all ranks have, one after the other: `counts[r]` units of rank r, of `unit` bytes.
  std::vector<uint8_t> joined(std::span<const uint8_t> mine, std::span<const uint64_t> counts, uint64_t unit);

  /// Element by element the sums over all ranks, in whatever order.
  void sum(std::span<float> numbers) { sum_all(numbers, MPI_FLOAT); }
  void sum(std::span<double> numbers) { sum_all(numbers, MPI_DOUBLE); }
  void sum(std::span<uint32_t> numbers) { sum_all(numbers, MPI_UINT32_T); }
  /// The same in double, in the order of the ranks: each rank adds a part, so that no more is sent than in a ring.
  void sum_in_order(std::span<float> numbers) { sum_parts(numbers, MPI_FLOAT); }
  void sum_in_order(std::span<double> numbers) { sum_parts(numbers, MPI_DOUBLE); }

 private:
  template <class T>
  void sum_all(std::span<T> numbers, MPI_Datatype type);
  template <class T>
  void sum_parts(std::span<T> numbers, MPI_Datatype type);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
};

}  // namespace spirograd::ranks
