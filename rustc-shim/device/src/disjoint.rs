//! Arrays of which every thread may touch its own elements.
//!
//! Which elements belong to which thread is the *space* of the view, part of its type: one view is divided in one way only, since two ways on the
//! same memory would overlap. A witness fits the space that it was made for.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;

use crate::block::BlockLeader;
use crate::fact;
use crate::thread::{ThreadIndex, D1, D2};

mod sealed {
    pub trait Sealed {}
}

/// How the elements of a [`Disjoint`] are divided: [`Linear`], [`Chunks`], [`Blocks`] or [`Matrix`].
pub trait Space: sealed::Sealed {}

/// One element a thread: the one whose position is the thread's index.
#[derive(Clone, Copy, Debug)]
pub struct Linear(());

/// `N` elements a thread: the chunk whose number is the thread's index. What is left over at the end belongs to nobody.
#[derive(Clone, Copy, Debug)]
pub struct Chunks<const N: usize>(());

/// One element a block, for its first thread: the one whose position is the block's index in the grid.
#[derive(Clone, Copy, Debug)]
pub struct Blocks(());

/// One element a thread: row y and column x of a matrix that is stored row by row.
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    width: usize,
}

impl sealed::Sealed for Linear {}
impl<const N: usize> sealed::Sealed for Chunks<N> {}
impl sealed::Sealed for Blocks {}
impl sealed::Sealed for Matrix {}

impl Space for Linear {}
impl<const N: usize> Space for Chunks<N> {}
impl Space for Blocks {}
impl Space for Matrix {}

/// A view of an array that all threads of a grid share: each may touch the elements that its witness names, and no others.
///
/// As a parameter of a kernel it is a pointer and a length, and may have the space [`Linear`], [`Chunks`] or [`Blocks`]: `Disjoint<[u8], Chunks<4>>`, say, is an array of
/// which each thread has four elements.
///
/// ```compile_fail
/// # use mirgen_device::prelude::*;
/// fn twice(mut y: Disjoint<[f32]>) {
///     let a = y.get_mut(thread::index_1d());
///     let b = y.get_mut(thread::index_1d()); // one reference at a time
///     drop((a, b));
/// }
/// ```
///
/// ```compile_fail
/// # use mirgen_device::prelude::*;
/// fn neighbour(mut y: Disjoint<[f32]>) {
///     y.get_mut(thread::index_1d().get() + 1); // a number is not a witness
/// }
/// ```
#[repr(C)]
pub struct Disjoint<'a, A: ?Sized, S: Space = Linear> {
    cell: &'a UnsafeCell<A>,
    space: S,
    /// Neither `Send` nor `Sync`: a view belongs to its thread.
    brand: PhantomData<*mut ()>,
}

impl<A: ?Sized, S: Space> fmt::Debug for Disjoint<'_, A, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disjoint").finish_non_exhaustive()
    }
}

/// A space that a kernel's parameter may have, since it needs no more than the array.
pub trait ParamSpace: Space {
    #[doc(hidden)]
    const SPACE: Self;
}

impl ParamSpace for Linear {
    const SPACE: Self = Linear(());
}

impl<const N: usize> ParamSpace for Chunks<N> {
    const SPACE: Self = {
        assert!(N != 0, "a chunk has at least one element");
        Chunks(())
    };
}

impl ParamSpace for Blocks {
    const SPACE: Self = Blocks(());
}

impl<'a, T, S: ParamSpace> Disjoint<'a, [T], S> {
    /// A view of an array that belongs to this thread alone.
    #[inline(always)]
    #[must_use]
    pub fn new(array: &'a mut [T]) -> Self {
        // SAFETY: the array is borrowed for `'a`, and a view cannot leave its thread.
        unsafe { Disjoint::from_raw(core::ptr::from_mut(array)) }
    }

    /// A view of `array`, as mirgen makes it for a kernel. For programs that run kernels natively.
    ///
    /// # Safety
    /// `array` must be valid for reads and writes for `'a` and hold values of `T`; one grid may use it, each thread of which makes one view of it, and there is
    /// no other access while those views live.
    #[inline(always)]
    #[must_use]
    pub unsafe fn from_raw(array: *mut [T]) -> Self {
        // SAFETY: valid for `'a`, says the caller, and `UnsafeCell` has its content's layout.
        let cell = unsafe { &*(array as *const UnsafeCell<[T]>) };
        Disjoint {
            cell,
            space: S::SPACE,
            brand: PhantomData,
        }
    }
}

impl<'a, T> Disjoint<'a, [T]> {
    /// Divides the array into chunks of `N` elements.
    ///
    /// All threads have to do so, or none: two divisions of one array would overlap. mirgen checks it.
    ///
    /// ```
    /// # use mirgen_device::prelude::*;
    /// #[kernel]
    /// pub fn rgba(x: &[u32], y: Disjoint<[u8]>) {
    ///     let mut y = y.by_chunks::<4>();
    ///     let i = thread::index_1d();
    ///     if let Some(y) = y.get_mut(i) {
    ///         *y = x[i.get()].to_le_bytes();
    ///     }
    /// }
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn by_chunks<const N: usize>(self) -> Disjoint<'a, [T], Chunks<N>> {
        const { assert!(N != 0, "a chunk has at least one element") };
        fact::grid_uniform(self.address(), N);
        Disjoint {
            cell: self.cell,
            space: Chunks(()),
            brand: PhantomData,
        }
    }

    /// Divides the array among the blocks: an element each.
    ///
    /// All threads have to do so, or none: two divisions of one array would overlap. mirgen checks it.
    #[inline(always)]
    #[must_use]
    pub fn by_blocks(self) -> Disjoint<'a, [T], Blocks> {
        fact::grid_uniform(self.address(), 1);
        Disjoint {
            cell: self.cell,
            space: Blocks(()),
            brand: PhantomData,
        }
    }

    /// Sees the array as a matrix of rows of `width` elements.
    ///
    /// All threads have to do so with the same width, or none: two divisions of one array would overlap. mirgen checks it.
    ///
    /// # Panics
    /// If `width` is above `u32::MAX`.
    ///
    /// ```
    /// # use mirgen_device::prelude::*;
    /// #[kernel]
    /// pub fn sum_of_indices(width: u32, y: Disjoint<[u64]>) {
    ///     let mut y = y.as_matrix(width as usize);
    ///     let at = thread::index_2d();
    ///     if let Some(y) = y.get_mut(at) {
    ///         *y = (at.x() + at.y()) as u64;
    ///     }
    /// }
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn as_matrix(self, width: usize) -> Disjoint<'a, [T], Matrix> {
        fact::grid_uniform(self.address(), width);
        // Without a message of its own, so that it costs no formatting.
        assert!(width <= u32::MAX as usize);
        Disjoint {
            cell: self.cell,
            space: Matrix { width },
            brand: PhantomData,
        }
    }
}

impl<T, S: Space> Disjoint<'_, [T], S> {
    /// How many elements the whole array has.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.cell.get().len()
    }

    /// Has the array no elements at all?
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the array begins.
    #[inline(always)]
    fn address(&self) -> *const u8 {
        self.cell.get() as *const u8
    }

    /// The same array, element by element.
    #[inline(always)]
    fn elements(&self) -> &[UnsafeCell<T>] {
        // SAFETY: `UnsafeCell` has its content's layout, so that a slice of cells is laid out as a cell of a slice.
        unsafe { &*(core::ptr::from_ref(self.cell) as *const [UnsafeCell<T>]) }
    }
}

// In what follows, `T: Send` keeps witnesses out of the array, and with `'static` so it does borrows of a thread's own memory.

impl<T: Send + 'static> Disjoint<'_, [T], Linear> {
    /// The element that `thread` names, or none if it lies behind the end.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, thread: ThreadIndex<D1>) -> Option<&T> {
        match self.elements().get(thread.get()) {
            // SAFETY: no other thread of the grid has this index, and the view's space is that of all its threads.
            Some(cell) => Some(unsafe { &*cell.get() }),
            None => None,
        }
    }

    /// The element that `thread` names, for writing, or none if it lies behind the end.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, thread: ThreadIndex<D1>) -> Option<&mut T> {
        match self.elements().get(thread.get()) {
            // SAFETY: as in `get`; within this thread `&mut self` sees to it that there is one reference at a time.
            Some(cell) => Some(unsafe { &mut *cell.get() }),
            None => None,
        }
    }
}

impl<T: Send + 'static, const N: usize> Disjoint<'_, [T], Chunks<N>> {
    /// Where the chunk that `thread` names begins, if it is whole.
    #[inline(always)]
    fn chunk(&self, thread: ThreadIndex<D1>) -> Option<*mut [T; N]> {
        if thread.get() < self.len() / N {
            // `thread * N + N` is at most the length.
            Some(
                self.cell
                    .get()
                    .cast::<T>()
                    .wrapping_add(thread.get().wrapping_mul(N))
                    .cast::<[T; N]>(),
            )
        } else {
            None
        }
    }

    /// The chunk that `thread` names, or none if it isn't whole.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, thread: ThreadIndex<D1>) -> Option<&[T; N]> {
        match self.chunk(thread) {
            // SAFETY: in bounds; chunks of different numbers don't overlap, and no other thread of the grid has this index.
            Some(chunk) => Some(unsafe { &*chunk }),
            None => None,
        }
    }

    /// The chunk that `thread` names, for writing, or none if it isn't whole.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, thread: ThreadIndex<D1>) -> Option<&mut [T; N]> {
        match self.chunk(thread) {
            // SAFETY: as in `get`; within this thread `&mut self` sees to it that there is one reference at a time.
            Some(chunk) => Some(unsafe { &mut *chunk }),
            None => None,
        }
    }
}

impl<T: Send + 'static> Disjoint<'_, [T], Blocks> {
    /// The element of the block that `leader` names, or none if it lies behind the end.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, leader: BlockLeader) -> Option<&T> {
        match self.elements().get(leader.get()) {
            // SAFETY: no other block has this index, no other thread of the block is its leader, and the view's space is that of all its threads.
            Some(cell) => Some(unsafe { &*cell.get() }),
            None => None,
        }
    }

    /// The element of the block that `leader` names, for writing, or none if it lies behind the end.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, leader: BlockLeader) -> Option<&mut T> {
        match self.elements().get(leader.get()) {
            // SAFETY: as in `get`; within this thread `&mut self` sees to it that there is one reference at a time.
            Some(cell) => Some(unsafe { &mut *cell.get() }),
            None => None,
        }
    }
}

impl<T: Send + 'static> Disjoint<'_, [T], Matrix> {
    /// The width of a row.
    #[inline(always)]
    #[must_use]
    pub fn width(&self) -> usize {
        self.space.width
    }

    /// The cell that `thread` names, if there is one.
    #[inline(always)]
    fn at(&self, thread: ThreadIndex<D2>) -> Option<&UnsafeCell<T>> {
        // Cannot wrap: the width is below 2^32, and so is y, since no launch has more than 2^26 threads along y.
        let place = thread
            .y()
            .wrapping_mul(self.space.width)
            .wrapping_add(thread.x());
        let elements = self.elements();
        // One condition with one way out: where two ways give none, the GPU would test once more whether there is one.
        if (thread.x() < self.space.width) & (place < elements.len()) {
            elements.get(place)
        } else {
            None
        }
    }

    /// The element in row y and column x, or none if the matrix has no such place.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, thread: ThreadIndex<D2>) -> Option<&T> {
        match self.at(thread) {
            // SAFETY: columns are below the width, so different places are different elements, and no other thread of the grid has this one.
            Some(cell) => Some(unsafe { &*cell.get() }),
            None => None,
        }
    }

    /// The element in row y and column x, for writing, or none if the matrix has no such place.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, thread: ThreadIndex<D2>) -> Option<&mut T> {
        match self.at(thread) {
            // SAFETY: as in `get`; within this thread `&mut self` sees to it that there is one reference at a time.
            Some(cell) => Some(unsafe { &mut *cell.get() }),
            None => None,
        }
    }
}
