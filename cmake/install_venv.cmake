# Puts a file that was built into .venv: FILE as FOLDER/NAME. A rename replaces the name atomically, so a process that
# uses the old file is not disturbed and nobody sees half a file.
if(NOT IS_DIRECTORY "${FOLDER}")
  message(STATUS "no ${FOLDER}: run `make setup` to get ${FOLDER}/${NAME}")
  return()
endif()
string(RANDOM LENGTH 8 suffix)
set(staged "${FOLDER}/.${NAME}.${suffix}")
file(CREATE_LINK "${FILE}" "${staged}" COPY_ON_ERROR)
file(RENAME "${staged}" "${FOLDER}/${NAME}")
