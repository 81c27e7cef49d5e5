//! Mathematical functions of `f32` and `f64`: CUDA's libdevice.
//!
//! The names are those of std, where std has them. What core has itself (`abs`, `min`, `max`, `clamp`, `copysign`, `%`, ..) is used as always. The results are
//! libdevice's, which need not be those of a host's library: only [`sqrt`](Real::sqrt), [`mul_add`](Real::mul_add) and the rounding functions are the same bits
//! everywhere. For functions beyond these, and fast variants, see [`intrinsics::math`](crate::intrinsics::math).
//!
//! ```
//! use mirgen_device::math::Real;
//!
//! fn length(x: f32, y: f32) -> f32 {
//!     Real::sqrt(x.mul_add(x, y * y))
//! }
//! ```

use crate::intrinsics::math::*;

mod sealed {
    pub trait Sealed {}
}

/// The functions, as methods of `f32` and `f64`.
pub trait Real: sealed::Sealed + Copy {
    /// Square root, rounded correctly.
    #[must_use]
    fn sqrt(self) -> Self;
    /// One divided by the square root.
    #[must_use]
    fn rsqrt(self) -> Self;
    /// Cube root.
    #[must_use]
    fn cbrt(self) -> Self;
    /// e to the power of `self`.
    #[must_use]
    fn exp(self) -> Self;
    /// 2 to the power of `self`.
    #[must_use]
    fn exp2(self) -> Self;
    /// 10 to the power of `self`.
    #[must_use]
    fn exp10(self) -> Self;
    /// e to the power of `self`, minus 1, accurate near 0.
    #[must_use]
    fn exp_m1(self) -> Self;
    /// Natural logarithm.
    #[must_use]
    fn ln(self) -> Self;
    /// Logarithm to the base 2.
    #[must_use]
    fn log2(self) -> Self;
    /// Logarithm to the base 10.
    #[must_use]
    fn log10(self) -> Self;
    /// Natural logarithm of `1 + self`, accurate near 0.
    #[must_use]
    fn ln_1p(self) -> Self;
    /// Sine, of radians.
    #[must_use]
    fn sin(self) -> Self;
    /// Cosine, of radians.
    #[must_use]
    fn cos(self) -> Self;
    /// Tangent, of radians.
    #[must_use]
    fn tan(self) -> Self;
    /// Sine of `self` times pi.
    #[must_use]
    fn sin_pi(self) -> Self;
    /// Cosine of `self` times pi.
    #[must_use]
    fn cos_pi(self) -> Self;
    /// Arc sine, in radians.
    #[must_use]
    fn asin(self) -> Self;
    /// Arc cosine, in radians.
    #[must_use]
    fn acos(self) -> Self;
    /// Arc tangent, in radians.
    #[must_use]
    fn atan(self) -> Self;
    /// Hyperbolic sine.
    #[must_use]
    fn sinh(self) -> Self;
    /// Hyperbolic cosine.
    #[must_use]
    fn cosh(self) -> Self;
    /// Hyperbolic tangent.
    #[must_use]
    fn tanh(self) -> Self;
    /// Inverse hyperbolic sine.
    #[must_use]
    fn asinh(self) -> Self;
    /// Inverse hyperbolic cosine.
    #[must_use]
    fn acosh(self) -> Self;
    /// Inverse hyperbolic tangent.
    #[must_use]
    fn atanh(self) -> Self;
    /// The largest integer that is not above `self`.
    #[must_use]
    fn floor(self) -> Self;
    /// The smallest integer that is not below `self`.
    #[must_use]
    fn ceil(self) -> Self;
    /// The integer part.
    #[must_use]
    fn trunc(self) -> Self;
    /// The nearest integer, halves away from 0.
    #[must_use]
    fn round(self) -> Self;
    /// The nearest integer, halves to the even one.
    #[must_use]
    fn round_ties_even(self) -> Self;
    /// Error function.
    #[must_use]
    fn erf(self) -> Self;
    /// Complementary error function.
    #[must_use]
    fn erfc(self) -> Self;
    /// Gamma function.
    #[must_use]
    fn gamma(self) -> Self;
    /// Natural logarithm of the gamma function's absolute value.
    #[must_use]
    fn ln_gamma(self) -> Self;
    /// Arc tangent of `self / other`, in radians, in the right quadrant.
    #[must_use]
    fn atan2(self, other: Self) -> Self;
    /// Length of the vector of `self` and `other`.
    #[must_use]
    fn hypot(self, other: Self) -> Self;
    /// `self` to the power of `exponent`.
    #[must_use]
    fn powf(self, exponent: Self) -> Self;
    /// The next number from `self` towards `towards`.
    #[must_use]
    fn next_after(self, towards: Self) -> Self;
    /// `self * factor + summand`, rounded once.
    #[must_use]
    fn mul_add(self, factor: Self, summand: Self) -> Self;
    /// `self` to an integer power.
    #[must_use]
    fn powi(self, exponent: i32) -> Self;
    /// Sine and cosine, of radians.
    #[inline(always)]
    #[must_use]
    fn sin_cos(self) -> (Self, Self) {
        (self.sin(), self.cos())
    }
}

macro_rules! real {
    ($float:ident: $($method:ident $function:ident($($arg:ident $(as $ty:ty)?),*);)*) => {
        impl sealed::Sealed for $float {}

        impl Real for $float {
            $(
                #[inline(always)]
                fn $method(self $(, $arg: real!(@ty $($ty)?))*) -> Self {
                    $function(self $(, $arg)*)
                }
            )*
        }
    };
    (@ty) => { Self };
    (@ty $ty:ty) => { $ty };
}

real! {
    f32:
    sqrt __mirgen_math_fsqrt_rn();
    rsqrt __mirgen_math_rsqrtf();
    cbrt __mirgen_math_cbrtf();
    exp __mirgen_math_expf();
    exp2 __mirgen_math_exp2f();
    exp10 __mirgen_math_exp10f();
    exp_m1 __mirgen_math_expm1f();
    ln __mirgen_math_logf();
    log2 __mirgen_math_log2f();
    log10 __mirgen_math_log10f();
    ln_1p __mirgen_math_log1pf();
    sin __mirgen_math_sinf();
    cos __mirgen_math_cosf();
    tan __mirgen_math_tanf();
    sin_pi __mirgen_math_sinpif();
    cos_pi __mirgen_math_cospif();
    asin __mirgen_math_asinf();
    acos __mirgen_math_acosf();
    atan __mirgen_math_atanf();
    sinh __mirgen_math_sinhf();
    cosh __mirgen_math_coshf();
    tanh __mirgen_math_tanhf();
    asinh __mirgen_math_asinhf();
    acosh __mirgen_math_acoshf();
    atanh __mirgen_math_atanhf();
    floor __mirgen_math_floorf();
    ceil __mirgen_math_ceilf();
    trunc __mirgen_math_truncf();
    round __mirgen_math_roundf();
    round_ties_even __mirgen_math_rintf();
    erf __mirgen_math_erff();
    erfc __mirgen_math_erfcf();
    gamma __mirgen_math_tgammaf();
    ln_gamma __mirgen_math_lgammaf();
    atan2 __mirgen_math_atan2f(other);
    hypot __mirgen_math_hypotf(other);
    powf __mirgen_math_powf(exponent);
    next_after __mirgen_math_nextafterf(towards);
    mul_add __mirgen_math_fmaf(factor, summand);
    powi __mirgen_math_powif(exponent as i32);
}

real! {
    f64:
    sqrt __mirgen_math_dsqrt_rn();
    rsqrt __mirgen_math_rsqrt();
    cbrt __mirgen_math_cbrt();
    exp __mirgen_math_exp();
    exp2 __mirgen_math_exp2();
    exp10 __mirgen_math_exp10();
    exp_m1 __mirgen_math_expm1();
    ln __mirgen_math_log();
    log2 __mirgen_math_log2();
    log10 __mirgen_math_log10();
    ln_1p __mirgen_math_log1p();
    sin __mirgen_math_sin();
    cos __mirgen_math_cos();
    tan __mirgen_math_tan();
    sin_pi __mirgen_math_sinpi();
    cos_pi __mirgen_math_cospi();
    asin __mirgen_math_asin();
    acos __mirgen_math_acos();
    atan __mirgen_math_atan();
    sinh __mirgen_math_sinh();
    cosh __mirgen_math_cosh();
    tanh __mirgen_math_tanh();
    asinh __mirgen_math_asinh();
    acosh __mirgen_math_acosh();
    atanh __mirgen_math_atanh();
    floor __mirgen_math_floor();
    ceil __mirgen_math_ceil();
    trunc __mirgen_math_trunc();
    round __mirgen_math_round();
    round_ties_even __mirgen_math_rint();
    erf __mirgen_math_erf();
    erfc __mirgen_math_erfc();
    gamma __mirgen_math_tgamma();
    ln_gamma __mirgen_math_lgamma();
    atan2 __mirgen_math_atan2(other);
    hypot __mirgen_math_hypot(other);
    powf __mirgen_math_pow(exponent);
    next_after __mirgen_math_nextafter(towards);
    mul_add __mirgen_math_fma(factor, summand);
    powi __mirgen_math_powi(exponent as i32);
}
