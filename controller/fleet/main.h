/* flagger-controller fleet: options and wiring of the daemon that looks after many clusters. */
#ifndef CONTROLLER_MAIN_FLEET_H
#define CONTROLLER_MAIN_FLEET_H

/* argv[0] is what --help calls the program. Returns the exit status. */
int main_fleet(int argc, char **argv);

#endif
