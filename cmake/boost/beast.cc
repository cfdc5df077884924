// The one translation unit that holds the compiled part of Beast and of Asio's TLS layer.
#include <boost/beast/src.hpp>
