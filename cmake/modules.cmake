# The law of the layers: every module, its level, its sources' compiler set and the edges it may have.
#
#   runnel_module(NAME LEVEL EDGES modules... [PURE])
#
# An edge must lead strictly downwards. `PURE` modules decide and never act: they are also built with
# GCC, without floating-point contraction, and may include no header of the operating system.
# `add_module()` in cmake/AddModule.cmake and tools/tidy both read this table and refuse anything else.
runnel_module(base    0 EDGES PURE)
runnel_module(env     1 EDGES base)
runnel_module(json    1 EDGES base PURE)
runnel_module(hash    1 EDGES base PURE)
runnel_module(async   2 EDGES base env)
runnel_module(model   2 EDGES base json hash PURE)
runnel_module(http    3 EDGES base env json async)
runnel_module(node    3 EDGES base model PURE)
runnel_module(extract 3 EDGES base json model PURE)
runnel_module(sched   3 EDGES base model PURE)
runnel_module(search  3 EDGES base model PURE)
runnel_module(store   3 EDGES base env json hash model)
runnel_module(output  4 EDGES base env json async model extract)
runnel_module(spec    4 EDGES base json model extract)
runnel_module(brain   4 EDGES base json hash model sched search PURE)
runnel_module(object  4 EDGES base env json hash async http)
runnel_module(runner  5 EDGES base env async model output)
runnel_module(agent   6 EDGES base env json hash async model extract node output runner)
runnel_module(control 5 EDGES base env json hash async model http node spec store search brain)
runnel_module(volume  5 EDGES base env json hash async model object)
runnel_module(writing 6 EDGES base env hash async volume)
runnel_module(sim     6 EDGES base env json hash async model node sched search store brain control)
runnel_module(volume_server 6 EDGES base env json async model object volume)
runnel_module(fuse    7 EDGES base env json hash async model object volume writing volume_server)
runnel_module(volume_sim 7 EDGES base env hash async object volume writing)
runnel_module(home    7 EDGES base env json async model http object spec store output runner agent control)
runnel_module(library 8 EDGES base env json hash async model object volume volume_server home)
runnel_module(cli     8 EDGES base env json hash async model http object volume writing volume_server fuse spec store search brain output runner agent control sim home)

# Modules with thread-local variables, compiled with -fPIC: all others may be linked into librunnel.so as they are. The
# linker refuses one that is missing here, naming its file.
set(RUNNEL_THREAD_LOCAL hash volume)

# Simulators: what they are for is to test others, whose testing/ they may use.
set(RUNNEL_SIMULATORS sim volume_sim)

# Modules that read what fuzzers give them. Only these count coverage, which makes code a third longer to compile.
set(RUNNEL_FUZZED json model http node extract store output spec runner control volume writing)
