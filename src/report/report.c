#include "report/report.h"

#include <string.h>

extern const char report_html[], report_js[], report_chart[];

/* A '<' inside JSON only stands in strings, where an escape means the same; without it no text of a
 * run can end the script element. */
static void add_json(struct str *out, const char *json)
{
	for (; *json; json++) {
		if (*json == '<')
			str_add(out, "\\u003c");
		else
			str_addc(out, *json);
	}
}

bool report_page(const char *json, struct str *out)
{
	static const char *const places[] = {"@DATA@", "@CHART@", "@SCRIPT@"};
	const char *page = report_html;

	for (int i = 0; i < 3; i++) {
		const char *at = strstr(page, places[i]);

		str_addn(out, page, (size_t)(at - page));
		page = at + strlen(places[i]);
		if (i == 0)
			add_json(out, json);
		else
			str_add(out, i == 1 ? report_chart : report_js);
	}
	str_add(out, page);
	return !out->failed;
}
