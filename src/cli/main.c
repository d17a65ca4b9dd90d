/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <sandcell/sandcell.h>

int main(void)
{
	return printf("sandcell %s\n", sandcell_version_text()) < 0;
}
