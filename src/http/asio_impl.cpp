// The parts of Asio and Beast that are no templates, compiled once: the other files of this room see
// declarations only.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
#include <utility>
