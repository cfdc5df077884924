#pragma once  // tidy: allow(namespace) C has none, and every name begins with runnel_

/*
 * Files of one version of a volume, read without a mount: the C interface of librunnel.so.
 *
 * A version of a volume never changes, so whatever was found stays true for as long as the volume
 * is open; gc leaves a version that is open.
 *
 * Results:   0 or more is an answer; a negative number is an errno that says what is wrong, such as
 *            -ENOENT. `error`, where it is not NULL, then has the same number and a sentence.
 * Errors:    ENOENT no such path; ENOTDIR, EISDIR another kind of thing; ELOOP more than 40 links;
 *            ENAMETOOLONG; EINVAL what was asked makes no sense; EACCES the store denies it;
 *            ECONNREFUSED, ETIMEDOUT the store is away; EIO data is damaged or missing; ESTALE the
 *            version is gone from the volume; EBADF the volume was closed. Others come from the
 *            operating system.
 * Text:      paths are bytes, end with NUL, and begin at the root of the version, with or without
 *            '/'; "" is the root. Links are followed inside of the version. All else is UTF-8.
 * Threads:   any, several at once, unless said otherwise. A call returns when it is answered: in
 *            microseconds from memory, after a minute at most when the store is away.
 * Server:    packs are fetched by one process for all that read on this machine, `runnel volume
 *            serve`, which is started where there is none and ends by itself. Where it cannot be
 *            started, each process fetches for itself.
 * Processes: a child of fork may use what its parent has opened. It opens the version anew with its
 *            first call, and leaves what is the parent's alone.
 * Ownership: what is passed in is not kept; what comes back is said below. No argument but `error`
 *            may be NULL where NULL has no meaning.
 * Memory:    about 120 MiB at most for each volume that a process reads.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming,modernize-use-using): it is C. */

/* Counted up when a function or struct of this file changes. */
#define RUNNEL_ABI 1
#define RUNNEL_NAME_SIZE 256
#define RUNNEL_ERROR_TEXT_SIZE 1024

typedef struct runnel_volume runnel_volume;

struct runnel_error {
  int number;                        /* An errno, positive. */
  char text[RUNNEL_ERROR_TEXT_SIZE]; /* A sentence or two, cut where it is longer. */
};

struct runnel_attributes {
  uint64_t inode;         /* The same in every process that reads the version. */
  uint64_t size;          /* Bytes of a file; of a link, of where it leads. */
  int64_t changed;        /* The last change of its content, in seconds since 1970, */
  uint32_t changed_nanos; /* and nanoseconds. */
  uint32_t mode;          /* Kind and permissions, as st_mode has them. */
  uint64_t links;         /* Names that it has; of a folder 1. */
  uint32_t owner;         /* This process's user and group where the version names none. */
  uint32_t group;
};

struct runnel_entry {
  struct runnel_attributes attributes;
  char name[RUNNEL_NAME_SIZE];
};

enum runnel_links { RUNNEL_LINK_ITSELF = 0, RUNNEL_FOLLOW_LINKS = 1 };
enum runnel_details { RUNNEL_INODE_AND_KIND = 0, RUNNEL_ALL_DETAILS = 1 };

/* RUNNEL_ABI of the library that was loaded. */
int runnel_abi(void);

/*
 * Opens a version of a volume. NULL: `error` says why.
 *
 * name:       of the volume, as `runnel volume create` has it.
 * version:    "latest", a tag, an id or the beginning of one. NULL: "latest".
 * store:      a URL, file:///FOLDER or s3://BUCKET/PREFIX. NULL: where the home says that it is.
 * cache:      a folder on a local disk that keeps what was fetched, for all processes and mounts of
 *             the user that name it. NULL: none.
 * cache_size: of the folder, such as "10GiB", which is meant by NULL.
 */
runnel_volume* runnel_open(const char* name, const char* version, const char* store,
                           const char* cache, const char* cache_size, struct runnel_error* error);

/* A text by which other processes open the same version of the same volume, for as long as this one
 * has it open or the volume keeps it. It lives as long as the volume. */
const char* runnel_reference(const runnel_volume* volume);

/* Opens what runnel_reference() gave, with the first call that asks for something. NULL: it is no
 * such text. */
runnel_volume* runnel_open_reference(const char* reference, const char* cache,
                                     const char* cache_size, struct runnel_error* error);

/* The id of the version: 16 digits, or "" of a volume without versions. It lives as long as the
 * volume. */
const char* runnel_version(const runnel_volume* volume);

/* What is at a path. Links before the last part are followed in any case. */
int runnel_stat(runnel_volume* volume, const char* path, enum runnel_links links,
                struct runnel_attributes* found, struct runnel_error* error);

/* Entries of a folder in byte order, whose names come after `after` ("": all), at most `max`, at
 * most 10,000 at once. Their number; 0 at the end. With RUNNEL_INODE_AND_KIND, which is faster,
 * `attributes` has these two alone. One whose record is damaged has only these, too. */
int64_t runnel_list(runnel_volume* volume, const char* path, const char* after,
                    enum runnel_details details, struct runnel_entry* entries, size_t max,
                    struct runnel_error* error);

/* Bytes of a file from `offset` on. Their number, which is `length` but at the end of the file; 0
 * from there on. */
int64_t runnel_read(runnel_volume* volume, uint64_t inode, uint64_t offset, void* buffer,
                    size_t length, struct runnel_error* error);

/* What is at a path that leads to a file, and all of its bytes where these are at most `length`: a
 * small file by one call. The number of the bytes; 0 of a file that is longer, as `found` says. */
int64_t runnel_load(runnel_volume* volume, const char* path, struct runnel_attributes* found,
                    void* buffer, size_t length, struct runnel_error* error);

/* Ends the volume in this process: calls that are under way, and later ones, fail with EBADF. A few
 * seconds at most, also when the store is away. What has been closed may be closed again. To be
 * called before the process ends, else it is gc that finds out. */
void runnel_close(runnel_volume* volume);

/* Closes it where it is open, and frees it, when no other call is under way. NULL: nothing. */
void runnel_free(runnel_volume* volume);

/* NOLINTEND(readability-identifier-naming,modernize-use-using) */

#ifdef __cplusplus
}
#endif
