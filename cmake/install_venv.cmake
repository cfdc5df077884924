# Puts the binary itself at .venv/bin/runnel. A rename replaces the name atomically, so a process that
# runs the old file is not disturbed and nobody sees half a file.
if(NOT IS_DIRECTORY "${VENV}/bin")
  message(STATUS "no ${VENV}: run `make setup` to get .venv/bin/runnel")
  return()
endif()
string(RANDOM LENGTH 8 suffix)
set(staged "${VENV}/bin/.runnel.${suffix}")
file(CREATE_LINK "${BINARY}" "${staged}" COPY_ON_ERROR)
file(RENAME "${staged}" "${VENV}/bin/runnel")
