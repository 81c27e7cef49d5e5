"""What the tests of several parts share: modules of single operations, and the consumers of LLVM text."""
