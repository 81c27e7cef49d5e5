//! The memory of one block.
//!
//! It is a parameter of the kernel, which makes it unique, and never an argument of the launch. It alternates between two phases, and
//! [`block::sync`](crate::block::sync) leads from one to the other:
//!
//! * [`Owned`]: each thread reads and writes the elements that its [`BlockThread`] names.
//! * [`Published`]: all threads read everything, nobody writes.
//!
//! So a barrier that is forgotten is a type error. At the start the memory is owned, and holds anything.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::sync::atomic::{
    AtomicI16, AtomicI32, AtomicI64, AtomicI8, AtomicIsize, AtomicU16, AtomicU32, AtomicU64,
    AtomicU8, AtomicUsize,
};

use crate::block::BlockThread;
use crate::fact;
use crate::plain::Plain;

mod sealed {
    pub trait Sealed {}
}

/// The phase in which every thread has its own elements.
#[derive(Debug)]
pub enum Owned {}

/// The phase in which every thread may read all elements.
#[derive(Debug)]
pub enum Published {}

/// Memory of the block: an array of type `A`, in phase `P`. One pointer.
#[repr(transparent)]
pub struct Shared<'a, A, P = Owned> {
    cell: &'a UnsafeCell<A>,
    phase: PhantomData<*mut P>,
}

impl<A, P> fmt::Debug for Shared<'_, A, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl<'a, A, P> Shared<'a, A, P> {
    /// A view of `memory`, as mirgen makes it for a kernel. For programs that run kernels natively.
    ///
    /// # Safety
    /// `memory` must be valid for reads and writes for `'a`, hold a value of `A`, and belong to one block, each thread of which makes one view of it; there is no
    /// other access while those views live.
    #[inline(always)]
    #[must_use]
    pub unsafe fn from_raw(memory: *mut A) -> Self {
        // SAFETY: valid for `'a`, says the caller, and `UnsafeCell` has its content's layout.
        let cell = unsafe { &*memory.cast::<UnsafeCell<A>>() };
        Shared {
            cell,
            phase: PhantomData,
        }
    }
}

impl<T: Plain, const N: usize> Shared<'_, [T; N], Owned> {
    /// The same memory, element by element.
    #[inline(always)]
    fn elements(&self) -> &[UnsafeCell<T>; N] {
        // SAFETY: `UnsafeCell` has its content's layout, so that an array of cells is laid out as a cell of an array.
        unsafe { &*core::ptr::from_ref(self.cell).cast::<[UnsafeCell<T>; N]>() }
    }

    /// The element that `thread` names, or none if it lies behind the end.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, thread: BlockThread) -> Option<&T> {
        match self.elements().get(thread.get()) {
            // SAFETY: no other thread of the block has this index, and in this phase nobody touches another's elements.
            Some(cell) => Some(unsafe { &*cell.get() }),
            None => None,
        }
    }

    /// The element that `thread` names, for writing, or none if it lies behind the end.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, thread: BlockThread) -> Option<&mut T> {
        match self.elements().get(thread.get()) {
            // SAFETY: as in `get`; within this thread `&mut self` sees to it that there is one reference at a time.
            Some(cell) => Some(unsafe { &mut *cell.get() }),
            None => None,
        }
    }
}

impl<T: Plain, const N: usize> Deref for Shared<'_, [T; N], Published> {
    type Target = [T; N];

    #[inline(always)]
    fn deref(&self) -> &[T; N] {
        // SAFETY: in this phase nobody writes, and the reference cannot outlive it, since `sync` consumes `self`.
        unsafe { &*self.cell.get() }
    }
}

impl<A: Atomic, const N: usize> Shared<'_, [A; N], Owned> {
    /// The atomics, which need no phases. They start with any value: store into each, then wait at a [`barrier`](crate::block::barrier).
    #[inline(always)]
    #[must_use]
    pub fn atomics(&self) -> &[A; N] {
        // SAFETY: atomics may be shared, and for them there is no other access than this.
        unsafe { &*self.cell.get() }
    }
}

/// The atomics of `core`, which shared memory can hold.
pub trait Atomic: sealed::Sealed + Sync {}

macro_rules! atomic {
    ($($ty:ty)*) => { $(
        impl sealed::Sealed for $ty {}
        impl Atomic for $ty {}
    )* };
}

atomic! { AtomicI8 AtomicI16 AtomicI32 AtomicI64 AtomicIsize AtomicU8 AtomicU16 AtomicU32 AtomicU64 AtomicUsize }

/// Proof that the barrier was passed.
#[doc(hidden)]
#[derive(Debug)]
pub struct Passed(());

impl Passed {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Passed(())
    }
}

/// What [`block::sync`](crate::block::sync) takes: [`Shared`] of plain elements, and tuples of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no phases",
    label = "not a view of shared memory",
    note = "`block::sync` takes `Shared<[T; N]>` with `T: Plain`, or a tuple of such views; a barrier alone is `block::barrier()`"
)]
pub trait Phase: sealed::Sealed {
    /// The view in the next phase.
    type Next;

    #[doc(hidden)]
    fn next(self, passed: Passed) -> Self::Next;
}

impl<T: Plain, const N: usize, P> sealed::Sealed for Shared<'_, [T; N], P> {}

impl<'a, T: Plain, const N: usize> Phase for Shared<'a, [T; N], Owned> {
    type Next = Shared<'a, [T; N], Published>;

    #[inline(always)]
    fn next(self, _passed: Passed) -> Self::Next {
        fact::block_uniform(self.cell.get() as *const u8);
        Shared {
            cell: self.cell,
            phase: PhantomData,
        }
    }
}

impl<'a, T: Plain, const N: usize> Phase for Shared<'a, [T; N], Published> {
    type Next = Shared<'a, [T; N], Owned>;

    #[inline(always)]
    fn next(self, _passed: Passed) -> Self::Next {
        fact::block_uniform(self.cell.get() as *const u8);
        Shared {
            cell: self.cell,
            phase: PhantomData,
        }
    }
}

macro_rules! phase_tuple {
    ($($ty:ident $at:tt),*) => {
        impl<$($ty: Phase),*> sealed::Sealed for ($($ty,)*) {}

        impl<$($ty: Phase),*> Phase for ($($ty,)*) {
            type Next = ($($ty::Next,)*);

            #[inline(always)]
            fn next(self, _passed: Passed) -> Self::Next {
                ($(self.$at.next(Passed::new()),)*)
            }
        }
    };
}

phase_tuple! { A 0, B 1 }
phase_tuple! { A 0, B 1, C 2 }
phase_tuple! { A 0, B 1, C 2, D 3 }
