// How far rounding may move the results of a program: what a comparison in f32 has to forgive, and no more.
#pragma once

#include "tests/property/property.h"

namespace spirograd::property {

/// Largest change of each element when every operation on floats is a few units in the last place of f32 off, at random, in
/// so many trials of the interpreter. Pre: bulk.
std::vector<Values> sensitivity(const Program& bulk, const std::vector<Values>& inputs, const std::vector<Values>& want,
                                int trials);

/// "" if `have` is `want` up to f32 rounding, as far as that can matter in this program: integers are equal unless rounding
/// decides them, floats differ by a small multiple of how far rounding moves them. Beyond `huge` all floats of one sign are
/// alike.
std::string rounded_difference(const Program& program, const std::vector<Values>& inputs, const std::vector<Values>& want,
                               const std::vector<Values>& have, double huge = 1e37);

}  // namespace spirograd::property
