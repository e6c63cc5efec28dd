#include "io/async_file.hpp"

#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "base/timer.hpp"

namespace tessera::inline v1::io {
namespace {

/// Runs the work, releases its resources and returns its exception, if any.
std::exception_ptr outcome(FileQueue::Work work) noexcept {
  try {
    work();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

FileQueue::~FileQueue() {
  if (std::uncaught_exceptions() > exceptions_) cancel();
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

FileQueue::Ticket FileQueue::ask(Work work) {
  FileRequest request{std::move(work), {}};
  Ticket ticket = request.done.get_future().share();
  const std::lock_guard lock(mutex_);
  if (error_) {
    request.done.set_exception(error_);
  } else {
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
    requests_.push_back(std::move(request));
    wake_.notify_one();
  }
  last_ = ticket;
  return ticket;
}

void FileQueue::wait(const Ticket& ticket) {
  if (!ticket.valid()) return;
  if (ticket.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    const Timer timer;
    ticket.wait();
    const std::lock_guard lock(mutex_);
    traffic_.waited += timer.seconds();
  }
  ticket.get();
}

FileQueue::Ticket FileQueue::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void FileQueue::finish(std::unique_lock<std::mutex>& lock) noexcept {
  idle_.wait(lock, [this] { return requests_.empty() && !busy_; });
}

void FileQueue::finish() noexcept {
  std::unique_lock lock(mutex_);
  finish(lock);
}

void FileQueue::cancel() noexcept {
  std::unique_lock lock(mutex_);
  fail(std::make_exception_ptr(
      Error(ExitCode::stopped_early, "run ended before its files were written")));
  finish(lock);
}

void FileQueue::count_read(index_t bytes) {
  const std::lock_guard lock(mutex_);
  traffic_.bytes_read += bytes;
}

void FileQueue::count_written(index_t bytes) {
  const std::lock_guard lock(mutex_);
  traffic_.bytes_written += bytes;
}

FileTraffic FileQueue::take_traffic() {
  const std::lock_guard lock(mutex_);
  return std::exchange(traffic_, {});
}

void FileQueue::fail(const std::exception_ptr& error) noexcept {
  if (!error_) error_ = error;
  for (FileRequest& dropped : requests_) {
    dropped.work = nullptr;
    dropped.done.set_exception(error_);
  }
  requests_.clear();
}

void FileQueue::serve() noexcept {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return ends_ || !requests_.empty(); });
    if (requests_.empty()) return;
    FileRequest now = std::move(requests_.front());
    requests_.pop_front();
    busy_ = true;
    lock.unlock();
    const std::exception_ptr error = outcome(std::exchange(now.work, nullptr));
    lock.lock();
    busy_ = false;
    if (error) {
      now.done.set_exception(error);
      fail(error);
    } else {
      now.done.set_value();
    }
    if (requests_.empty()) idle_.notify_all();
  }
}

}  // namespace tessera::inline v1::io
