/* R32: an index of ten or more is parsed as one digit (perun). */
#include "select_fake.h"

int main(void)
{
	machine(16, false);
	is_str(cuda("10"), "10", "ten is ten, not one and zero");
	is_str(cuda("1,12,15"), "1 12 15", "among others");
	is_str(gpus("14,3"), "3 14", "in --devices");
	/* the same kind: leading zeros, numbers that overflow, signs */
	is_str(cuda("007"), "7", "leading zeros");
	is_str(cuda("4294967297"), "", "2^32 + 1 is not 1");
	is_str(cuda("18446744073709551617"), "", "2^64 + 1 neither");
	is_str(cuda("+3"), "", "a sign is no digit");
	is_str(cuda("3x"), "", "nor a letter");
	selection_release(&last);
	return tap_done();
}
