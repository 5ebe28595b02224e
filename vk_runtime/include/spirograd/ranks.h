// One program over several processes, on one machine or many, by MPI: each rank computes a piece of the data on devices of
// its own, and what all of them gave is put together. docs/several-devices.md. Library spirograd::mpi.
//
//   const auto ranks = Ranks::world().value();
//   const Piece piece = ranks->piece(n);                                  // of the axis that is cut
//   auto mine = session->run({w, ranks->piece_of(x), ranks->piece_of(y)});  // by a program for that many elements
//   auto all = ranks->join(std::move(mine), how, piece.count);            // the same on every rank, as of the whole
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "spirograd/host_array.h"
#include "spirograd/result.h"
#include "spirograd/shards.h"

namespace spirograd {

/// A part of an axis.
struct Piece {
  int64_t first = 0, count = 0;
  bool operator==(const Piece&) const = default;
};

struct JoinOptions {
  /// Sums are taken in double, in the order of the ranks, and rounded once: the same numbers of elements on the same ranks
  /// give the same bits. Otherwise MPI adds, in f32 where results are, in whatever order suits it.
  bool fixed_order = false;
};

/// The processes of one MPI job. What is called a collective here has to be called by all of them, in the same order; a rank
/// that cannot go on says so there (join, share), or ends its process without a word, and then MPI ends the job. Not for use
/// from two threads at once.
class Ranks {
 public:
  /// All that were started together (MPI_COMM_WORLD): one, where the program was not started by mpirun. Begins MPI if nobody
  /// has, and then ends it in the destructor. Error SG0512.
  static Result<std::unique_ptr<Ranks>> world();
  /// A communicator of the host's, which has begun MPI: `communicator` points to its MPI_Comm. Messages of the host and ours
  /// are kept apart. A collective. Error SG0512.
  static Result<std::unique_ptr<Ranks>> adopt(const void* communicator);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const;
  int size() const;

  /// What this rank does of an axis: pieces follow each other in the order of the ranks, and differ by one element at most.
  Piece piece(int64_t extent) const;
  /// That piece of an array, along an axis. Pre: the axis is there.
  HostArray piece_of(const HostArray& array, int axis = 0) const;

  /// The results of the whole, on every rank, from those of the pieces: `how[j]` says how result j is joined (its name
  /// counts for nothing here), `count` how much of the axis this rank did. All sums and means travel together, in one
  /// message for each kind of number. A collective. Where a rank gives an error, all ranks get it, with its number. Errors:
  /// that one; SG0511 if ranks join different results; SG0512.
  Result<std::vector<HostArray>> join(Result<std::vector<HostArray>> mine, std::span<const JoinedResult> how, int64_t count,
                                      const JoinOptions& options = {});
  /// What rank 0 gives, on every rank; what others give is not looked at. A collective. Errors as of join.
  Result<std::vector<HostArray>> share(Result<std::vector<HostArray>> of_first);

 private:
  struct Impl;
  explicit Ranks(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace spirograd
