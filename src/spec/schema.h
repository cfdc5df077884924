#pragma once

#include <string>

namespace runnel::spec {

// The JSON Schema (draft 2020-12) of a job file, for editors. Made from the tables of fields.h.
std::string job_file_schema();

// The tables of docs/guides/job-file.md, in Markdown. Made from the same.
std::string job_file_reference();

}  // namespace runnel::spec
