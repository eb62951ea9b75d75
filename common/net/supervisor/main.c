/* The small program that supervises commands; net/child_nursery.h executes it. */
#include "net/child.h"

int main(int argc, char **argv)
{
    child_main(argc, argv);
    return 2;
}
