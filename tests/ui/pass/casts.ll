define internal i8 @"_M0_to_u8"(float %".1") nounwind
{
entry:
  br label %"bb0"
bb0:
  ; _0 = copy _1 as u8 (FloatToInt)
  %".4" = fptoui float %".1" to i8
  %".5" = fcmp olt float %".1", bitcast (i32 0 to float)
  %".6" = fcmp ogt float %".1", 0x406fe00000000000
  %".7" = select  i1 %".6", i8 255, i8 %".4"
  %".8" = select  i1 %".5", i8 0, i8 %".7"
  %".9" = fcmp uno float %".1", %".1"
  %".10" = select  i1 %".9", i8 0, i8 %".8"
  ; return
  ret i8 %".10"
}

define internal i64 @"_M1_widen"(i16 %".1") nounwind
{
entry:
  br label %"bb0"
bb0:
  ; _0 = copy _1 as u64 (IntToInt)
  %".4" = sext i16 %".1" to i64
  ; return
  ret i64 %".4"
}
