/* Instructions, and the regions that they form: the data that the executor reads. */
#ifndef DG_INSTRUCTION_H
#define DG_INSTRUCTION_H

#include "vector/loop.h"

/* The kinds of instructions, one row of instructions.def each. */
#define DG_INSTRUCTION(NAME, name, ...) DG_##NAME,
enum {
#include "executor/instructions.def"
    DG_N_KINDS
};
#undef DG_INSTRUCTION

static inline const char *dg_kind_name(int kind)
{
#define DG_INSTRUCTION(NAME, name, ...) #name,
    static const char *const names[] = {
#include "executor/instructions.def"
    };
#undef DG_INSTRUCTION
    return kind >= 0 && kind < DG_N_KINDS ? names[kind] : "unknown";
}

enum { DG_PLACES = 6, DG_MAX_AXES = 6, DG_MAX_INDICES = 3, DG_MAX_THREADS = 64 };

typedef struct {
    int count;                           /* number of index arrays */
    int wide;                            /* they are int64, else int32 */
    npy_intp width;                      /* elements of a piece, see gather.h */
    npy_intp step[DG_MAX_INDICES];       /* of each index array: bytes between indices */
    npy_intp extent[DG_MAX_INDICES];     /* length of the axis that it indexes */
    npy_intp stride[DG_MAX_INDICES];     /* bytes between elements along that axis */
} dg_picks;

typedef struct {
    int base;
    npy_intp offset; /* bytes */
    npy_intp row;    /* bytes per row of the whole array; 0 for tile memory and for shared operands */
    npy_intp local;  /* bytes per row of the tile, in memory of a tile; else 0 */
} dg_operand;

typedef struct {
    int kind;
    int n_in;
    dg_loop fn;
    void *data;
    npy_intp low, high;     /* rows of the instruction */
    npy_intp before, after; /* rows that a tile needs before and after its own */
    dg_operand arg[DG_PLACES]; /* the operands, then the result, then scratch */
    npy_intp step[DG_PLACES]; /* elementwise: bytes between elements, operands then result */
    npy_intp width;    /* elements per row */
    npy_intp period;   /* elementwise: a shared operand is repeated for this many rows, then read again; or 0 */
    npy_intp advance[DG_PLACES]; /* then: bytes per row */
    npy_intp dims[4];  /* products: stack, m, k, n; gathers, scatters: stack, pieces; -p stands for p times the number
                          of rows; scaled rows: 1 for each product that absorbs */
    npy_intp strides[9];
    int axes;          /* copies: number of axes behind the rows, their lengths and strides; [0] is for the rows */
    npy_intp shape[DG_MAX_AXES];
    npy_intp from[DG_MAX_AXES]; /* gathers, scatters: [0] is the stride between stacks, in the operand */
    npy_intp to[DG_MAX_AXES];   /* and in the result */
    npy_intp item;
    dg_picks picks;
    int once;          /* the same for every tile: executed for the first tile only, on `high` rows */
    dg_loop add;       /* products that are added up: the loop that adds, and its data */
    void *add_data;
    npy_intp half;     /* products that equal their transposes: number and first of the equal columns; or 0 */
    npy_intp half_from;
} dg_instruction;

/* Memory outside of the tiles that a region walks along, row by row. A tile is about as long as a page, and the
 * processor's own prefetching restarts at each page. So a share of the next tile's cache lines is prefetched before
 * each instruction. */
typedef struct {
    int base;
    npy_intp offset; /* bytes */
    npy_intp row;    /* bytes per row */
    npy_intp low;    /* the first row that uses it */
    npy_intp high;   /* the first row behind them */
} dg_stream;

enum { DG_MAX_STREAMS = 16, DG_LINE = 64 };

typedef struct {
    int count;
    dg_stream at[DG_MAX_STREAMS];
} dg_streams;

enum { DG_F_MUL, DG_F_ABSORB, DG_F_ADD, DG_F_SUB, DG_F_BUS, DG_F_KINDS }; /* BUS: SUB with its operands exchanged */

/* Operations on single numbers: the five above, and these. */
enum { DG_S_FUSED_3 = DG_F_KINDS, DG_S_FUSED_4, DG_S_NEG, DG_S_SQUARE, DG_S_DIV, DG_S_RECIPROCAL, DG_S_CALL, DG_S_OTHER };

typedef struct {
    short op, inner, outer, second, wide, n_in;
    int base[5], offset[5];
    dg_loop fn;
    void *data;
} dg_scalar;

/* Machine code in place of instructions; see executor/native.h. */
enum { DG_NATIVE_ARGS = 256 };

/* Returns the number of elements that are done, from the first on; the elements behind them are not written. */
typedef npy_intp (*dg_native_loop)(char **args, npy_intp n);

/* Returns 1 if it met nan; then its results are invalid. */
typedef int (*dg_native_numbers)(char *const *bases, void *const *calls);

/* The machine code of a run. Its instruction has operands that reveal the rows of a tile: the first advances by one
 * byte per row of the whole array, the second by one byte per row of the tile. */
typedef struct {
    dg_native_loop fn;
    const dg_instruction *run; /* the instructions that it replaces */
    npy_intp count;            /* and their number */
    int n_args;
    dg_operand arg[DG_NATIVE_ARGS];
} dg_native;

typedef struct {
    const dg_instruction *program;
    npy_intp count, rows, block;
    int workers;
    const dg_streams *ahead;
    npy_intp done, chunk;         /* rows of each worker's part: done so far, and in the next chunk */
    char **bases[DG_MAX_THREADS]; /* of each worker, with its own tile memory and totals */
} dg_region;

#endif
