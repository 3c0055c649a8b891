/* Remote write out: the senders of the generation in use, each with its queue beside the store. */
#include "serve/daemon.h"

#include "base/log.h"

/* One folder for each address, whatever its name in a URL. */
static char *folder_of(struct arena *arena, const char *store, const struct remote_write_config *c)
{
	struct str text = c->name.len ? c->name : c->url;
	char *name = arena_cstr(arena, text);

	for (size_t i = 0; i < text.len; i++)
		if (!(name[i] >= '0' && name[i] <= '9') && !label_name_is_classic(str_of(name + i, 1), false) && name[i] != '-')
			name[i] = '_';
	return arena_cstr(arena, arena_printf(arena, "%s.remote-write/%s", store, name));
}

static void sender_begin(struct daemon *d, const struct remote_write_config *c, const struct config *config)
{
	struct error e = { 0 };
	struct arena arena;

	arena_init(&arena);
	struct sender *s = sender_open(c, config->external_labels, config->external_label_count,
		folder_of(&arena, d->options->store_path, c), &(struct queue_options){ 0 }, &e);

	if (s)
		VEC_PUSH(&d->senders, s);
	else
		log_error("remote write to " STR_FMT " is off: %s", STR_ARG(c->url), e.message);
	arena_fini(&arena);
}

void sending_close(struct daemon *d)
{
	if (d->tee)
		tee_set_senders(d->tee, NULL, 0);
	VEC_EACH (&d->senders, s)
		sender_close(*s);
	VEC_FREE(&d->senders);
}

void sending_sync(struct daemon *d)
{
	const struct config *config = d->generation->config;

	/* The folders are those of before: what was not sent yet goes on from there. */
	sending_close(d);
	if (!config || !config->remote_writes.count)
		return;
	if (!d->options->store_path) {
		log_warning("remote_write is off: its queue lies beside the store (start with --store FILE)");
		return;
	}
	VEC_EACH (&config->remote_writes, c)
		sender_begin(d, *c, config);
	tee_set_senders(d->tee, d->senders.items, d->senders.count);
}

void sending_commit(struct daemon *d)
{
	VEC_EACH (&d->senders, s) {
		struct error e = { 0 };

		if (!sender_commit(*s, &e))
			log_warning("%s", e.message);
	}
}

struct figure {
	const char *name, *type, *help;
	double (*value)(const struct sender_stats *s);
};

static double sent(const struct sender_stats *s)
{
	return (double)s->samples_sent;
}

static double failed(const struct sender_stats *s)
{
	return (double)(s->samples_failed + s->queue.samples_dropped);
}

static double retries(const struct sender_stats *s)
{
	return (double)s->retries;
}

static double waiting(const struct sender_stats *s)
{
	return (double)s->queue.batches;
}

static double bytes(const struct sender_stats *s)
{
	return (double)s->queue.bytes;
}

static double newest(const struct sender_stats *s)
{
	return (double)s->newest_sent_ms / 1000;
}

void sending_print(const struct daemon *d, struct buf *out)
{
	static const struct figure figures[] = {
		{ "goodput_remote_write_sent_samples_total", "counter", "Samples that another engine has taken.", sent },
		{ "goodput_remote_write_failed_samples_total", "counter",
			"Samples given up: refused there, too old, or beyond the queue's limit.", failed },
		{ "goodput_remote_write_retries_total", "counter", "Requests that will be tried again.", retries },
		{ "goodput_remote_write_queue_batches", "gauge", "Requests that wait to be sent.", waiting },
		{ "goodput_remote_write_queue_bytes", "gauge", "Size of the queue on disk.", bytes },
		{ "goodput_remote_write_newest_sent_seconds", "gauge", "Time of the newest samples sent.", newest },
	};

	for (size_t i = 0; d->senders.count && i < ARRAY_LEN(figures); i++) {
		buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", figures[i].name, figures[i].help, figures[i].name, figures[i].type);
		VEC_EACH (&d->senders, s) {
			struct sender_stats stats;

			sender_stats(*s, &stats);
			buf_printf(out, "%s{url=", figures[i].name);
			label_print_value(sender_config(*s)->url, out);
			buf_add_cstr(out, "} ");
			buf_add_double(out, figures[i].value(&stats));
			buf_add_c(out, '\n');
		}
	}
}
