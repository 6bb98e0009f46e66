/* Differences between compilers. */
#ifndef DG_COMPILER_H
#define DG_COMPILER_H

#if defined(__GNUC__) || defined(__clang__)
#define DG_GNU 1 /* attributes, vectors and builtins of GCC */
#else
#define DG_GNU 0
#define __attribute__(x)
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define DG_INLINE static __forceinline
#else
#define DG_INLINE static inline __attribute__((always_inline))
#endif

#endif
