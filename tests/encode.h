/* encode.h: pictures for tests, encoded into memory. Link libjpeg and libpng.
 */
#ifndef WATTLAW_TESTS_ENCODE_H
#define WATTLAW_TESTS_ENCODE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jpeglib.h>
#include <png.h>

/* A JPEG of pixels (h,w,components): 1 grey, 3 RGB, 4 CMYK. malloc'ed. */
__attribute__((unused)) static uint8_t *encode_jpeg(
	const uint8_t *pixels, int w, int h, int components, size_t *len)
{
	struct jpeg_compress_struct c;
	struct jpeg_error_mgr err;
	unsigned long size = 0;
	uint8_t *out = NULL;

	c.err = jpeg_std_error(&err);
	jpeg_create_compress(&c);
	jpeg_mem_dest(&c, &out, &size);
	c.image_width = (JDIMENSION)w;
	c.image_height = (JDIMENSION)h;
	c.input_components = components;
	c.in_color_space = components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
	jpeg_set_defaults(&c);
	jpeg_set_quality(&c, 95, TRUE);
	jpeg_start_compress(&c, TRUE);
	while (c.next_scanline < c.image_height) {
		JSAMPROW row = (uint8_t *)(uintptr_t)pixels +
			       (size_t)c.next_scanline * (size_t)w * (size_t)components;

		jpeg_write_scanlines(&c, &row, 1);
	}
	jpeg_finish_compress(&c);
	jpeg_destroy_compress(&c);
	*len = size;
	return out;
}

/* A PNG of pixels in one of libpng's formats (PNG_FORMAT_RGB …). colours: the palette of a
 * PNG_FORMAT_…_COLORMAP, 4 of them, or NULL. malloc'ed. */
__attribute__((unused)) static uint8_t *encode_png(
	const void *pixels, int w, int h, png_uint_32 format, const void *colours, size_t *len)
{
	png_image i = {.version = PNG_IMAGE_VERSION,
		.width = (png_uint_32)w,
		.height = (png_uint_32)h,
		.format = format,
		.colormap_entries = colours ? 4 : 0};
	png_alloc_size_t size = (size_t)w * (size_t)h * 8 + 4096;
	uint8_t *out = malloc(size);

	*len = out && png_image_write_to_memory(&i, out, &size, 0, pixels, 0, colours) ? size : 0;
	return out;
}

#endif
