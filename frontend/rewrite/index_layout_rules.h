// Index rules of layout operations: which element of the operand the result holds at an index.
#pragma once

#include "frontend/rewrite/index_rules.h"

namespace spirograd::rewrite {

Step push_broadcast(const IndexContext& c, const Slice& s);
Step push_transpose(const IndexContext& c, const Slice& s);
Step push_reshape(const IndexContext& c, const Slice& s);
Step push_window(const IndexContext& c, const Slice& s);
Step push_reverse(const IndexContext& c, const Slice& s);
Step push_concat(const IndexContext& c, const Slice& s);
Step push_stack(const IndexContext& c, const Slice& s);

}  // namespace spirograd::rewrite
