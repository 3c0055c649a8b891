/* gate: who may touch the data when. The loop's thread is the only one that writes; readers are workers. Writes run while nobody reads, in
 * the order in which they came; what cannot run yet waits, and nobody blocks. All calls come from the loop's thread. */
#ifndef GOODPUT_SERVE_GATE_H
#define GOODPUT_SERVE_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gate;
struct gate_task {
	/* Of a write: does it. Of a read: starts it; it ends with gate_read_done. */
	void (*run)(struct gate_task *task);
	struct gate_task *next;
	int64_t since_ms;
};

struct gate_queue {
	struct gate_task *first, **end;
	size_t count;
};
struct gate {
	struct gate_queue reads, writes;
	size_t reading, reading_most;
	bool pumping, held;
};

void gate_init(struct gate *g, size_t reading_most);
/* The task is the caller's and must stay until it has run. May run at once. */
void gate_read(struct gate *g, struct gate_task *task, int64_t now_ms);
void gate_write(struct gate *g, struct gate_task *task, int64_t now_ms);
void gate_read_done(struct gate *g, int64_t now_ms);
/* Called by a write whose work goes on elsewhere: nothing else runs until gate_release. */
void gate_hold(struct gate *g);
void gate_release(struct gate *g, int64_t now_ms);
/* Takes a read back that has not been started. False: it has been. */
bool gate_withdraw(struct gate *g, struct gate_task *task);
/* How long the oldest write has waited. */
int64_t gate_write_waits_ms(const struct gate *g, int64_t now_ms);

#endif
