/* main.c: the table of subcommands, nothing else. */
#include <stdio.h>

int main(void)
{
	puts("wattlaw " WATTLAW_VERSION);
	return 0;
}
