define internal i32 @"_M0_sum"(i32 %".1", i32 %".2") nounwind
{
entry:
  br label %"bb0"
bb0:
  ; _3 = AddWithOverflow(copy _1, copy _2)
  %".5" = add i32 %".1", %".2"
  %".6" = xor i32 %".1", %".5"
  %".7" = xor i32 %".2", %".5"
  %".8" = and i32 %".6", %".7"
  %".9" = icmp slt i32 %".8", 0
  ; assert(!move _3.1, "attempt to compute `{} + {}`, which would overflow", copy _1, copy _2) -> [success: bb1, unwind unreachable]
  br i1 %".9", label %"panic", label %"bb1"
bb1:
  ; _0 = move _3.0
  ; return
  ret i32 %".5"
panic:
  call void @"llvm.trap"()
  unreachable
}

define internal i32 @"_M1_wrapped"(i32 %".1", i32 %".2") nounwind
{
entry:
  br label %"bb0"
bb0:
  ; _0 = Add(copy _1, copy _2)
  %".5" = add i32 %".1", %".2"
  ; return
  ret i32 %".5"
}
