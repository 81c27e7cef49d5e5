define internal i32 @"_M0_second"(i8* nonnull %".1") nounwind
{
entry:
  br label %"bb0"
bb0:
  ; _0 = copy (*_1).1
  %".4" = getelementptr inbounds i8, i8* %".1", i64 1
  %".5" = bitcast i8* %".4" to i32*
  %".6" = load i32, i32* %".5", align 1
  ; return
  ret i32 %".6"
}
