/* replay: runs every file of the given folders through a fuzz target, without a fuzzer: so that what was found once stays
 * found with any compiler. Linked with one fuzz_*.c. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat st;

	if (!file || fstat(fileno(file), &st) != 0) {
		perror(path);
		exit(1);
	}
	size_t size = (size_t)st.st_size;
	uint8_t *data = malloc(size ? size : 1);

	if (!data || fread(data, 1, size, file) != size) {
		perror(path);
		exit(1);
	}
	fclose(file);
	/* Said first: a target that fails aborts. */
	printf("%s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

static int run_folder(const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, alphasort), run = 0;

	if (count < 0) {
		perror(folder);
		exit(1);
	}
	for (int i = 0; i < count; i++) {
		char path[4096];

		snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.') {
			run_file(path);
			run++;
		}
		free(entries[i]);
	}
	free(entries);
	return run;
}

int main(int argc, char **argv)
{
	int run = 0;

	for (int i = 1; i < argc; i++)
		run += run_folder(argv[i]);
	printf("%d inputs\n", run);
	/* A corpus that went missing must not look like success. */
	return run > 0 ? 0 : 1;
}
