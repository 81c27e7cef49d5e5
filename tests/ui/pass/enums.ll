define internal i32 @"_M0_area"(i8* nonnull %".1") nounwind
{
entry:
  %"_0" = alloca [4 x i8], align 4
  %".31" = bitcast [4 x i8]* %"_0" to i8*
  br label %"bb0"
bb0:
  ; _2 = discriminant((*_1))
  %".4" = bitcast i8* %".1" to i32*
  %".5" = load i32, i32* %".4", align 4
  %".6" = zext i32 %".5" to i64
  ; switchInt(move _2) -> [0: bb3, 1: bb2, otherwise: bb1]
  switch i64 %".6", label %"bb1" [i64 0, label %"bb3" i64 1, label %"bb2"]
bb1:
  ; unreachable
  unreachable
bb2:
  ; _5 = copy ((*_1) as Rect).0
  %".12" = getelementptr inbounds i8, i8* %".1", i64 4
  %".13" = bitcast i8* %".12" to i32*
  %".14" = load i32, i32* %".13", align 4
  ; _6 = copy ((*_1) as Rect).1
  %".16" = getelementptr inbounds i8, i8* %".1", i64 8
  %".17" = bitcast i8* %".16" to i32*
  %".18" = load i32, i32* %".17", align 4
  ; _7 = MulWithOverflow(copy _5, copy _6)
  %".20" = zext i32 %".14" to i64
  %".21" = zext i32 %".18" to i64
  %".22" = mul i64 %".20", %".21"
  %".23" = trunc i64 %".22" to i32
  %".24" = lshr i64 %".22", 32
  %".25" = icmp ne i64 %".24", 0
  ; assert(!move _7.1, "attempt to compute `{} * {}`, which would overflow", copy _5, copy _6) -> [success: bb5, unwind unreachable]
  br i1 %".25", label %"panic", label %"bb5"
bb5:
  ; _0 = move _7.0
  %".32" = bitcast i8* %".31" to i32*
  store i32 %".23", i32* %".32", align 4
  ; goto -> bb6
  br label %"bb6"
bb3:
  ; _3 = copy ((*_1) as Square).0
  %".37" = getelementptr inbounds i8, i8* %".1", i64 4
  %".38" = bitcast i8* %".37" to i32*
  %".39" = load i32, i32* %".38", align 4
  ; _4 = MulWithOverflow(copy _3, copy _3)
  %".41" = zext i32 %".39" to i64
  %".42" = zext i32 %".39" to i64
  %".43" = mul i64 %".41", %".42"
  %".44" = trunc i64 %".43" to i32
  %".45" = lshr i64 %".43", 32
  %".46" = icmp ne i64 %".45", 0
  ; assert(!move _4.1, "attempt to compute `{} * {}`, which would overflow", copy _3, copy _3) -> [success: bb4, unwind unreachable]
  br i1 %".46", label %"panic.1", label %"bb4"
bb4:
  ; _0 = move _4.0
  %".52" = bitcast i8* %".31" to i32*
  store i32 %".44", i32* %".52", align 4
  ; goto -> bb6
  br label %"bb6"
bb6:
  ; return
  %".57" = bitcast i8* %".31" to i32*
  %".58" = load i32, i32* %".57", align 4
  ret i32 %".58"
panic:
  call void @"llvm.trap"()
  unreachable
panic.1:
  call void @"llvm.trap"()
  unreachable
}
