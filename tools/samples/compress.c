// SPDX-License-Identifier: BSD-2-Clause
/*
 * compress - a program with threads and queues, marked so that a trace shows where its time goes.
 *
 *	walker --work--> workers --done--> writer
 *	(main)           (-j of them)
 *
 * The walker goes through a directory tree and offers each file to the workers. These read and
 * deflate them, and the writer puts the results one after another into an archive, which is an
 * ordinary gzip file with a member per file: `gzip -dc` prints them all.
 *
 * Each marker stands where a real program would want it. Copy from here.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <proftrace.h>

#include "queue.h"

/* The markers of this file belong to this domain: `proftrace -D compress` records only those. */
PROF_DOMAIN(compress_domain, "compress");
PROF_DEFAULT_DOMAIN(compress_domain);

/*
 * A second domain, for marks that are rarely wanted: `-D '!memory'` leaves it out. Each marker
 * names it.
 */
PROF_DOMAIN(memory_domain, "memory");

enum {
	MAX_WORKERS = 64,
	MAX_FILE = 64 << 20, /* larger files are skipped: each is held in memory */
	QUEUE_LIMIT = 256,   /* limits how far the walker is ahead */
	BATCH = 64,	     /* files per step */
};

struct work {
	struct queue queue, done;
	int archive;
	/* Only the writer may use these until it was joined. */
	uint64_t files, unreadable, bytes_read, bytes_written;
	/* Files between the walker and the archive. */
	pthread_mutex_t lock;
	pthread_cond_t idle;
	uint64_t underway;
	/* Only the walker uses these. */
	uint64_t offered, too_large, steps, rounds;
};

struct worker {
	pthread_t thread;
	unsigned number;
	struct work *work;
};

/* After an interrupt the program finishes the current files and prints its totals. */
static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
	interrupted = signal;
}

static void die(const char *what, int error)
{
	fprintf(stderr, "compress: %s: %s\n", what, strerror(error));
	exit(1);
}

/* Mark an allocation after it and a release before it, so that no address is live twice. */
static void *allocate(size_t size)
{
	void *p = malloc(size);

	if (!p)
		die("cannot allocate memory", errno);
	PROF_ALLOC_IN(memory_domain, "buffers", p, size);
	return p;
}

static void release(void *p)
{
	PROF_FREE_IN(memory_domain, "buffers", p);
	free(p);
}

/* Reads at most file->size bytes and sets file->size to their number. Returns 0 or an errno. */
static int read_file(struct file *file, unsigned char *data)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error;
	size_t size = 0;
	ssize_t n;

	if (fd < 0)
		return errno;
	do {
		n = read(fd, data + size, file->size - size);
		size += n > 0 ? n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	error = n < 0 ? errno : 0;
	close(fd);
	file->size = size;
	return error;
}

/* Compresses the bytes of the file to a gzip member. */
static void deflate_file(struct file *file, z_stream *stream, unsigned char *data)
{
	gz_header header = { .name = (Bytef *)file->path, .os = 3 };

	if (deflateReset(stream) != Z_OK || deflateSetHeader(stream, &header) != Z_OK)
		die("cannot deflate", EINVAL);
	file->packed_size = deflateBound(stream, file->size);
	file->packed = allocate(file->packed_size);
	stream->next_in = data;
	stream->avail_in = file->size;
	stream->next_out = file->packed;
	stream->avail_out = file->packed_size;
	if (deflate(stream, Z_FINISH) != Z_STREAM_END)
		die("cannot deflate", EINVAL);
	file->packed_size -= stream->avail_out;
}

/*
 * Two slices inside that of the function. Values that are only known at the end are arguments of
 * PROF_END.
 */
static void compress_file(struct file *file, z_stream *stream)
{
	unsigned char *data;
	int error;

	PROF_FUNCTION("path", file->path, "bytes", file->size);
	PROF_FLOW_IN(file->id); /* the arrow that begins in offer_file() */

	data = allocate(file->size + 1);
	PROF_BEGIN("read");
	error = read_file(file, data);
	PROF_END("bytes", file->size);
	if (error) {
		PROF_INSTANT("unreadable", "path", file->path, "errno", error);
	} else {
		PROF_BEGIN("deflate", "bytes", file->size);
		deflate_file(file, stream, data);
		PROF_END("packed", file->packed_size, "ratio",
			 file->size ? (double)file->packed_size / file->size : 1.0);
	}
	release(data);
}

static void *run_worker(void *argument)
{
	const struct worker *worker = argument;
	struct work *work = worker->work;
	z_stream stream = { 0 };
	struct file *file;
	unsigned depth;
	char name[16];

	snprintf(name, sizeof(name), "worker %u", worker->number);
	PROF_THREAD_NAME(name);
	if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		die("cannot start zlib", ENOMEM);
	while ((file = queue_take(&work->queue, &depth))) {
		PROF_COUNTER("queue", depth);
		compress_file(file, &stream);
		queue_put(&work->done, file);
	}
	deflateEnd(&stream);
	return NULL;
}

static void write_file(struct work *work, const struct file *file)
{
	size_t at = 0;
	ssize_t n;

	PROF_FUNCTION("bytes", file->packed_size);
	while (at < file->packed_size) {
		n = write(work->archive, file->packed + at, file->packed_size - at);
		if (n < 0 && errno != EINTR)
			die("cannot write the archive", errno);
		at += n > 0 ? n : 0;
	}
}

static void *run_writer(void *argument)
{
	struct work *work = argument;
	struct file *file;
	unsigned depth;

	PROF_THREAD_NAME("writer");
	while ((file = queue_take(&work->done, &depth))) {
		write_file(work, file);
		work->files++;
		if (file->packed) {
			work->bytes_read += file->size;
			work->bytes_written += file->packed_size;
			release(file->packed);
		} else {
			work->unreadable++;
		}
		PROF_COUNTERS("bytes", "read", work->bytes_read, "written", work->bytes_written);
		PROF_ASYNC_END("file", file->id);
		free(file);
		pthread_mutex_lock(&work->lock);
		if (--work->underway == 0)
			pthread_cond_signal(&work->idle);
		pthread_mutex_unlock(&work->lock);
	}
	return NULL;
}

static void offer_file(struct work *work, const FTSENT *entry)
{
	size_t length = strlen(entry->fts_path) + 1;
	struct file *file = calloc(1, sizeof(*file) + length);
	unsigned depth;

	if (!file)
		die("cannot allocate memory", errno);
	memcpy(file->path, entry->fts_path, length);
	file->size = entry->fts_statp->st_size;
	file->id = ++work->offered;
	pthread_mutex_lock(&work->lock);
	work->underway++;
	pthread_mutex_unlock(&work->lock);

	/*
	 * One slice for the whole way of a file through three threads; the id connects both ends.
	 */
	PROF_ASYNC_BEGIN("file", file->id, "path", file->path, "bytes", file->size);
	PROF_SCOPE("offer");
	PROF_FLOW_OUT(file->id);
	depth = queue_put(&work->queue, file); /* from now on a worker owns the file */
	PROF_COUNTER("queue", depth);
}

/* One pass through the tree. It ends when its last file is in the archive. */
static void walk(struct work *work, char *directory)
{
	char *paths[] = { directory, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	uint64_t n = 0;
	FTSENT *entry;

	/* Outside of the marker, whose arguments are only evaluated while somebody records. */
	work->rounds++;
	PROF_SCOPE("round", "number", work->rounds);
	while (tree && !interrupted && (entry = fts_read(tree))) {
		if (entry->fts_errno)
			fprintf(stderr, "compress: %s: %s\n", entry->fts_path,
				strerror(entry->fts_errno));
		if (entry->fts_info != FTS_F || entry->fts_statp->st_size > MAX_FILE) {
			work->too_large += entry->fts_info == FTS_F;
			continue;
		}
		/*
		 * The progress of the program: the following events have both numbers as arguments.
		 */
		if (n % BATCH == 0) {
			PROF_STEP(work->rounds, n / BATCH);
			work->steps++;
		}
		offer_file(work, entry);
		n++;
	}
	PROF_INSTANT("walked", "files", n);
	if (tree)
		fts_close(tree);
	pthread_mutex_lock(&work->lock);
	while (work->underway)
		pthread_cond_wait(&work->idle, &work->lock);
	pthread_mutex_unlock(&work->lock);
}

/*
 * The number of marks follows from the work done; a recording of the whole run must contain exactly
 * as many. A file makes 29 marks, or 26 if it cannot be read.
 */
static void print_totals(const struct work *work, unsigned n_workers)
{
	uint64_t marks = 29 * work->files - 3 * work->unreadable; /* on their way */

	marks += work->steps + 3 * work->rounds; /* the walker's */
	marks += 3 * (n_workers + 1);		 /* each thread's name and last take */
	printf("files %" PRIu64 "\nunreadable %" PRIu64 "\ntoo_large %" PRIu64 "\nrounds %" PRIu64
	       "\nbytes_read %" PRIu64 "\nbytes_written %" PRIu64 "\nmarks %" PRIu64 "\n",
	       work->files, work->unreadable, work->too_large, work->rounds, work->bytes_read,
	       work->bytes_written, marks);
}

static void run(struct work *work, unsigned n_workers, unsigned n_rounds, char *directory)
{
	struct worker workers[MAX_WORKERS];
	pthread_t writer;
	unsigned i;
	int error = pthread_create(&writer, NULL, run_writer, work);

	for (i = 0; !error && i < n_workers; i++) {
		workers[i] = (struct worker){ .number = i + 1, .work = work };
		error = pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]);
	}
	if (error)
		die("cannot start a thread", error);
	for (i = 0; i < n_rounds && !interrupted; i++) {
		/*
		 * Each pass overwrites the archive. ftruncate() fails for a pipe or a device, which
		 * is harmless.
		 */
		if (i && !ftruncate(work->archive, 0))
			lseek(work->archive, 0, SEEK_SET);
		walk(work, directory);
	}
	queue_close(&work->queue);
	for (i = 0; i < n_workers; i++)
		pthread_join(workers[i].thread, NULL);
	queue_close(&work->done);
	pthread_join(writer, NULL);
}

int main(int argc, char **argv)
{
	long n_workers = 2, n_rounds = 1;
	const struct sigaction on_interrupt = { .sa_handler = interrupt, .sa_flags = SA_RESTART };
	static struct work work;
	const char *archive = "archive.gz";
	int option;

	while ((option = getopt(argc, argv, "j:n:o:")) != -1) {
		if (option == 'j')
			n_workers = strtol(optarg, NULL, 10);
		else if (option == 'n')
			n_rounds = strtol(optarg, NULL, 10);
		else if (option == 'o')
			archive = optarg;
		else
			n_workers = 0;
	}
	if (optind != argc - 1 || n_workers < 1 || n_workers > MAX_WORKERS || n_rounds < 1 ||
	    n_rounds > UINT32_MAX) {
		fputs("Usage: compress [-j WORKERS] [-n ROUNDS] [-o ARCHIVE] DIRECTORY\n", stderr);
		return 2;
	}
	work.archive = open(archive, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (work.archive < 0)
		die(archive, errno);
	sigaction(SIGINT, &on_interrupt, NULL);
	sigaction(SIGTERM, &on_interrupt, NULL);
	pthread_mutex_init(&work.lock, NULL);
	pthread_cond_init(&work.idle, NULL);
	queue_init(&work.queue, QUEUE_LIMIT);
	queue_init(&work.done, QUEUE_LIMIT);
	run(&work, n_workers, n_rounds, argv[optind]);
	if (close(work.archive))
		die(archive, errno);
	print_totals(&work, n_workers);
	return work.files ? 0 : 1;
}
