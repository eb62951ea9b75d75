/* flagger-child: the program that supervises commands; net/child/child.c executes it. */
#include "net/child/child.h"

int main(int argc, char **argv)
{
    child_main(argc, argv);
    return 2;
}
