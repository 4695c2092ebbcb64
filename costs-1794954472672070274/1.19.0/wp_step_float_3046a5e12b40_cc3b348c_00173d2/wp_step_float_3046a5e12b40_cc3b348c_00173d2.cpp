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
static CUDA_CALLABLE void native_step_float_3046a5e12b40_0(
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
R q[6];
for (int i = 0; i < 6; i++) q[i] = qpos.data[(size_t)tid * 6 + i];
R v[6];
for (int i = 0; i < 6; i++) v[i] = qvel.data[(size_t)tid * 6 + i];
R w[6];
for (int i = 0; i < 6; i++) w[i] = warm.data[(size_t)tid * 6 + i];
R u[3];
for (int i = 0; i < 3; i++) u[i] = ctrl.data[(size_t)tid * 3 + i];
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
u[0] = t3;
u[1] = t7;
u[2] = t11;
int bad = 0; for (int i = 0; i < 3; i++) if (!(FABS(u[i]) <= R(1e10))) bad = 1;
if (bad) for (int i = 0; i < 3; i++) u[i] = R(0);
}
_Pragma("unroll 1") for (int substep = 0; substep < 1; substep++) {

R q0[6], v0[6], speed[6], rate[6], speeds[6], rates[6]; 
for (int i = 0; i < 6; i++) q0[i] = q[i];
R share = R(0);
for (int i = 0; i < 6; i++) { v0[i] = v[i]; speed[i] = R(0); speeds[i] = R(0); rates[i] = R(0); }
_Pragma("unroll 1") for (int stage = 0; stage < 4; stage++) {


int num_contacts = 0, c_slot[8], c_active[8];
R c_strength[8], c_pull[8], c_friction[8], c_point_x[8], c_point_z[8], error_n[8], change_n[8], error_1[8], change_1[8];
R X[12], W[12], C[24];
R l_error[3], l_change[3];
R M[21], H[21], Di[6], force[6], a[6], Ma[6];
const R t12 = q[1] + R(-1.25);
const R t13 = t12 + R(1.25);
const R t14 = COS(q[2]);
const R t15 = SIN(q[2]);
const R t16 = -t15;
const R t17 = v[1] * v[2];
const R t18 = -t17;
const R t19 = v[0] * v[2];
const R t20 = t19 + R(9.81);
const R t21 = t15 * R(-0.19999999999999996);
const R t22 = t14 * R(-0.19999999999999996);
const R t23 = -t22;
const R t24 = -t23;
const R t25 = -t21;
const R t26 = COS(q[3]);
const R t27 = SIN(q[3]);
const R t28 = -t27;
const R t29 = t14 * t26;
const R t30 = t15 * t27;
const R t31 = t29 + t30;
const R t32 = t14 * t28;
const R t33 = t15 * t26;
const R t34 = t32 + t33;
const R t35 = t16 * t26;
const R t36 = t14 * t27;
const R t37 = t35 + t36;
const R t38 = t16 * t28;
const R t39 = t38 + t29;
const R t40 = -v[3];
const R t41 = v[3] * t24;
const R t42 = v[3] * t25;
const R t43 = v[2] * t42;
const R t44 = v[2] * t41;
const R t45 = -t44;
const R t46 = v[1] * t40;
const R t47 = -t46;
const R t48 = v[0] * t40;
const R t49 = t43 + t47;
const R t50 = t45 + t48;
const R t51 = t18 + t49;
const R t52 = t20 + t50;
const R t53 = v[2] + t40;
const R t54 = v[0] + t41;
const R t55 = v[1] + t42;
const R t56 = t34 * R(-0.7000000000000001);
const R t57 = t39 * R(-0.7000000000000001);
const R t58 = t21 + t56;
const R t59 = t22 + t57;
const R t60 = t34 * R(0.25);
const R t61 = t39 * R(0.25);
const R t62 = t58 + t60;
const R t63 = t59 + t61;
const R t64 = -t63;
const R t65 = -t64;
const R t66 = -t62;
const R t67 = COS(q[4]);
const R t68 = SIN(q[4]);
const R t69 = -t68;
const R t70 = t31 * t67;
const R t71 = t34 * t68;
const R t72 = t70 + t71;
const R t73 = t31 * t69;
const R t74 = t34 * t67;
const R t75 = t73 + t74;
const R t76 = t37 * t67;
const R t77 = t39 * t68;
const R t78 = t76 + t77;
const R t79 = t37 * t69;
const R t80 = t39 * t67;
const R t81 = t79 + t80;
const R t82 = t75 * R(0.25);
const R t83 = t81 * R(0.25);
const R t84 = t62 - t82;
const R t85 = t63 - t83;
const R t86 = -v[4];
const R t87 = v[4] * t65;
const R t88 = v[4] * t66;
const R t89 = t53 * t88;
const R t90 = t53 * t87;
const R t91 = -t90;
const R t92 = t55 * t86;
const R t93 = -t92;
const R t94 = t54 * t86;
const R t95 = t89 + t93;
const R t96 = t91 + t94;
const R t97 = t51 + t95;
const R t98 = t52 + t96;
const R t99 = t53 + t86;
const R t100 = t54 + t87;
const R t101 = t55 + t88;
const R t102 = t72 * R(0.13);
const R t103 = t75 * R(-0.35);
const R t104 = t102 + t103;
const R t105 = t78 * R(0.13);
const R t106 = t81 * R(-0.35);
const R t107 = t105 + t106;
const R t108 = t84 + t104;
const R t109 = t85 + t107;
const R t110 = t72 * R(-0.13);
const R t111 = t75 * R(0.1);
const R t112 = t110 + t111;
const R t113 = t78 * R(-0.13);
const R t114 = t81 * R(0.1);
const R t115 = t113 + t114;
const R t116 = t108 + t112;
const R t117 = t109 + t115;
const R t118 = -t117;
const R t119 = -t118;
const R t120 = -t116;
const R t121 = COS(q[5]);
const R t122 = SIN(q[5]);
const R t123 = -t122;
const R t124 = t72 * t121;
const R t125 = t75 * t122;
const R t126 = t124 + t125;
const R t127 = t72 * t123;
const R t128 = t75 * t121;
const R t129 = t127 + t128;
const R t130 = t78 * t121;
const R t131 = t81 * t122;
const R t132 = t130 + t131;
const R t133 = t78 * t123;
const R t134 = t81 * t121;
const R t135 = t133 + t134;
const R t136 = t126 * R(-0.13);
const R t137 = t129 * R(0.1);
const R t138 = t136 + t137;
const R t139 = t132 * R(-0.13);
const R t140 = t135 * R(0.1);
const R t141 = t139 + t140;
const R t142 = t116 - t138;
const R t143 = t117 - t141;
const R t144 = -v[5];
const R t145 = v[5] * t119;
const R t146 = v[5] * t120;
const R t147 = t99 * t146;
const R t148 = t99 * t145;
const R t149 = -t148;
const R t150 = t101 * t144;
const R t151 = -t150;
const R t152 = t100 * t144;
const R t153 = t147 + t151;
const R t154 = t149 + t152;
const R t155 = t97 + t153;
const R t156 = t98 + t154;
const R t157 = t99 + t144;
const R t158 = t100 + t145;
const R t159 = t101 + t146;
const R t160 = t15 * R(0.19999999999999996);
const R t161 = t14 * R(0.19999999999999996);
const R t163 = t161 + t13;
const R t164 = t163 + R(-0.05);
const R t165 = t164 * R(0.5);
const R t166 = t165 + R(0.05);
const R t167 = t161 - t166;
const bool t168 = t164 < R(0.002);
const R t169 = t164 + R(-0.002);
const R t170 = t169 * R(3125.0);
const R t172 = t22 + t13;
const R t173 = t172 + R(-0.05);
const R t174 = t173 * R(0.5);
const R t175 = t174 + R(0.05);
const R t176 = t22 - t175;
const bool t177 = t173 < R(0.002);
const R t178 = t173 + R(-0.002);
const R t179 = t178 * R(3125.0);
const R t180 = t34 * R(-0.4500000000000001);
const R t181 = t39 * R(-0.4500000000000001);
const R t182 = t21 + t180;
const R t183 = t22 + t181;
const R t185 = t183 + t13;
const R t186 = t185 + R(-0.05);
const R t187 = t186 * R(0.5);
const R t188 = t187 + R(0.05);
const R t189 = t183 - t188;
const bool t190 = t186 < R(0.002);
const R t191 = t186 + R(-0.002);
const R t192 = t191 * R(3125.0);
const R t193 = t84 + t82;
const R t194 = t85 + t83;
const R t196 = t194 + t13;
const R t197 = t196 + R(-0.04);
const R t198 = t197 * R(0.5);
const R t199 = t198 + R(0.04);
const R t200 = t194 - t199;
const bool t201 = t197 < R(0.002);
const R t202 = t197 + R(-0.002);
const R t203 = t202 * R(3125.0);
const R t204 = t75 * R(-0.25);
const R t205 = t81 * R(-0.25);
const R t206 = t84 + t204;
const R t207 = t85 + t205;
const R t209 = t207 + t13;
const R t210 = t209 + R(-0.04);
const R t211 = t210 * R(0.5);
const R t212 = t211 + R(0.04);
const R t213 = t207 - t212;
const bool t214 = t210 < R(0.002);
const R t215 = t210 + R(-0.002);
const R t216 = t215 * R(3125.0);
const R t219 = t126 * R(-0.26);
const R t220 = t219 + t137;
const R t221 = t132 * R(-0.26);
const R t222 = t221 + t140;
const R t223 = t142 + t220;
const R t224 = t143 + t222;
const R t226 = t224 + t13;
const R t227 = t226 + R(-0.06);
const R t228 = t227 * R(0.5);
const R t229 = t228 + R(0.06);
const R t230 = t224 - t229;
const bool t231 = t227 < R(0.002);
const R t232 = t227 + R(-0.002);
const R t233 = t232 * R(3125.0);
const R t234 = t126 * R(0.13);
const R t235 = t234 + t137;
const R t236 = t132 * R(0.13);
const R t237 = t236 + t140;
const R t238 = t142 + t235;
const R t239 = t143 + t237;
const R t241 = t239 + t13;
const R t242 = t241 + R(-0.06);
const R t243 = t242 * R(0.5);
const R t244 = t243 + R(0.06);
const R t245 = t239 - t244;
const bool t246 = t242 < R(0.002);
const R t247 = t242 + R(-0.002);
const R t248 = t247 * R(3125.0);
const R t249 = q[3] + R(2.6179938779914944);
const R t250 = -q[3];
const bool t251 = t249 < t250;
const R t252 = t251 ? R(1.0) : R(-1.0);
const R t253 = t251 ? t249 : t250;
const bool t254 = t253 < R(0.0);
const R t255 = FABS(t253);
const R t256 = t255 * R(1000.0);
const bool t257 = t256 <= R(0.5);
const R t258 = t256 * t256;
const R t259 = t258 * R(2.0);
const R t260 = R(1.0) - t256;
const R t261 = t260 * t260;
const R t262 = t261 * R(2.0);
const R t263 = R(1.0) - t262;
const R t264 = t257 ? t259 : t263;
const bool t265 = R(1.0) <= t256;
const R t266 = t265 ? R(1.0) : t264;
const R t267 = t266 * R(0.04999999999999993);
const R t268 = t267 + R(0.9);
const R t269 = R(1.0) - t268;
const R t270 = t269 * R(0.9173573040079774);
const R t271 = t270 / t268;
const bool t272 = R(1e-15) < t271;
const R t273 = t272 ? t271 : R(1e-15);
const R t274 = R(1.0) / t273;
const R t275 = t252 * R(105.26315789473685);
const R t276 = t275 * v[3];
const R t277 = t268 * R(2770.083102493075);
const R t278 = t277 * t253;
const R t279 = t276 + t278;
const R t280 = t254 ? t274 : R(0.0);
const R t281 = q[4] + R(2.6179938779914944);
const R t282 = -q[4];
const bool t283 = t281 < t282;
const R t284 = t283 ? R(1.0) : R(-1.0);
const R t285 = t283 ? t281 : t282;
const bool t286 = t285 < R(0.0);
const R t287 = FABS(t285);
const R t288 = t287 * R(1000.0);
const bool t289 = t288 <= R(0.5);
const R t290 = t288 * t288;
const R t291 = t290 * R(2.0);
const R t292 = R(1.0) - t288;
const R t293 = t292 * t292;
const R t294 = t293 * R(2.0);
const R t295 = R(1.0) - t294;
const R t296 = t289 ? t291 : t295;
const bool t297 = R(1.0) <= t288;
const R t298 = t297 ? R(1.0) : t296;
const R t299 = t298 * R(0.04999999999999993);
const R t300 = t299 + R(0.9);
const R t301 = R(1.0) - t300;
const R t302 = t301 * R(0.8423092317158418);
const R t303 = t302 / t300;
const bool t304 = R(1e-15) < t303;
const R t305 = t304 ? t303 : R(1e-15);
const R t306 = R(1.0) / t305;
const R t307 = t284 * R(105.26315789473685);
const R t308 = t307 * v[4];
const R t309 = t300 * R(2770.083102493075);
const R t310 = t309 * t285;
const R t311 = t308 + t310;
const R t312 = t286 ? t306 : R(0.0);
const R t313 = q[5] + R(0.7853981633974483);
const R t314 = R(0.7853981633974483) - q[5];
const bool t315 = t313 < t314;
const R t316 = t315 ? R(1.0) : R(-1.0);
const R t317 = t315 ? t313 : t314;
const bool t318 = t317 < R(0.0);
const R t319 = FABS(t317);
const R t320 = t319 * R(1000.0);
const bool t321 = t320 <= R(0.5);
const R t322 = t320 * t320;
const R t323 = t322 * R(2.0);
const R t324 = R(1.0) - t320;
const R t325 = t324 * t324;
const R t326 = t325 * R(2.0);
const R t327 = R(1.0) - t326;
const R t328 = t321 ? t323 : t327;
const bool t329 = R(1.0) <= t320;
const R t330 = t329 ? R(1.0) : t328;
const R t331 = t330 * R(0.04999999999999993);
const R t332 = t331 + R(0.9);
const R t333 = R(1.0) - t332;
const R t334 = t333 * R(0.9000381439194955);
const R t335 = t334 / t332;
const bool t336 = R(1e-15) < t335;
const R t337 = t336 ? t335 : R(1e-15);
const R t338 = R(1.0) / t337;
const R t339 = t316 * R(105.26315789473685);
const R t340 = t339 * v[5];
const R t341 = t332 * R(2770.083102493075);
const R t342 = t341 * t317;
const R t343 = t340 + t342;
const R t344 = t318 ? t338 : R(0.0);
const R t357 = u[0] * R(200.0);
const R t358 = u[1] * R(200.0);
const R t359 = u[2] * R(200.0);
const R t360 = t40 + t357;
const R t361 = t86 + t358;
const R t362 = t144 + t359;
const R t372 = v[0] * R(3.6651914291880923);
const R t373 = v[1] * R(3.6651914291880923);
const R t374 = t18 * R(3.6651914291880923);
const R t375 = t20 * R(3.6651914291880923);
const R t376 = v[1] * t372;
const R t377 = v[0] * t373;
const R t378 = t376 - t377;
const R t379 = v[2] * t373;
const R t380 = v[2] * t372;
const R t381 = -t380;
const R t382 = t374 + t379;
const R t383 = t375 + t381;
const R t384 = t34 * R(-0.2250000000000001);
const R t385 = t39 * R(-0.2250000000000001);
const R t386 = t21 + t384;
const R t387 = t22 + t385;
const R t388 = t386 * t386;
const R t389 = t387 * t387;
const R t390 = t388 + t389;
const R t395 = t386 * R(4.057890510886818);
const R t396 = t387 * R(4.057890510886818);
const R t407 = t390 * R(4.057890510886818);
const R t411 = t407 + R(0.09329875682692193);
const R t418 = t54 * R(4.057890510886818);
const R t419 = t55 * R(4.057890510886818);
const R t420 = t396 * t53;
const R t421 = -t420;
const R t422 = t395 * t53;
const R t423 = t418 - t421;
const R t424 = t419 - t422;
const R t425 = t396 * t51;
const R t426 = t395 * t52;
const R t427 = t425 - t426;
const R t428 = t51 * R(4.057890510886818);
const R t429 = t52 * R(4.057890510886818);
const R t430 = t55 * t423;
const R t431 = t54 * t424;
const R t432 = t430 - t431;
const R t433 = t53 * t424;
const R t434 = t53 * t423;
const R t435 = -t434;
const R t436 = t427 + t432;
const R t437 = t428 + t433;
const R t438 = t429 + t435;
const R t439 = t84 * t84;
const R t440 = t85 * t85;
const R t441 = t439 + t440;
const R t446 = t84 * R(2.7813566959781637);
const R t447 = t85 * R(2.7813566959781637);
const R t458 = t441 * R(2.7813566959781637);
const R t462 = t458 + R(0.07230254017320971);
const R t469 = t100 * R(2.7813566959781637);
const R t470 = t101 * R(2.7813566959781637);
const R t471 = t447 * t99;
const R t472 = -t471;
const R t473 = t446 * t99;
const R t474 = t469 - t472;
const R t475 = t470 - t473;
const R t476 = t447 * t97;
const R t477 = t446 * t98;
const R t478 = t476 - t477;
const R t479 = t97 * R(2.7813566959781637);
const R t480 = t98 * R(2.7813566959781637);
const R t481 = t101 * t474;
const R t482 = t100 * t475;
const R t483 = t481 - t482;
const R t484 = t99 * t475;
const R t485 = t99 * t474;
const R t486 = -t485;
const R t487 = t478 + t483;
const R t488 = t479 + t484;
const R t489 = t480 + t486;
const R t490 = t126 * R(-0.065);
const R t491 = t490 + t137;
const R t492 = t132 * R(-0.065);
const R t493 = t492 + t140;
const R t494 = t142 + t491;
const R t495 = t143 + t493;
const R t496 = t494 * t494;
const R t497 = t495 * t495;
const R t498 = t496 + t497;
const R t503 = t494 * R(5.31557476987393);
const R t504 = t495 * R(5.31557476987393);
const R t515 = t498 * R(5.31557476987393);
const R t519 = t515 + R(0.10352308059000538);
const R t526 = t158 * R(5.31557476987393);
const R t527 = t159 * R(5.31557476987393);
const R t528 = t504 * t157;
const R t529 = -t528;
const R t530 = t503 * t157;
const R t531 = t526 - t529;
const R t532 = t527 - t530;
const R t533 = t504 * t155;
const R t534 = t503 * t156;
const R t535 = t533 - t534;
const R t536 = t155 * R(5.31557476987393);
const R t537 = t156 * R(5.31557476987393);
const R t538 = t159 * t531;
const R t539 = t158 * t532;
const R t540 = t538 - t539;
const R t541 = t157 * t532;
const R t542 = t157 * t531;
const R t543 = -t542;
const R t544 = t535 + t540;
const R t545 = t536 + t541;
const R t546 = t537 + t543;
const R t547 = t487 + t544;
const R t548 = t488 + t545;
const R t549 = t489 + t546;
const R t550 = t436 + t547;
const R t551 = t437 + t548;
const R t552 = t438 + t549;
const R t553 = t378 + t550;
const R t554 = t382 + t551;
const R t555 = t383 + t552;
const R t556 = -t550;
const R t557 = t24 * t551;
const R t558 = t556 + t557;
const R t559 = t25 * t552;
const R t560 = t558 + t559;
const R t561 = -t547;
const R t562 = t65 * t548;
const R t563 = t561 + t562;
const R t564 = t66 * t549;
const R t565 = t563 + t564;
const R t566 = -t544;
const R t567 = t119 * t545;
const R t568 = t566 + t567;
const R t569 = t120 * t546;
const R t570 = t568 + t569;
const R t571 = -t554;
const R t572 = -t555;
const R t573 = -t553;
const R t574 = t360 - t560;
const R t575 = t361 - t565;
const R t576 = t362 - t570;
const R t577 = t446 + t503;
const R t578 = t447 + t504;
const R t581 = t462 + t519;
const R t583 = t395 + t577;
const R t584 = t396 + t578;
const R t587 = t411 + t581;
const R t591 = t587 + R(0.069245938072875);
const R t593 = -t583;
const R t594 = -t584;
const R t595 = -t594;
const R t596 = -t587;
const R t597 = t584 * t24;
const R t598 = t583 * t25;
const R t599 = t597 - t598;
const R t600 = t596 + t599;
const R t601 = t24 * R(12.154821976738912);
const R t602 = t25 * R(12.154821976738912);
const R t603 = t601 - t595;
const R t604 = t602 - t593;
const R t605 = -t600;
const R t606 = t24 * t603;
const R t607 = t605 + t606;
const R t608 = t25 * t604;
const R t609 = t607 + t608;
const R t610 = t609 + R(1.0);
const R t611 = -t581;
const R t612 = t578 * t65;
const R t613 = t577 * t66;
const R t614 = t612 - t613;
const R t615 = t611 + t614;
const R t616 = t65 * R(8.096931465852094);
const R t617 = t66 * R(8.096931465852094);
const R t618 = -t578;
const R t619 = -t618;
const R t620 = -t577;
const R t621 = t616 - t619;
const R t622 = t617 - t620;
const R t623 = -t615;
const R t624 = t24 * t621;
const R t625 = t623 + t624;
const R t626 = t25 * t622;
const R t627 = t625 + t626;
const R t628 = t65 * t621;
const R t629 = t623 + t628;
const R t630 = t66 * t622;
const R t631 = t629 + t630;
const R t632 = t631 + R(1.0);
const R t633 = -t519;
const R t634 = t504 * t119;
const R t635 = t503 * t120;
const R t636 = t634 - t635;
const R t637 = t633 + t636;
const R t638 = t119 * R(5.31557476987393);
const R t639 = t120 * R(5.31557476987393);
const R t640 = -t504;
const R t641 = -t640;
const R t642 = -t503;
const R t643 = t638 - t641;
const R t644 = t639 - t642;
const R t645 = -t637;
const R t646 = t24 * t643;
const R t647 = t645 + t646;
const R t648 = t25 * t644;
const R t649 = t647 + t648;
const R t650 = t65 * t643;
const R t651 = t645 + t650;
const R t652 = t66 * t644;
const R t653 = t651 + t652;
const R t654 = t119 * t643;
const R t655 = t645 + t654;
const R t656 = t120 * t644;
const R t657 = t655 + t656;
const R t658 = t657 + R(1.0);
M[0] = R(15.820013405927003);
M[1] = R(0.0);
M[2] = R(15.820013405927003);
M[3] = t595;
M[4] = t593;
M[5] = t591;
M[6] = t603;
M[7] = t604;
M[8] = t600;
M[9] = t610;
M[10] = t621;
M[11] = t622;
M[12] = t615;
M[13] = t627;
M[14] = t632;
M[15] = t643;
M[16] = t644;
M[17] = t637;
M[18] = t649;
M[19] = t653;
M[20] = t658;
force[0] = t571;
force[1] = t572;
force[2] = t573;
force[3] = t574;
force[4] = t575;
force[5] = t576;
if (t168) { c_slot[num_contacts] = 0; c_strength[num_contacts] = R(11.77545668188211); c_pull[num_contacts] = t170; c_friction[num_contacts] = R(1.0); c_point_x[num_contacts] = t160; c_point_z[num_contacts] = t167; num_contacts++; }
if (t177) { c_slot[num_contacts] = 0; c_strength[num_contacts] = R(11.77545668188211); c_pull[num_contacts] = t179; c_friction[num_contacts] = R(1.0); c_point_x[num_contacts] = t21; c_point_z[num_contacts] = t176; num_contacts++; }
if (t177) { c_slot[num_contacts] = 1; c_strength[num_contacts] = R(19.259172752779037); c_pull[num_contacts] = t179; c_friction[num_contacts] = R(1.0); c_point_x[num_contacts] = t21; c_point_z[num_contacts] = t176; num_contacts++; }
if (t190) { c_slot[num_contacts] = 1; c_strength[num_contacts] = R(19.259172752779037); c_pull[num_contacts] = t192; c_friction[num_contacts] = R(1.0); c_point_x[num_contacts] = t182; c_point_z[num_contacts] = t189; num_contacts++; }
if (t201) { c_slot[num_contacts] = 2; c_strength[num_contacts] = R(20.163274679770172); c_pull[num_contacts] = t203; c_friction[num_contacts] = R(1.0); c_point_x[num_contacts] = t193; c_point_z[num_contacts] = t200; num_contacts++; }
if (t214) { c_slot[num_contacts] = 2; c_strength[num_contacts] = R(20.163274679770172); c_pull[num_contacts] = t216; c_friction[num_contacts] = R(1.0); c_point_x[num_contacts] = t206; c_point_z[num_contacts] = t213; num_contacts++; }
if (t231) { c_slot[num_contacts] = 3; c_strength[num_contacts] = R(1.4947077457959115); c_pull[num_contacts] = t233; c_friction[num_contacts] = R(2.0); c_point_x[num_contacts] = t223; c_point_z[num_contacts] = t230; num_contacts++; }
if (t246) { c_slot[num_contacts] = 3; c_strength[num_contacts] = R(1.4947077457959115); c_pull[num_contacts] = t248; c_friction[num_contacts] = R(2.0); c_point_x[num_contacts] = t238; c_point_z[num_contacts] = t245; num_contacts++; }

{
const R t668 = -v[3];
const R t669 = v[3] * t24;
const R t670 = v[3] * t25;
const R t671 = v[2] + t668;
const R t672 = v[0] + t669;
const R t673 = v[1] + t670;
const R t674 = -v[4];
const R t675 = v[4] * t65;
const R t676 = v[4] * t66;
const R t677 = t671 + t674;
const R t678 = t672 + t675;
const R t679 = t673 + t676;
const R t680 = -v[5];
const R t681 = v[5] * t119;
const R t682 = v[5] * t120;
const R t683 = t677 + t680;
const R t684 = t678 + t681;
const R t685 = t679 + t682;
X[0] = v[2];
X[1] = v[0];
X[2] = v[1];
X[3] = t671;
X[4] = t672;
X[5] = t673;
X[6] = t677;
X[7] = t678;
X[8] = t679;
X[9] = t683;
X[10] = t684;
X[11] = t685;
}

_Pragma("unroll 1") for (int c = 0; c < num_contacts; c++) { c_active[c] = -1;{ const int b = c_slot[c];
const R t686 = X[b * 3 + 0] * c_point_z[c];
const R t687 = X[b * 3 + 0] * c_point_x[c];
const R t688 = -t687;
const R t689 = X[b * 3 + 1] + t686;
const R t690 = X[b * 3 + 2] + t688;
const R t691 = c_friction[c] * t689;
error_n[c] = t690;
error_1[c] = t691;
}
const R t665 = error_n[c] * R(125.0);
const R t666 = error_1[c] * R(125.0);
const R t667 = t665 + c_pull[c];
error_n[c] = t667;
error_1[c] = t666;
 }
l_error[0] = t279;
l_error[1] = t311;
l_error[2] = t343;

R s[6], step = R(1), decrease = R(0); unsigned long long last_limits = 0;
for (int i = 0; i < 6; i++) { a[i] = R(0); Ma[i] = R(0); s[i] = w[i]; }
for (int iteration = 0; ; iteration++) {
  R Ms[6];
  {
const R t692 = M[0] * s[0];
const R t693 = M[1] * s[0];
const R t694 = M[1] * s[1];
const R t695 = M[2] * s[1];
const R t696 = M[3] * s[0];
const R t697 = M[3] * s[2];
const R t698 = M[4] * s[1];
const R t699 = M[4] * s[2];
const R t700 = M[5] * s[2];
const R t701 = M[6] * s[0];
const R t702 = M[6] * s[3];
const R t703 = M[7] * s[1];
const R t704 = M[7] * s[3];
const R t705 = M[8] * s[2];
const R t706 = M[8] * s[3];
const R t707 = M[9] * s[3];
const R t708 = M[10] * s[0];
const R t709 = M[10] * s[4];
const R t710 = M[11] * s[1];
const R t711 = M[11] * s[4];
const R t712 = M[12] * s[2];
const R t713 = M[12] * s[4];
const R t714 = M[13] * s[3];
const R t715 = M[13] * s[4];
const R t716 = M[14] * s[4];
const R t717 = M[15] * s[0];
const R t718 = M[15] * s[5];
const R t719 = M[16] * s[1];
const R t720 = M[16] * s[5];
const R t721 = M[17] * s[2];
const R t722 = M[17] * s[5];
const R t723 = M[18] * s[3];
const R t724 = M[18] * s[5];
const R t725 = M[19] * s[4];
const R t726 = M[19] * s[5];
const R t727 = M[20] * s[5];
const R t728 = t692 + t694;
const R t729 = t728 + t697;
const R t730 = t729 + t702;
const R t731 = t730 + t709;
const R t732 = t731 + t718;
const R t733 = t693 + t695;
const R t734 = t733 + t699;
const R t735 = t734 + t704;
const R t736 = t735 + t711;
const R t737 = t736 + t720;
const R t738 = t696 + t698;
const R t739 = t738 + t700;
const R t740 = t739 + t706;
const R t741 = t740 + t713;
const R t742 = t741 + t722;
const R t743 = t701 + t703;
const R t744 = t743 + t705;
const R t745 = t744 + t707;
const R t746 = t745 + t715;
const R t747 = t746 + t724;
const R t748 = t708 + t710;
const R t749 = t748 + t712;
const R t750 = t749 + t714;
const R t751 = t750 + t716;
const R t752 = t751 + t726;
const R t753 = t717 + t719;
const R t754 = t753 + t721;
const R t755 = t754 + t723;
const R t756 = t755 + t725;
const R t757 = t756 + t727;
Ms[0] = t732;
Ms[1] = t737;
Ms[2] = t742;
Ms[3] = t747;
Ms[4] = t752;
Ms[5] = t757;
}

  {
const R t758 = -s[3];
const R t759 = s[3] * t24;
const R t760 = s[3] * t25;
const R t761 = s[2] + t758;
const R t762 = s[0] + t759;
const R t763 = s[1] + t760;
const R t764 = -s[4];
const R t765 = s[4] * t65;
const R t766 = s[4] * t66;
const R t767 = t761 + t764;
const R t768 = t762 + t765;
const R t769 = t763 + t766;
const R t770 = -s[5];
const R t771 = s[5] * t119;
const R t772 = s[5] * t120;
const R t773 = t767 + t770;
const R t774 = t768 + t771;
const R t775 = t769 + t772;
X[0] = s[2];
X[1] = s[0];
X[2] = s[1];
X[3] = t761;
X[4] = t762;
X[5] = t763;
X[6] = t767;
X[7] = t768;
X[8] = t769;
X[9] = t773;
X[10] = t774;
X[11] = t775;
}

  _Pragma("unroll 1") for (int c = 0; c < num_contacts; c++) { { const int b = c_slot[c];
const R t776 = X[b * 3 + 0] * c_point_z[c];
const R t777 = X[b * 3 + 0] * c_point_x[c];
const R t778 = -t777;
const R t779 = X[b * 3 + 1] + t776;
const R t780 = X[b * 3 + 2] + t778;
const R t781 = c_friction[c] * t779;
change_n[c] = t780;
change_1[c] = t781;
}
 }
  l_change[0] = t252 * s[3];
l_change[1] = t284 * s[4];
l_change[2] = t316 * s[5];

  if (iteration > 0) { 
  R slope0 = R(0), curve0 = R(0), low = R(0), high = R(-1);
  for (int i = 0; i < 6; i++) { slope0 += s[i] * (Ma[i] - force[i]); curve0 += s[i] * Ms[i]; }
  // At the start the derivative is -decrease and its own derivative decrease: Newton's first step is 1.
  step = R(1);
  _Pragma("unroll 1") for (int trial = 1; ; trial++) {
    R slope = slope0 + step * curve0, curve = curve0;
    _Pragma("unroll 1") for (int c = 0; c < num_contacts; c++) { const R t782 = error_n[c] + error_1[c];
const R t783 = -error_1[c];
const R t784 = error_n[c] + t783;
const R t785 = change_n[c] + change_1[c];
const R t786 = -change_1[c];
const R t787 = change_n[c] + t786;
const R t788 = step * t785;
const R t789 = t782 + t788;
const bool t790 = t789 < R(0.0);
const R t791 = t789 * t785;
const R t792 = t790 ? t791 : R(0.0);
const R t793 = t785 * t785;
const R t794 = t790 ? t793 : R(0.0);
const R t795 = step * t787;
const R t796 = t784 + t795;
const bool t797 = t796 < R(0.0);
const R t798 = t796 * t787;
const R t799 = t797 ? t798 : R(0.0);
const R t800 = t787 * t787;
const R t801 = t797 ? t800 : R(0.0);
const R t802 = step * change_n[c];
const R t803 = error_n[c] + t802;
const bool t804 = t803 < R(0.0);
const R t805 = t803 * R(2.0);
const R t806 = t805 * change_n[c];
const R t807 = t804 ? t806 : R(0.0);
const R t808 = change_n[c] * R(2.0);
const R t809 = t808 * change_n[c];
const R t810 = t804 ? t809 : R(0.0);
const R t811 = t792 + t799;
const R t812 = t811 + t807;
const R t813 = c_strength[c] * t812;
const R t814 = t794 + t801;
const R t815 = t814 + t810;
const R t816 = c_strength[c] * t815;
const R t817 = slope + t813;
const R t818 = curve + t816;
slope = t817;
curve = t818;
 }
    { const R there = l_error[0] + step * l_change[0]; if (there < R(0)) { slope += t280 * there * l_change[0]; curve += t280 * l_change[0] * l_change[0]; } }
{ const R there = l_error[1] + step * l_change[1]; if (there < R(0)) { slope += t312 * there * l_change[1]; curve += t312 * l_change[1] * l_change[1]; } }
{ const R there = l_error[2] + step * l_change[2]; if (there < R(0)) { slope += t344 * there * l_change[2]; curve += t344 * l_change[2] * l_change[2]; } }

    if (FABS(slope) < SLOPE_TOLERANCE * decrease || trial >= 50) break;
    if (slope < R(0)) low = step; else high = step;
    R next = step - slope / curve;
    if (high >= R(0) && !(next > low && next < high)) next = R(0.5) * (low + high);
    if (next == step) break;
    step = next;
  }
 }
  unsigned long long at_limit = 0; int changed = 0;
  for (int i = 0; i < 6; i++) { a[i] += step * s[i]; Ma[i] += step * Ms[i]; }
  _Pragma("unroll 1") for (int c = 0; c < num_contacts; c++) { error_n[c] += step * change_n[c]; error_1[c] += step * change_1[c]; const R t819 = error_n[c] + error_1[c];
const R t820 = -error_1[c];
const R t821 = error_n[c] + t820;
const bool t822 = t819 < R(0.0);
const bool t823 = t821 < R(0.0);
const bool t824 = error_n[c] < R(0.0);
const int now = (t822 ? 1 : 0) + (t823 ? 2 : 0) + (t824 ? 4 : 0); changed |= now != c_active[c]; c_active[c] = now;
 }
  l_error[0] += step * l_change[0]; if (l_error[0] < R(0)) at_limit |= 1ull << 0;
l_error[1] += step * l_change[1]; if (l_error[1] < R(0)) at_limit |= 1ull << 1;
l_error[2] += step * l_change[2]; if (l_error[2] < R(0)) at_limit |= 1ull << 2;

  if (iteration >= 100) break;
  // A full step that changed no constraint has solved a linear system: there is nothing left to do.
  if (iteration > 0 && !changed && at_limit == last_limits && FABS(step - R(1)) < STEP_TOLERANCE) break;
  last_limits = at_limit;
  
  R gradient[6], square = R(0);
  for (int i = 0; i < 12; i++) W[i] = R(0);
  for (int i = 0; i < 24; i++) C[i] = R(0);
  _Pragma("unroll 1") for (int c = 0; c < num_contacts; c++) { const int b = c_slot[c];
const R t825 = error_n[c] + error_1[c];
const R t826 = -error_1[c];
const R t827 = error_n[c] + t826;
const bool t828 = t825 < R(0.0);
const R t829 = t828 ? c_strength[c] : R(0.0);
const R t830 = t829 * t825;
const R t831 = -t830;
const bool t832 = t827 < R(0.0);
const R t833 = t832 ? c_strength[c] : R(0.0);
const R t834 = t833 * t827;
const R t835 = t831 - t834;
const R t836 = t829 + t833;
const R t837 = -t833;
const R t838 = t829 + t837;
const R t839 = t837 * t827;
const R t840 = t831 - t839;
const bool t841 = error_n[c] < R(0.0);
const R t842 = c_strength[c] * R(2.0);
const R t843 = t841 ? t842 : R(0.0);
const R t844 = t843 * error_n[c];
const R t845 = t835 - t844;
const R t846 = t836 + t843;
const R t847 = t840 * c_friction[c];
const R t848 = t838 * c_friction[c];
const R t849 = t836 * c_friction[c];
const R t850 = c_friction[c] * t849;
const R t852 = -c_point_x[c];
const R t853 = c_point_z[c] * t850;
const R t854 = t852 * t848;
const R t855 = t853 + t854;
const R t856 = c_point_z[c] * t848;
const R t857 = t852 * t846;
const R t858 = t856 + t857;
const R t859 = c_point_z[c] * t847;
const R t860 = t852 * t845;
const R t861 = t859 + t860;
const R t862 = t855 * c_point_z[c];
const R t863 = t858 * t852;
const R t864 = t862 + t863;
const R t865 = W[b * 3 + 0] + t861;
const R t866 = W[b * 3 + 1] + t847;
const R t867 = W[b * 3 + 2] + t845;
const R t868 = C[b * 6 + 0] + t864;
const R t869 = C[b * 6 + 1] + t855;
const R t870 = C[b * 6 + 2] + t858;
const R t871 = C[b * 6 + 3] + t850;
const R t872 = C[b * 6 + 4] + t848;
const R t873 = C[b * 6 + 5] + t846;
W[b * 3 + 0] = t865;
W[b * 3 + 1] = t866;
W[b * 3 + 2] = t867;
C[b * 6 + 0] = t868;
C[b * 6 + 1] = t869;
C[b * 6 + 2] = t870;
C[b * 6 + 3] = t871;
C[b * 6 + 4] = t872;
C[b * 6 + 5] = t873;
 }
  {
const R t874 = W[6] + W[9];
const R t875 = W[7] + W[10];
const R t876 = W[8] + W[11];
const R t877 = W[3] + t874;
const R t878 = W[4] + t875;
const R t879 = W[5] + t876;
const R t880 = W[0] + t877;
const R t881 = W[1] + t878;
const R t882 = W[2] + t879;
const R t883 = -t877;
const R t884 = t24 * t878;
const R t885 = t883 + t884;
const R t886 = t25 * t879;
const R t887 = t885 + t886;
const R t888 = -t874;
const R t889 = t65 * t875;
const R t890 = t888 + t889;
const R t891 = t66 * t876;
const R t892 = t890 + t891;
const R t893 = -W[9];
const R t894 = t119 * W[10];
const R t895 = t893 + t894;
const R t896 = t120 * W[11];
const R t897 = t895 + t896;
s[0] = t881;
s[1] = t882;
s[2] = t880;
s[3] = t887;
s[4] = t892;
s[5] = t897;
}

  if (at_limit >> 0 & 1) s[3] -= t252 * t280 * l_error[0];
if (at_limit >> 1 & 1) s[4] -= t284 * t312 * l_error[1];
if (at_limit >> 2 & 1) s[5] -= t316 * t344 * l_error[2];

  for (int i = 0; i < 6; i++) { s[i] += force[i] - Ma[i]; gradient[i] = -s[i]; square += s[i] * s[i]; }
  {
const R t898 = C[12] + C[18];
const R t899 = C[13] + C[19];
const R t900 = C[14] + C[20];
const R t901 = C[15] + C[21];
const R t902 = C[16] + C[22];
const R t903 = C[17] + C[23];
const R t904 = C[6] + t898;
const R t905 = C[7] + t899;
const R t906 = C[8] + t900;
const R t907 = C[9] + t901;
const R t908 = C[10] + t902;
const R t909 = C[11] + t903;
const R t910 = C[0] + t904;
const R t911 = C[1] + t905;
const R t912 = C[2] + t906;
const R t913 = C[3] + t907;
const R t914 = C[4] + t908;
const R t915 = C[5] + t909;
const R t916 = M[0] + t913;
const R t917 = M[1] + t914;
const R t918 = M[2] + t915;
const R t919 = M[3] + t911;
const R t920 = M[4] + t912;
const R t921 = M[5] + t910;
const R t922 = -t904;
const R t923 = t905 * t24;
const R t924 = t922 + t923;
const R t925 = t906 * t25;
const R t926 = t924 + t925;
const R t927 = -t905;
const R t928 = t907 * t24;
const R t929 = t927 + t928;
const R t930 = t908 * t25;
const R t931 = t929 + t930;
const R t932 = -t906;
const R t933 = t908 * t24;
const R t934 = t932 + t933;
const R t935 = t909 * t25;
const R t936 = t934 + t935;
const R t937 = M[6] + t931;
const R t938 = M[7] + t936;
const R t939 = M[8] + t926;
const R t940 = -t926;
const R t941 = t24 * t931;
const R t942 = t940 + t941;
const R t943 = t25 * t936;
const R t944 = t942 + t943;
const R t945 = M[9] + t944;
const R t946 = -t898;
const R t947 = t899 * t65;
const R t948 = t946 + t947;
const R t949 = t900 * t66;
const R t950 = t948 + t949;
const R t951 = -t899;
const R t952 = t901 * t65;
const R t953 = t951 + t952;
const R t954 = t902 * t66;
const R t955 = t953 + t954;
const R t956 = -t900;
const R t957 = t902 * t65;
const R t958 = t956 + t957;
const R t959 = t903 * t66;
const R t960 = t958 + t959;
const R t961 = M[10] + t955;
const R t962 = M[11] + t960;
const R t963 = M[12] + t950;
const R t964 = -t950;
const R t965 = t24 * t955;
const R t966 = t964 + t965;
const R t967 = t25 * t960;
const R t968 = t966 + t967;
const R t969 = M[13] + t968;
const R t970 = t65 * t955;
const R t971 = t964 + t970;
const R t972 = t66 * t960;
const R t973 = t971 + t972;
const R t974 = M[14] + t973;
const R t975 = -C[18];
const R t976 = C[19] * t119;
const R t977 = t975 + t976;
const R t978 = C[20] * t120;
const R t979 = t977 + t978;
const R t980 = -C[19];
const R t981 = C[21] * t119;
const R t982 = t980 + t981;
const R t983 = C[22] * t120;
const R t984 = t982 + t983;
const R t985 = -C[20];
const R t986 = C[22] * t119;
const R t987 = t985 + t986;
const R t988 = C[23] * t120;
const R t989 = t987 + t988;
const R t990 = M[15] + t984;
const R t991 = M[16] + t989;
const R t992 = M[17] + t979;
const R t993 = -t979;
const R t994 = t24 * t984;
const R t995 = t993 + t994;
const R t996 = t25 * t989;
const R t997 = t995 + t996;
const R t998 = M[18] + t997;
const R t999 = t65 * t984;
const R t1000 = t993 + t999;
const R t1001 = t66 * t989;
const R t1002 = t1000 + t1001;
const R t1003 = M[19] + t1002;
const R t1004 = t119 * t984;
const R t1005 = t993 + t1004;
const R t1006 = t120 * t989;
const R t1007 = t1005 + t1006;
const R t1008 = M[20] + t1007;
H[0] = t916;
H[1] = t917;
H[2] = t918;
H[3] = t919;
H[4] = t920;
H[5] = t921;
H[6] = t937;
H[7] = t938;
H[8] = t939;
H[9] = t945;
H[10] = t961;
H[11] = t962;
H[12] = t963;
H[13] = t969;
H[14] = t974;
H[15] = t990;
H[16] = t991;
H[17] = t992;
H[18] = t998;
H[19] = t1003;
H[20] = t1008;
}

  if (at_limit >> 0 & 1) H[9] += t280;
if (at_limit >> 1 & 1) H[14] += t312;
if (at_limit >> 2 & 1) H[20] += t344;

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

  decrease = R(0);
  for (int i = 0; i < 6; i++) decrease -= gradient[i] * s[i];

  if (SQRT(square) < TOLERANCE * R(53.50073665442204) || (iteration > 0 && R(0.5) * decrease < TOLERANCE * R(53.50073665442204))) break;
}
for (int i = 0; i < 6; i++) w[i] = a[i];

R turn[6];
for (int i = 0; i < 6; i++) { turn[i] = share * speed[i]; speed[i] = v[i]; }

const R weight = stage == 0 || stage == 3 ? R(1) / R(6) : R(1) / R(3);
share = stage < 2 ? R(0.5) * R(0.002) : R(0.002);
for (int i = 0; i < 6; i++) {
  speeds[i] += weight * speed[i]; rates[i] += weight * w[i];
  speed[i] = stage < 3 ? speed[i] : speeds[i]; rate[i] = stage < 3 ? w[i] : rates[i];
  v[i] = v0[i] + share * rate[i];
}
for (int i = 0; i < 6; i++) q[i] = q0[i];
q[0] += share * speed[0]; q[1] += share * speed[1]; q[2] += share * speed[2]; q[3] += share * speed[3]; q[4] += share * speed[4]; q[5] += share * speed[5];
}
}
for (int i = 0; i < 6; i++) q_out.data[(size_t)tid * 6 + i] = q[i];
for (int i = 0; i < 6; i++) v_out.data[(size_t)tid * 6 + i] = v[i];
for (int i = 0; i < 6; i++) w_out.data[(size_t)tid * 6 + i] = w[i];
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
static CUDA_CALLABLE void adj_native_step_float_3046a5e12b40_0(
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

struct wp_args_step_float_3046a5e12b40_5949754e {
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
static void step_float_3046a5e12b40_5949754e_cpu_kernel_forward(
    wp::launch_bounds_t<1> dim,
    size_t task_index,
    wp_args_step_float_3046a5e12b40_5949754e *_wp_args)
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
    native_step_float_3046a5e12b40_0(var_qpos, var_qvel, var_warm, var_ctrl, var_given, var_q_out, var_v_out, var_w_out, var_low, var_0);
}



template <bool wp_linear_contiguous>
static WP_FORCEINLINE void step_float_3046a5e12b40_5949754e_cpu_forward_tasks(
    wp::launch_bounds_t<1> *dim,
    wp_args_step_float_3046a5e12b40_5949754e *_wp_args)
{
    for (size_t task_index = 0; task_index < dim->size; ++task_index)
    {
        step_float_3046a5e12b40_5949754e_cpu_kernel_forward<wp_linear_contiguous>(*dim, task_index, _wp_args);
    }
}

static WP_FORCEINLINE void step_float_3046a5e12b40_5949754e_cpu_forward_dispatch(
    wp::launch_bounds_t<1> *dim,
    wp_args_step_float_3046a5e12b40_5949754e *_wp_args)
{
    wp::tile_shared_storage_t tile_mem;
#if defined(WP_ENABLE_TILES_IN_STACK_MEMORY)
    wp::shared_tile_storage = &tile_mem;
#endif

    step_float_3046a5e12b40_5949754e_cpu_forward_tasks<false>(dim, _wp_args);
}

extern "C" {

// Python CPU entry points
WP_API void step_float_3046a5e12b40_5949754e_cpu_forward(
    wp::launch_bounds_t<1> *dim,
    wp_args_step_float_3046a5e12b40_5949754e *_wp_args)
{
    step_float_3046a5e12b40_5949754e_cpu_forward_dispatch(dim, _wp_args);
}

} // extern C

