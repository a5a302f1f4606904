/* R24: CUDA numbers fastest first, NVML by PCI address (gpustack #1633, tensorflow #32881, pynvml
 * #28). */
#include "select_fake.h"

int main(void)
{
	machine(4, true);
	is_str(cuda("0,1"), "", "two of four boards of two models: not guessed");
	ok(last.ambiguous, "called ambiguous");
	has(last.warning, "UUID", "with what settles it");
	set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
	is_str(cuda("0,1"), "0 1", "the order is known: by PCI address");
	is_str(cuda("GPU-c2-beef"), "2", "a UUID needs no order");
	machine(4, false);
	is_str(cuda("0,1"), "0 1", "boards of one model are in PCI order");
	/* the same kind: a mixed node, MIG and prefixes */
	machine(4, true);
	is_str(cuda("GPU-a0,1"), "", "one number among UUIDs is enough to be ambiguous");
	is_str(cuda("0,1,2,3"), "0 1 2 3", "unless all are listed");
	selection_release(&last);
	return tap_done();
}
