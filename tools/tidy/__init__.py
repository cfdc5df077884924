"""Our own lint: what neither compiler nor clang-tidy knows about this code base.

    python3 -m tools.tidy                   check everything and print the table of lengths
    python3 -m tools.tidy --update-ratchet  write down what shrank

Every message names the file, the line, what is wrong and the cure.
"""
