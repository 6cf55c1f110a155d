// The one way into the engine: commands from any thread, taken all at once by the engine thread. Its length
// is bounded by what the edges may have open: one submit for each place in the queue, and a cancel or an
// order for each request.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "engine/request.h"

namespace kvalet::engine {

struct Submit {
    TaskId task;
    Request request;
};
struct Cancel {
    TaskId task;
};
enum class SlotFileAction : std::uint8_t { save, restore, erase };
struct SlotFileOrder {
    SlotFileAction action = SlotFileAction::save;
    SlotId slot;
    std::string path;
    Callback<SlotFileReply> done;
};
enum class ParkAction : std::uint8_t { park, unpark, priority };
/// By slot, or by the public id of a request when that is not empty.
struct ParkOrder {
    ParkAction action = ParkAction::park;
    SlotId slot = kNoSlot;
    std::string public_id;
    std::int32_t priority = 0;
    Callback<ParkReply> done;
    TaskId task{0};  // the engine's: whose park it waits for
};
using Command = std::variant<Submit, Cancel, SlotFileOrder, ParkOrder>;

class Inbox {
  public:
    /// Any thread.
    void push(Command command);
    /// Any thread: wakes the engine, which then looks at its flags and at its outboxes again.
    void poke();

    /// Engine thread: everything that is there, in order, into an empty vector.
    void take(std::vector<Command>& into);
    /// Engine thread: sleeps until something is there or `at_most` has passed.
    void wait(std::chrono::milliseconds at_most);

  private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::vector<Command> commands_;
    bool poked_ = false;
};

}  // namespace kvalet::engine
