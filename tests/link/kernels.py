"""Hand-written kernels as lowering prints them: typed pointers, `!nvvm.annotations`, a trap before `unreachable`."""

from __future__ import annotations

_INDEX = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.trap()

define internal i64 @index() {
start:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %base = mul i32 %ctaid, %ntid
  %index = add i32 %base, %tid
  %wide = zext i32 %index to i64
  ret i64 %wide
}
"""

#: y = a * x + y with both bounds checked; a*x+y must not become one fma.
SAXPY = (
    'target triple = "nvptx64-nvidia-cuda"\n'
    + _INDEX
    + """
define internal float @axpy(float %a, float %x, float %y) {
start:
  %m = fmul float %a, %x
  %s = fadd float %m, %y
  ret float %s
}

define void @saxpy(float %a, i8* %x, i64 %xn, i8* %y, i64 %yn) {
start:
  %i = call i64 @index()
  %inx = icmp ult i64 %i, %xn
  br i1 %inx, label %okx, label %bad
okx:
  %iny = icmp ult i64 %i, %yn
  br i1 %iny, label %oky, label %bad
oky:
  %xs = bitcast i8* %x to float*
  %ys = bitcast i8* %y to float*
  %xp = getelementptr inbounds float, float* %xs, i64 %i
  %yp = getelementptr inbounds float, float* %ys, i64 %i
  %xv = load float, float* %xp, align 4
  %yv = load float, float* %yp, align 4
  %r = call float @axpy(float %a, float %xv, float %yv)
  store float %r, float* %yp, align 4
  ret void
bad:
  call void @llvm.trap()
  unreachable
}

!nvvm.annotations = !{!0}
!0 = !{void (float, i8*, i64, i8*, i64)* @saxpy, !"kernel", i32 1}
"""
)

#: Two barriers around an exchange through shared memory: both must stay.
EXCHANGE = """
@buffer = internal addrspace(3) global [256 x i32] undef, align 4

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0() #0

define void @exchange(i8* %data) {
start:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %tid to i64
  %words = bitcast i8* %data to i32*
  %p = getelementptr inbounds i32, i32* %words, i64 %i
  %v = load i32, i32* %p, align 4
  %mine = getelementptr inbounds [256 x i32], [256 x i32] addrspace(3)* @buffer, i64 0, i64 %i
  store i32 %v, i32 addrspace(3)* %mine, align 4
  call void @llvm.nvvm.barrier0() #0
  %other = xor i64 %i, 1
  %theirs = getelementptr inbounds [256 x i32], [256 x i32] addrspace(3)* @buffer, i64 0, i64 %other
  %w = load i32, i32 addrspace(3)* %theirs, align 4
  call void @llvm.nvvm.barrier0() #0
  store i32 %w, i32 addrspace(3)* %mine, align 4
  store i32 %w, i32* %p, align 4
  ret void
}

attributes #0 = { convergent nounwind }

!nvvm.annotations = !{!0}
!0 = !{void (i8*)* @exchange, !"kernel", i32 1}
"""

#: The sine of NVIDIA's library, by value.
SINE = """
declare float @__nv_sinf(float)

define void @sine(i8* %data) {
start:
  %p = bitcast i8* %data to float*
  %v = load float, float* %p, align 4
  %s = call float @__nv_sinf(float %v)
  store float %s, float* %p, align 4
  ret void
}

!nvvm.annotations = !{!0}
!0 = !{void (i8*)* @sine, !"kernel", i32 1}
"""

#: Parameters of every alignment, an aggregate by value among them.
PARAMS = """
%Pixel = type { i8, [3 x i8], i32, i64 }

define void @params(i8 %a, i16 %b, i8* %out, i128 %c, %Pixel* byval(%Pixel) align 16 %d, i8 %e) {
start:
  %p = bitcast i8* %out to i128*
  %q = getelementptr inbounds %Pixel, %Pixel* %d, i64 0, i32 3
  %v = load i64, i64* %q, align 8
  %w = zext i64 %v to i128
  %a1 = zext i8 %a to i128
  %b1 = zext i16 %b to i128
  %e1 = zext i8 %e to i128
  %s1 = add i128 %c, %w
  %s2 = add i128 %s1, %a1
  %s3 = add i128 %s2, %b1
  %s4 = add i128 %s3, %e1
  store i128 %s4, i128* %p, align 16
  ret void
}

!nvvm.annotations = !{!0}
!0 = !{void (i8, i16, i8*, i128, %Pixel*, i8)* @params, !"kernel", i32 1}
"""

#: LLVM's NVPTX back end aborts the process on a 128-bit compare-and-swap; the first kernel and function are sound.
ABORT = """
define internal i32 @sound(i32 %x) noinline {
start:
  %y = mul i32 %x, 3
  ret i32 %y
}

define internal void @swap(i8* %at) noinline {
start:
  %p = bitcast i8* %at to i128*
  %r = cmpxchg i128* %p, i128 0, i128 1 seq_cst seq_cst
  ret void
}

define void @harmless(i8* %data) {
start:
  %p = bitcast i8* %data to i32*
  %v = load i32, i32* %p, align 4
  %w = call i32 @sound(i32 %v)
  store i32 %w, i32* %p, align 4
  ret void
}

define void @culprit(i8* %data) {
start:
  call void @swap(i8* %data)
  ret void
}

!nvvm.annotations = !{!0, !1}
!0 = !{void (i8*)* @harmless, !"kernel", i32 1}
!1 = !{void (i8*)* @culprit, !"kernel", i32 1}
"""

#: Many live values at once.
PRESSURE_HEAD = "define void @pressure(i8* %data) {\nstart:\n  %p = bitcast i8* %data to double*\n"


def pressure(count: int) -> str:
    """A kernel that keeps ``count`` doubles alive at once."""
    lines = [PRESSURE_HEAD]
    for i in range(count):
        lines.append(f"  %p{i} = getelementptr inbounds double, double* %p, i64 {i * 7}\n")
        lines.append(f"  %v{i} = load volatile double, double* %p{i}, align 8\n")
    for i in range(count):
        lines.append(f"  store volatile double %v{count - 1 - i}, double* %p{i}, align 8\n")
    lines.append('  ret void\n}\n!nvvm.annotations = !{!0}\n!0 = !{void (i8*)* @pressure, !"kernel", i32 1}\n')
    return "".join(lines)


def called_twice(lines: int) -> str:
    """A kernel that calls a function of that many lines twice."""
    rounds = ["define internal i32 @rounds(i32 %v0) {\nstart:\n"]
    for i in range(lines // 2):
        rounds.append(f"  %m{i} = mul i32 %v{i}, {2 * i + 3}\n  %v{i + 1} = xor i32 %m{i}, {i + 77}\n")
    rounds.append(f"  ret i32 %v{lines // 2}\n}}\n")
    return (
        "".join(rounds)
        + """
define void @twice(i8* %data) {
start:
  %p = bitcast i8* %data to i32*
  %v = load i32, i32* %p, align 4
  %w = call i32 @rounds(i32 %v)
  store volatile i32 %w, i32* %p, align 4
  %x = call i32 @rounds(i32 %w)
  store volatile i32 %x, i32* %p, align 4
  ret void
}

!nvvm.annotations = !{!0}
!0 = !{void (i8*)* @twice, !"kernel", i32 1}
"""
    )
