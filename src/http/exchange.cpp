#include "http/exchange.h"

namespace kvalet::http {

Body::~Body() = default;
Exchange::~Exchange() = default;

}  // namespace kvalet::http
