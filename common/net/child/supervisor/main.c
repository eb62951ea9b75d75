/* The small program that supervises commands; net/child/child_nursery.h executes it. */
#include "net/child/child.h"

int main(int argc, char **argv)
{
    child_main(argc, argv);
    return 2;
}
