typedef double R;
#define SIN(x) sine(x, 0)
#define COS(x) sine(x, 1)
#define SQRT sqrt
#define POW pow
#define FABS fabs
#define FLOOR floor
#define ATAN2 arctangent
#define ASIN arcsine
#define ISFINITE(x) ((x) - (x) == R(0))
#define RECIPROCAL(x) (R(1) / (x))
#define NEAREST R(1e-13)
#define TOLERANCE R(1e-14)
#define SLOPE_TOLERANCE R(1e-12)
#define STEP_TOLERANCE R(1e-09)

// Functions are without a branch, so that a compiler can do many at a time; their polynomials are the Cephes library's.
// The angle less its whole quarters, in three steps that keep all digits (Cody and Waite).
// No library's own: so a browser and a C++ compiler agree to the last bit.
auto sine = [&](double x, int quarter) {
  const double k = rint(x * 0.6366197723675814);
  const double r = x - k * 1.57079625129699707031 - k * 7.54978941586159635336e-8 - k * 5.39030285815811905290e-15;
  const double z = r * r;
  const int n = (int)k + quarter;
  const double s = r + r * z * (((((1.58962301576546568060e-10 * z - 2.50507477628578072866e-8) * z
    + 2.75573136213857245213e-6) * z - 1.98412698295895385996e-4) * z + 8.33333333332211858878e-3) * z
    - 1.66666666666666307295e-1);
  const double c = 1.0 - 0.5 * z + z * z * (((((-1.13585365213876817300e-11 * z + 2.08757008419747316778e-9) * z
    - 2.75573141792967388112e-7) * z + 2.48015872888517045348e-5) * z - 1.38888888888730564116e-3) * z
    + 4.16666666666665929218e-2);
  const double y = n & 1 ? c : s;
  return n & 2 ? -y : y;
};
auto arctangent = [&](double y, double x) {
  const double a = fabs(y), b = fabs(x), t = (a < b ? a : b) / (a < b ? b : (a > 0.0 ? a : 1.0));
  const bool steep = t > 0.4142135623730950488;
  const double u = steep ? (t - 1.0) / (t + 1.0) : t, z = u * u;
  const double p = (((-8.750608600031904122785e-1 * z - 1.615753718733365076637e1) * z - 7.500855792314704667340e1) * z
    - 1.228866684490136173410e2) * z - 6.485021904942025371773e1;
  const double q = ((((z + 2.485846490142306297962e1) * z + 1.650270098316988542046e2) * z
    + 4.328810604912902668951e2) * z + 4.853903996359136964868e2) * z + 1.945506571482613964425e2;
  const double near = (steep ? 0.78539816339744830962 : 0.0) + (u + u * z * p / q);
  const double half = a < b ? near : 1.57079632679489661923 - near;
  const double whole = x < 0.0 ? 3.14159265358979323846 - half : half;
  return y < 0.0 ? -whole : whole;
};
auto arcsine = [&](double x) { return arctangent(x, sqrt((1.0 - x) * (1.0 + x))); };

// Both halves are computed and one is taken: an odd polynomial near zero, and an exponential elsewhere.
auto squash = [&](double x) {
  const double z = x * x;
  const double near = x + x * z * ((-9.64399179425052238628e-1 * z - 9.92877231001918586564e1) * z
    - 1.61468768441708447952e3) / (((z + 1.12811678491632931402e2) * z + 2.23548839060100448583e3) * z
    + 4.84406305325125486048e3);
  const double y = fabs(x) < 20.0 ? 2.0 * fabs(x) : 40.0;
  const double k = rint(y * 1.4426950408889634074);
  const double r = y - k * 6.93145751953125e-1 - k * 1.42860682030941723212e-6, s = r * r;
  const double p = r * ((1.26177193074810590878e-4 * s + 3.02994407707441961300e-2) * s + 9.99999999999999999910e-1);
  const double q = ((3.00198505138664455042e-6 * s + 2.52448340349684104192e-3) * s + 2.27265548208155028766e-1) * s
    + 2.00000000000000000005;
  const double far = 1.0 - 2.0 / (ldexp(1.0 + 2.0 * (p / (q - p)), (int)k) + 1.0);
  return fabs(x) < 0.625 ? near : (x < 0.0 ? -far : far);
};
