/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <sandcell/sandcell.h>

int main(void)
{
	printf("%s %u\n", sandcell_version_text(), (unsigned)sandcell_version());
	return sandcell_has_feature("execute") ? 0 : 1;
}
