#include "net/child/child_image.h"

#ifdef CHILD_IMAGE
#define INCLUDE ".incbin \"" CHILD_IMAGE "\"\n"
#else
#define INCLUDE ""
#endif

__asm__(".section .rodata\n"
        ".global child_image\n"
        ".global child_image_end\n"
        "child_image:\n" INCLUDE "child_image_end:\n"
        ".byte 0\n"
        ".previous\n");
