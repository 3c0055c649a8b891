/* fuzz_kubernetes: any bytes as what a Kubernetes API sends: as a page of a list, then as a watch on top of it, which must give the same in
 * one piece and byte by byte; whatever objects that leaves become groups of targets of each role. */
#include "scrape/kubernetes.h"
#include "scrape/kubernetes_watch.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char start[] =
	"{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{\"metadata\":{\"namespace\":\"n\",\"name\":\"a\"},\"spec\":{\"containers\":"
	"[{\"name\":\"c\",\"ports\":[{\"containerPort\":1}]}]},\"status\":{\"podIP\":\"10.0.0.1\"}}]}";

static void begin(struct kubernetes_collection *c, struct str page)
{
	char next[200];
	struct error e;

	kubernetes_collection_init(c);
	kubernetes_collection_page(c, true, str_from(start), next, sizeof next, &e);
	kubernetes_collection_page(c, false, page, next, sizeof next, &e);
	c->is_listed = true;
	kubernetes_collection_watch(c);
}

static void make_groups(const struct kubernetes_collection *c)
{
	for (int role = 0; role < KUBERNETES_ROLES; role++) {
		struct kubernetes_lists lists = { 0 };
		struct groups groups;
		struct arena arena;
		const char *key;
		json_t *object, *items = json_array();

		json_object_foreach(c->objects, key, object) json_array_append(items, object);
		for (int each = 0; each < KUBERNETES_ROLES; each++)
			lists.items[each] = items;
		arena_init(&arena);
		kubernetes_groups(&groups, &lists, (enum kubernetes_role)role, true, &arena);
		for (size_t i = 0; i < groups.count; i++)
			if (!groups.items[i].target_count)
				abort(); /* a group is of targets */
		arena_fini(&arena);
		json_decref(items);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = str_of((const char *)data, size);
	struct kubernetes_collection whole, pieces;

	begin(&whole, bytes);
	begin(&pieces, bytes);
	kubernetes_collection_feed(&whole, bytes);
	for (size_t i = 0; i < size; i++)
		kubernetes_collection_feed(&pieces, str_of(bytes.ptr + i, 1));
	if (!json_equal(whole.objects, pieces.objects) || whole.is_listed != pieces.is_listed ||
		strcmp(whole.version, pieces.version) != 0) {
		fprintf(stderr, "the same watch in pieces is another\n");
		abort();
	}
	make_groups(&whole);
	kubernetes_collection_fini(&whole);
	kubernetes_collection_fini(&pieces);
	return 0;
}
