#define WP_NO_BFLOAT16

#define WP_TILE_BLOCK_DIM 1
#define WP_NO_CRT
#include "builtin.h"
#include "deterministic.h"

#define builtin_tid1d() wp::linear_tid<wp_linear_tid>(task_index, dim)
#define builtin_tid2d(x, y) wp::tid(x, y, task_index, dim)
#define builtin_tid3d(x, y, z) wp::tid(x, y, z, task_index, dim)
#define builtin_tid4d(x, y, z, w) wp::tid(x, y, z, w, task_index, dim)

#define builtin_block_dim() wp::block_dim()


// avoid namespacing of float type for casting to float type, this is to avoid wp::float(x), which is not valid in C++
#define float(x) cast_float(x)
#define adj_float(x, adj_x, adj_ret) adj_cast_float(x, adj_x, adj_ret)

#define int(x) cast_int(x)
#define adj_int(x, adj_x, adj_ret) adj_cast_int(x, adj_x, adj_ret)


// /work/wt/physics/physics/src/mujoco_fused/stepping.py:218
static CUDA_CALLABLE void native_step_float_40fc83b007c2_0(
    wp::array_t<wp::float32> qpos,
    wp::array_t<wp::float32> qvel,
    wp::array_t<wp::float32> warm,
    wp::array_t<wp::float32> ctrl,
    wp::array_t<wp::float32> given,
    wp::array_t<wp::float32> q_out,
    wp::array_t<wp::float32> v_out,
    wp::array_t<wp::float32> w_out,
    wp::array_t<wp::float32> low,
    wp::int32 tid)
{
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
R clearance[1];
R q[9];
for (int i = 0; i < 9; i++) q[i] = qpos.data[(size_t)tid * 9 + i];
R v[9];
for (int i = 0; i < 9; i++) v[i] = qvel.data[(size_t)tid * 9 + i];
R w[9];
for (int i = 0; i < 9; i++) w[i] = warm.data[(size_t)tid * 9 + i];
R u[6];
for (int i = 0; i < 6; i++) u[i] = ctrl.data[(size_t)tid * 6 + i];
{
const bool t0 = u[0] < R(-1.0);
const bool t1 = R(1.0) < u[0];
const R t2 = t1 ? R(1.0) : u[0];
const R t3 = t0 ? R(-1.0) : t2;
const bool t4 = u[1] < R(-1.0);
const bool t5 = R(1.0) < u[1];
const R t6 = t5 ? R(1.0) : u[1];
const R t7 = t4 ? R(-1.0) : t6;
const bool t8 = u[2] < R(-1.0);
const bool t9 = R(1.0) < u[2];
const R t10 = t9 ? R(1.0) : u[2];
const R t11 = t8 ? R(-1.0) : t10;
const bool t12 = u[3] < R(-1.0);
const bool t13 = R(1.0) < u[3];
const R t14 = t13 ? R(1.0) : u[3];
const R t15 = t12 ? R(-1.0) : t14;
const bool t16 = u[4] < R(-1.0);
const bool t17 = R(1.0) < u[4];
const R t18 = t17 ? R(1.0) : u[4];
const R t19 = t16 ? R(-1.0) : t18;
const bool t20 = u[5] < R(-1.0);
const bool t21 = R(1.0) < u[5];
const R t22 = t21 ? R(1.0) : u[5];
const R t23 = t20 ? R(-1.0) : t22;
u[0] = t3;
u[1] = t7;
u[2] = t11;
u[3] = t15;
u[4] = t19;
u[5] = t23;
int bad = 0; for (int i = 0; i < 6; i++) if (!(FABS(u[i]) <= R(1e10))) bad = 1;
if (bad) for (int i = 0; i < 6; i++) u[i] = R(0);
}
_Pragma("unroll 1") for (int substep = 0; substep < 1; substep++) {


int num_contacts = 0, c_slot[16], c_active[16];
R c_strength[16], c_pull[16], c_point_x[16], c_point_z[16], error_n[16], change_n[16], error_1[16], change_1[16];
R X[21], W[21], C[42];
R l_error[6], l_change[6];
R M[36], H[36], Di[9], force[9], a[9], Ma[9];
const R t24 = q[1] + R(0.7);
const R t25 = COS(q[2]);
const R t26 = SIN(q[2]);
const R t27 = -t26;
const R t28 = v[1] * v[2];
const R t29 = -t28;
const R t30 = v[0] * v[2];
const R t31 = t30 + R(9.81);
const R t32 = t25 * R(-0.5);
const R t33 = t27 * R(-0.5);
const R t34 = -t33;
const R t35 = COS(q[3]);
const R t36 = SIN(q[3]);
const R t37 = -t36;
const R t38 = t25 * t35;
const R t39 = t26 * t37;
const R t40 = t38 + t39;
const R t41 = t25 * t36;
const R t42 = t26 * t35;
const R t43 = t41 + t42;
const R t44 = t27 * t35;
const R t45 = t25 * t37;
const R t46 = t44 + t45;
const R t47 = t27 * t36;
const R t48 = t47 + t38;
const R t49 = v[3] * t34;
const R t50 = v[3] * t32;
const R t51 = v[2] * t50;
const R t52 = v[2] * t49;
const R t53 = -t52;
const R t54 = v[1] * v[3];
const R t55 = -t54;
const R t56 = v[0] * v[3];
const R t57 = t51 + t55;
const R t58 = t53 + t56;
const R t59 = t29 + t57;
const R t60 = t31 + t58;
const R t61 = v[2] + v[3];
const R t62 = v[0] + t49;
const R t63 = v[1] + t50;
const R t64 = t40 * R(0.16);
const R t65 = t43 * R(-0.25);
const R t66 = t64 + t65;
const R t67 = t46 * R(0.16);
const R t68 = t48 * R(-0.25);
const R t69 = t67 + t68;
const R t70 = t32 + t66;
const R t71 = t33 + t69;
const R t72 = -t71;
const R t73 = COS(q[4]);
const R t74 = SIN(q[4]);
const R t75 = -t74;
const R t76 = t40 * t73;
const R t77 = t43 * t75;
const R t78 = t76 + t77;
const R t79 = t40 * t74;
const R t80 = t43 * t73;
const R t81 = t79 + t80;
const R t82 = t46 * t73;
const R t83 = t48 * t75;
const R t84 = t82 + t83;
const R t85 = t46 * t74;
const R t86 = t48 * t73;
const R t87 = t85 + t86;
const R t88 = v[4] * t72;
const R t89 = v[4] * t70;
const R t90 = t61 * t89;
const R t91 = t61 * t88;
const R t92 = -t91;
const R t93 = t63 * v[4];
const R t94 = -t93;
const R t95 = t62 * v[4];
const R t96 = t90 + t94;
const R t97 = t92 + t95;
const R t98 = t59 + t96;
const R t99 = t60 + t97;
const R t100 = t61 + v[4];
const R t101 = t62 + t88;
const R t102 = t63 + t89;
const R t103 = t78 * R(-0.28);
const R t104 = t81 * R(-0.14);
const R t105 = t103 + t104;
const R t106 = t84 * R(-0.28);
const R t107 = t87 * R(-0.14);
const R t108 = t106 + t107;
const R t109 = t70 + t105;
const R t110 = t71 + t108;
const R t111 = -t110;
const R t112 = COS(q[5]);
const R t113 = SIN(q[5]);
const R t114 = -t113;
const R t115 = t78 * t112;
const R t116 = t81 * t114;
const R t117 = t115 + t116;
const R t118 = t78 * t113;
const R t119 = t81 * t112;
const R t120 = t118 + t119;
const R t121 = t84 * t112;
const R t122 = t87 * t114;
const R t123 = t121 + t122;
const R t124 = t84 * t113;
const R t125 = t87 * t112;
const R t126 = t124 + t125;
const R t127 = v[5] * t111;
const R t128 = v[5] * t109;
const R t129 = t100 * t128;
const R t130 = t100 * t127;
const R t131 = -t130;
const R t132 = t102 * v[5];
const R t133 = -t132;
const R t134 = t101 * v[5];
const R t135 = t129 + t133;
const R t136 = t131 + t134;
const R t137 = t98 + t135;
const R t138 = t99 + t136;
const R t139 = t100 + v[5];
const R t140 = t101 + t127;
const R t141 = t102 + t128;
const R t142 = t25 * R(0.5);
const R t143 = t27 * R(0.5);
const R t144 = -t143;
const R t145 = COS(q[6]);
const R t146 = SIN(q[6]);
const R t147 = -t146;
const R t148 = t25 * t145;
const R t149 = t26 * t147;
const R t150 = t148 + t149;
const R t151 = t25 * t146;
const R t152 = t26 * t145;
const R t153 = t151 + t152;
const R t154 = t27 * t145;
const R t155 = t25 * t147;
const R t156 = t154 + t155;
const R t157 = t27 * t146;
const R t158 = t157 + t148;
const R t159 = v[6] * t144;
const R t160 = v[6] * t142;
const R t161 = v[2] * t160;
const R t162 = v[2] * t159;
const R t163 = -t162;
const R t164 = v[1] * v[6];
const R t165 = -t164;
const R t166 = v[0] * v[6];
const R t167 = t161 + t165;
const R t168 = t163 + t166;
const R t169 = t29 + t167;
const R t170 = t31 + t168;
const R t171 = v[2] + v[6];
const R t172 = v[0] + t159;
const R t173 = v[1] + t160;
const R t174 = t150 * R(-0.14);
const R t175 = t153 * R(-0.24);
const R t176 = t174 + t175;
const R t177 = t156 * R(-0.14);
const R t178 = t158 * R(-0.24);
const R t179 = t177 + t178;
const R t180 = t142 + t176;
const R t181 = t143 + t179;
const R t182 = -t181;
const R t183 = COS(q[7]);
const R t184 = SIN(q[7]);
const R t185 = -t184;
const R t186 = t150 * t183;
const R t187 = t153 * t185;
const R t188 = t186 + t187;
const R t189 = t150 * t184;
const R t190 = t153 * t183;
const R t191 = t189 + t190;
const R t192 = t156 * t183;
const R t193 = t158 * t185;
const R t194 = t192 + t193;
const R t195 = t156 * t184;
const R t196 = t158 * t183;
const R t197 = t195 + t196;
const R t198 = v[7] * t182;
const R t199 = v[7] * t180;
const R t200 = t171 * t199;
const R t201 = t171 * t198;
const R t202 = -t201;
const R t203 = t173 * v[7];
const R t204 = -t203;
const R t205 = t172 * v[7];
const R t206 = t200 + t204;
const R t207 = t202 + t205;
const R t208 = t169 + t206;
const R t209 = t170 + t207;
const R t210 = t171 + v[7];
const R t211 = t172 + t198;
const R t212 = t173 + t199;
const R t213 = t188 * R(0.13);
const R t214 = t191 * R(-0.18);
const R t215 = t213 + t214;
const R t216 = t194 * R(0.13);
const R t217 = t197 * R(-0.18);
const R t218 = t216 + t217;
const R t219 = t180 + t215;
const R t220 = t181 + t218;
const R t221 = -t220;
const R t222 = COS(q[8]);
const R t223 = SIN(q[8]);
const R t224 = -t223;
const R t225 = t188 * t222;
const R t226 = t191 * t224;
const R t227 = t225 + t226;
const R t228 = t188 * t223;
const R t229 = t191 * t222;
const R t230 = t228 + t229;
const R t231 = t194 * t222;
const R t232 = t197 * t224;
const R t233 = t231 + t232;
const R t234 = t194 * t223;
const R t235 = t197 * t222;
const R t236 = t234 + t235;
const R t237 = v[8] * t221;
const R t238 = v[8] * t219;
const R t239 = t210 * t238;
const R t240 = t210 * t237;
const R t241 = -t240;
const R t242 = t212 * v[8];
const R t243 = -t242;
const R t244 = t211 * v[8];
const R t245 = t239 + t243;
const R t246 = t241 + t244;
const R t247 = t208 + t245;
const R t248 = t209 + t246;
const R t249 = t210 + v[8];
const R t250 = t211 + t237;
const R t251 = t212 + t238;
const R t255 = t33 + t24;
const R t256 = t255 + R(-0.046);
const R t257 = t256 * R(0.5);
const R t258 = t257 + R(0.046);
const R t259 = t33 - t258;
const bool t260 = t256 < R(0.0);
const R t261 = FABS(t256);
const R t262 = t261 * R(100.0);
const bool t263 = t262 <= R(0.5);
const R t264 = t262 * t262;
const R t265 = t264 * R(2.0);
const R t266 = R(1.0) - t262;
const R t267 = t266 * t266;
const R t268 = t267 * R(2.0);
const R t269 = R(1.0) - t268;
const R t270 = t263 ? t265 : t269;
const bool t271 = R(1.0) <= t262;
const R t272 = t271 ? R(1.0) : t270;
const R t273 = t272 * R(0.7999);
const R t274 = t273 + R(0.0001);
const R t275 = R(1.0) - t274;
const R t276 = t275 * R(0.02381527122210534);
const R t277 = t276 / t274;
const bool t278 = R(1e-15) < t277;
const R t279 = t278 ? t277 : R(1e-15);
const R t280 = R(1.0) / t279;
const R t281 = t274 * R(3906.25);
const R t282 = t281 * t256;
const R t284 = t143 + t24;
const R t285 = t284 + R(-0.046);
const R t286 = t285 * R(0.5);
const R t287 = t286 + R(0.046);
const R t288 = t143 - t287;
const bool t289 = t285 < R(0.0);
const R t290 = FABS(t285);
const R t291 = t290 * R(100.0);
const bool t292 = t291 <= R(0.5);
const R t293 = t291 * t291;
const R t294 = t293 * R(2.0);
const R t295 = R(1.0) - t291;
const R t296 = t295 * t295;
const R t297 = t296 * R(2.0);
const R t298 = R(1.0) - t297;
const R t299 = t292 ? t294 : t298;
const bool t300 = R(1.0) <= t291;
const R t301 = t300 ? R(1.0) : t299;
const R t302 = t301 * R(0.7999);
const R t303 = t302 + R(0.0001);
const R t304 = R(1.0) - t303;
const R t305 = t304 * R(0.02381527122210534);
const R t306 = t305 / t303;
const bool t307 = R(1e-15) < t306;
const R t308 = t307 ? t306 : R(1e-15);
const R t309 = R(1.0) / t308;
const R t310 = t303 * R(3906.25);
const R t311 = t310 * t285;
const R t318 = t25 * R(0.7146493405538257);
const R t319 = t26 * R(0.19672398208600017);
const R t320 = t318 + t319;
const R t321 = t27 * R(0.7146493405538257);
const R t322 = t25 * R(0.19672398208600017);
const R t323 = t321 + t322;
const R t325 = t323 + t24;
const R t326 = t325 + R(-0.046);
const R t327 = t326 * R(0.5);
const R t328 = t327 + R(0.046);
const R t329 = t323 - t328;
const bool t330 = t326 < R(0.0);
const R t331 = FABS(t326);
const R t332 = t331 * R(100.0);
const bool t333 = t332 <= R(0.5);
const R t334 = t332 * t332;
const R t335 = t334 * R(2.0);
const R t336 = R(1.0) - t332;
const R t337 = t336 * t336;
const R t338 = t337 * R(2.0);
const R t339 = R(1.0) - t338;
const R t340 = t333 ? t335 : t339;
const bool t341 = R(1.0) <= t332;
const R t342 = t341 ? R(1.0) : t340;
const R t343 = t342 * R(0.7999);
const R t344 = t343 + R(0.0001);
const R t345 = R(1.0) - t344;
const R t346 = t345 * R(0.02381527122210534);
const R t347 = t346 / t344;
const bool t348 = R(1e-15) < t347;
const R t349 = t348 ? t347 : R(1e-15);
const R t350 = R(1.0) / t349;
const R t351 = t344 * R(3906.25);
const R t352 = t351 * t326;
const R t353 = t25 * R(0.4853506594461742);
const R t354 = t26 * R(0.0032760179139998263);
const R t355 = t353 + t354;
const R t356 = t27 * R(0.4853506594461742);
const R t357 = t25 * R(0.0032760179139998263);
const R t358 = t356 + t357;
const R t360 = t358 + t24;
const R t361 = t360 + R(-0.046);
const R t362 = t361 * R(0.5);
const R t363 = t362 + R(0.046);
const R t364 = t358 - t363;
const bool t365 = t361 < R(0.0);
const R t366 = FABS(t361);
const R t367 = t366 * R(100.0);
const bool t368 = t367 <= R(0.5);
const R t369 = t367 * t367;
const R t370 = t369 * R(2.0);
const R t371 = R(1.0) - t367;
const R t372 = t371 * t371;
const R t373 = t372 * R(2.0);
const R t374 = R(1.0) - t373;
const R t375 = t368 ? t370 : t374;
const bool t376 = R(1.0) <= t367;
const R t377 = t376 ? R(1.0) : t375;
const R t378 = t377 * R(0.7999);
const R t379 = t378 + R(0.0001);
const R t380 = R(1.0) - t379;
const R t381 = t380 * R(0.02381527122210534);
const R t382 = t381 / t379;
const bool t383 = R(1e-15) < t382;
const R t384 = t383 ? t382 : R(1e-15);
const R t385 = R(1.0) / t384;
const R t386 = t379 * R(3906.25);
const R t387 = t386 * t361;
const R t394 = t40 * R(0.18871939418669426);
const R t395 = t43 * R(-0.2446903182275904);
const R t396 = t394 + t395;
const R t397 = t46 * R(0.18871939418669426);
const R t398 = t48 * R(-0.2446903182275904);
const R t399 = t397 + t398;
const R t400 = t32 + t396;
const R t401 = t33 + t399;
const R t403 = t401 + t24;
const R t404 = t403 + R(-0.046);
const R t405 = t404 * R(0.5);
const R t406 = t405 + R(0.046);
const R t407 = t401 - t406;
const bool t408 = t404 < R(0.0);
const R t409 = FABS(t404);
const R t410 = t409 * R(100.0);
const bool t411 = t410 <= R(0.5);
const R t412 = t410 * t410;
const R t413 = t412 * R(2.0);
const R t414 = R(1.0) - t410;
const R t415 = t414 * t414;
const R t416 = t415 * R(2.0);
const R t417 = R(1.0) - t416;
const R t418 = t411 ? t413 : t417;
const bool t419 = R(1.0) <= t410;
const R t420 = t419 ? R(1.0) : t418;
const R t421 = t420 * R(0.7999);
const R t422 = t421 + R(0.0001);
const R t423 = R(1.0) - t422;
const R t424 = t423 * R(0.03597336899429518);
const R t425 = t424 / t422;
const bool t426 = R(1e-15) < t425;
const R t427 = t426 ? t425 : R(1e-15);
const R t428 = R(1.0) / t427;
const R t429 = t422 * R(3906.25);
const R t430 = t429 * t404;
const R t431 = t40 * R(0.011280605813305769);
const R t432 = t43 * R(-0.015309681772409586);
const R t433 = t431 + t432;
const R t434 = t46 * R(0.011280605813305769);
const R t435 = t48 * R(-0.015309681772409586);
const R t436 = t434 + t435;
const R t437 = t32 + t433;
const R t438 = t33 + t436;
const R t440 = t438 + t24;
const R t441 = t440 + R(-0.046);
const R t442 = t441 * R(0.5);
const R t443 = t442 + R(0.046);
const R t444 = t438 - t443;
const bool t445 = t441 < R(0.0);
const R t446 = FABS(t441);
const R t447 = t446 * R(100.0);
const bool t448 = t447 <= R(0.5);
const R t449 = t447 * t447;
const R t450 = t449 * R(2.0);
const R t451 = R(1.0) - t447;
const R t452 = t451 * t451;
const R t453 = t452 * R(2.0);
const R t454 = R(1.0) - t453;
const R t455 = t448 ? t450 : t454;
const bool t456 = R(1.0) <= t447;
const R t457 = t456 ? R(1.0) : t455;
const R t458 = t457 * R(0.7999);
const R t459 = t458 + R(0.0001);
const R t460 = R(1.0) - t459;
const R t461 = t460 * R(0.03597336899429518);
const R t462 = t461 / t459;
const bool t463 = R(1e-15) < t462;
const R t464 = t463 ? t462 : R(1e-15);
const R t465 = R(1.0) / t464;
const R t466 = t459 * R(3906.25);
const R t467 = t466 * t441;
const R t474 = t78 * R(-0.27446086117273405);
const R t475 = t81 * R(-0.13648516234985636);
const R t476 = t474 + t475;
const R t477 = t84 * R(-0.27446086117273405);
const R t478 = t87 * R(-0.13648516234985636);
const R t479 = t477 + t478;
const R t480 = t70 + t476;
const R t481 = t71 + t479;
const R t483 = t481 + t24;
const R t484 = t483 + R(-0.046);
const R t485 = t484 * R(0.5);
const R t486 = t485 + R(0.046);
const R t487 = t481 - t486;
const bool t488 = t484 < R(0.0);
const R t489 = FABS(t484);
const R t490 = t489 * R(100.0);
const bool t491 = t490 <= R(0.5);
const R t492 = t490 * t490;
const R t493 = t492 * R(2.0);
const R t494 = R(1.0) - t490;
const R t495 = t494 * t494;
const R t496 = t495 * R(2.0);
const R t497 = R(1.0) - t496;
const R t498 = t491 ? t493 : t497;
const bool t499 = R(1.0) <= t490;
const R t500 = t499 ? R(1.0) : t498;
const R t501 = t500 * R(0.7999);
const R t502 = t501 + R(0.0001);
const R t503 = R(1.0) - t502;
const R t504 = t503 * R(0.047220064448637716);
const R t505 = t504 / t502;
const bool t506 = R(1e-15) < t505;
const R t507 = t506 ? t505 : R(1e-15);
const R t508 = R(1.0) / t507;
const R t509 = t502 * R(3906.25);
const R t510 = t509 * t484;
const R t511 = t78 * R(-0.005539138827266005);
const R t512 = t81 * R(-0.003514837650143668);
const R t513 = t511 + t512;
const R t514 = t84 * R(-0.005539138827266005);
const R t515 = t87 * R(-0.003514837650143668);
const R t516 = t514 + t515;
const R t517 = t70 + t513;
const R t518 = t71 + t516;
const R t520 = t518 + t24;
const R t521 = t520 + R(-0.046);
const R t522 = t521 * R(0.5);
const R t523 = t522 + R(0.046);
const R t524 = t518 - t523;
const bool t525 = t521 < R(0.0);
const R t526 = FABS(t521);
const R t527 = t526 * R(100.0);
const bool t528 = t527 <= R(0.5);
const R t529 = t527 * t527;
const R t530 = t529 * R(2.0);
const R t531 = R(1.0) - t527;
const R t532 = t531 * t531;
const R t533 = t532 * R(2.0);
const R t534 = R(1.0) - t533;
const R t535 = t528 ? t530 : t534;
const bool t536 = R(1.0) <= t527;
const R t537 = t536 ? R(1.0) : t535;
const R t538 = t537 * R(0.7999);
const R t539 = t538 + R(0.0001);
const R t540 = R(1.0) - t539;
const R t541 = t540 * R(0.047220064448637716);
const R t542 = t541 / t539;
const bool t543 = R(1e-15) < t542;
const R t544 = t543 ? t542 : R(1e-15);
const R t545 = R(1.0) / t544;
const R t546 = t539 * R(3906.25);
const R t547 = t546 * t521;
const R t554 = t117 * R(0.004927244951249875);
const R t555 = t120 * R(-0.006405535741606308);
const R t556 = t554 + t555;
const R t557 = t123 * R(0.004927244951249875);
const R t558 = t126 * R(-0.006405535741606308);
const R t559 = t557 + t558;
const R t560 = t109 + t556;
const R t561 = t110 + t559;
const R t563 = t561 + t24;
const R t564 = t563 + R(-0.046);
const R t565 = t564 * R(0.5);
const R t566 = t565 + R(0.046);
const R t567 = t561 - t566;
const bool t568 = t564 < R(0.0);
const R t569 = FABS(t564);
const R t570 = t569 * R(100.0);
const bool t571 = t570 <= R(0.5);
const R t572 = t570 * t570;
const R t573 = t572 * R(2.0);
const R t574 = R(1.0) - t570;
const R t575 = t574 * t574;
const R t576 = t575 * R(2.0);
const R t577 = R(1.0) - t576;
const R t578 = t571 ? t573 : t577;
const bool t579 = R(1.0) <= t570;
const R t580 = t579 ? R(1.0) : t578;
const R t581 = t580 * R(0.7999);
const R t582 = t581 + R(0.0001);
const R t583 = R(1.0) - t582;
const R t584 = t583 * R(0.09047973403155177);
const R t585 = t584 / t582;
const bool t586 = R(1e-15) < t585;
const R t587 = t586 ? t585 : R(1e-15);
const R t588 = R(1.0) / t587;
const R t589 = t582 * R(3906.25);
const R t590 = t589 * t564;
const R t591 = t117 * R(0.05507275504875012);
const R t592 = t120 * R(-0.1875944642583937);
const R t593 = t591 + t592;
const R t594 = t123 * R(0.05507275504875012);
const R t595 = t126 * R(-0.1875944642583937);
const R t596 = t594 + t595;
const R t597 = t109 + t593;
const R t598 = t110 + t596;
const R t600 = t598 + t24;
const R t601 = t600 + R(-0.046);
const R t602 = t601 * R(0.5);
const R t603 = t602 + R(0.046);
const R t604 = t598 - t603;
const bool t605 = t601 < R(0.0);
const R t606 = FABS(t601);
const R t607 = t606 * R(100.0);
const bool t608 = t607 <= R(0.5);
const R t609 = t607 * t607;
const R t610 = t609 * R(2.0);
const R t611 = R(1.0) - t607;
const R t612 = t611 * t611;
const R t613 = t612 * R(2.0);
const R t614 = R(1.0) - t613;
const R t615 = t608 ? t610 : t614;
const bool t616 = R(1.0) <= t607;
const R t617 = t616 ? R(1.0) : t615;
const R t618 = t617 * R(0.7999);
const R t619 = t618 + R(0.0001);
const R t620 = R(1.0) - t619;
const R t621 = t620 * R(0.09047973403155177);
const R t622 = t621 / t619;
const bool t623 = R(1e-15) < t622;
const R t624 = t623 ? t622 : R(1e-15);
const R t625 = R(1.0) / t624;
const R t626 = t619 * R(3906.25);
const R t627 = t626 * t601;
const R t634 = t150 * R(-0.003914941666783009);
const R t635 = t153 * R(-0.004580049102872574);
const R t636 = t634 + t635;
const R t637 = t156 * R(-0.003914941666783009);
const R t638 = t158 * R(-0.004580049102872574);
const R t639 = t637 + t638;
const R t640 = t142 + t636;
const R t641 = t143 + t639;
const R t643 = t641 + t24;
const R t644 = t643 + R(-0.046);
const R t645 = t644 * R(0.5);
const R t646 = t645 + R(0.046);
const R t647 = t641 - t646;
const bool t648 = t644 < R(0.0);
const R t649 = FABS(t644);
const R t650 = t649 * R(100.0);
const bool t651 = t650 <= R(0.5);
const R t652 = t650 * t650;
const R t653 = t652 * R(2.0);
const R t654 = R(1.0) - t650;
const R t655 = t654 * t654;
const R t656 = t655 * R(2.0);
const R t657 = R(1.0) - t656;
const R t658 = t651 ? t653 : t657;
const bool t659 = R(1.0) <= t650;
const R t660 = t659 ? R(1.0) : t658;
const R t661 = t660 * R(0.7999);
const R t662 = t661 + R(0.0001);
const R t663 = R(1.0) - t662;
const R t664 = t663 * R(0.03024678463483458);
const R t665 = t664 / t662;
const bool t666 = R(1e-15) < t665;
const R t667 = t666 ? t665 : R(1e-15);
const R t668 = R(1.0) / t667;
const R t669 = t662 * R(3906.25);
const R t670 = t669 * t644;
const R t671 = t150 * R(-0.136085058333217);
const R t672 = t153 * R(-0.23541995089712742);
const R t673 = t671 + t672;
const R t674 = t156 * R(-0.136085058333217);
const R t675 = t158 * R(-0.23541995089712742);
const R t676 = t674 + t675;
const R t677 = t142 + t673;
const R t678 = t143 + t676;
const R t680 = t678 + t24;
const R t681 = t680 + R(-0.046);
const R t682 = t681 * R(0.5);
const R t683 = t682 + R(0.046);
const R t684 = t678 - t683;
const bool t685 = t681 < R(0.0);
const R t686 = FABS(t681);
const R t687 = t686 * R(100.0);
const bool t688 = t687 <= R(0.5);
const R t689 = t687 * t687;
const R t690 = t689 * R(2.0);
const R t691 = R(1.0) - t687;
const R t692 = t691 * t691;
const R t693 = t692 * R(2.0);
const R t694 = R(1.0) - t693;
const R t695 = t688 ? t690 : t694;
const bool t696 = R(1.0) <= t687;
const R t697 = t696 ? R(1.0) : t695;
const R t698 = t697 * R(0.7999);
const R t699 = t698 + R(0.0001);
const R t700 = R(1.0) - t699;
const R t701 = t700 * R(0.03024678463483458);
const R t702 = t701 / t699;
const bool t703 = R(1e-15) < t702;
const R t704 = t703 ? t702 : R(1e-15);
const R t705 = R(1.0) / t704;
const R t706 = t699 * R(3906.25);
const R t707 = t706 * t681;
const R t714 = t188 * R(0.005147897820126264);
const R t715 = t191 * R(-0.0025144248195741042);
const R t716 = t714 + t715;
const R t717 = t194 * R(0.005147897820126264);
const R t718 = t197 * R(-0.0025144248195741042);
const R t719 = t717 + t718;
const R t720 = t180 + t716;
const R t721 = t181 + t719;
const R t723 = t721 + t24;
const R t724 = t723 + R(-0.046);
const R t725 = t724 * R(0.5);
const R t726 = t725 + R(0.046);
const R t727 = t721 - t726;
const bool t728 = t724 < R(0.0);
const R t729 = FABS(t724);
const R t730 = t729 * R(100.0);
const bool t731 = t730 <= R(0.5);
const R t732 = t730 * t730;
const R t733 = t732 * R(2.0);
const R t734 = R(1.0) - t730;
const R t735 = t734 * t734;
const R t736 = t735 * R(2.0);
const R t737 = R(1.0) - t736;
const R t738 = t731 ? t733 : t737;
const bool t739 = R(1.0) <= t730;
const R t740 = t739 ? R(1.0) : t738;
const R t741 = t740 * R(0.7999);
const R t742 = t741 + R(0.0001);
const R t743 = R(1.0) - t742;
const R t744 = t743 * R(0.048997218804767234);
const R t745 = t744 / t742;
const bool t746 = R(1e-15) < t745;
const R t747 = t746 ? t745 : R(1e-15);
const R t748 = R(1.0) / t747;
const R t749 = t742 * R(3906.25);
const R t750 = t749 * t724;
const R t751 = t188 * R(0.12485210217987375);
const R t752 = t191 * R(-0.1774855751804259);
const R t753 = t751 + t752;
const R t754 = t194 * R(0.12485210217987375);
const R t755 = t197 * R(-0.1774855751804259);
const R t756 = t754 + t755;
const R t757 = t180 + t753;
const R t758 = t181 + t756;
const R t760 = t758 + t24;
const R t761 = t760 + R(-0.046);
const R t762 = t761 * R(0.5);
const R t763 = t762 + R(0.046);
const R t764 = t758 - t763;
const bool t765 = t761 < R(0.0);
const R t766 = FABS(t761);
const R t767 = t766 * R(100.0);
const bool t768 = t767 <= R(0.5);
const R t769 = t767 * t767;
const R t770 = t769 * R(2.0);
const R t771 = R(1.0) - t767;
const R t772 = t771 * t771;
const R t773 = t772 * R(2.0);
const R t774 = R(1.0) - t773;
const R t775 = t768 ? t770 : t774;
const bool t776 = R(1.0) <= t767;
const R t777 = t776 ? R(1.0) : t775;
const R t778 = t777 * R(0.7999);
const R t779 = t778 + R(0.0001);
const R t780 = R(1.0) - t779;
const R t781 = t780 * R(0.048997218804767234);
const R t782 = t781 / t779;
const bool t783 = R(1e-15) < t782;
const R t784 = t783 ? t782 : R(1e-15);
const R t785 = R(1.0) / t784;
const R t786 = t779 * R(3906.25);
const R t787 = t786 * t761;
const R t794 = t227 * R(0.005475026862347528);
const R t795 = t230 * R(-0.012226506956322526);
const R t796 = t794 + t795;
const R t797 = t233 * R(0.005475026862347528);
const R t798 = t236 * R(-0.012226506956322526);
const R t799 = t797 + t798;
const R t800 = t219 + t796;
const R t801 = t220 + t799;
const R t803 = t801 + t24;
const R t804 = t803 + R(-0.046);
const R t805 = t804 * R(0.5);
const R t806 = t805 + R(0.046);
const R t807 = t801 - t806;
const bool t808 = t804 < R(0.0);
const R t809 = FABS(t804);
const R t810 = t809 * R(100.0);
const bool t811 = t810 <= R(0.5);
const R t812 = t810 * t810;
const R t813 = t812 * R(2.0);
const R t814 = R(1.0) - t810;
const R t815 = t814 * t814;
const R t816 = t815 * R(2.0);
const R t817 = R(1.0) - t816;
const R t818 = t811 ? t813 : t817;
const bool t819 = R(1.0) <= t810;
const R t820 = t819 ? R(1.0) : t818;
const R t821 = t820 * R(0.7999);
const R t822 = t821 + R(0.0001);
const R t823 = R(1.0) - t822;
const R t824 = t823 * R(0.09879269100516187);
const R t825 = t824 / t822;
const bool t826 = R(1e-15) < t825;
const R t827 = t826 ? t825 : R(1e-15);
const R t828 = R(1.0) / t827;
const R t829 = t822 * R(3906.25);
const R t830 = t829 * t804;
const R t831 = t227 * R(0.08452497313765248);
const R t832 = t230 * R(-0.1277734930436775);
const R t833 = t831 + t832;
const R t834 = t233 * R(0.08452497313765248);
const R t835 = t236 * R(-0.1277734930436775);
const R t836 = t834 + t835;
const R t837 = t219 + t833;
const R t838 = t220 + t836;
const R t840 = t838 + t24;
const R t841 = t840 + R(-0.046);
const R t842 = t841 * R(0.5);
const R t843 = t842 + R(0.046);
const R t844 = t838 - t843;
const bool t845 = t841 < R(0.0);
const R t846 = FABS(t841);
const R t847 = t846 * R(100.0);
const bool t848 = t847 <= R(0.5);
const R t849 = t847 * t847;
const R t850 = t849 * R(2.0);
const R t851 = R(1.0) - t847;
const R t852 = t851 * t851;
const R t853 = t852 * R(2.0);
const R t854 = R(1.0) - t853;
const R t855 = t848 ? t850 : t854;
const bool t856 = R(1.0) <= t847;
const R t857 = t856 ? R(1.0) : t855;
const R t858 = t857 * R(0.7999);
const R t859 = t858 + R(0.0001);
const R t860 = R(1.0) - t859;
const R t861 = t860 * R(0.09879269100516187);
const R t862 = t861 / t859;
const bool t863 = R(1e-15) < t862;
const R t864 = t863 ? t862 : R(1e-15);
const R t865 = R(1.0) / t864;
const R t866 = t859 * R(3906.25);
const R t867 = t866 * t841;
const R t868 = q[3] + R(0.52);
const R t869 = R(1.05) - q[3];
const bool t870 = t868 < t869;
const R t871 = t870 ? R(1.0) : R(-1.0);
const R t872 = t870 ? t868 : t869;
const bool t873 = t872 < R(0.0);
const R t874 = FABS(t872);
const R t875 = t874 * R(33.333333333333336);
const bool t876 = t875 <= R(0.5);
const R t877 = t875 * t875;
const R t878 = t877 * R(2.0);
const R t879 = R(1.0) - t875;
const R t880 = t879 * t879;
const R t881 = t880 * R(2.0);
const R t882 = R(1.0) - t881;
const R t883 = t876 ? t878 : t882;
const bool t884 = R(1.0) <= t875;
const R t885 = t884 ? R(1.0) : t883;
const R t886 = t885 * R(0.7999);
const R t887 = t886 + R(0.0001);
const R t888 = R(1.0) - t887;
const R t889 = t888 * R(2.729788644884892);
const R t890 = t889 / t887;
const bool t891 = R(1e-15) < t890;
const R t892 = t891 ? t890 : R(1e-15);
const R t893 = R(1.0) / t892;
const R t894 = t871 * R(125.0);
const R t895 = t894 * v[3];
const R t896 = t887 * R(3906.25);
const R t897 = t896 * t872;
const R t898 = t895 + t897;
const R t899 = t873 ? t893 : R(0.0);
const R t900 = q[4] + R(0.785);
const R t901 = R(0.785) - q[4];
const bool t902 = t900 < t901;
const R t903 = t902 ? R(1.0) : R(-1.0);
const R t904 = t902 ? t900 : t901;
const bool t905 = t904 < R(0.0);
const R t906 = FABS(t904);
const R t907 = t906 * R(33.333333333333336);
const bool t908 = t907 <= R(0.5);
const R t909 = t907 * t907;
const R t910 = t909 * R(2.0);
const R t911 = R(1.0) - t907;
const R t912 = t911 * t911;
const R t913 = t912 * R(2.0);
const R t914 = R(1.0) - t913;
const R t915 = t908 ? t910 : t914;
const bool t916 = R(1.0) <= t907;
const R t917 = t916 ? R(1.0) : t915;
const R t918 = t917 * R(0.7999);
const R t919 = t918 + R(0.0001);
const R t920 = R(1.0) - t919;
const R t921 = t920 * R(5.893248984162906);
const R t922 = t921 / t919;
const bool t923 = R(1e-15) < t922;
const R t924 = t923 ? t922 : R(1e-15);
const R t925 = R(1.0) / t924;
const R t926 = t903 * R(125.0);
const R t927 = t926 * v[4];
const R t928 = t919 * R(3906.25);
const R t929 = t928 * t904;
const R t930 = t927 + t929;
const R t931 = t905 ? t925 : R(0.0);
const R t932 = q[5] + R(0.4);
const R t933 = R(0.785) - q[5];
const bool t934 = t932 < t933;
const R t935 = t934 ? R(1.0) : R(-1.0);
const R t936 = t934 ? t932 : t933;
const bool t937 = t936 < R(0.0);
const R t938 = FABS(t936);
const R t939 = t938 * R(33.333333333333336);
const bool t940 = t939 <= R(0.5);
const R t941 = t939 * t939;
const R t942 = t941 * R(2.0);
const R t943 = R(1.0) - t939;
const R t944 = t943 * t943;
const R t945 = t944 * R(2.0);
const R t946 = R(1.0) - t945;
const R t947 = t940 ? t942 : t946;
const bool t948 = R(1.0) <= t939;
const R t949 = t948 ? R(1.0) : t947;
const R t950 = t949 * R(0.7999);
const R t951 = t950 + R(0.0001);
const R t952 = R(1.0) - t951;
const R t953 = t952 * R(8.894877004054674);
const R t954 = t953 / t951;
const bool t955 = R(1e-15) < t954;
const R t956 = t955 ? t954 : R(1e-15);
const R t957 = R(1.0) / t956;
const R t958 = t935 * R(125.0);
const R t959 = t958 * v[5];
const R t960 = t951 * R(3906.25);
const R t961 = t960 * t936;
const R t962 = t959 + t961;
const R t963 = t937 ? t957 : R(0.0);
const R t964 = q[6] + R(1.0);
const R t965 = R(0.7) - q[6];
const bool t966 = t964 < t965;
const R t967 = t966 ? R(1.0) : R(-1.0);
const R t968 = t966 ? t964 : t965;
const bool t969 = t968 < R(0.0);
const R t970 = FABS(t968);
const R t971 = t970 * R(33.333333333333336);
const bool t972 = t971 <= R(0.5);
const R t973 = t971 * t971;
const R t974 = t973 * R(2.0);
const R t975 = R(1.0) - t971;
const R t976 = t975 * t975;
const R t977 = t976 * R(2.0);
const R t978 = R(1.0) - t977;
const R t979 = t972 ? t974 : t978;
const bool t980 = R(1.0) <= t971;
const R t981 = t980 ? R(1.0) : t979;
const R t982 = t981 * R(0.7999);
const R t983 = t982 + R(0.0001);
const R t984 = R(1.0) - t983;
const R t985 = t984 * R(3.0813926054768777);
const R t986 = t985 / t983;
const bool t987 = R(1e-15) < t986;
const R t988 = t987 ? t986 : R(1e-15);
const R t989 = R(1.0) / t988;
const R t990 = t967 * R(125.0);
const R t991 = t990 * v[6];
const R t992 = t983 * R(3906.25);
const R t993 = t992 * t968;
const R t994 = t991 + t993;
const R t995 = t969 ? t989 : R(0.0);
const R t996 = q[7] + R(1.2);
const R t997 = R(0.87) - q[7];
const bool t998 = t996 < t997;
const R t999 = t998 ? R(1.0) : R(-1.0);
const R t1000 = t998 ? t996 : t997;
const bool t1001 = t1000 < R(0.0);
const R t1002 = FABS(t1000);
const R t1003 = t1002 * R(33.333333333333336);
const bool t1004 = t1003 <= R(0.5);
const R t1005 = t1003 * t1003;
const R t1006 = t1005 * R(2.0);
const R t1007 = R(1.0) - t1003;
const R t1008 = t1007 * t1007;
const R t1009 = t1008 * R(2.0);
const R t1010 = R(1.0) - t1009;
const R t1011 = t1004 ? t1006 : t1010;
const bool t1012 = R(1.0) <= t1003;
const R t1013 = t1012 ? R(1.0) : t1011;
const R t1014 = t1013 * R(0.7999);
const R t1015 = t1014 + R(0.0001);
const R t1016 = R(1.0) - t1015;
const R t1017 = t1016 * R(6.882795962275768);
const R t1018 = t1017 / t1015;
const bool t1019 = R(1e-15) < t1018;
const R t1020 = t1019 ? t1018 : R(1e-15);
const R t1021 = R(1.0) / t1020;
const R t1022 = t999 * R(125.0);
const R t1023 = t1022 * v[7];
const R t1024 = t1015 * R(3906.25);
const R t1025 = t1024 * t1000;
const R t1026 = t1023 + t1025;
const R t1027 = t1001 ? t1021 : R(0.0);
const R t1028 = q[8] + R(0.5);
const R t1029 = R(0.5) - q[8];
const bool t1030 = t1028 < t1029;
const R t1031 = t1030 ? R(1.0) : R(-1.0);
const R t1032 = t1030 ? t1028 : t1029;
const bool t1033 = t1032 < R(0.0);
const R t1034 = FABS(t1032);
const R t1035 = t1034 * R(33.333333333333336);
const bool t1036 = t1035 <= R(0.5);
const R t1037 = t1035 * t1035;
const R t1038 = t1037 * R(2.0);
const R t1039 = R(1.0) - t1035;
const R t1040 = t1039 * t1039;
const R t1041 = t1040 * R(2.0);
const R t1042 = R(1.0) - t1041;
const R t1043 = t1036 ? t1038 : t1042;
const bool t1044 = R(1.0) <= t1035;
const R t1045 = t1044 ? R(1.0) : t1043;
const R t1046 = t1045 * R(0.7999);
const R t1047 = t1046 + R(0.0001);
const R t1048 = R(1.0) - t1047;
const R t1049 = t1048 * R(9.468134962769758);
const R t1050 = t1049 / t1047;
const bool t1051 = R(1e-15) < t1050;
const R t1052 = t1051 ? t1050 : R(1e-15);
const R t1053 = R(1.0) / t1052;
const R t1054 = t1031 * R(125.0);
const R t1055 = t1054 * v[8];
const R t1056 = t1047 * R(3906.25);
const R t1057 = t1056 * t1032;
const R t1058 = t1055 + t1057;
const R t1059 = t1033 ? t1053 : R(0.0);
const R t1068 = v[3] * R(-6.0);
const R t1071 = v[4] * R(-4.5);
const R t1074 = v[5] * R(-3.0);
const R t1077 = v[6] * R(-4.5);
const R t1080 = v[7] * R(-3.0);
const R t1083 = v[8] * R(-1.5);
const R t1084 = q[3] * R(240.0);
const R t1085 = t1068 - t1084;
const R t1086 = q[4] * R(180.0);
const R t1087 = t1071 - t1086;
const R t1088 = q[5] * R(120.0);
const R t1089 = t1074 - t1088;
const R t1090 = q[6] * R(180.0);
const R t1091 = t1077 - t1090;
const R t1092 = q[7] * R(120.0);
const R t1093 = t1080 - t1092;
const R t1094 = q[8] * R(60.0);
const R t1095 = t1083 - t1094;
const R t1096 = u[0] * R(120.0);
const R t1097 = u[1] * R(90.0);
const R t1098 = u[2] * R(60.0);
const R t1099 = u[3] * R(120.0);
const R t1100 = u[4] * R(60.0);
const R t1101 = u[5] * R(30.0);
const R t1102 = t1085 + t1096;
const R t1103 = t1087 + t1097;
const R t1104 = t1089 + t1098;
const R t1105 = t1091 + t1099;
const R t1106 = t1093 + t1100;
const R t1107 = t1095 + t1101;
const R t1108 = t25 * R(0.15238987816307403);
const R t1109 = t26 * R(0.02539831302717901);
const R t1110 = t1108 + t1109;
const R t1111 = t27 * R(0.15238987816307403);
const R t1112 = t25 * R(0.02539831302717901);
const R t1113 = t1111 + t1112;
const R t1114 = t1110 * t1110;
const R t1115 = t1113 * t1113;
const R t1116 = t1114 + t1115;
const R t1121 = t1110 * R(6.25020920502092);
const R t1122 = t1113 * R(6.25020920502092);
const R t1148 = t1116 * R(6.25020920502092);
const R t1152 = t1148 + R(0.8971176881117489);
const R t1160 = v[0] * R(6.25020920502092);
const R t1161 = v[1] * R(6.25020920502092);
const R t1162 = t1122 * v[2];
const R t1163 = -t1162;
const R t1164 = t1121 * v[2];
const R t1165 = t1160 - t1163;
const R t1166 = t1161 - t1164;
const R t1167 = t1122 * t29;
const R t1168 = t1121 * t31;
const R t1169 = t1167 - t1168;
const R t1170 = t29 * R(6.25020920502092);
const R t1171 = t31 * R(6.25020920502092);
const R t1172 = v[1] * t1165;
const R t1173 = v[0] * t1166;
const R t1174 = t1172 - t1173;
const R t1175 = v[2] * t1166;
const R t1176 = v[2] * t1165;
const R t1177 = -t1176;
const R t1178 = t1169 + t1174;
const R t1179 = t1170 + t1175;
const R t1180 = t1171 + t1177;
const R t1181 = t40 * R(0.10000000000000002);
const R t1182 = t43 * R(-0.13);
const R t1183 = t1181 + t1182;
const R t1184 = t46 * R(0.10000000000000002);
const R t1185 = t48 * R(-0.13);
const R t1186 = t1184 + t1185;
const R t1187 = t32 + t1183;
const R t1188 = t33 + t1186;
const R t1189 = t1187 * t1187;
const R t1190 = t1188 * t1188;
const R t1191 = t1189 + t1190;
const R t1196 = t1187 * R(1.5435146443514645);
const R t1197 = t1188 * R(1.5435146443514645);
const R t1208 = t1191 * R(1.5435146443514645);
const R t1212 = t1208 + R(0.016844339581589957);
const R t1219 = t62 * R(1.5435146443514645);
const R t1220 = t63 * R(1.5435146443514645);
const R t1221 = t1197 * t61;
const R t1222 = -t1221;
const R t1223 = t1196 * t61;
const R t1224 = t1219 - t1222;
const R t1225 = t1220 - t1223;
const R t1226 = t1197 * t59;
const R t1227 = t1196 * t60;
const R t1228 = t1226 - t1227;
const R t1229 = t59 * R(1.5435146443514645);
const R t1230 = t60 * R(1.5435146443514645);
const R t1231 = t63 * t1224;
const R t1232 = t62 * t1225;
const R t1233 = t1231 - t1232;
const R t1234 = t61 * t1225;
const R t1235 = t61 * t1224;
const R t1236 = -t1235;
const R t1237 = t1228 + t1233;
const R t1238 = t1229 + t1234;
const R t1239 = t1230 + t1236;
const R t1240 = t78 * R(-0.14);
const R t1241 = t81 * R(-0.07);
const R t1242 = t1240 + t1241;
const R t1243 = t84 * R(-0.14);
const R t1244 = t87 * R(-0.07);
const R t1245 = t1243 + t1244;
const R t1246 = t70 + t1242;
const R t1247 = t71 + t1245;
const R t1248 = t1246 * t1246;
const R t1249 = t1247 * t1247;
const R t1250 = t1248 + t1249;
const R t1255 = t1246 * R(1.5874476987447697);
const R t1256 = t1247 * R(1.5874476987447697);
const R t1273 = t1250 * R(1.5874476987447697);
const R t1277 = t1273 + R(0.018267419079497912);
const R t1284 = t101 * R(1.5874476987447697);
const R t1285 = t102 * R(1.5874476987447697);
const R t1286 = t1256 * t100;
const R t1287 = -t1286;
const R t1288 = t1255 * t100;
const R t1289 = t1284 - t1287;
const R t1290 = t1285 - t1288;
const R t1291 = t1256 * t98;
const R t1292 = t1255 * t99;
const R t1293 = t1291 - t1292;
const R t1294 = t98 * R(1.5874476987447697);
const R t1295 = t99 * R(1.5874476987447697);
const R t1296 = t102 * t1289;
const R t1297 = t101 * t1290;
const R t1298 = t1296 - t1297;
const R t1299 = t100 * t1290;
const R t1300 = t100 * t1289;
const R t1301 = -t1300;
const R t1302 = t1293 + t1298;
const R t1303 = t1294 + t1299;
const R t1304 = t1295 + t1301;
const R t1305 = t117 * R(0.03);
const R t1306 = t120 * R(-0.097);
const R t1307 = t1305 + t1306;
const R t1308 = t123 * R(0.03);
const R t1309 = t126 * R(-0.097);
const R t1310 = t1308 + t1309;
const R t1311 = t109 + t1307;
const R t1312 = t110 + t1310;
const R t1313 = t1311 * t1311;
const R t1314 = t1312 * t1312;
const R t1315 = t1313 + t1314;
const R t1320 = t1311 * R(1.0953974895397491);
const R t1321 = t1312 * R(1.0953974895397491);
const R t1338 = t1315 * R(1.0953974895397491);
const R t1342 = t1338 + R(0.006352423263598327);
const R t1349 = t140 * R(1.0953974895397491);
const R t1350 = t141 * R(1.0953974895397491);
const R t1351 = t1321 * t139;
const R t1352 = -t1351;
const R t1353 = t1320 * t139;
const R t1354 = t1349 - t1352;
const R t1355 = t1350 - t1353;
const R t1356 = t1321 * t137;
const R t1357 = t1320 * t138;
const R t1358 = t1356 - t1357;
const R t1359 = t137 * R(1.0953974895397491);
const R t1360 = t138 * R(1.0953974895397491);
const R t1361 = t141 * t1354;
const R t1362 = t140 * t1355;
const R t1363 = t1361 - t1362;
const R t1364 = t139 * t1355;
const R t1365 = t139 * t1354;
const R t1366 = -t1365;
const R t1367 = t1358 + t1363;
const R t1368 = t1359 + t1364;
const R t1369 = t1360 + t1366;
const R t1370 = t150 * R(-0.07);
const R t1371 = t153 * R(-0.11999999999999998);
const R t1372 = t1370 + t1371;
const R t1373 = t156 * R(-0.07);
const R t1374 = t158 * R(-0.11999999999999998);
const R t1375 = t1373 + t1374;
const R t1376 = t142 + t1372;
const R t1377 = t143 + t1375;
const R t1378 = t1376 * t1376;
const R t1379 = t1377 * t1377;
const R t1380 = t1378 + t1379;
const R t1385 = t1376 * R(1.4380753138075317);
const R t1386 = t1377 * R(1.4380753138075317);
const R t1403 = t1380 * R(1.4380753138075317);
const R t1407 = t1403 + R(0.013739643347280341);
const R t1414 = t172 * R(1.4380753138075317);
const R t1415 = t173 * R(1.4380753138075317);
const R t1416 = t1386 * t171;
const R t1417 = -t1416;
const R t1418 = t1385 * t171;
const R t1419 = t1414 - t1417;
const R t1420 = t1415 - t1418;
const R t1421 = t1386 * t169;
const R t1422 = t1385 * t170;
const R t1423 = t1421 - t1422;
const R t1424 = t169 * R(1.4380753138075317);
const R t1425 = t170 * R(1.4380753138075317);
const R t1426 = t173 * t1419;
const R t1427 = t172 * t1420;
const R t1428 = t1426 - t1427;
const R t1429 = t171 * t1420;
const R t1430 = t171 * t1419;
const R t1431 = -t1430;
const R t1432 = t1423 + t1428;
const R t1433 = t1424 + t1429;
const R t1434 = t1425 + t1431;
const R t1435 = t188 * R(0.065);
const R t1436 = t191 * R(-0.09);
const R t1437 = t1435 + t1436;
const R t1438 = t194 * R(0.065);
const R t1439 = t197 * R(-0.09);
const R t1440 = t1438 + t1439;
const R t1441 = t180 + t1437;
const R t1442 = t181 + t1440;
const R t1443 = t1441 * t1441;
const R t1444 = t1442 * t1442;
const R t1445 = t1443 + t1444;
const R t1450 = t1441 * R(1.200836820083682);
const R t1451 = t1442 * R(1.200836820083682);
const R t1466 = t1445 * R(1.200836820083682);
const R t1470 = t1466 + R(0.008222108619246861);
const R t1477 = t211 * R(1.200836820083682);
const R t1478 = t212 * R(1.200836820083682);
const R t1479 = t1451 * t210;
const R t1480 = -t1479;
const R t1481 = t1450 * t210;
const R t1482 = t1477 - t1480;
const R t1483 = t1478 - t1481;
const R t1484 = t1451 * t208;
const R t1485 = t1450 * t209;
const R t1486 = t1484 - t1485;
const R t1487 = t208 * R(1.200836820083682);
const R t1488 = t209 * R(1.200836820083682);
const R t1489 = t212 * t1482;
const R t1490 = t211 * t1483;
const R t1491 = t1489 - t1490;
const R t1492 = t210 * t1483;
const R t1493 = t210 * t1482;
const R t1494 = -t1493;
const R t1495 = t1486 + t1491;
const R t1496 = t1487 + t1492;
const R t1497 = t1488 + t1494;
const R t1498 = t227 * R(0.045);
const R t1499 = t230 * R(-0.07);
const R t1500 = t1498 + t1499;
const R t1501 = t233 * R(0.045);
const R t1502 = t236 * R(-0.07);
const R t1503 = t1501 + t1502;
const R t1504 = t219 + t1500;
const R t1505 = t220 + t1503;
const R t1506 = t1504 * t1504;
const R t1507 = t1505 * t1505;
const R t1508 = t1506 + t1507;
const R t1513 = t1504 * R(0.8845188284518829);
const R t1514 = t1505 * R(0.8845188284518829);
const R t1531 = t1508 * R(0.8845188284518829);
const R t1535 = t1531 + R(0.003529109456066946);
const R t1542 = t250 * R(0.8845188284518829);
const R t1543 = t251 * R(0.8845188284518829);
const R t1544 = t1514 * t249;
const R t1545 = -t1544;
const R t1546 = t1513 * t249;
const R t1547 = t1542 - t1545;
const R t1548 = t1543 - t1546;
const R t1549 = t1514 * t247;
const R t1550 = t1513 * t248;
const R t1551 = t1549 - t1550;
const R t1552 = t247 * R(0.8845188284518829);
const R t1553 = t248 * R(0.8845188284518829);
const R t1554 = t251 * t1547;
const R t1555 = t250 * t1548;
const R t1556 = t1554 - t1555;
const R t1557 = t249 * t1548;
const R t1558 = t249 * t1547;
const R t1559 = -t1558;
const R t1560 = t1551 + t1556;
const R t1561 = t1552 + t1557;
const R t1562 = t1553 + t1559;
const R t1563 = t1495 + t1560;
const R t1564 = t1496 + t1561;
const R t1565 = t1497 + t1562;
const R t1566 = t1432 + t1563;
const R t1567 = t1433 + t1564;
const R t1568 = t1434 + t1565;
const R t1569 = t1178 + t1566;
const R t1570 = t1179 + t1567;
const R t1571 = t1180 + t1568;
const R t1572 = t1302 + t1367;
const R t1573 = t1303 + t1368;
const R t1574 = t1304 + t1369;
const R t1575 = t1237 + t1572;
const R t1576 = t1238 + t1573;
const R t1577 = t1239 + t1574;
const R t1578 = t1569 + t1575;
const R t1579 = t1570 + t1576;
const R t1580 = t1571 + t1577;
const R t1581 = t34 * t1576;
const R t1582 = t1575 + t1581;
const R t1583 = t32 * t1577;
const R t1584 = t1582 + t1583;
const R t1585 = t72 * t1573;
const R t1586 = t1572 + t1585;
const R t1587 = t70 * t1574;
const R t1588 = t1586 + t1587;
const R t1589 = t111 * t1368;
const R t1590 = t1367 + t1589;
const R t1591 = t109 * t1369;
const R t1592 = t1590 + t1591;
const R t1593 = t144 * t1567;
const R t1594 = t1566 + t1593;
const R t1595 = t142 * t1568;
const R t1596 = t1594 + t1595;
const R t1597 = t182 * t1564;
const R t1598 = t1563 + t1597;
const R t1599 = t180 * t1565;
const R t1600 = t1598 + t1599;
const R t1601 = t221 * t1561;
const R t1602 = t1560 + t1601;
const R t1603 = t219 * t1562;
const R t1604 = t1602 + t1603;
const R t1605 = -t1579;
const R t1606 = -t1580;
const R t1607 = -t1578;
const R t1608 = t1102 - t1584;
const R t1609 = t1103 - t1588;
const R t1610 = t1104 - t1592;
const R t1611 = t1105 - t1596;
const R t1612 = t1106 - t1600;
const R t1613 = t1107 - t1604;
const R t1614 = t1450 + t1513;
const R t1615 = t1451 + t1514;
const R t1618 = t1470 + t1535;
const R t1620 = t1385 + t1614;
const R t1621 = t1386 + t1615;
const R t1624 = t1407 + t1618;
const R t1626 = t1121 + t1620;
const R t1627 = t1122 + t1621;
const R t1630 = t1152 + t1624;
const R t1633 = t1255 + t1320;
const R t1634 = t1256 + t1321;
const R t1637 = t1277 + t1342;
const R t1639 = t1196 + t1633;
const R t1640 = t1197 + t1634;
const R t1643 = t1212 + t1637;
const R t1645 = t1626 + t1639;
const R t1646 = t1627 + t1640;
const R t1649 = t1630 + t1643;
const R t1652 = -t1645;
const R t1653 = -t1646;
const R t1654 = -t1653;
const R t1655 = t1640 * t34;
const R t1656 = t1639 * t32;
const R t1657 = t1655 - t1656;
const R t1658 = t1643 + t1657;
const R t1659 = t34 * R(4.226359832635984);
const R t1660 = t32 * R(4.226359832635984);
const R t1661 = -t1640;
const R t1662 = t1659 - t1661;
const R t1663 = t1660 - t1639;
const R t1664 = t34 * t1662;
const R t1665 = t1658 + t1664;
const R t1666 = t32 * t1663;
const R t1667 = t1665 + t1666;
const R t1668 = t1667 + R(0.1);
const R t1669 = t1634 * t72;
const R t1670 = t1633 * t70;
const R t1671 = t1669 - t1670;
const R t1672 = t1637 + t1671;
const R t1673 = t72 * R(2.682845188284519);
const R t1674 = t70 * R(2.682845188284519);
const R t1675 = -t1634;
const R t1676 = t1673 - t1675;
const R t1677 = t1674 - t1633;
const R t1678 = t34 * t1676;
const R t1679 = t1672 + t1678;
const R t1680 = t32 * t1677;
const R t1681 = t1679 + t1680;
const R t1682 = t72 * t1676;
const R t1683 = t1672 + t1682;
const R t1684 = t70 * t1677;
const R t1685 = t1683 + t1684;
const R t1686 = t1685 + R(0.1);
const R t1687 = t1321 * t111;
const R t1688 = t1320 * t109;
const R t1689 = t1687 - t1688;
const R t1690 = t1342 + t1689;
const R t1691 = t111 * R(1.0953974895397491);
const R t1692 = t109 * R(1.0953974895397491);
const R t1693 = -t1321;
const R t1694 = t1691 - t1693;
const R t1695 = t1692 - t1320;
const R t1696 = t34 * t1694;
const R t1697 = t1690 + t1696;
const R t1698 = t32 * t1695;
const R t1699 = t1697 + t1698;
const R t1700 = t72 * t1694;
const R t1701 = t1690 + t1700;
const R t1702 = t70 * t1695;
const R t1703 = t1701 + t1702;
const R t1704 = t111 * t1694;
const R t1705 = t1690 + t1704;
const R t1706 = t109 * t1695;
const R t1707 = t1705 + t1706;
const R t1708 = t1707 + R(0.1);
const R t1709 = t1621 * t144;
const R t1710 = t1620 * t142;
const R t1711 = t1709 - t1710;
const R t1712 = t1624 + t1711;
const R t1713 = t144 * R(3.523430962343097);
const R t1714 = t142 * R(3.523430962343097);
const R t1715 = -t1621;
const R t1716 = t1713 - t1715;
const R t1717 = t1714 - t1620;
const R t1718 = t144 * t1716;
const R t1719 = t1712 + t1718;
const R t1720 = t142 * t1717;
const R t1721 = t1719 + t1720;
const R t1722 = t1721 + R(0.1);
const R t1723 = t1615 * t182;
const R t1724 = t1614 * t180;
const R t1725 = t1723 - t1724;
const R t1726 = t1618 + t1725;
const R t1727 = t182 * R(2.085355648535565);
const R t1728 = t180 * R(2.085355648535565);
const R t1729 = -t1615;
const R t1730 = t1727 - t1729;
const R t1731 = t1728 - t1614;
const R t1732 = t144 * t1730;
const R t1733 = t1726 + t1732;
const R t1734 = t142 * t1731;
const R t1735 = t1733 + t1734;
const R t1736 = t182 * t1730;
const R t1737 = t1726 + t1736;
const R t1738 = t180 * t1731;
const R t1739 = t1737 + t1738;
const R t1740 = t1739 + R(0.1);
const R t1741 = t1514 * t221;
const R t1742 = t1513 * t219;
const R t1743 = t1741 - t1742;
const R t1744 = t1535 + t1743;
const R t1745 = t221 * R(0.8845188284518829);
const R t1746 = t219 * R(0.8845188284518829);
const R t1747 = -t1514;
const R t1748 = t1745 - t1747;
const R t1749 = t1746 - t1513;
const R t1750 = t144 * t1748;
const R t1751 = t1744 + t1750;
const R t1752 = t142 * t1749;
const R t1753 = t1751 + t1752;
const R t1754 = t182 * t1748;
const R t1755 = t1744 + t1754;
const R t1756 = t180 * t1749;
const R t1757 = t1755 + t1756;
const R t1758 = t221 * t1748;
const R t1759 = t1744 + t1758;
const R t1760 = t219 * t1749;
const R t1761 = t1759 + t1760;
const R t1762 = t1761 + R(0.1);
M[0] = R(14.000000000000002);
M[1] = R(0.0);
M[2] = R(14.000000000000002);
M[3] = t1654;
M[4] = t1652;
M[5] = t1649;
M[6] = t1662;
M[7] = t1663;
M[8] = t1658;
M[9] = t1668;
M[10] = t1676;
M[11] = t1677;
M[12] = t1672;
M[13] = t1681;
M[14] = t1686;
M[15] = t1694;
M[16] = t1695;
M[17] = t1690;
M[18] = t1699;
M[19] = t1703;
M[20] = t1708;
M[21] = t1716;
M[22] = t1717;
M[23] = t1712;
M[24] = t1722;
M[25] = t1730;
M[26] = t1731;
M[27] = t1726;
M[28] = t1735;
M[29] = t1740;
M[30] = t1748;
M[31] = t1749;
M[32] = t1744;
M[33] = t1753;
M[34] = t1757;
M[35] = t1762;
force[0] = t1605;
force[1] = t1606;
force[2] = t1607;
force[3] = t1608;
force[4] = t1609;
force[5] = t1610;
force[6] = t1611;
force[7] = t1612;
force[8] = t1613;
if (t260) { c_slot[num_contacts] = 0; c_strength[num_contacts] = t280; c_pull[num_contacts] = t282; c_point_x[num_contacts] = t32; c_point_z[num_contacts] = t259; num_contacts++; }
if (t289) { c_slot[num_contacts] = 0; c_strength[num_contacts] = t309; c_pull[num_contacts] = t311; c_point_x[num_contacts] = t142; c_point_z[num_contacts] = t288; num_contacts++; }
if (t330) { c_slot[num_contacts] = 0; c_strength[num_contacts] = t350; c_pull[num_contacts] = t352; c_point_x[num_contacts] = t320; c_point_z[num_contacts] = t329; num_contacts++; }
if (t365) { c_slot[num_contacts] = 0; c_strength[num_contacts] = t385; c_pull[num_contacts] = t387; c_point_x[num_contacts] = t355; c_point_z[num_contacts] = t364; num_contacts++; }
if (t408) { c_slot[num_contacts] = 1; c_strength[num_contacts] = t428; c_pull[num_contacts] = t430; c_point_x[num_contacts] = t400; c_point_z[num_contacts] = t407; num_contacts++; }
if (t445) { c_slot[num_contacts] = 1; c_strength[num_contacts] = t465; c_pull[num_contacts] = t467; c_point_x[num_contacts] = t437; c_point_z[num_contacts] = t444; num_contacts++; }
if (t488) { c_slot[num_contacts] = 2; c_strength[num_contacts] = t508; c_pull[num_contacts] = t510; c_point_x[num_contacts] = t480; c_point_z[num_contacts] = t487; num_contacts++; }
if (t525) { c_slot[num_contacts] = 2; c_strength[num_contacts] = t545; c_pull[num_contacts] = t547; c_point_x[num_contacts] = t517; c_point_z[num_contacts] = t524; num_contacts++; }
if (t568) { c_slot[num_contacts] = 3; c_strength[num_contacts] = t588; c_pull[num_contacts] = t590; c_point_x[num_contacts] = t560; c_point_z[num_contacts] = t567; num_contacts++; }
if (t605) { c_slot[num_contacts] = 3; c_strength[num_contacts] = t625; c_pull[num_contacts] = t627; c_point_x[num_contacts] = t597; c_point_z[num_contacts] = t604; num_contacts++; }
if (t648) { c_slot[num_contacts] = 4; c_strength[num_contacts] = t668; c_pull[num_contacts] = t670; c_point_x[num_contacts] = t640; c_point_z[num_contacts] = t647; num_contacts++; }
if (t685) { c_slot[num_contacts] = 4; c_strength[num_contacts] = t705; c_pull[num_contacts] = t707; c_point_x[num_contacts] = t677; c_point_z[num_contacts] = t684; num_contacts++; }
if (t728) { c_slot[num_contacts] = 5; c_strength[num_contacts] = t748; c_pull[num_contacts] = t750; c_point_x[num_contacts] = t720; c_point_z[num_contacts] = t727; num_contacts++; }
if (t765) { c_slot[num_contacts] = 5; c_strength[num_contacts] = t785; c_pull[num_contacts] = t787; c_point_x[num_contacts] = t757; c_point_z[num_contacts] = t764; num_contacts++; }
if (t808) { c_slot[num_contacts] = 6; c_strength[num_contacts] = t828; c_pull[num_contacts] = t830; c_point_x[num_contacts] = t800; c_point_z[num_contacts] = t807; num_contacts++; }
if (t845) { c_slot[num_contacts] = 6; c_strength[num_contacts] = t865; c_pull[num_contacts] = t867; c_point_x[num_contacts] = t837; c_point_z[num_contacts] = t844; num_contacts++; }

{
const R t1772 = v[3] * t34;
const R t1773 = v[3] * t32;
const R t1774 = v[2] + v[3];
const R t1775 = v[0] + t1772;
const R t1776 = v[1] + t1773;
const R t1777 = v[4] * t72;
const R t1778 = v[4] * t70;
const R t1779 = t1774 + v[4];
const R t1780 = t1775 + t1777;
const R t1781 = t1776 + t1778;
const R t1782 = v[5] * t111;
const R t1783 = v[5] * t109;
const R t1784 = t1779 + v[5];
const R t1785 = t1780 + t1782;
const R t1786 = t1781 + t1783;
const R t1787 = v[6] * t144;
const R t1788 = v[6] * t142;
const R t1789 = v[2] + v[6];
const R t1790 = v[0] + t1787;
const R t1791 = v[1] + t1788;
const R t1792 = v[7] * t182;
const R t1793 = v[7] * t180;
const R t1794 = t1789 + v[7];
const R t1795 = t1790 + t1792;
const R t1796 = t1791 + t1793;
const R t1797 = v[8] * t221;
const R t1798 = v[8] * t219;
const R t1799 = t1794 + v[8];
const R t1800 = t1795 + t1797;
const R t1801 = t1796 + t1798;
X[0] = v[2];
X[1] = v[0];
X[2] = v[1];
X[3] = t1774;
X[4] = t1775;
X[5] = t1776;
X[6] = t1779;
X[7] = t1780;
X[8] = t1781;
X[9] = t1784;
X[10] = t1785;
X[11] = t1786;
X[12] = t1789;
X[13] = t1790;
X[14] = t1791;
X[15] = t1794;
X[16] = t1795;
X[17] = t1796;
X[18] = t1799;
X[19] = t1800;
X[20] = t1801;
}

_Pragma("unroll 1") for (int c = 0; c < num_contacts; c++) { c_active[c] = -1;{ const int b = c_slot[c];
const R t1802 = X[b * 3 + 0] * c_point_z[c];
const R t1803 = X[b * 3 + 0] * c_point_x[c];
const R t1804 = -t1803;
const R t1805 = X[b * 3 + 1] + t1802;
const R t1806 = X[b * 3 + 2] + t1804;
const R t1807 = t1805 * R(0.4);
error_n[c] = t1806;
error_1[c] = t1807;
}
const R t1769 = error_n[c] * R(125.0);
const R t1770 = error_1[c] * R(125.0);
const R t1771 = t1769 + c_pull[c];
error_n[c] = t1771;
error_1[c] = t1770;
 }
l_error[0] = t898;
l_error[1] = t930;
l_error[2] = t962;
l_error[3] = t994;
l_error[4] = t1026;
l_error[5] = t1058;

R s[9], step = R(1), decrease = R(0); unsigned long long last_limits = 0;
for (int i = 0; i < 9; i++) { a[i] = R(0); Ma[i] = R(0); s[i] = w[i]; }
for (int iteration = 0; ; iteration++) {
  R Ms[9];
  {
const R t1808 = M[0] * s[0];
const R t1809 = M[1] * s[0];
const R t1810 = M[1] * s[1];
const R t1811 = M[2] * s[1];
const R t1812 = M[3] * s[0];
const R t1813 = M[3] * s[2];
const R t1814 = M[4] * s[1];
const R t1815 = M[4] * s[2];
const R t1816 = M[5] * s[2];
const R t1817 = M[6] * s[0];
const R t1818 = M[6] * s[3];
const R t1819 = M[7] * s[1];
const R t1820 = M[7] * s[3];
const R t1821 = M[8] * s[2];
const R t1822 = M[8] * s[3];
const R t1823 = M[9] * s[3];
const R t1824 = M[10] * s[0];
const R t1825 = M[10] * s[4];
const R t1826 = M[11] * s[1];
const R t1827 = M[11] * s[4];
const R t1828 = M[12] * s[2];
const R t1829 = M[12] * s[4];
const R t1830 = M[13] * s[3];
const R t1831 = M[13] * s[4];
const R t1832 = M[14] * s[4];
const R t1833 = M[15] * s[0];
const R t1834 = M[15] * s[5];
const R t1835 = M[16] * s[1];
const R t1836 = M[16] * s[5];
const R t1837 = M[17] * s[2];
const R t1838 = M[17] * s[5];
const R t1839 = M[18] * s[3];
const R t1840 = M[18] * s[5];
const R t1841 = M[19] * s[4];
const R t1842 = M[19] * s[5];
const R t1843 = M[20] * s[5];
const R t1844 = M[21] * s[0];
const R t1845 = M[21] * s[6];
const R t1846 = M[22] * s[1];
const R t1847 = M[22] * s[6];
const R t1848 = M[23] * s[2];
const R t1849 = M[23] * s[6];
const R t1850 = M[24] * s[6];
const R t1851 = M[25] * s[0];
const R t1852 = M[25] * s[7];
const R t1853 = M[26] * s[1];
const R t1854 = M[26] * s[7];
const R t1855 = M[27] * s[2];
const R t1856 = M[27] * s[7];
const R t1857 = M[28] * s[6];
const R t1858 = M[28] * s[7];
const R t1859 = M[29] * s[7];
const R t1860 = M[30] * s[0];
const R t1861 = M[30] * s[8];
const R t1862 = M[31] * s[1];
const R t1863 = M[31] * s[8];
const R t1864 = M[32] * s[2];
const R t1865 = M[32] * s[8];
const R t1866 = M[33] * s[6];
const R t1867 = M[33] * s[8];
const R t1868 = M[34] * s[7];
const R t1869 = M[34] * s[8];
const R t1870 = M[35] * s[8];
const R t1871 = t1808 + t1810;
const R t1872 = t1871 + t1813;
const R t1873 = t1872 + t1818;
const R t1874 = t1873 + t1825;
const R t1875 = t1874 + t1834;
const R t1876 = t1875 + t1845;
const R t1877 = t1876 + t1852;
const R t1878 = t1877 + t1861;
const R t1879 = t1809 + t1811;
const R t1880 = t1879 + t1815;
const R t1881 = t1880 + t1820;
const R t1882 = t1881 + t1827;
const R t1883 = t1882 + t1836;
const R t1884 = t1883 + t1847;
const R t1885 = t1884 + t1854;
const R t1886 = t1885 + t1863;
const R t1887 = t1812 + t1814;
const R t1888 = t1887 + t1816;
const R t1889 = t1888 + t1822;
const R t1890 = t1889 + t1829;
const R t1891 = t1890 + t1838;
const R t1892 = t1891 + t1849;
const R t1893 = t1892 + t1856;
const R t1894 = t1893 + t1865;
const R t1895 = t1817 + t1819;
const R t1896 = t1895 + t1821;
const R t1897 = t1896 + t1823;
const R t1898 = t1897 + t1831;
const R t1899 = t1898 + t1840;
const R t1900 = t1824 + t1826;
const R t1901 = t1900 + t1828;
const R t1902 = t1901 + t1830;
const R t1903 = t1902 + t1832;
const R t1904 = t1903 + t1842;
const R t1905 = t1833 + t1835;
const R t1906 = t1905 + t1837;
const R t1907 = t1906 + t1839;
const R t1908 = t1907 + t1841;
const R t1909 = t1908 + t1843;
const R t1910 = t1844 + t1846;
const R t1911 = t1910 + t1848;
const R t1912 = t1911 + t1850;
const R t1913 = t1912 + t1858;
const R t1914 = t1913 + t1867;
const R t1915 = t1851 + t1853;
const R t1916 = t1915 + t1855;
const R t1917 = t1916 + t1857;
const R t1918 = t1917 + t1859;
const R t1919 = t1918 + t1869;
const R t1920 = t1860 + t1862;
const R t1921 = t1920 + t1864;
const R t1922 = t1921 + t1866;
const R t1923 = t1922 + t1868;
const R t1924 = t1923 + t1870;
Ms[0] = t1878;
Ms[1] = t1886;
Ms[2] = t1894;
Ms[3] = t1899;
Ms[4] = t1904;
Ms[5] = t1909;
Ms[6] = t1914;
Ms[7] = t1919;
Ms[8] = t1924;
}

  {
const R t1925 = s[3] * t34;
const R t1926 = s[3] * t32;
const R t1927 = s[2] + s[3];
const R t1928 = s[0] + t1925;
const R t1929 = s[1] + t1926;
const R t1930 = s[4] * t72;
const R t1931 = s[4] * t70;
const R t1932 = t1927 + s[4];
const R t1933 = t1928 + t1930;
const R t1934 = t1929 + t1931;
const R t1935 = s[5] * t111;
const R t1936 = s[5] * t109;
const R t1937 = t1932 + s[5];
const R t1938 = t1933 + t1935;
const R t1939 = t1934 + t1936;
const R t1940 = s[6] * t144;
const R t1941 = s[6] * t142;
const R t1942 = s[2] + s[6];
const R t1943 = s[0] + t1940;
const R t1944 = s[1] + t1941;
const R t1945 = s[7] * t182;
const R t1946 = s[7] * t180;
const R t1947 = t1942 + s[7];
const R t1948 = t1943 + t1945;
const R t1949 = t1944 + t1946;
const R t1950 = s[8] * t221;
const R t1951 = s[8] * t219;
const R t1952 = t1947 + s[8];
const R t1953 = t1948 + t1950;
const R t1954 = t1949 + t1951;
X[0] = s[2];
X[1] = s[0];
X[2] = s[1];
X[3] = t1927;
X[4] = t1928;
X[5] = t1929;
X[6] = t1932;
X[7] = t1933;
X[8] = t1934;
X[9] = t1937;
X[10] = t1938;
X[11] = t1939;
X[12] = t1942;
X[13] = t1943;
X[14] = t1944;
X[15] = t1947;
X[16] = t1948;
X[17] = t1949;
X[18] = t1952;
X[19] = t1953;
X[20] = t1954;
}

  _Pragma("unroll 1") for (int c = 0; c < num_contacts; c++) { { const int b = c_slot[c];
const R t1955 = X[b * 3 + 0] * c_point_z[c];
const R t1956 = X[b * 3 + 0] * c_point_x[c];
const R t1957 = -t1956;
const R t1958 = X[b * 3 + 1] + t1955;
const R t1959 = X[b * 3 + 2] + t1957;
const R t1960 = t1958 * R(0.4);
change_n[c] = t1959;
change_1[c] = t1960;
}
 }
  l_change[0] = t871 * s[3];
l_change[1] = t903 * s[4];
l_change[2] = t935 * s[5];
l_change[3] = t967 * s[6];
l_change[4] = t999 * s[7];
l_change[5] = t1031 * s[8];

  if (iteration > 0) { 
  R slope0 = R(0), curve0 = R(0), low = R(0), high = R(-1);
  for (int i = 0; i < 9; i++) { slope0 += s[i] * (Ma[i] - force[i]); curve0 += s[i] * Ms[i]; }
  // At the start the derivative is -decrease and its own derivative decrease: Newton's first step is 1.
  step = R(1);
  _Pragma("unroll 1") for (int trial = 1; ; trial++) {
    R slope = slope0 + step * curve0, curve = curve0;
    _Pragma("unroll 1") for (int c = 0; c < num_contacts; c++) { const R t1961 = error_n[c] + error_1[c];
const R t1962 = -error_1[c];
const R t1963 = error_n[c] + t1962;
const R t1964 = change_n[c] + change_1[c];
const R t1965 = -change_1[c];
const R t1966 = change_n[c] + t1965;
const R t1967 = step * t1964;
const R t1968 = t1961 + t1967;
const bool t1969 = t1968 < R(0.0);
const R t1970 = t1968 * t1964;
const R t1971 = t1969 ? t1970 : R(0.0);
const R t1972 = t1964 * t1964;
const R t1973 = t1969 ? t1972 : R(0.0);
const R t1974 = step * t1966;
const R t1975 = t1963 + t1974;
const bool t1976 = t1975 < R(0.0);
const R t1977 = t1975 * t1966;
const R t1978 = t1976 ? t1977 : R(0.0);
const R t1979 = t1966 * t1966;
const R t1980 = t1976 ? t1979 : R(0.0);
const R t1981 = step * change_n[c];
const R t1982 = error_n[c] + t1981;
const bool t1983 = t1982 < R(0.0);
const R t1984 = t1982 * R(2.0);
const R t1985 = t1984 * change_n[c];
const R t1986 = t1983 ? t1985 : R(0.0);
const R t1987 = change_n[c] * R(2.0);
const R t1988 = t1987 * change_n[c];
const R t1989 = t1983 ? t1988 : R(0.0);
const R t1990 = t1971 + t1978;
const R t1991 = t1990 + t1986;
const R t1992 = c_strength[c] * t1991;
const R t1993 = t1973 + t1980;
const R t1994 = t1993 + t1989;
const R t1995 = c_strength[c] * t1994;
const R t1996 = slope + t1992;
const R t1997 = curve + t1995;
slope = t1996;
curve = t1997;
 }
    { const R there = l_error[0] + step * l_change[0]; if (there < R(0)) { slope += t899 * there * l_change[0]; curve += t899 * l_change[0] * l_change[0]; } }
{ const R there = l_error[1] + step * l_change[1]; if (there < R(0)) { slope += t931 * there * l_change[1]; curve += t931 * l_change[1] * l_change[1]; } }
{ const R there = l_error[2] + step * l_change[2]; if (there < R(0)) { slope += t963 * there * l_change[2]; curve += t963 * l_change[2] * l_change[2]; } }
{ const R there = l_error[3] + step * l_change[3]; if (there < R(0)) { slope += t995 * there * l_change[3]; curve += t995 * l_change[3] * l_change[3]; } }
{ const R there = l_error[4] + step * l_change[4]; if (there < R(0)) { slope += t1027 * there * l_change[4]; curve += t1027 * l_change[4] * l_change[4]; } }
{ const R there = l_error[5] + step * l_change[5]; if (there < R(0)) { slope += t1059 * there * l_change[5]; curve += t1059 * l_change[5] * l_change[5]; } }

    if (FABS(slope) < SLOPE_TOLERANCE * decrease || trial >= 50) break;
    if (slope < R(0)) low = step; else high = step;
    R next = step - slope / curve;
    if (high >= R(0) && !(next > low && next < high)) next = R(0.5) * (low + high);
    if (next == step) break;
    step = next;
  }
 }
  unsigned long long at_limit = 0; int changed = 0;
  for (int i = 0; i < 9; i++) { a[i] += step * s[i]; Ma[i] += step * Ms[i]; }
  _Pragma("unroll 1") for (int c = 0; c < num_contacts; c++) { error_n[c] += step * change_n[c]; error_1[c] += step * change_1[c]; const R t1998 = error_n[c] + error_1[c];
const R t1999 = -error_1[c];
const R t2000 = error_n[c] + t1999;
const bool t2001 = t1998 < R(0.0);
const bool t2002 = t2000 < R(0.0);
const bool t2003 = error_n[c] < R(0.0);
const int now = (t2001 ? 1 : 0) + (t2002 ? 2 : 0) + (t2003 ? 4 : 0); changed |= now != c_active[c]; c_active[c] = now;
 }
  l_error[0] += step * l_change[0]; if (l_error[0] < R(0)) at_limit |= 1ull << 0;
l_error[1] += step * l_change[1]; if (l_error[1] < R(0)) at_limit |= 1ull << 1;
l_error[2] += step * l_change[2]; if (l_error[2] < R(0)) at_limit |= 1ull << 2;
l_error[3] += step * l_change[3]; if (l_error[3] < R(0)) at_limit |= 1ull << 3;
l_error[4] += step * l_change[4]; if (l_error[4] < R(0)) at_limit |= 1ull << 4;
l_error[5] += step * l_change[5]; if (l_error[5] < R(0)) at_limit |= 1ull << 5;

  if (iteration >= 100) break;
  // A full step that changed no constraint has solved a linear system: there is nothing left to do.
  if (iteration > 0 && !changed && at_limit == last_limits && FABS(step - R(1)) < STEP_TOLERANCE) break;
  last_limits = at_limit;
  
  R gradient[9], square = R(0);
  for (int i = 0; i < 21; i++) W[i] = R(0);
  for (int i = 0; i < 42; i++) C[i] = R(0);
  _Pragma("unroll 1") for (int c = 0; c < num_contacts; c++) { const int b = c_slot[c];
const R t2004 = error_n[c] + error_1[c];
const R t2005 = -error_1[c];
const R t2006 = error_n[c] + t2005;
const bool t2007 = t2004 < R(0.0);
const R t2008 = t2007 ? c_strength[c] : R(0.0);
const R t2009 = t2008 * t2004;
const R t2010 = -t2009;
const bool t2011 = t2006 < R(0.0);
const R t2012 = t2011 ? c_strength[c] : R(0.0);
const R t2013 = t2012 * t2006;
const R t2014 = t2010 - t2013;
const R t2015 = t2008 + t2012;
const R t2016 = -t2012;
const R t2017 = t2008 + t2016;
const R t2018 = t2016 * t2006;
const R t2019 = t2010 - t2018;
const bool t2020 = error_n[c] < R(0.0);
const R t2021 = c_strength[c] * R(2.0);
const R t2022 = t2020 ? t2021 : R(0.0);
const R t2023 = t2022 * error_n[c];
const R t2024 = t2014 - t2023;
const R t2025 = t2015 + t2022;
const R t2026 = t2019 * R(0.4);
const R t2028 = t2015 * R(0.4);
const R t2029 = t2028 * R(0.4);
const R t2030 = t2017 * R(0.4);
const R t2032 = -c_point_x[c];
const R t2033 = c_point_z[c] * t2029;
const R t2034 = t2032 * t2030;
const R t2035 = t2033 + t2034;
const R t2036 = c_point_z[c] * t2030;
const R t2037 = t2032 * t2025;
const R t2038 = t2036 + t2037;
const R t2039 = c_point_z[c] * t2026;
const R t2040 = t2032 * t2024;
const R t2041 = t2039 + t2040;
const R t2042 = t2035 * c_point_z[c];
const R t2043 = t2038 * t2032;
const R t2044 = t2042 + t2043;
const R t2045 = W[b * 3 + 0] + t2041;
const R t2046 = W[b * 3 + 1] + t2026;
const R t2047 = W[b * 3 + 2] + t2024;
const R t2048 = C[b * 6 + 0] + t2044;
const R t2049 = C[b * 6 + 1] + t2035;
const R t2050 = C[b * 6 + 2] + t2038;
const R t2051 = C[b * 6 + 3] + t2029;
const R t2052 = C[b * 6 + 4] + t2030;
const R t2053 = C[b * 6 + 5] + t2025;
W[b * 3 + 0] = t2045;
W[b * 3 + 1] = t2046;
W[b * 3 + 2] = t2047;
C[b * 6 + 0] = t2048;
C[b * 6 + 1] = t2049;
C[b * 6 + 2] = t2050;
C[b * 6 + 3] = t2051;
C[b * 6 + 4] = t2052;
C[b * 6 + 5] = t2053;
 }
  {
const R t2054 = W[15] + W[18];
const R t2055 = W[16] + W[19];
const R t2056 = W[17] + W[20];
const R t2057 = W[12] + t2054;
const R t2058 = W[13] + t2055;
const R t2059 = W[14] + t2056;
const R t2060 = W[0] + t2057;
const R t2061 = W[1] + t2058;
const R t2062 = W[2] + t2059;
const R t2063 = W[6] + W[9];
const R t2064 = W[7] + W[10];
const R t2065 = W[8] + W[11];
const R t2066 = W[3] + t2063;
const R t2067 = W[4] + t2064;
const R t2068 = W[5] + t2065;
const R t2069 = t2060 + t2066;
const R t2070 = t2061 + t2067;
const R t2071 = t2062 + t2068;
const R t2072 = t34 * t2067;
const R t2073 = t2066 + t2072;
const R t2074 = t32 * t2068;
const R t2075 = t2073 + t2074;
const R t2076 = t72 * t2064;
const R t2077 = t2063 + t2076;
const R t2078 = t70 * t2065;
const R t2079 = t2077 + t2078;
const R t2080 = t111 * W[10];
const R t2081 = W[9] + t2080;
const R t2082 = t109 * W[11];
const R t2083 = t2081 + t2082;
const R t2084 = t144 * t2058;
const R t2085 = t2057 + t2084;
const R t2086 = t142 * t2059;
const R t2087 = t2085 + t2086;
const R t2088 = t182 * t2055;
const R t2089 = t2054 + t2088;
const R t2090 = t180 * t2056;
const R t2091 = t2089 + t2090;
const R t2092 = t221 * W[19];
const R t2093 = W[18] + t2092;
const R t2094 = t219 * W[20];
const R t2095 = t2093 + t2094;
s[0] = t2070;
s[1] = t2071;
s[2] = t2069;
s[3] = t2075;
s[4] = t2079;
s[5] = t2083;
s[6] = t2087;
s[7] = t2091;
s[8] = t2095;
}

  if (at_limit >> 0 & 1) s[3] -= t871 * t899 * l_error[0];
if (at_limit >> 1 & 1) s[4] -= t903 * t931 * l_error[1];
if (at_limit >> 2 & 1) s[5] -= t935 * t963 * l_error[2];
if (at_limit >> 3 & 1) s[6] -= t967 * t995 * l_error[3];
if (at_limit >> 4 & 1) s[7] -= t999 * t1027 * l_error[4];
if (at_limit >> 5 & 1) s[8] -= t1031 * t1059 * l_error[5];

  for (int i = 0; i < 9; i++) { s[i] += force[i] - Ma[i]; gradient[i] = -s[i]; square += s[i] * s[i]; }
  {
const R t2096 = C[30] + C[36];
const R t2097 = C[31] + C[37];
const R t2098 = C[32] + C[38];
const R t2099 = C[33] + C[39];
const R t2100 = C[34] + C[40];
const R t2101 = C[35] + C[41];
const R t2102 = C[24] + t2096;
const R t2103 = C[25] + t2097;
const R t2104 = C[26] + t2098;
const R t2105 = C[27] + t2099;
const R t2106 = C[28] + t2100;
const R t2107 = C[29] + t2101;
const R t2108 = C[0] + t2102;
const R t2109 = C[1] + t2103;
const R t2110 = C[2] + t2104;
const R t2111 = C[3] + t2105;
const R t2112 = C[4] + t2106;
const R t2113 = C[5] + t2107;
const R t2114 = C[12] + C[18];
const R t2115 = C[13] + C[19];
const R t2116 = C[14] + C[20];
const R t2117 = C[15] + C[21];
const R t2118 = C[16] + C[22];
const R t2119 = C[17] + C[23];
const R t2120 = C[6] + t2114;
const R t2121 = C[7] + t2115;
const R t2122 = C[8] + t2116;
const R t2123 = C[9] + t2117;
const R t2124 = C[10] + t2118;
const R t2125 = C[11] + t2119;
const R t2126 = t2108 + t2120;
const R t2127 = t2109 + t2121;
const R t2128 = t2110 + t2122;
const R t2129 = t2111 + t2123;
const R t2130 = t2112 + t2124;
const R t2131 = t2113 + t2125;
const R t2132 = M[0] + t2129;
const R t2133 = M[1] + t2130;
const R t2134 = M[2] + t2131;
const R t2135 = M[3] + t2127;
const R t2136 = M[4] + t2128;
const R t2137 = M[5] + t2126;
const R t2138 = t2121 * t34;
const R t2139 = t2120 + t2138;
const R t2140 = t2122 * t32;
const R t2141 = t2139 + t2140;
const R t2142 = t2123 * t34;
const R t2143 = t2121 + t2142;
const R t2144 = t2124 * t32;
const R t2145 = t2143 + t2144;
const R t2146 = t2124 * t34;
const R t2147 = t2122 + t2146;
const R t2148 = t2125 * t32;
const R t2149 = t2147 + t2148;
const R t2150 = M[6] + t2145;
const R t2151 = M[7] + t2149;
const R t2152 = M[8] + t2141;
const R t2153 = t34 * t2145;
const R t2154 = t2141 + t2153;
const R t2155 = t32 * t2149;
const R t2156 = t2154 + t2155;
const R t2157 = M[9] + t2156;
const R t2158 = t2115 * t72;
const R t2159 = t2114 + t2158;
const R t2160 = t2116 * t70;
const R t2161 = t2159 + t2160;
const R t2162 = t2117 * t72;
const R t2163 = t2115 + t2162;
const R t2164 = t2118 * t70;
const R t2165 = t2163 + t2164;
const R t2166 = t2118 * t72;
const R t2167 = t2116 + t2166;
const R t2168 = t2119 * t70;
const R t2169 = t2167 + t2168;
const R t2170 = M[10] + t2165;
const R t2171 = M[11] + t2169;
const R t2172 = M[12] + t2161;
const R t2173 = t34 * t2165;
const R t2174 = t2161 + t2173;
const R t2175 = t32 * t2169;
const R t2176 = t2174 + t2175;
const R t2177 = M[13] + t2176;
const R t2178 = t72 * t2165;
const R t2179 = t2161 + t2178;
const R t2180 = t70 * t2169;
const R t2181 = t2179 + t2180;
const R t2182 = M[14] + t2181;
const R t2183 = C[19] * t111;
const R t2184 = C[18] + t2183;
const R t2185 = C[20] * t109;
const R t2186 = t2184 + t2185;
const R t2187 = C[21] * t111;
const R t2188 = C[19] + t2187;
const R t2189 = C[22] * t109;
const R t2190 = t2188 + t2189;
const R t2191 = C[22] * t111;
const R t2192 = C[20] + t2191;
const R t2193 = C[23] * t109;
const R t2194 = t2192 + t2193;
const R t2195 = M[15] + t2190;
const R t2196 = M[16] + t2194;
const R t2197 = M[17] + t2186;
const R t2198 = t34 * t2190;
const R t2199 = t2186 + t2198;
const R t2200 = t32 * t2194;
const R t2201 = t2199 + t2200;
const R t2202 = M[18] + t2201;
const R t2203 = t72 * t2190;
const R t2204 = t2186 + t2203;
const R t2205 = t70 * t2194;
const R t2206 = t2204 + t2205;
const R t2207 = M[19] + t2206;
const R t2208 = t111 * t2190;
const R t2209 = t2186 + t2208;
const R t2210 = t109 * t2194;
const R t2211 = t2209 + t2210;
const R t2212 = M[20] + t2211;
const R t2213 = t2103 * t144;
const R t2214 = t2102 + t2213;
const R t2215 = t2104 * t142;
const R t2216 = t2214 + t2215;
const R t2217 = t2105 * t144;
const R t2218 = t2103 + t2217;
const R t2219 = t2106 * t142;
const R t2220 = t2218 + t2219;
const R t2221 = t2106 * t144;
const R t2222 = t2104 + t2221;
const R t2223 = t2107 * t142;
const R t2224 = t2222 + t2223;
const R t2225 = M[21] + t2220;
const R t2226 = M[22] + t2224;
const R t2227 = M[23] + t2216;
const R t2228 = t144 * t2220;
const R t2229 = t2216 + t2228;
const R t2230 = t142 * t2224;
const R t2231 = t2229 + t2230;
const R t2232 = M[24] + t2231;
const R t2233 = t2097 * t182;
const R t2234 = t2096 + t2233;
const R t2235 = t2098 * t180;
const R t2236 = t2234 + t2235;
const R t2237 = t2099 * t182;
const R t2238 = t2097 + t2237;
const R t2239 = t2100 * t180;
const R t2240 = t2238 + t2239;
const R t2241 = t2100 * t182;
const R t2242 = t2098 + t2241;
const R t2243 = t2101 * t180;
const R t2244 = t2242 + t2243;
const R t2245 = M[25] + t2240;
const R t2246 = M[26] + t2244;
const R t2247 = M[27] + t2236;
const R t2248 = t144 * t2240;
const R t2249 = t2236 + t2248;
const R t2250 = t142 * t2244;
const R t2251 = t2249 + t2250;
const R t2252 = M[28] + t2251;
const R t2253 = t182 * t2240;
const R t2254 = t2236 + t2253;
const R t2255 = t180 * t2244;
const R t2256 = t2254 + t2255;
const R t2257 = M[29] + t2256;
const R t2258 = C[37] * t221;
const R t2259 = C[36] + t2258;
const R t2260 = C[38] * t219;
const R t2261 = t2259 + t2260;
const R t2262 = C[39] * t221;
const R t2263 = C[37] + t2262;
const R t2264 = C[40] * t219;
const R t2265 = t2263 + t2264;
const R t2266 = C[40] * t221;
const R t2267 = C[38] + t2266;
const R t2268 = C[41] * t219;
const R t2269 = t2267 + t2268;
const R t2270 = M[30] + t2265;
const R t2271 = M[31] + t2269;
const R t2272 = M[32] + t2261;
const R t2273 = t144 * t2265;
const R t2274 = t2261 + t2273;
const R t2275 = t142 * t2269;
const R t2276 = t2274 + t2275;
const R t2277 = M[33] + t2276;
const R t2278 = t182 * t2265;
const R t2279 = t2261 + t2278;
const R t2280 = t180 * t2269;
const R t2281 = t2279 + t2280;
const R t2282 = M[34] + t2281;
const R t2283 = t221 * t2265;
const R t2284 = t2261 + t2283;
const R t2285 = t219 * t2269;
const R t2286 = t2284 + t2285;
const R t2287 = M[35] + t2286;
H[0] = t2132;
H[1] = t2133;
H[2] = t2134;
H[3] = t2135;
H[4] = t2136;
H[5] = t2137;
H[6] = t2150;
H[7] = t2151;
H[8] = t2152;
H[9] = t2157;
H[10] = t2170;
H[11] = t2171;
H[12] = t2172;
H[13] = t2177;
H[14] = t2182;
H[15] = t2195;
H[16] = t2196;
H[17] = t2197;
H[18] = t2202;
H[19] = t2207;
H[20] = t2212;
H[21] = t2225;
H[22] = t2226;
H[23] = t2227;
H[24] = t2232;
H[25] = t2245;
H[26] = t2246;
H[27] = t2247;
H[28] = t2252;
H[29] = t2257;
H[30] = t2270;
H[31] = t2271;
H[32] = t2272;
H[33] = t2277;
H[34] = t2282;
H[35] = t2287;
}

  if (at_limit >> 0 & 1) H[9] += t899;
if (at_limit >> 1 & 1) H[14] += t931;
if (at_limit >> 2 & 1) H[20] += t963;
if (at_limit >> 3 & 1) H[24] += t995;
if (at_limit >> 4 & 1) H[29] += t1027;
if (at_limit >> 5 & 1) H[35] += t1059;

  Di[8] = RECIPROCAL(H[35]);
{ const R f = H[34] * Di[8];
  H[25] -= f * H[30];
  H[26] -= f * H[31];
  H[27] -= f * H[32];
  H[28] -= f * H[33];
  H[29] -= f * H[34];
  H[34] = f; }
{ const R f = H[33] * Di[8];
  H[21] -= f * H[30];
  H[22] -= f * H[31];
  H[23] -= f * H[32];
  H[24] -= f * H[33];
  H[33] = f; }
{ const R f = H[32] * Di[8];
  H[3] -= f * H[30];
  H[4] -= f * H[31];
  H[5] -= f * H[32];
  H[32] = f; }
{ const R f = H[31] * Di[8];
  H[1] -= f * H[30];
  H[2] -= f * H[31];
  H[31] = f; }
{ const R f = H[30] * Di[8];
  H[0] -= f * H[30];
  H[30] = f; }
Di[7] = RECIPROCAL(H[29]);
{ const R f = H[28] * Di[7];
  H[21] -= f * H[25];
  H[22] -= f * H[26];
  H[23] -= f * H[27];
  H[24] -= f * H[28];
  H[28] = f; }
{ const R f = H[27] * Di[7];
  H[3] -= f * H[25];
  H[4] -= f * H[26];
  H[5] -= f * H[27];
  H[27] = f; }
{ const R f = H[26] * Di[7];
  H[1] -= f * H[25];
  H[2] -= f * H[26];
  H[26] = f; }
{ const R f = H[25] * Di[7];
  H[0] -= f * H[25];
  H[25] = f; }
Di[6] = RECIPROCAL(H[24]);
{ const R f = H[23] * Di[6];
  H[3] -= f * H[21];
  H[4] -= f * H[22];
  H[5] -= f * H[23];
  H[23] = f; }
{ const R f = H[22] * Di[6];
  H[1] -= f * H[21];
  H[2] -= f * H[22];
  H[22] = f; }
{ const R f = H[21] * Di[6];
  H[0] -= f * H[21];
  H[21] = f; }
Di[5] = RECIPROCAL(H[20]);
{ const R f = H[19] * Di[5];
  H[10] -= f * H[15];
  H[11] -= f * H[16];
  H[12] -= f * H[17];
  H[13] -= f * H[18];
  H[14] -= f * H[19];
  H[19] = f; }
{ const R f = H[18] * Di[5];
  H[6] -= f * H[15];
  H[7] -= f * H[16];
  H[8] -= f * H[17];
  H[9] -= f * H[18];
  H[18] = f; }
{ const R f = H[17] * Di[5];
  H[3] -= f * H[15];
  H[4] -= f * H[16];
  H[5] -= f * H[17];
  H[17] = f; }
{ const R f = H[16] * Di[5];
  H[1] -= f * H[15];
  H[2] -= f * H[16];
  H[16] = f; }
{ const R f = H[15] * Di[5];
  H[0] -= f * H[15];
  H[15] = f; }
Di[4] = RECIPROCAL(H[14]);
{ const R f = H[13] * Di[4];
  H[6] -= f * H[10];
  H[7] -= f * H[11];
  H[8] -= f * H[12];
  H[9] -= f * H[13];
  H[13] = f; }
{ const R f = H[12] * Di[4];
  H[3] -= f * H[10];
  H[4] -= f * H[11];
  H[5] -= f * H[12];
  H[12] = f; }
{ const R f = H[11] * Di[4];
  H[1] -= f * H[10];
  H[2] -= f * H[11];
  H[11] = f; }
{ const R f = H[10] * Di[4];
  H[0] -= f * H[10];
  H[10] = f; }
Di[3] = RECIPROCAL(H[9]);
{ const R f = H[8] * Di[3];
  H[3] -= f * H[6];
  H[4] -= f * H[7];
  H[5] -= f * H[8];
  H[8] = f; }
{ const R f = H[7] * Di[3];
  H[1] -= f * H[6];
  H[2] -= f * H[7];
  H[7] = f; }
{ const R f = H[6] * Di[3];
  H[0] -= f * H[6];
  H[6] = f; }
Di[2] = RECIPROCAL(H[5]);
{ const R f = H[4] * Di[2];
  H[1] -= f * H[3];
  H[2] -= f * H[4];
  H[4] = f; }
{ const R f = H[3] * Di[2];
  H[0] -= f * H[3];
  H[3] = f; }
Di[1] = RECIPROCAL(H[2]);
{ const R f = H[1] * Di[1];
  H[0] -= f * H[1];
  H[1] = f; }
Di[0] = RECIPROCAL(H[0]);

  s[0] -= H[30] * s[8];
s[1] -= H[31] * s[8];
s[2] -= H[32] * s[8];
s[6] -= H[33] * s[8];
s[7] -= H[34] * s[8];
s[0] -= H[25] * s[7];
s[1] -= H[26] * s[7];
s[2] -= H[27] * s[7];
s[6] -= H[28] * s[7];
s[0] -= H[21] * s[6];
s[1] -= H[22] * s[6];
s[2] -= H[23] * s[6];
s[0] -= H[15] * s[5];
s[1] -= H[16] * s[5];
s[2] -= H[17] * s[5];
s[3] -= H[18] * s[5];
s[4] -= H[19] * s[5];
s[0] -= H[10] * s[4];
s[1] -= H[11] * s[4];
s[2] -= H[12] * s[4];
s[3] -= H[13] * s[4];
s[0] -= H[6] * s[3];
s[1] -= H[7] * s[3];
s[2] -= H[8] * s[3];
s[0] -= H[3] * s[2];
s[1] -= H[4] * s[2];
s[0] -= H[1] * s[1];
s[0] *= Di[0];
s[1] *= Di[1];
s[1] -= H[1] * s[0];
s[2] *= Di[2];
s[2] -= H[3] * s[0];
s[2] -= H[4] * s[1];
s[3] *= Di[3];
s[3] -= H[6] * s[0];
s[3] -= H[7] * s[1];
s[3] -= H[8] * s[2];
s[4] *= Di[4];
s[4] -= H[10] * s[0];
s[4] -= H[11] * s[1];
s[4] -= H[12] * s[2];
s[4] -= H[13] * s[3];
s[5] *= Di[5];
s[5] -= H[15] * s[0];
s[5] -= H[16] * s[1];
s[5] -= H[17] * s[2];
s[5] -= H[18] * s[3];
s[5] -= H[19] * s[4];
s[6] *= Di[6];
s[6] -= H[21] * s[0];
s[6] -= H[22] * s[1];
s[6] -= H[23] * s[2];
s[7] *= Di[7];
s[7] -= H[25] * s[0];
s[7] -= H[26] * s[1];
s[7] -= H[27] * s[2];
s[7] -= H[28] * s[6];
s[8] *= Di[8];
s[8] -= H[30] * s[0];
s[8] -= H[31] * s[1];
s[8] -= H[32] * s[2];
s[8] -= H[33] * s[6];
s[8] -= H[34] * s[7];

  decrease = R(0);
  for (int i = 0; i < 9; i++) decrease -= gradient[i] * s[i];

  if (SQRT(square) < TOLERANCE * R(33.50432186443516) || (iteration > 0 && R(0.5) * decrease < TOLERANCE * R(33.50432186443516))) break;
}
for (int i = 0; i < 9; i++) w[i] = a[i];

for (int i = 0; i < 36; i++) H[i] = M[i];
{
const R t2296 = M[9] + R(0.06);
const R t2299 = M[14] + R(0.045);
const R t2302 = M[20] + R(0.03);
const R t2305 = M[24] + R(0.045);
const R t2308 = M[29] + R(0.03);
const R t2311 = M[35] + R(0.015);
H[0] = M[0];
H[2] = M[2];
H[5] = M[5];
H[9] = t2296;
H[14] = t2299;
H[20] = t2302;
H[24] = t2305;
H[29] = t2308;
H[35] = t2311;
}

Di[8] = RECIPROCAL(H[35]);
{ const R f = H[34] * Di[8];
  H[25] -= f * H[30];
  H[26] -= f * H[31];
  H[27] -= f * H[32];
  H[28] -= f * H[33];
  H[29] -= f * H[34];
  H[34] = f; }
{ const R f = H[33] * Di[8];
  H[21] -= f * H[30];
  H[22] -= f * H[31];
  H[23] -= f * H[32];
  H[24] -= f * H[33];
  H[33] = f; }
{ const R f = H[32] * Di[8];
  H[3] -= f * H[30];
  H[4] -= f * H[31];
  H[5] -= f * H[32];
  H[32] = f; }
{ const R f = H[31] * Di[8];
  H[1] -= f * H[30];
  H[2] -= f * H[31];
  H[31] = f; }
{ const R f = H[30] * Di[8];
  H[0] -= f * H[30];
  H[30] = f; }
Di[7] = RECIPROCAL(H[29]);
{ const R f = H[28] * Di[7];
  H[21] -= f * H[25];
  H[22] -= f * H[26];
  H[23] -= f * H[27];
  H[24] -= f * H[28];
  H[28] = f; }
{ const R f = H[27] * Di[7];
  H[3] -= f * H[25];
  H[4] -= f * H[26];
  H[5] -= f * H[27];
  H[27] = f; }
{ const R f = H[26] * Di[7];
  H[1] -= f * H[25];
  H[2] -= f * H[26];
  H[26] = f; }
{ const R f = H[25] * Di[7];
  H[0] -= f * H[25];
  H[25] = f; }
Di[6] = RECIPROCAL(H[24]);
{ const R f = H[23] * Di[6];
  H[3] -= f * H[21];
  H[4] -= f * H[22];
  H[5] -= f * H[23];
  H[23] = f; }
{ const R f = H[22] * Di[6];
  H[1] -= f * H[21];
  H[2] -= f * H[22];
  H[22] = f; }
{ const R f = H[21] * Di[6];
  H[0] -= f * H[21];
  H[21] = f; }
Di[5] = RECIPROCAL(H[20]);
{ const R f = H[19] * Di[5];
  H[10] -= f * H[15];
  H[11] -= f * H[16];
  H[12] -= f * H[17];
  H[13] -= f * H[18];
  H[14] -= f * H[19];
  H[19] = f; }
{ const R f = H[18] * Di[5];
  H[6] -= f * H[15];
  H[7] -= f * H[16];
  H[8] -= f * H[17];
  H[9] -= f * H[18];
  H[18] = f; }
{ const R f = H[17] * Di[5];
  H[3] -= f * H[15];
  H[4] -= f * H[16];
  H[5] -= f * H[17];
  H[17] = f; }
{ const R f = H[16] * Di[5];
  H[1] -= f * H[15];
  H[2] -= f * H[16];
  H[16] = f; }
{ const R f = H[15] * Di[5];
  H[0] -= f * H[15];
  H[15] = f; }
Di[4] = RECIPROCAL(H[14]);
{ const R f = H[13] * Di[4];
  H[6] -= f * H[10];
  H[7] -= f * H[11];
  H[8] -= f * H[12];
  H[9] -= f * H[13];
  H[13] = f; }
{ const R f = H[12] * Di[4];
  H[3] -= f * H[10];
  H[4] -= f * H[11];
  H[5] -= f * H[12];
  H[12] = f; }
{ const R f = H[11] * Di[4];
  H[1] -= f * H[10];
  H[2] -= f * H[11];
  H[11] = f; }
{ const R f = H[10] * Di[4];
  H[0] -= f * H[10];
  H[10] = f; }
Di[3] = RECIPROCAL(H[9]);
{ const R f = H[8] * Di[3];
  H[3] -= f * H[6];
  H[4] -= f * H[7];
  H[5] -= f * H[8];
  H[8] = f; }
{ const R f = H[7] * Di[3];
  H[1] -= f * H[6];
  H[2] -= f * H[7];
  H[7] = f; }
{ const R f = H[6] * Di[3];
  H[0] -= f * H[6];
  H[6] = f; }
Di[2] = RECIPROCAL(H[5]);
{ const R f = H[4] * Di[2];
  H[1] -= f * H[3];
  H[2] -= f * H[4];
  H[4] = f; }
{ const R f = H[3] * Di[2];
  H[0] -= f * H[3];
  H[3] = f; }
Di[1] = RECIPROCAL(H[2]);
{ const R f = H[1] * Di[1];
  H[0] -= f * H[1];
  H[1] = f; }
Di[0] = RECIPROCAL(H[0]);

Ma[0] -= H[30] * Ma[8];
Ma[1] -= H[31] * Ma[8];
Ma[2] -= H[32] * Ma[8];
Ma[6] -= H[33] * Ma[8];
Ma[7] -= H[34] * Ma[8];
Ma[0] -= H[25] * Ma[7];
Ma[1] -= H[26] * Ma[7];
Ma[2] -= H[27] * Ma[7];
Ma[6] -= H[28] * Ma[7];
Ma[0] -= H[21] * Ma[6];
Ma[1] -= H[22] * Ma[6];
Ma[2] -= H[23] * Ma[6];
Ma[0] -= H[15] * Ma[5];
Ma[1] -= H[16] * Ma[5];
Ma[2] -= H[17] * Ma[5];
Ma[3] -= H[18] * Ma[5];
Ma[4] -= H[19] * Ma[5];
Ma[0] -= H[10] * Ma[4];
Ma[1] -= H[11] * Ma[4];
Ma[2] -= H[12] * Ma[4];
Ma[3] -= H[13] * Ma[4];
Ma[0] -= H[6] * Ma[3];
Ma[1] -= H[7] * Ma[3];
Ma[2] -= H[8] * Ma[3];
Ma[0] -= H[3] * Ma[2];
Ma[1] -= H[4] * Ma[2];
Ma[0] -= H[1] * Ma[1];
Ma[0] *= Di[0];
Ma[1] *= Di[1];
Ma[1] -= H[1] * Ma[0];
Ma[2] *= Di[2];
Ma[2] -= H[3] * Ma[0];
Ma[2] -= H[4] * Ma[1];
Ma[3] *= Di[3];
Ma[3] -= H[6] * Ma[0];
Ma[3] -= H[7] * Ma[1];
Ma[3] -= H[8] * Ma[2];
Ma[4] *= Di[4];
Ma[4] -= H[10] * Ma[0];
Ma[4] -= H[11] * Ma[1];
Ma[4] -= H[12] * Ma[2];
Ma[4] -= H[13] * Ma[3];
Ma[5] *= Di[5];
Ma[5] -= H[15] * Ma[0];
Ma[5] -= H[16] * Ma[1];
Ma[5] -= H[17] * Ma[2];
Ma[5] -= H[18] * Ma[3];
Ma[5] -= H[19] * Ma[4];
Ma[6] *= Di[6];
Ma[6] -= H[21] * Ma[0];
Ma[6] -= H[22] * Ma[1];
Ma[6] -= H[23] * Ma[2];
Ma[7] *= Di[7];
Ma[7] -= H[25] * Ma[0];
Ma[7] -= H[26] * Ma[1];
Ma[7] -= H[27] * Ma[2];
Ma[7] -= H[28] * Ma[6];
Ma[8] *= Di[8];
Ma[8] -= H[30] * Ma[0];
Ma[8] -= H[31] * Ma[1];
Ma[8] -= H[32] * Ma[2];
Ma[8] -= H[33] * Ma[6];
Ma[8] -= H[34] * Ma[7];

for (int i = 0; i < 9; i++) v[i] += R(0.01) * Ma[i];
q[0] += R(0.01) * v[0]; q[1] += R(0.01) * v[1]; q[2] += R(0.01) * v[2]; q[3] += R(0.01) * v[3]; q[4] += R(0.01) * v[4]; q[5] += R(0.01) * v[5]; q[6] += R(0.01) * v[6]; q[7] += R(0.01) * v[7]; q[8] += R(0.01) * v[8];

}
for (int i = 0; i < 9; i++) q_out.data[(size_t)tid * 9 + i] = q[i];
for (int i = 0; i < 9; i++) v_out.data[(size_t)tid * 9 + i] = v[i];
for (int i = 0; i < 9; i++) w_out.data[(size_t)tid * 9 + i] = w[i];
#undef SIN
#undef COS
#undef SQRT
#undef POW
#undef FABS
#undef FLOOR
#undef ATAN2
#undef ASIN
#undef ISFINITE
#undef RECIPROCAL
#undef NEAREST
#undef TOLERANCE
#undef SLOPE_TOLERANCE
#undef STEP_TOLERANCE
}


// /work/wt/physics/physics/src/mujoco_fused/stepping.py:218
static CUDA_CALLABLE void adj_native_step_float_40fc83b007c2_0(
    wp::array_t<wp::float32> qpos,
    wp::array_t<wp::float32> qvel,
    wp::array_t<wp::float32> warm,
    wp::array_t<wp::float32> ctrl,
    wp::array_t<wp::float32> given,
    wp::array_t<wp::float32> q_out,
    wp::array_t<wp::float32> v_out,
    wp::array_t<wp::float32> w_out,
    wp::array_t<wp::float32> low,
    wp::int32 tid,
    wp::array_t<wp::float32> & adj_qpos,
    wp::array_t<wp::float32> & adj_qvel,
    wp::array_t<wp::float32> & adj_warm,
    wp::array_t<wp::float32> & adj_ctrl,
    wp::array_t<wp::float32> & adj_given,
    wp::array_t<wp::float32> & adj_q_out,
    wp::array_t<wp::float32> & adj_v_out,
    wp::array_t<wp::float32> & adj_w_out,
    wp::array_t<wp::float32> & adj_low,
    wp::int32 & adj_tid)
{
}

struct wp_args_step_float_40fc83b007c2_ce158a4c {
    wp::array_t<wp::float32> qpos;
    wp::array_t<wp::float32> qvel;
    wp::array_t<wp::float32> warm;
    wp::array_t<wp::float32> ctrl;
    wp::array_t<wp::float32> given;
    wp::array_t<wp::float32> q_out;
    wp::array_t<wp::float32> v_out;
    wp::array_t<wp::float32> w_out;
    wp::array_t<wp::float32> low;
};


template <bool wp_linear_contiguous>
static void step_float_40fc83b007c2_ce158a4c_cpu_kernel_forward(
    wp::launch_bounds_t<1> dim,
    size_t task_index,
    wp_args_step_float_40fc83b007c2_ce158a4c *_wp_args)
{
    static constexpr bool wp_linear_tid = wp_linear_contiguous;

    //---------
    // argument vars
    wp::array_t<wp::float32> var_qpos = _wp_args->qpos;
    wp::array_t<wp::float32> var_qvel = _wp_args->qvel;
    wp::array_t<wp::float32> var_warm = _wp_args->warm;
    wp::array_t<wp::float32> var_ctrl = _wp_args->ctrl;
    wp::array_t<wp::float32> var_given = _wp_args->given;
    wp::array_t<wp::float32> var_q_out = _wp_args->q_out;
    wp::array_t<wp::float32> var_v_out = _wp_args->v_out;
    wp::array_t<wp::float32> var_w_out = _wp_args->w_out;
    wp::array_t<wp::float32> var_low = _wp_args->low;
    //---------
    // primal vars
    wp::int32 var_0;
    //---------
    // forward
    // def whole(                                                                             <L 222>
    // native(qpos, qvel, warm, ctrl, given, q_out, v_out, w_out, low, wp.tid())              <L 225>
    var_0 = builtin_tid1d();
    native_step_float_40fc83b007c2_0(var_qpos, var_qvel, var_warm, var_ctrl, var_given, var_q_out, var_v_out, var_w_out, var_low, var_0);
}



template <bool wp_linear_contiguous>
static WP_FORCEINLINE void step_float_40fc83b007c2_ce158a4c_cpu_forward_tasks(
    wp::launch_bounds_t<1> *dim,
    wp_args_step_float_40fc83b007c2_ce158a4c *_wp_args)
{
    for (size_t task_index = 0; task_index < dim->size; ++task_index)
    {
        step_float_40fc83b007c2_ce158a4c_cpu_kernel_forward<wp_linear_contiguous>(*dim, task_index, _wp_args);
    }
}

static WP_FORCEINLINE void step_float_40fc83b007c2_ce158a4c_cpu_forward_dispatch(
    wp::launch_bounds_t<1> *dim,
    wp_args_step_float_40fc83b007c2_ce158a4c *_wp_args)
{
    wp::tile_shared_storage_t tile_mem;
#if defined(WP_ENABLE_TILES_IN_STACK_MEMORY)
    wp::shared_tile_storage = &tile_mem;
#endif

    step_float_40fc83b007c2_ce158a4c_cpu_forward_tasks<false>(dim, _wp_args);
}

extern "C" {

// Python CPU entry points
WP_API void step_float_40fc83b007c2_ce158a4c_cpu_forward(
    wp::launch_bounds_t<1> *dim,
    wp_args_step_float_40fc83b007c2_ce158a4c *_wp_args)
{
    step_float_40fc83b007c2_ce158a4c_cpu_forward_dispatch(dim, _wp_args);
}

} // extern C

