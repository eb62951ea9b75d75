/*
 * The program of supervisors (net/supervisor), which the build embeds: a thirtieth of a daemon's
 * memory maps, and so much cheaper to fork and to end. Empty in a build with sanitizers, whose
 * programs cannot be static; then a daemon executes itself.
 */
#ifndef NET_CHILD_IMAGE_H
#define NET_CHILD_IMAGE_H

extern const char child_image[], child_image_end[];

#endif
