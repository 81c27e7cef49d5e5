define internal {i8*, i64} @"_M0_word"(i64 %".1") nounwind
{
entry:
  br label %"bb0"
bb0:
  ; StorageLive(_2)
  ; _2 = const {alloc8: &[&str; 3]}
  ; _3 = Lt(copy _1, const 3_usize)
  %".6" = icmp ult i64 %".1", 3
  ; assert(move _3, "index out of bounds: the length is {} but the index is {}", const 3_usize, copy _1) -> [success: bb1, unwind unreachable]
  br i1 %".6", label %"bb1", label %"panic"
bb1:
  ; _0 = copy (*_2)[_1]
  %".12" = bitcast i8* addrspacecast (i8 addrspace(1)* bitcast (<{i8*, [8 x i8], i8*, [8 x i8], i8*, [8 x i8]}> addrspace(1)* @"__mirgen_alloc_8" to i8 addrspace(1)*) to i8*) to [16 x i8]*
  %".13" = getelementptr inbounds [16 x i8], [16 x i8]* %".12", i64 %".1"
  %".14" = bitcast [16 x i8]* %".13" to i8*
  %".15" = bitcast i8* %".14" to i8**
  %".16" = load i8*, i8** %".15", align 8
  %".17" = getelementptr inbounds i8, i8* %".14", i64 8
  %".18" = bitcast i8* %".17" to i64*
  %".19" = load i64, i64* %".18", align 8
  ; StorageDead(_2)
  ; return
  %".22" = insertvalue {i8*, i64} undef, i8* %".16", 0
  %".23" = insertvalue {i8*, i64} %".22", i64 %".19", 1
  ret {i8*, i64} %".23"
panic:
  call void @"llvm.trap"()
  unreachable
}
