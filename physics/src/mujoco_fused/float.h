typedef float R;
#define SIN(x) sine(x, 0)
#define COS(x) sine(x, 1)
#define SQRT sqrtf
#define POW powf
#define FABS fabsf
#define FLOOR floorf
#define ATAN2 atan2f
#define ASIN asinf
#define ISFINITE(x) ((x) - (x) == R(0))
#define RECIPROCAL(x) (R(1) / (x))
#define NEAREST R(1e-06)
#define TOLERANCE R(1e-08)
#define SLOPE_TOLERANCE R(0.3)  // the next iteration mends what is left
#define STEP_TOLERANCE R(0.001)

// Functions are without a branch, so that a compiler can do many at a time; their polynomials are the Cephes library's.
// The angle less its whole quarters, in three steps that keep all digits (Cody and Waite).
auto sine = [&](float x, int quarter) {
  const float k = rintf(x * 0.63661977f);
  float r = fmaf(k, -1.57079601287841796875f, x);
  r = fmaf(k, -3.1391647326017846e-7f, r);
  r = fmaf(k, -5.390302529957764e-15f, r);
  const float z = r * r;
  const int n = (int)k + quarter;
  const float s = fmaf(r * z, fmaf(z, fmaf(z, -1.9515295891e-4f, 8.3321608736e-3f), -1.6666654611e-1f), r);
  const float c = fmaf(z * z, fmaf(z, fmaf(z, 2.443315711809948e-5f, -1.388731625493765e-3f), 4.166664568298827e-2f),
                       fmaf(z, -0.5f, 1.0f));
  const float y = n & 1 ? c : s;
  return n & 2 ? -y : y;
};

// Both halves are computed and one is taken: an odd polynomial near zero, and an exponential elsewhere.
auto squash = [&](float x) {
  const float z = x * x;
  const float near = x + x * z * (z * (z * (z * (z * -5.70498872745e-3f + 2.06390887954e-2f) - 5.37397155531e-2f)
                                       + 1.33314422036e-1f) - 3.33332819422e-1f);
  const float y = FABS(x) < 9.0f ? 2.0f * FABS(x) : 18.0f;  // beyond it a float is 1
  const float k = rintf(y * 1.44269504088896341f);
  const float r = y - k * 0.693359375f + k * 2.12194440e-4f;
  const float p = ((((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f) * r
                   + 1.6666665459e-1f) * r + 5.0000001201e-1f;
  union { int i; float f; } power;  // of two
  power.i = ((int)k + 127) << 23;
  const float far = 1.0f - 2.0f / ((p * r * r + r + 1.0f) * power.f + 1.0f);
  return FABS(x) >= 0.625f ? (x < 0.0f ? -far : far) : near;  // asked this way round nan stays nan
};
