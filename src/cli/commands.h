#pragma once

#include "cli/arguments.h"
#include "home/home.h"

namespace runnel::cli {

// One function per command, each returning the exit code of the process. They print their own
// errors.
int run_job(const Arguments& arguments, const home::Home& home);       // run (submit_command.cc)
int up(const Arguments& arguments, const home::Home& home);            // up
int validate(const Arguments& arguments, const home::Home& home);      // validate (plan_command.cc)
int plan(const Arguments& arguments, const home::Home& home);          // plan
int import_job(const Arguments& arguments, const home::Home& home);    // import (plan_command.cc)
int show_prices(const Arguments& arguments);                           // prices (prices_command.cc)
int list_nodes(const Arguments& arguments, const home::Home& home);    // nodes (nodes_command.cc)
int preempt_node(const Arguments& arguments, const home::Home& home);  // preempt
int list_jobs(const Arguments& arguments, const home::Home& home);     // ps (list_command.cc)
int show(const Arguments& arguments, const home::Home& home);          // show (show_command.cc)
int logs(const Arguments& arguments, const home::Home& home);          // logs (stream_command.cc)
int metrics(const Arguments& arguments, const home::Home& home);  // metrics (metrics_command.cc)
int study(const Arguments& arguments, const home::Home& home);    // study (study_command.cc)
int events(const Arguments& arguments, const home::Home& home);   // events
int act(const Arguments& arguments, const home::Home& home);  // cancel, halt, resume, retry, delete
int wait_for_jobs(const Arguments& arguments, const home::Home& home);  // wait (action_command.cc)
int explain(const Arguments& arguments, const home::Home& home);        // explain (list_command.cc)
int check(const Arguments& arguments, const home::Home& home);          // check (care_command.cc)
int show_home(const Arguments& arguments, const home::Home& home);      // home
int home_logs(const Arguments& arguments, const home::Home& home);      // home logs
int fsck(const Arguments& arguments, const home::Home& home);           // fsck
int volume_command(const Arguments& arguments, const home::Home& home);  // volume
int simulate(const Arguments& arguments, const home::Home& home);  // simulate (simulate_command.cc)
int run_daemon(const home::Home& home);                            // daemon (daemon_command.cc)
int tell_devices(
    const Arguments& arguments);  // devices: a look at this machine's, for the daemon that asks
int run_runner(const home::Home& home);  // runner

}  // namespace runnel::cli
