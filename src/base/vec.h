/* vec: a typed growing array. VEC(int) v = {0}; VEC_PUSH(&v, 3); v.items[0]; v.count; VEC_FREE(&v). */
#ifndef GOODPUT_BASE_VEC_H
#define GOODPUT_BASE_VEC_H

#include "base/mem.h"

#define VEC(type)                                                                                                                          \
	struct {                                                                                                                           \
		type *items;                                                                                                               \
		size_t count, cap;                                                                                                         \
	}

#define VEC_RESERVE(v, wanted)                                                                                                             \
	do {                                                                                                                               \
		if ((wanted) > (v)->cap) {                                                                                                 \
			(v)->cap = (v)->cap * 2 > (wanted) ? (v)->cap * 2 : (wanted) + 4;                                                  \
			(v)->items = mem_resize((v)->items, (v)->cap, sizeof *(v)->items);                                                 \
		}                                                                                                                          \
	} while (0)

#define VEC_PUSH(v, ...)                                                                                                                   \
	do {                                                                                                                               \
		VEC_RESERVE(v, (v)->count + 1);                                                                                            \
		(v)->items[(v)->count++] = (__VA_ARGS__);                                                                                  \
	} while (0)

/* Gives back what is not used, when that is more than half. */
#define VEC_TIGHTEN(v)                                                                                                                     \
	do {                                                                                                                               \
		if ((v)->cap > 16 && (v)->count < (v)->cap / 2) {                                                                          \
			(v)->cap = (v)->count + (v)->count / 4 + 4;                                                                        \
			(v)->items = mem_resize((v)->items, (v)->cap, sizeof *(v)->items);                                                 \
		}                                                                                                                          \
	} while (0)

#define VEC_FREE(v)                                                                                                                        \
	do {                                                                                                                               \
		mem_free((v)->items);                                                                                                      \
		(v)->items = NULL;                                                                                                         \
		(v)->count = (v)->cap = 0;                                                                                                 \
	} while (0)

#define VEC_EACH(v, item) for (__typeof__((v)->items[0]) *item = (v)->items; (v)->count && item != (v)->items + (v)->count; item++)

#endif
