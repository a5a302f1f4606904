/* units.c: the first byte chooses the unit. What parses is printed in a form that reads back. */
#include "fuzz.h"

#include <math.h>

#include "base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[256], printed[64];
	struct err e = ERR_INIT;
	int64_t v = -77, back;
	enum unit u;

	if (size < 1 || size > sizeof(text))
		return 0;
	u = (enum unit)(data[0] % UNIT_COUNT);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (unit_parse(u, text, &v, &e)) {
		must(v == -77 && e.msg[0] && e.st != ST_OK);
		return 0;
	}
	unit_format(u, v, printed, sizeof(printed));
	must(printed[0]);
	must(unit_parse(u, printed, &back, &e) == ST_OK && back == v);
	must(isfinite(unit_to_outside(u, v)));
	unit_format_short(u, (double)v, 1 + data[0] % 20, printed, sizeof(printed));
	must(printed[0]);
	return 0;
}
