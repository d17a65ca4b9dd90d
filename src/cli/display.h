/* SPDX-License-Identifier: MIT */
#ifndef SANDCELL_CLI_DISPLAY_H
#define SANDCELL_CLI_DISPLAY_H

/* Writes what the code displayed (figures, tables) into a directory of the host. */

#include <sandcell/result.h>

/* Opens path, made if it is not there.  To be called before the code runs: a directory
 * that the code can write to might be a link afterwards.  Complains; -1 on failure. */
int display_open(const char *path);
/* One file per display and representation: display-1.png, display-1.txt, ...  Complains;
 * -1 on failure. */
int display_save(int directory_fd, const sandcell_result *result);

#endif
