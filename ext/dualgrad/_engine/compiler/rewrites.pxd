# Counts of each rewrite. See rewrites.pyx.

cdef enum Rewrite:
    # entries
    BY_ENTRIES_ALONE
    # simplify
    EQUAL_STEP
    STEP_DROPPED
    NEGATION_PASSED_ON
    NEGATION_DONE
    NEGATION_IN_CONSTANT
    NEGATION_OF_OPERANDS
    NEGATION_TOO_DEEP
    NEGATIONS_CANCEL
    SUM_OF_NEGATIVES
    SIGN_IN_SUM
    SQUARE_AS_PRODUCT
    CHOICE_KNOWN
    PARTS_JOINED
    ABSOLUTE_OF_NEGATIVE
    DIVISION_AS_PRODUCT
    CONSTANTS_MULTIPLIED
    FACTOR_ONE
    FACTOR_ZERO
    ZERO_IN_SUM
    PRODUCT_DISTRIBUTED
    # share
    COLUMN_OF_ZEROS
    FACTOR_OF_ROWS
    FACTOR_THROUGH_MATMUL
    FACTOR_THROUGH_SUM
    FACTOR_THROUGH_PRODUCT
    FACTOR_ACROSS_MATMUL
    # factor
    PRODUCT_OF_SUM
    # numbers
    TAKEN_APART
    NUMBER_RESHAPED
    NUMBER_FUSED
    NUMBER_REUSES_CELL
    # lower; the manners as in lowering.pxd
    ORDER_OF_AXES
    CONSTANT_AS_NUMBER
    MERGE_PUT_OFF
    MERGE_DONE
    LOWERED_LOOP
    LOWERED_SELECT
    LOWERED_CAST
    LOWERED_MATMUL
    LOWERED_CONTRACT
    LOWERED_SUM
    LOWERED_COPIES
    LOWERED_GATHER
    LOWERED_SCATTER
    LOWERED_GENERIC
    # partition
    ORDER_CHOSEN
    SMALL_FIRST
    ROW_BY_ROW
    ADDED_UP
    LOOKS_BESIDE
    # scale rows
    ROWS_SCALED
    SCALES_JOINED
    # fuse
    SCALED
    FUSED_LEFT
    FUSED_RIGHT
    FUSED_BOTH
    DEPTH_FIRST
    GREEDY
    # margins
    MADE_WITHIN
    HALO_ROWS
    # join
    JOINED
    # allocate
    ARENA_REUSED
    # generate
    BLOCK_REUSED
    COPIED_ONCE
    PERIODS
    AXES_MERGED
    COPY_SPLIT
    GATHERED_FACTOR
    KEPT_FACTOR
    SUM_BY_LOOP
    SUM_BY_ROWS
    SUM_BY_PRODUCT
    SCALAR_FORM
    SEVERAL_THREADS
    SHORTER_BLOCKS
    STREAMS
    N_REWRITES


cdef extern from "memory/shared.h":
    long long dg_add_shared(long long *counter, long long n) noexcept

cdef long long *COUNTS

cdef inline void note(Rewrite rewrite) noexcept:
    """Count a rewrite."""
    dg_add_shared(&COUNTS[<int>rewrite], 1)
