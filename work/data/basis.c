#include <math.h>
#include "data/basis.h"

void basis_gaussian(double d, double cutoff, int n, float *out)
{
	double delta = cutoff / (n - 1), coeff = -0.5 / (delta * delta);

	for (int k = 0; k < n; k++)
		out[k] = expf((float)(coeff * (d - k * delta) * (d - k * delta)));
}

double basis_cosine(double d, double cutoff)
{
	return d < cutoff ? 0.5 * (cos(M_PI * d / cutoff) + 1) : 0;
}

double basis_envelope(double x, int exponent)
{
	int p = exponent + 1;
	double a = -(p + 1) * (p + 2) / 2.0, b = p * (p + 2), c = -p * (p + 1) / 2.0;
	double xp = pow(x, p - 1);

	return x < 1 ? 1 / x + a * xp + b * xp * x + c * xp * x * x : 0;
}

/* Near zero the upward recurrence loses everything to cancellation: the leading term x^l/(2l+1)!!
 * with its first correction takes over. */
double basis_bessel(int l, double x)
{
	double a, b;

	if (x < 0.5 * l || x < 1e-4) {
		double lead = 1, sum = 1, term = 1;

		for (int k = 1; k <= l; k++)
			lead *= x / (2 * k + 1);
		for (int k = 1; k < 30; k++) {
			term *= -x * x / (2.0 * k * (2 * l + 2 * k + 1));
			sum += term;
		}
		return lead * sum;
	}
	a = sin(x) / x;
	b = sin(x) / (x * x) - cos(x) / x;
	for (int k = 1; k < l; k++) {
		double next = (2 * k + 1) / x * b - a;

		a = b;
		b = next;
	}
	return l ? b : a;
}

static double bisect(int l, double lo, double hi)
{
	double f = basis_bessel(l, lo);

	for (int i = 0; i < 200; i++) {
		double mid = (lo + hi) / 2, v = basis_bessel(l, mid);

		if ((v > 0) == (f > 0))
			lo = mid;
		else
			hi = mid;
	}
	return (lo + hi) / 2;
}

void basis_sph_init(struct basis_sph *b, int n_spherical, int n_radial, int exponent)
{
	double zero[BASIS_MAX_L + BASIS_MAX_N];
	int n = n_radial + n_spherical;

	*b = (struct basis_sph){
		.n_spherical = n_spherical, .n_radial = n_radial, .exponent = exponent};
	/* Zeros of j_l interlace those of j_{l−1}, which for l = 0 are kπ. */
	for (int k = 0; k < n; k++)
		zero[k] = (k + 1) * M_PI;
	for (int l = 0; l < n_spherical; l++, n--) {
		for (int k = 0; l > 0 && k < n; k++)
			zero[k] = bisect(l, zero[k], zero[k + 1]);
		for (int k = 0; k < n_radial; k++) {
			double j = basis_bessel(l + 1, zero[k]);

			b->zero[l][k] = zero[k];
			b->norm[l][k] = sqrt(2 / (j * j));
		}
	}
}

void basis_sph_distance(const struct basis_sph *b, double d, double cutoff, double *radial)
{
	double x = d / cutoff, env = basis_envelope(x, b->exponent);

	for (int l = 0; l < b->n_spherical; l++)
		for (int n = 0; n < b->n_radial; n++)
			radial[l * b->n_radial + n] =
				env * b->norm[l][n] * basis_bessel(l, b->zero[l][n] * x);
}

void basis_sph_angle(const struct basis_sph *b, const double *radial, double angle, float *out)
{
	double c = cos(angle), p0 = 1, p1 = c;

	for (int l = 0; l < b->n_spherical; l++) {
		/* Y_l0 = sqrt((2l+1)/4π) P_l(cos): Legendre by recurrence */
		double y = sqrt((2 * l + 1) / (4 * M_PI)) * (l == 0 ? 1 : p1);

		for (int n = 0; n < b->n_radial; n++)
			out[l * b->n_radial + n] = (float)(radial[l * b->n_radial + n] * y);
		if (l > 0) {
			double next = ((2 * l + 1) * c * p1 - l * p0) / (l + 1);

			p0 = p1;
			p1 = next;
		}
	}
}
