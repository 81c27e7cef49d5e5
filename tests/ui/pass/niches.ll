define internal i8 @"_M0_next"(i8 %".1") nounwind
{
entry:
  %"_4" = alloca [1 x i8], align 1
  %".15" = bitcast [1 x i8]* %"_4" to i8*
  %"_0" = alloca [1 x i8], align 1
  %".41" = bitcast [1 x i8]* %"_0" to i8*
  br label %"bb0"
bb0:
  ; StorageLive(_2)
  ; StorageLive(_3)
  ; StorageLive(_4)
  ; StorageLive(_8)
  ; StorageLive(_9)
  ; _8 = discriminant(_1)
  %".9" = icmp eq i8 %".1", 0
  %".10" = select  i1 %".9", i64 0, i64 1
  ; switchInt(move _8) -> [0: bb6, 1: bb7, otherwise: bb1]
  switch i64 %".10", label %"bb1" [i64 0, label %"bb6" i64 1, label %"bb7"]
bb7:
  ; _9 = copy (_1 as Some).0
  ; _4 = core::ops::ControlFlow::<core::option::Option<core::convert::Infallible>, core::num::NonZero<u8>>::Continue(copy _9)
  store i8 %".1", i8* %".15", align 1
  ; goto -> bb5
  br label %"bb5"
bb6:
  ; _4 = const {0x00: core::ops::ControlFlow<core::option::Option<core::convert::Infallible>, core::num::NonZero<u8>>}
  store i8 0, i8* %".15", align 1
  ; goto -> bb5
  br label %"bb5"
bb5:
  ; StorageDead(_9)
  ; StorageDead(_8)
  ; _5 = discriminant(_4)
  %".26" = load i8, i8* %".15", align 1
  %".27" = icmp eq i8 %".26", 0
  %".28" = select  i1 %".27", i64 1, i64 0
  ; switchInt(move _5) -> [0: bb2, 1: bb3, otherwise: bb1]
  switch i64 %".28", label %"bb1" [i64 0, label %"bb2" i64 1, label %"bb3"]
bb1:
  ; unreachable
  unreachable
bb3:
  ; StorageLive(_10)
  ; StorageLive(_11)
  ; _10 = discriminant(_6)
  ; _11 = Eq(copy _10, const 0_isize)
  %".37" = icmp eq i64 0, 0
  ; assume(move _11)
  call void @"llvm.assume"(i1 %".37")
  ; _0 = const {0x00: core::option::Option<core::num::NonZero<u8>>}
  store i8 0, i8* %".41", align 1
  ; StorageDead(_11)
  ; StorageDead(_10)
  ; StorageDead(_3)
  ; StorageDead(_2)
  ; StorageDead(_4)
  ; goto -> bb4
  br label %"bb4"
bb2:
  ; _7 = copy (_4 as Continue).0
  %".51" = load i8, i8* %".15", align 1
  ; _3 = copy _7 as u8 (Transmute)
  ; _2 = Add(copy _3, const 1_u8)
  %".54" = add i8 %".51", 1
  ; StorageDead(_3)
  ; _0 = copy _2 as core::option::Option<core::num::NonZero<u8>> (Transmute)
  store i8 %".54", i8* %".41", align 1
  ; StorageDead(_2)
  ; StorageDead(_4)
  ; goto -> bb4
  br label %"bb4"
bb4:
  ; return
  %".63" = load i8, i8* %".41", align 1
  ret i8 %".63"
}

define internal i1 @"_M1_is_some"(i8* %".1") nounwind
{
entry:
  br label %"bb0"
bb0:
  ; _2 = discriminant(_1)
  %".4" = ptrtoint i8* %".1" to i64
  %".5" = icmp eq i64 %".4", 0
  %".6" = select  i1 %".5", i64 0, i64 1
  ; _0 = Eq(copy _2, const 1_isize)
  %".8" = icmp eq i64 %".6", 1
  ; return
  ret i1 %".8"
}
