/* stepper.c: a training job reduced to its steps: CPU work of a fixed amount, then a mark.
 *
 * stepper [STEPS [ITERATIONS [EXIT]]]: 0 steps = until a signal. Prints a line a step with
 * STEPPER_PRINT set.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <wattlaw/mark.h>

int main(int argc, char **argv)
{
	long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	long work = argc > 2 ? strtol(argv[2], NULL, 10) : 2000000;
	int code = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;
	volatile uint64_t x = 1;

	for (long i = 1; !steps || i <= steps; i++) {
		for (long k = 0; k < work; k++)
			x = x * UINT64_C(6364136223846793005) + 1;
		if (getenv("STEPPER_PRINT")) {
			printf("step %ld\n", i);
			fflush(stdout);
		} else {
			wl_step(4);
		}
	}
	return code;
}
