/* data_picture.c: bytes become a picture with all its pixels, or a message; JPEG and PNG alike. */
#include "fuzz.h"

#include "data/picture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const float zero[3] = {0}, one[3] = {1, 1, 1};
	static float out[3 * 8 * 8];
	struct fault f = {0};
	struct picture p;
	struct window w;

	if (picture_decode("f", data, size, 8, &p, &f)) {
		must(f.set && !strncmp(f.msg, "f: ", 3) && !p.rgb);
		return 0;
	}
	must(p.height >= 1 && p.width >= 1 && p.height <= PICTURE_SIDE && p.width <= PICTURE_SIDE);
	w = picture_window(p.height, p.width, 0.875, true, size * 0x9e3779b97f4a7c15u);
	must(!picture_resize(&p, &w, 8, zero, one, out));
	for (int i = 0; i < 3 * 8 * 8; i++)
		must(out[i] > -0.01f && out[i] < 255.01f);
	picture_release(&p);
	return 0;
}
