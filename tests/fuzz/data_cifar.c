/* data_cifar.c: records of CIFAR-10 and -100 whose labels are in range, or a message. The first
 * byte says which; a record's pixels are filled up, so that a short input has records. */
#include "fuzz.h"

#include "data/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fault f = {0};
	int labels = size && data[0] == '2' ? 2 : 1;
	size_t record = 3072 + (size_t)labels, n = size / 4 < 16 ? size / 4 : 16, len = n * record;
	uint8_t *bytes = calloc(len + 1, 1);
	bool good = n > 0;

	must(bytes);
	for (size_t i = 0; i < n; i++) {
		memcpy(bytes + i * record, data + 4 * i, 4);
		good &= bytes[i * record] < (labels == 1 ? 10 : 20);
		good &= labels == 1 || bytes[i * record + 1] < 100;
	}
	/* an odd last byte cuts the last record short */
	if (len && data[size - 1] & 1) {
		len -= 1 + data[size - 1];
		good = false;
	}
	must((cifar_check("f", bytes, len, labels, &f) == 0) == (good && !f.set));
	must(good || (f.set && !strncmp(f.msg, "f: ", 3)));
	free(bytes);
	return 0;
}
