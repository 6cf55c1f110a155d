// Where connections come from: TCP addresses and unix sockets. io thread, but for the making.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "http/context.h"

namespace kvalet::http {

class Listener {
  public:
    Listener() = default;
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    virtual ~Listener() = default;
    /// Accepts until close().
    virtual void start() = 0;
    virtual void close() = 0;
    [[nodiscard]] virtual int port() const = 0;  // 0 for a unix socket
    [[nodiscard]] virtual std::string address() const = 0;
};

/// One listener for each address of config.host, all on the same port. The sockets listen when this returns;
/// nothing is accepted before start(). Errors are one line that names the address.
[[nodiscard]] Result<std::vector<std::unique_ptr<Listener>>> open_listeners(Context& context);

}  // namespace kvalet::http
