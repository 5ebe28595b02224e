#include "spirograd/jit.h"

#include <algorithm>
#include <list>
#include <mutex>

#include "vk_runtime/clock.h"

namespace spirograd::detail {

struct JitCache::Impl {
  struct Entry {
    JitProgram info;
    std::string structure;
    std::any form;
    std::unique_ptr<vk::Session> session;
  };

  JitOptions options;
  mutable std::mutex mutex;
  std::list<Entry> entries;  // the last used one first

  Result<Entry> made(std::vector<Type> types, const std::string& structure, const Make& make) {
    const auto start = vk::Clock::now();
    if (!options.device) {
      Result<std::shared_ptr<vk::Device>> device = vk::Device::create();
      if (!device) return device.error();
      options.device = std::move(*device);
    }
    std::vector<Param> params;
    for (const Type& t : types) params.push_back({"x" + std::to_string(params.size()), t});
    Entry e;
    const Result<Program> program = make(std::move(params), e.form);
    if (!program) return program.error();
    const Target& target = options.device->target();
    CompileOptions how;
    how.form = options.device->preferred_form();
    how.deterministic = options.deterministic;
    if (options.tuned) how.choices = options.device->tuned();
    const Result<Executable> executable = compile(*program, options.deterministic ? deterministic(target) : target, how);
    if (!executable) return executable.error();
    Result<std::unique_ptr<vk::Session>> session = vk::Session::create(options.device, *executable);
    if (!session) return session.error();
    e.session = std::move(*session);
    e.structure = structure;
    e.info = {std::move(types), 0, vk::seconds_since(start), e.session->device_bytes()};
    return e;
  }
};

JitCache::JitCache(JitOptions options) : impl_(std::make_unique<Impl>()) { impl_->options = std::move(options); }
JitCache::~JitCache() = default;

Result<JitCache::Out> JitCache::run(std::span<const HostArray> inputs, const std::string& structure, const Make& make) {
  const std::lock_guard lock(impl_->mutex);
  std::list<Impl::Entry>& entries = impl_->entries;
  std::vector<Type> types;
  for (const HostArray& a : inputs) types.push_back(a.type);
  const auto known = std::find_if(entries.begin(), entries.end(),
                                  [&](const Impl::Entry& e) { return e.info.types == types && e.structure == structure; });
  if (known != entries.end()) {
    entries.splice(entries.begin(), entries, known);
  } else {
    Result<Impl::Entry> made = impl_->made(std::move(types), structure, make);
    if (!made) return made.error();
    entries.push_front(std::move(*made));
    while (entries.size() > std::max<size_t>(1, impl_->options.most)) entries.pop_back();
  }
  Impl::Entry& e = entries.front();
  Result<std::vector<HostArray>> out = e.session->run(inputs);
  if (!out) return out.error();
  ++e.info.calls;
  return Out{std::move(*out), e.form};
}

std::vector<JitProgram> JitCache::programs() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<JitProgram> out;
  for (const Impl::Entry& e : impl_->entries) out.push_back(e.info);
  return out;
}

void JitCache::clear() {
  const std::lock_guard lock(impl_->mutex);
  impl_->entries.clear();
}

}  // namespace spirograd::detail
