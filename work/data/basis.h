/* basis.h: functions of distance and angle that graph networks see instead of coordinates.
 *
 * Distances in Angstrom, angles in radians. All are plain double in, float out.
 */
#ifndef WORK_DATA_BASIS_H
#define WORK_DATA_BASIS_H

#define BASIS_MAX_L 8
#define BASIS_MAX_N 8

/* exp(−(d−μ_k)²/(2Δ²)), μ_k = kΔ, Δ = cutoff/(n−1) (SchNet) → out[n] */
void basis_gaussian(double d, double cutoff, int n, float *out);
/* ½(cos(πd/cutoff)+1), 0 from the cutoff on */
double basis_cosine(double d, double cutoff);
/* Envelope of DimeNet: 1/x + a x^(p−1) + b x^p + c x^(p+1) at x = d/cutoff with p = exponent + 1,
 * a = −(p+1)(p+2)/2, b = p(p+2), c = −p(p+1)/2; value and two derivatives vanish at 1. */
double basis_envelope(double x, int exponent);
/* j_l(z_ln d/c)·Y_l0(angle)·norm·envelope, l = 0 … n_spherical−1, n = 1 … n_radial (DimeNet) →
 * out[l·n_radial + n−1]. z_ln: n-th zero of j_l; norm = sqrt(2/j_{l+1}²(z_ln)). */
struct basis_sph {
	int n_spherical, n_radial, exponent;
	double zero[BASIS_MAX_L][BASIS_MAX_N], norm[BASIS_MAX_L][BASIS_MAX_N];
};
void basis_sph_init(struct basis_sph *b, int n_spherical, int n_radial, int exponent);
/* The part that depends on the distance alone → radial[l·n_radial + n−1] */
void basis_sph_distance(const struct basis_sph *b, double d, double cutoff, double *radial);
/* times Y_l0(angle) */
void basis_sph_angle(const struct basis_sph *b, const double *radial, double angle, float *out);
/* Spherical Bessel function of the first kind, l >= 0. */
double basis_bessel(int l, double x);

#endif
