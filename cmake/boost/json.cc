// Boost.JSON for librunnel.so: Debian's library is for executables alone.
#include <boost/json/src.hpp>
